package edge

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"carrel/core/clock"
	"carrel/edge/validation"
	"carrel/library/listing"
)

// variables decodes the variables of an operation from a JSON object, coerces them, and refuses those
// that are null where the schema takes no null.
func (d *document) variables(schema *ast.Schema, op *ast.OperationDefinition, object []byte) (map[string]any, *refusal) {
	given, refused := readVariables(schema, op, object)
	if refused != nil {
		return nil, refused
	}
	values, refused := coerce(schema, op, given)
	if refused != nil {
		return nil, refused
	}
	if null, where := validation.ExplicitNull(op, d.nullable, values); null != nil {
		refused = badVariable(fmt.Sprintf("The variable $%s is null, but %s may not be null.", null.Raw, where))
		refused.errs = withLocation(refused.errs[0], null.Position)
	}
	return values, refused
}

// coerce checks the variables against their types and sets defaults. It makes a stricter check
// before gqlparser's, which accepts strings for numbers, numbers for strings, and enum values in
// any case: resolvers would refuse these only during the execution, one by one.
func coerce(schema *ast.Schema, op *ast.OperationDefinition, given map[string]any) (values map[string]any, r *refusal) {
	if len(op.VariableDefinitions) == 0 {
		return map[string]any{}, nil
	}
	for _, v := range op.VariableDefinitions {
		value, ok := given[v.Variable]
		if !ok || value == nil {
			continue // gqlparser checks required variables
		}
		if path, want := mismatch(schema, v.Type, value, "$"+v.Variable); path != "" {
			return nil, badVariable(fmt.Sprintf("The variable %s is not %s.", path, want))
		}
	}
	if plainTexts(op, given) {
		return given, nil
	}
	// gqlparser panics on input that a validated document cannot contain.
	defer func() {
		if recover() != nil {
			values, r = nil, badVariable("The variables do not fit their types.")
		}
	}()
	values, err := validator.VariableValues(schema, op, given)
	if err != nil {
		message := strings.Replace(strings.TrimPrefix(err.Error(), "input: "), "variable.", "$", 1)
		if path, unknown := strings.CutSuffix(message, " unknown field"); unknown {
			message = path + " is not a field of its type"
		}
		return nil, badVariable("A variable does not fit its type: " + clip(message) + ".")
	}
	return values, nil
}

// plainTexts reports whether there is nothing to coerce: the given variables are strings, which
// mismatch has checked, of types that accept any string, and the other variables are nullable and
// have no default.
func plainTexts(op *ast.OperationDefinition, given map[string]any) bool {
	for _, v := range op.VariableDefinitions {
		value, ok := given[v.Variable]
		if !ok {
			if v.DefaultValue != nil || v.Type.NonNull {
				return false
			}
			continue
		}
		_, isText := value.(string)
		switch v.Type.NamedType {
		case "ID", "String", "Cursor":
		default:
			return false
		}
		if !isText {
			return false
		}
	}
	return given != nil
}

func badVariable(message string) *refusal { return refuseDocument(codeBadUserInput, message) }

func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "..."
}

// mismatch returns the path of the first value that does not fit its type, and what is expected
// there. Both are "" if all values fit. It does not check missing values and nulls.
func mismatch(schema *ast.Schema, typ *ast.Type, value any, path string) (where, want string) {
	if value == nil {
		return "", ""
	}
	if typ.Elem != nil {
		items, ok := value.([]any)
		if !ok { // a single value is coerced to a list
			return mismatch(schema, typ.Elem, value, path)
		}
		for i, item := range items {
			if where, want := mismatch(schema, typ.Elem, item, path+"["+strconv.Itoa(i)+"]"); where != "" {
				return where, want
			}
		}
		return "", ""
	}
	def := schema.Types[typ.NamedType]
	if def == nil {
		return path, "of a known type"
	}
	switch def.Kind {
	case ast.Enum:
		if s, ok := value.(string); !ok || def.EnumValues.ForName(s) == nil {
			return path, "a value of the enum " + def.Name
		}
	case ast.Scalar:
		return scalarMismatch(def.Name, value, path)
	case ast.InputObject:
		fields, ok := value.(map[string]any)
		if !ok {
			return path, "an object of type " + def.Name
		}
		for _, f := range def.Fields {
			if where, want := mismatch(schema, f.Type, fields[f.Name], path+"."+f.Name); where != "" {
				return where, want
			}
		}
	}
	return "", ""
}

