package validation

import "github.com/vektah/gqlparser/v2/ast"

// nullSearch looks for variables in places that take no null.
type nullSearch struct {
	// each is called for each of them, with a description of the place. It ends the search by
	// returning true.
	each func(variable *ast.Value, place string) (found bool)
	// values are the variables of the operation, for directives that skip a part of it. If nil,
	// nothing is skipped.
	values map[string]any
	// visited are the fragments that were searched. If nil, spreads are not followed.
	visited map[string]bool
}

// Nullable returns the variables of a valid document that may be null and are used where no null is
// taken, or nil if there are none. That is permitted if the variable or the place has a default. Such
// a variable may still be null explicitly, which neither the executor nor resolvers expect.
func Nullable(doc *ast.QueryDocument) (names map[string]bool) {
	nullable := map[string]bool{}
	for _, op := range doc.Operations {
		for _, v := range op.VariableDefinitions {
			if !v.Type.NonNull {
				nullable[v.Variable] = true
			}
		}
	}
	if len(nullable) == 0 {
		return nil
	}
	s := nullSearch{each: func(variable *ast.Value, _ string) bool {
		if nullable[variable.Raw] {
			if names == nil {
				names = map[string]bool{}
			}
			names[variable.Raw] = true
		}
		return false
	}}
	for _, op := range doc.Operations {
		s.set(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		s.set(f.SelectionSet)
	}
	return names
}

// ExplicitNull returns the first variable that is null although the place where an operation uses it
// takes no null, and a description of that place. It returns nil if there is none. nullable is the
// result of Nullable, and values are the coerced variables.
func ExplicitNull(op *ast.OperationDefinition, nullable map[string]bool, values map[string]any) (found *ast.Value, where string) {
	for name := range nullable {
		if isNull(values, name) {
			return findNull(op, values)
		}
	}
	return nil, ""
}

func findNull(op *ast.OperationDefinition, values map[string]any) (found *ast.Value, where string) {
	s := nullSearch{values: values, visited: map[string]bool{}, each: func(variable *ast.Value, place string) bool {
		if isNull(values, variable.Raw) {
			found, where = variable, place
		}
		return found != nil
	}}
	s.set(op.SelectionSet)
	return found, where
}

// isNull reports whether a variable is null and not missing.
func isNull(values map[string]any, name string) bool {
	value, given := values[name]
	return given && value == nil
}

// set searches a selection set.
func (s *nullSearch) set(set ast.SelectionSet) (found bool) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			found = s.directives(sel.Directives) || !s.skips(sel.Directives) &&
				(s.arguments(sel.Arguments, "of "+sel.Name) || s.set(sel.SelectionSet))
		case *ast.InlineFragment:
			found = s.directives(sel.Directives) || !s.skips(sel.Directives) && s.set(sel.SelectionSet)
		case *ast.FragmentSpread:
			found = s.directives(sel.Directives)
			if s.visited != nil && !found && !s.visited[sel.Name] && !s.skips(sel.Directives) {
				s.visited[sel.Name] = true
				found = s.set(sel.Definition.SelectionSet)
			}
		}
		if found {
			return true
		}
	}
	return false
}

func (s *nullSearch) directives(directives ast.DirectiveList) (found bool) {
	for _, d := range directives {
		found = found || s.arguments(d.Arguments, "of @"+d.Name)
	}
	return found
}

// skips reports whether directives skip a selection. Their conditions are not null.
func (s *nullSearch) skips(directives ast.DirectiveList) bool {
	for _, d := range directives {
		condition := d.Arguments.ForName("if")
		if s.values == nil || condition == nil {
			continue
		}
		if holds, _ := condition.Value.Value(s.values); d.Name == "skip" && holds == true || d.Name == "include" && holds == false {
			return true
		}
	}
	return false
}

func (s *nullSearch) arguments(arguments ast.ArgumentList, of string) (found bool) {
	for _, arg := range arguments {
		found = found || s.value(arg.Value, "the argument "+arg.Name+" "+of)
	}
	return found
}

// value searches a value and the values inside it. Validation has set their types.
func (s *nullSearch) value(v *ast.Value, place string) (found bool) {
	if v.Kind == ast.Variable && v.ExpectedType != nil && v.ExpectedType.NonNull {
		return s.each(v, place)
	}
	for _, child := range v.Children {
		switch {
		case found:
		case v.Kind == ast.ListValue:
			found = s.value(child.Value, "an element of "+place)
		case v.Definition != nil:
			found = s.value(child.Value, "the field "+child.Name+" of "+v.Definition.Name)
		}
	}
	return found
}
