package resolvers

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/core/id"
	"carrel/core/urlname"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// planned returns the reading of an operation with a plan. It returns nil if the generated code must
// execute the operation: there is no plan, or the id or the arguments have an error.
func (s schema) planned(ctx context.Context, e *graph.Execution) *reading {
	p := e.Plans.Operation(ctx, e.OperationContext)
	if p == nil {
		return nil
	}
	r := &reading{schema: s, Execution: e, plan: p}
	if !r.begin(ctx) {
		return nil
	}
	return r
}

// reading is the execution of an OperationPlan.
type reading struct {
	schema
	*graph.Execution
	plan *graph.OperationPlan
	// What is read: the object with an id, and a page of its library.
	id      string
	tenant  *string          // in which a URL is looked up, or nil
	page    *graph.PageField // or nil
	request graph.PageRequest
	owner   principal.ID                                              // of the page
	library func(context.Context) (*library.LibraryConnection, error) // returns the page
	found   graph.Object
	errs    gqlerror.List
}

// begin determines what to read. It reports false if the generated code must execute the operation.
func (r *reading) begin(ctx context.Context) bool {
	if r.plan.Field.Name == "viewer" {
		r.id = string(r.Viewer.User)
		return !r.Viewer.SignedIn() || r.preparePage(ctx)
	}
	var ok bool
	if r.id, ok = r.plan.ID(r.Variables); !ok {
		return false
	}
	if key := r.plan.Field.Name == "byKey"; key || r.plan.Field.Name == "contentByUrl" {
		r.tenant, ok = r.plan.Tenant(r.Variables)
		return ok && (!key || isItemKey(r.id))
	}
	switch kind := id.KindOf(r.id); {
	case kind == id.Malformed:
		return false
	case kind == id.User || kind == id.Group:
		return r.preparePage(ctx)
	}
	// The id is that of an item, a lease, a paste or a suggestion. Of these, the plan of the field
	// node can write only items. The fields user, group and principal are null for all of them, and
	// content for all but items.
	return r.plan.Field.Name != "node" || id.KindOf(r.id) == id.Content
}

// isItemKey reports whether a key is that of an item. No plan can write what others name.
func isItemKey(text string) bool {
	key, err := parseKey(text)
	return err == nil && key.Kind == urlname.Content
}

// preparePage determines which page to read of the library of the user or group with the id.
func (r *reading) preparePage(ctx context.Context) bool {
	owner, err := principal.ParseID(r.id)
	if err != nil {
		return false
	}
	r.owner = owner
	if r.page = r.plan.PageOf(owner); r.page == nil {
		return true
	}
	var ok bool
	r.request, ok = r.page.Request(ctx, r.OperationContext)
	return ok
}

var errUnknownValue = errors.New("a value that was read is not in the schema")

// execute reads the object and the page of its library, and writes them. An error of either makes the
// object null, because a page is not nullable.
func (r *reading) execute(ctx context.Context) gqlerror.List {
	ctx = r.In(ctx)
	field := r.plan.Field
	if !r.try(ctx, r.object, field) || r.page != nil && r.found.Principal != nil && !r.try(ctx, r.readPage, field, r.page.Field) {
		r.found = graph.Object{}
	}
	if !r.plan.Write(&r.found, r.Body) {
		r.try(ctx, func(context.Context) error { return errUnknownValue }, field)
		r.plan.Write(&graph.Object{}, r.Body)
	}
	return r.errs
}

// try calls read, and reports whether it succeeded. An error or a panic is one of the last field, which
// the first fields contain. After the end of the operation it is none: the answer has failed.
func (r *reading) try(ctx context.Context, read func(context.Context) error, path ...graphql.CollectedField) (ok bool) {
	fail := func(problem func(ctx context.Context) error) {
		at := r.at(ctx, path...)
		err := problem(at) // logs a panic
		if ctx.Err() != nil {
			r.Body.End()
			return
		}
		r.Error(at, err)
		r.errs = append(r.errs, graphql.GetErrors(at)...)
	}
	defer func() {
		if v := recover(); v != nil {
			fail(func(at context.Context) error { return r.Recover(at, v) })
		}
	}()
	err := read(ctx)
	if err != nil {
		fail(func(at context.Context) error { return graphql.AddFieldLocationToError(at, err) })
	}
	return err == nil
}

// at returns a context for the generated code, of a field of Query or of one below it.
func (r *reading) at(ctx context.Context, path ...graphql.CollectedField) context.Context {
	ctx = graphql.WithFieldContext(r.Resolving(ctx), &graphql.FieldContext{Object: "Query"})
	for _, field := range path {
		ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Field: field})
	}
	return ctx
}

// object reads the object of the field of Query. It begins the page, which is read at the same time.
func (r *reading) object(ctx context.Context) error {
	if r.page != nil {
		r.library = r.root.Listing.Begin(ctx, r.Viewer, r.owner, r.request.Query)
	}
	found, err := r.lookUp(ctx)
	switch o := found.(type) {
	case *principal.User:
		if o != nil {
			r.found.Principal = &o.Header
		}
	case *principal.Group:
		r.found.Principal = &o.Header
	case *library.Content:
		if o != nil {
			r.found.Item = graph.RowOf(o)
		}
	}
	return err
}

// lookUp calls the method that resolves the field of Query.
func (r *reading) lookUp(ctx context.Context) (any, error) {
	q := queries{r.root}
	switch field := r.plan.Field.Name; field {
	case "viewer":
		return q.Viewer(ctx)
	case "content":
		return q.Content(ctx, r.id)
	case "contentByUrl":
		return q.ContentByURL(ctx, r.id, r.tenant)
	case "byKey":
		return q.ByKey(ctx, r.id, r.tenant)
	case "node":
		nodes, err := q.nodes(ctx, []string{r.id})
		if err != nil {
			return nil, err
		}
		return nodes[0], nil
	case "user":
		return q.principal(ctx, field, r.id, id.User)
	case "group":
		return q.principal(ctx, field, r.id, id.Group)
	default:
		return q.principal(ctx, field, r.id, id.User, id.Group)
	}
}

// readPage reads the page of a user or a group. If a field of it has an error, the generated code
// resolves it: it reports the errors, and reads again only what it has to.
func (r *reading) readPage(ctx context.Context) error {
	conn, err := r.library(ctx)
	if err != nil {
		return err
	}
	r.Body.Hold(conn.Bytes())
	if len(r.request.Plan.Texts) > 0 {
		r.Loaders.Page(conn.Edges)
	}
	if r.found.Page, err = r.root.fill(ctx, conn, r.request.Plan, loadCreatorsOnce); err == nil {
		return nil
	}
	r.Loaders.Page(conn.Edges)
	at := r.at(ctx, r.plan.Field, r.page.Field)
	r.found.Page, r.found.Resolved = nil, r.Generated.Page(at, r.Execution, conn)
	if r.errs = append(r.errs, graphql.GetErrors(at)...); r.found.Resolved == graphql.Null {
		r.found = graph.Object{}
	}
	return nil
}

// loadCreatorsOnce loads the creators of the only page of an operation.
func loadCreatorsOnce(ctx context.Context, rows []graph.Row) error {
	ids := make([]principal.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].Node.Creator
	}
	found, err := loaders(ctx).Principals.LoadOnce(ctx, ids)
	if err != nil {
		return err
	}
	for i, p := range found {
		rows[i].Creator, _ = p.(*principal.User)
	}
	return nil
}
