package edge

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// A variable of a nullable type may be used in a non-null place if the variable or the place has a
// default. It may then still be null explicitly, which validation cannot see, and which neither the
// executor nor the resolvers expect. So such an operation is refused before it is run.

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

// collectNullable finds the nullable variables that are used in non-null places.
func (d *document) collectNullable() {
	nullable := map[string]bool{}
	for _, op := range d.ast.Operations {
		for _, v := range op.VariableDefinitions {
			if !v.Type.NonNull {
				nullable[v.Variable] = true
			}
		}
	}
	if len(nullable) == 0 {
		return
	}
	s := nullSearch{each: func(variable *ast.Value, _ string) bool {
		if nullable[variable.Raw] {
			if d.nullable == nil {
				d.nullable = map[string]bool{}
			}
			d.nullable[variable.Raw] = true
		}
		return false
	}}
	for _, op := range d.ast.Operations {
		s.set(op.SelectionSet)
	}
	for _, f := range d.ast.Fragments {
		s.set(f.SelectionSet)
	}
}

// checkNulls refuses an operation that uses a variable that is null where the schema takes no null.
func (d *document) checkNulls(op *ast.OperationDefinition, values map[string]any) (r *refusal) {
	null := false
	for name := range d.nullable {
		value, given := values[name]
		null = null || given && value == nil
	}
	if !null {
		return nil
	}
	s := nullSearch{values: values, visited: map[string]bool{}, each: func(variable *ast.Value, place string) bool {
		value, given := values[variable.Raw]
		if given && value == nil {
			r = badVariable(fmt.Sprintf("The variable $%s is null, but %s may not be null.", variable.Raw, place))
			r.errs = withLocation(r.errs[0], variable.Position)
		}
		return r != nil
	}}
	s.set(op.SelectionSet)
	return r
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
