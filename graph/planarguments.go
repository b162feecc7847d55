package graph

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/library"
)

// argument is the value of an argument of a planned field: fixed by the document, or read from the
// variables of each request.
type argument struct {
	name  string
	fixed any        // the value if there are no variables; nil: null or missing
	value *ast.Value // nil if the value is fixed
}

// argumentOf returns the argument of a field with a name. A malformed literal counts as null.
func argumentOf(f graphql.CollectedField, name string) argument {
	a := argument{name: name}
	if def := f.Definition.Arguments.ForName(name); def != nil && def.DefaultValue != nil {
		a.fixed, _ = def.DefaultValue.Value(nil)
	}
	given := f.Arguments.ForName(name)
	switch {
	case given == nil:
	case hasVariables(given.Value):
		a.value = given.Value
	default:
		a.fixed, _ = given.Value.Value(nil)
	}
	return a
}

func hasVariables(v *ast.Value) bool {
	if v.Kind == ast.Variable {
		return true
	}
	for _, child := range v.Children {
		if hasVariables(child.Value) {
			return true
		}
	}
	return false
}

// of returns the value for a request. given is false if the value is the fixed one: a missing
// variable leaves the argument's default.
func (a *argument) of(variables map[string]any) (value any, given bool, err error) {
	switch {
	case a.value == nil:
	case a.value.Kind != ast.Variable:
		value, err = a.value.Value(variables)
		return value, true, err
	default:
		if value, given = variables[a.value.Raw]; given {
			return value, true, nil
		}
	}
	return a.fixed, false, nil
}

// PageField is a field of an OperationPlan that has the name library, and so returns a page.
type PageField struct {
	Field     graphql.CollectedField
	plan      *PagePlan
	query     library.LibraryQuery // with the arguments that the document fixes
	variables []argument           // the other arguments
}

// bind reads the arguments that the document fixes. It reports whether they are valid; otherwise
// the generated code reports the errors.
func (p *PageField) bind(ctx context.Context, op *graphql.OperationContext) bool {
	for _, def := range p.Field.Definition.Arguments {
		a := argumentOf(p.Field, def.Name)
		if a.value != nil {
			p.variables = append(p.variables, a)
		}
		if setArgument(ctx, op, &p.query, a.name, a.fixed) != nil {
			return false
		}
	}
	return true
}

// Request returns the request of the field for the variables of an operation. If ok is false, the
// generated code must report the error.
func (p *PageField) Request(ctx context.Context, op *graphql.OperationContext) (r PageRequest, ok bool) {
	r = PageRequest{p.query, p.plan}
	for i := range p.variables {
		a := &p.variables[i]
		value, given, err := a.of(op.Variables)
		if err != nil || given && setArgument(ctx, op, &r.Query, a.name, value) != nil {
			return r, false
		}
	}
	p.plan.setReads(&r.Query)
	return r, true
}

// setArgument sets an argument of a page, decoded as in the generated code.
func setArgument(ctx context.Context, op *graphql.OperationContext, q *library.LibraryQuery, name string, value any) (err error) {
	switch name {
	case "first":
		q.First, err = decodeOptional(value, UnmarshalInt)
	case "after":
		q.After, err = decodeOptional(value, UnmarshalCursor)
	case "last":
		q.Last, err = decodeOptional(value, UnmarshalInt)
	case "before":
		q.Before, err = decodeOptional(value, UnmarshalCursor)
	case "orderBy":
		var order *LibraryOrder
		if value != nil {
			order, err = newExecutionContext(op, nil, nil).unmarshalOLibraryOrder2ᚖcarrelᚋgraphᚐLibraryOrder(ctx, value)
		}
		if order == nil {
			order = new(LibraryOrder)
		}
		q.Order, q.Descending = order.Field, order.Descending
	case "includeShared":
		var shared *bool
		shared, err = decodeOptional(value, graphql.UnmarshalBoolean)
		q.IncludeShared = shared != nil && *shared
	case "filter":
		q.Filter, err = newExecutionContext(op, nil, nil).unmarshalOLibraryFilter2ᚖcarrelᚋlibraryᚐLibraryFilter(ctx, value)
	default:
		err = fmt.Errorf("the argument %s of a library is not planned", name)
	}
	return err
}

func decodeOptional[T any](value any, decode func(any) (T, error)) (*T, error) {
	if value == nil {
		return nil, nil
	}
	v, err := decode(value)
	return &v, err
}
