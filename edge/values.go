package edge

import (
	"encoding/json"
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// maxWordBytes is how long the JSON of an id, a cursor, a date or an enum's
// value may be. Those of the contract have at most 200 characters, which are
// six bytes each when they are escaped.
const maxWordBytes = 4 << 10

// readVariables reads the variables that an operation declares, from a JSON
// object. Whether they fit their types is judged later; what is far too long
// for its type is refused before it is copied. Numbers keep their digits, so
// that large ones are refused and not rounded.
func readVariables(schema *ast.Schema, op *ast.OperationDefinition, object []byte) (map[string]any, *refusal) {
	if object == nil || len(op.VariableDefinitions) == 0 {
		return nil, nil
	}
	given := make(map[string]any, len(op.VariableDefinitions))
	r := valueReader{schema: schema}
	eachMember(object, func(key, value []byte) {
		def := op.VariableDefinitions.ForName(string(key))
		if def == nil || r.tooLong != "" {
			return // what is not declared means nothing
		}
		r.b, r.at = value, 0
		given[def.Variable] = r.value(def.Type)
	})
	switch {
	case r.tooLong == "Cursor":
		return nil, refuseDocument(codeBadCursor, "The cursor is not one of this connection: it is far too long.")
	case r.tooLong != "":
		return nil, badVariable(fmt.Sprintf("A variable of type %s is far too long.", r.tooLong))
	}
	return given, nil
}

// valueReader reads JSON that was found to be good.
type valueReader struct {
	schema *ast.Schema
	b      []byte
	at     int
	// tooLong is the type of a value that is longer than any of its kind.
	tooLong string
}

// value reads the value that begins here, as one of a type. What stands within a
// value that its type knows nothing of is read as one of the same type; nil is
// any type.
func (r *valueReader) value(typ *ast.Type) any {
	switch r.b[r.at] {
	case '"':
		return r.text(typ)
	case '[':
		if typ != nil && typ.Elem != nil {
			typ = typ.Elem
		}
		list := []any{}
		for r.inside(']') {
			list = append(list, r.value(typ))
		}
		return list
	case '{':
		return r.object(typ)
	case 't', 'f', 'n':
		end := plainEnd(r.b, r.at)
		word := r.b[r.at]
		r.at = end
		if word == 'n' {
			return nil
		}
		return word == 't'
	}
	end := plainEnd(r.b, r.at)
	number := json.Number(r.b[r.at:end])
	r.at = end
	return number
}

// inside steps over the bracket or comma here, to the next value of a list or
// the next member of an object; false behind the bracket that ends it.
func (r *valueReader) inside(closing byte) bool {
	if r.at = skipSpace(r.b, r.at); r.b[r.at] != closing {
		r.at = skipSpace(r.b, r.at+1)
	}
	if r.b[r.at] == closing { // at once, or behind the last one
		r.at++
		return false
	}
	return true
}

// object reads an object; of a member given twice the last one counts. What a
// type does not know is not read, and will be refused for its name.
func (r *valueReader) object(typ *ast.Type) map[string]any {
	var def *ast.Definition
	if typ != nil && typ.Elem == nil {
		def = r.schema.Types[typ.NamedType]
	}
	known := def != nil && def.Kind == ast.InputObject
	members := map[string]any{}
	for r.inside('}') {
		end := stringEnd(r.b, r.at)
		name := string(memberName(r.b[r.at:end]))
		r.at = skipSpace(r.b, skipSpace(r.b, end)+1) // over the colon
		if !known {
			members[name] = r.value(typ)
			continue
		}
		if field := def.Fields.ForName(name); field != nil {
			members[name] = r.value(field.Type)
			continue
		}
		members[name] = nil
		r.at = valueEnd(r.b, r.at)
	}
	return members
}

// text reads a string.
func (r *valueReader) text(typ *ast.Type) string {
	end := stringEnd(r.b, r.at)
	raw := r.b[r.at:end]
	r.at = end
	if len(raw) > maxWordBytes && typ != nil {
		switch name := typ.Name(); name {
		case "String":
		case "_Any": // one that names nothing is answered by itself, beside the others
			return string(raw[1:maxWordBytes])
		default:
			r.tooLong = name
		}
	}
	var s string
	if r.tooLong == "" {
		decodeString(raw, &s)
	}
	return s
}