// scalarMismatch checks a scalar. The contract's own scalars are strings.
func scalarMismatch(name string, value any, path string) (where, want string) {
	ok := false
	switch name {
	case "Int":
		want = "an Int, a whole number of 32 bits"
		var n json.Number
		if n, ok = value.(json.Number); ok {
			i, err := n.Int64()
			ok = err == nil && i >= math.MinInt32 && i <= math.MaxInt32
		}
	case "Float":
		want = "a Float"
		var n json.Number
		if n, ok = value.(json.Number); ok {
			_, err := n.Float64()
			ok = err == nil
		}
	case "Boolean":
		want = "a Boolean"
		_, ok = value.(bool)
	case "ID":
		want = "an ID, a string or a whole number of 64 bits"
		if _, ok = value.(string); !ok {
			var n json.Number
			if n, ok = value.(json.Number); ok {
				_, err := n.Int64()
				ok = err == nil
			}
		}
	case "DateTime":
		want = "a DateTime, such as \"2026-11-21T09:30:00.123456Z\""
		var s string
		if s, ok = value.(string); ok {
			_, err := clock.Parse(s)
			ok = err == nil
		}
	case "_Any":
		return "", "" // each is checked and answered on its own
	default:
		want = "a " + name + ", a string"
		_, ok = value.(string)
	}
	if ok {
		return "", ""
	}
	return path, want
}

// sizes returns how many objects each field requests, and how many entries a filter scans, for both
// the limits and the cost. Its indexes are those of document.sized; -1 stands for a page size that
// is null or missing. It refuses numbers above the limits. The Service makes the final checks of
// page arguments.
func (d *document) sizes(values map[string]any, limits *Limits) ([]int, *refusal) {
	asked := make([]int, len(d.sized))
	for _, arg := range d.lists {
		n := listLength(arg.Value, values)
		if n > limits.IDs {
			return nil, &refusal{errs: withLocation(coded(codeBadUserInput,
				fmt.Sprintf("%s has %d elements; at most %d are allowed", arg.Name, n, limits.IDs)), arg.Position)}
		}
		asked[d.sized[arg]] = n
	}
	for _, arg := range d.filters {
		if !isNull(arg.Value, values) {
			asked[d.sized[arg]] = listing.MaxFilterScan
		}
	}
	for _, arg := range d.pageSizes {
		n, given := pageSize(arg.Value, values)
		if n < 0 || n > int64(limits.PageSize) {
			return nil, &refusal{errs: withLocation(coded(codeBadUserInput,
				fmt.Sprintf("%s is %d: it takes 0 to %d; page with cursors to read more", arg.Name, n, limits.PageSize)), arg.Position)}
		}
		if !given {
			n = -1
		}
		asked[d.sized[arg]] = int(n)
	}
	return asked, nil
}

// isNull reports whether a value is null, or a variable that is null or was not given.
func isNull(value *ast.Value, values map[string]any) bool {
	if value.Kind == ast.Variable {
		return values[value.Raw] == nil
	}
	return value.Kind == ast.NullValue
}

// pageSize returns the size of a page. A variable of another operation counts as missing, even if
// it has a default there.
func pageSize(value *ast.Value, values map[string]any) (n int64, given bool) {
	switch value.Kind {
	case ast.IntValue:
		n, err := strconv.ParseInt(value.Raw, 10, 64)
		if err != nil {
			n = math.MaxInt64
		}
		return n, true
	case ast.Variable:
		switch size := values[value.Raw].(type) {
		case int64:
			return size, true
		case json.Number:
			n, _ = size.Int64() // coerce has checked that it is a number
			return n, true
		}
	}
	return 0, false
}

// listLength returns the length of a list value. A single value counts as a list of one.
func listLength(value *ast.Value, values map[string]any) int {
	switch value.Kind {
	case ast.ListValue:
		return len(value.Children)
	case ast.NullValue:
		return 0
	case ast.Variable:
		switch v := values[value.Raw].(type) {
		case nil:
			return 0
		case []any:
			return len(v)
		}
	}
	return 1
}
