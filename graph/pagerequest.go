package graph

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/library"
)

// PageRequest is the request of a field of type LibraryConnection: the query for the domain, and
// the plan for writing the page. ADR 31 says who uses it.
type PageRequest struct {
	Query library.LibraryQuery
	Plan  *PagePlan
}

// LibraryOrder specifies the order of a library.
type LibraryOrder struct {
	Field      library.Order
	Descending bool
}

// CurrentPage returns the request of the field that ctx resolves.
func CurrentPage(ctx context.Context) PageRequest {
	field := graphql.GetFieldContext(ctx)
	return ExecutionOf(ctx).pageRequest(field.Field, field.Args)
}

// pageRequest returns the request of a field with decoded arguments. It requests only what is
// selected.
func (e *Execution) pageRequest(field graphql.CollectedField, args map[string]any) PageRequest {
	p := e.Plans.plan(e.OperationContext, field)
	var q library.LibraryQuery
	q.First, _ = args["first"].(*int)
	q.After, _ = args["after"].(*string)
	q.Last, _ = args["last"].(*int)
	q.Before, _ = args["before"].(*string)
	if order, _ := args["orderBy"].(*LibraryOrder); order != nil {
		q.Order, q.Descending = order.Field, order.Descending
	}
	if shared, _ := args["includeShared"].(*bool); shared != nil {
		q.IncludeShared = *shared
	}
	q.Filter, _ = args["filter"].(*library.LibraryFilter)
	p.setReads(&q)
	return PageRequest{q, p}
}

// setReads sets in q what must be read for the selection.
func (p *PagePlan) setReads(q *library.LibraryQuery) {
	q.NoEntries, q.WithPermissions, q.OtherSide = !p.entries, p.Permissions, p.hasPrevious
	if q.Last != nil || q.Before != nil {
		q.OtherSide = p.hasNext
	}
}

// PlanCache caches the plans of the pages that a document selects, and those of whole operations.
// Operations may share it if @skip and @include, which depend on variables, select the same fields
// in all of them.
type PlanCache struct {
	mu    sync.Mutex
	plans map[*ast.Field]*PagePlan
	// operations maps operations to their plans, or to nil if the generated code must execute them.
	operations map[*ast.OperationDefinition]*OperationPlan
	capacity   int // the number of steps that may still be cached
}

// fewSteps is the capacity that every document has, however short it is.
const fewSteps = 8

// NewPlanCache returns a PlanCache for a document. It caches one step for every four bytes of the text, and a
// few more. Fragments that are spread many times make a long plan of a short text; a plan that does
// not fit is compiled for each operation.
func NewPlanCache(text string) *PlanCache {
	return &PlanCache{capacity: fewSteps + len(text)/4}
}

// PlanBytes estimates the memory of a document's plans per byte of its text. A step takes 100 to
// 120 bytes (measured).
const PlanBytes = 30

// plan returns the plan of a field, compiled or cached. A field that was merged from several gets a
// new selection for each operation, so its plan is not cached.
func (ps *PlanCache) plan(op *graphql.OperationContext, f graphql.CollectedField) *PagePlan {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(f.Selections) != len(f.Field.SelectionSet) {
		return planPage(op, f.Selections)
	}
	p := ps.plans[f.Field]
	if p == nil {
		p = planPage(op, f.Selections)
		if p.steps <= ps.capacity {
			ps.capacity -= p.steps
			if ps.plans == nil {
				ps.plans = map[*ast.Field]*PagePlan{}
			}
			ps.plans[f.Field] = p
		}
	}
	return p
}

// Operation returns the plan of the operation, or nil if the generated code must execute it. A plan that does
// not fit is not used: compiling it for each operation would cost as much as the generated code.
func (ps *PlanCache) Operation(ctx context.Context, op *graphql.OperationContext) *OperationPlan {
	if ps == nil {
		return nil
	}
	ps.mu.Lock()
	p, known := ps.operations[op.Operation]
	ps.mu.Unlock()
	if known {
		return p
	}
	p = planOperation(ctx, op, ps)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p != nil && p.steps > ps.capacity {
		p = nil
	}
	if p != nil {
		ps.capacity -= p.steps
	}
	if ps.operations == nil {
		ps.operations = map[*ast.OperationDefinition]*OperationPlan{}
	}
	ps.operations[op.Operation] = p
	return p
}
