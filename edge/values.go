package edge

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"carrel/edge/jsontext"
)

// maxWordBytes is the maximal length of the JSON of an id, a cursor, a date or an enum value. The
// longest of them, a cursor of a list ordered by name, has fewer than 500 characters, each of at
// most six bytes when escaped.
const maxWordBytes = 4 << 10

// readVariables decodes the variables that an operation declares from a JSON object. Their types
// are checked later, but values that are far too long for their type are refused before they are
// copied. Numbers keep their digits, so that large ones are refused and not rounded.
func readVariables(schema *ast.Schema, op *ast.OperationDefinition, object []byte) (map[string]any, *refusal) {
	if object == nil || len(op.VariableDefinitions) == 0 {
		return nil, nil
	}
	given := make(map[string]any, len(op.VariableDefinitions))
	last := "" // the variable that was read last
	r := valueReader{schema: schema}
	jsontext.EachMember(object, func(key, value []byte) {
		def := op.VariableDefinitions.ForName(string(key))
		if def == nil || r.tooLong != "" {
			return // undeclared variables are ignored
		}
		r.b, r.at, last = value, 0, def.Variable
		given[def.Variable] = r.value(def.Type)
	})
	switch {
	case r.tooLong == "Cursor":
		return nil, refuseDocument(codeBadCursor, "The cursor is not one of this connection: it is far too long.")
	case r.tooLong != "":
		return nil, badVariable(fmt.Sprintf("The variable $%s has a value of type %s with more than %d bytes.", last, r.tooLong, maxWordBytes))
	}
	return given, nil
}

// valueReader decodes valid JSON.
type valueReader struct {
	schema *ast.Schema
	b      []byte
	at     int
	// tooLong is the type of a value that is too long for it.
	tooLong string
}

// value decodes the value at the current position as a value of a type. Values inside it that the
// type does not declare are decoded as that type, too. nil stands for any type.
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
		end := jsontext.PlainEnd(r.b, r.at)
		word := r.b[r.at]
		r.at = end
		if word == 'n' {
			return nil
		}
		return word == 't'
	}
	end := jsontext.PlainEnd(r.b, r.at)
	number := string(r.b[r.at:end])
	r.at = end
	if typ != nil && (typ.Name() == "Int" || typ.Name() == "ID") {
		number = wholeNumber(number)
	}
	return json.Number(number)
}

// wholeNumber returns the digits of a JSON number that is an integer but may be written with a
// fraction or an exponent, such as 1.0 and 1e0. It returns others, and those of more digits than 64
// bits can have, as they are.
func wholeNumber(number string) string {
	if number != "-0" && !strings.ContainsAny(number, ".eE") {
		return number
	}
	at := strings.IndexAny(number, "eE")
	exponent, mantissa := 0, number
	if at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(number[at+1:]); err != nil {
			exponent = math.MaxInt32 // of either sign: only 0 can be multiplied by it
		}
		mantissa = number[:at]
	}
	sign, digits := "", mantissa
	if number[0] == '-' {
		sign, digits = "-", mantissa[1:]
	}
	digits, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(digits+fraction, "0")
	exponent -= len(fraction)
	significant := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	switch {
	case significant == "":
		return "0"
	case exponent < 0 || exponent > maxDigits || len(significant)+exponent > maxDigits:
		return number
	}
	return sign + significant + strings.Repeat("0", exponent)
}

// maxDigits is the maximal number of digits of an integer of 64 bits.
const maxDigits = 19

// inside skips the bracket or comma at the current position and moves to the next value of a list
// or the next member of an object. It returns false after the closing bracket.
func (r *valueReader) inside(closing byte) bool {
	if r.at = jsontext.SkipSpace(r.b, r.at); r.b[r.at] != closing {
		r.at = jsontext.SkipSpace(r.b, r.at+1)
	}
	if r.b[r.at] == closing { // at once, or after the last one
		r.at++
		return false
	}
	return true
}

// object decodes an object. The last of duplicate members counts. Unknown members are not decoded,
// and will be refused by name.
func (r *valueReader) object(typ *ast.Type) map[string]any {
	var def *ast.Definition
	if typ != nil && typ.Elem == nil {
		def = r.schema.Types[typ.NamedType]
	}
	known := def != nil && def.Kind == ast.InputObject
	members := map[string]any{}
	for r.inside('}') {
		end := jsontext.StringEnd(r.b, r.at)
		name := string(jsontext.MemberName(r.b[r.at:end]))
		r.at = jsontext.SkipSpace(r.b, jsontext.SkipSpace(r.b, end)+1) // skip the colon
		if !known {
			members[name] = r.value(typ)
			continue
		}
		if field := def.Fields.ForName(name); field != nil {
			members[name] = r.value(field.Type)
			continue
		}
		members[name] = nil
		r.at = jsontext.ValueEnd(r.b, r.at)
	}
	return members
}

// text decodes a string.
func (r *valueReader) text(typ *ast.Type) string {
	end := jsontext.StringEnd(r.b, r.at)
	raw := r.b[r.at:end]
	r.at = end
	if len(raw) > maxWordBytes && typ != nil {
		switch name := typ.Name(); name {
		case "String":
		case "_Any": // a representation that is too long gets an error of its own, beside the others
			return string(raw[1:maxWordBytes])
		default:
			r.tooLong = name
		}
	}
	var s string
	if r.tooLong == "" {
		jsontext.DecodeString(raw, &s)
	}
	return s
}

// sizeOf estimates the memory of decoded JSON in bytes: texts, and 16 bytes for each value in an
// interface, 24 for a slice and 256 for a map.
func sizeOf(value any) int {
	switch v := value.(type) {
	case string:
		return 32 + len(v)
	case json.Number:
		return 32 + len(v)
	case []any:
		n := 40
		for _, item := range v {
			n += sizeOf(item)
		}
		return n
	case map[string]any:
		n := 256
		for name, item := range v {
			n += 16 + len(name) + sizeOf(item)
		}
		return n
	}
	return 16
}
