package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"carrel/answer"
	"carrel/auth"
	"carrel/core/id"
	"carrel/dataloader"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// Answer answers an operation by its plan. If anything is unexpected, the executor must answer it,
// with the results of what was already read.
func (s schema) Answer(ctx context.Context, req *graph.Request) (answered bool, started context.Context) {
	p := req.Pages.Operation(ctx, req.Op)
	if p == nil || ctx.Err() != nil {
		return false, nil
	}
	r := &reading{Root: s.root, op: req.Op, body: req.Body, plan: p, viewer: auth.ViewerFrom(ctx)}
	if !r.begin(ctx) {
		return false, nil
	}
	ctx = s.root.withLoaders(ctx)
	if r.read(ctx) && (req.Body.Err() != nil || p.Write(&r.found, req.Body)) {
		return true, nil
	}
	if conn, ok := r.outcomes.page.value.(*library.LibraryConnection); ok {
		dataloader.From(ctx).Page(conn.Edges) // the generated code loads fields of them
	}
	return false, context.WithValue(ctx, outcomesKey{}, &r.outcomes)
}

// reading is the execution of an OperationPlan.
type reading struct {
	*Root
	op     *graphql.OperationContext
	body   *answer.Body
	plan   *graph.OperationPlan
	viewer *principal.Viewer
	// What is read: the object with an id, and a page of its library.
	id       string
	tenant   *string          // in which a URL is looked up, or nil
	page     *graph.PageField // or nil
	request  graph.PageRequest
	outcomes outcomes
	found    graph.Object
}

// begin determines what to read. It reports false if the executor must report an error in the id or
// the arguments.
func (r *reading) begin(ctx context.Context) bool {
	if r.plan.Field == "viewer" {
		r.id = string(r.viewer.User)
		return !r.viewer.SignedIn() || r.preparePage(ctx)
	}
	var ok bool
	if r.id, ok = r.plan.ID(r.op.Variables); !ok {
		return false
	}
	if r.plan.Field == "contentByUrl" || r.plan.Field == "byKey" {
		r.tenant, ok = r.plan.Tenant(r.op.Variables)
		return ok
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
	return r.plan.Field != "node" || id.KindOf(r.id) == id.Content
}

// preparePage determines which page to read of the library of the user or group with the id.
func (r *reading) preparePage(ctx context.Context) bool {
	owner, err := principal.ParseID(r.id)
	if err != nil {
		return false
	}
	if r.page = r.plan.PageOf(owner); r.page == nil {
		return true
	}
	var ok bool
	r.request, ok = r.page.Request(ctx, r.op)
	return ok
}

// read reads the object and the page of its library. It reports whether that succeeded.
func (r *reading) read(ctx context.Context) bool {
	var object any
	if !r.outcomes.object.run(ctx, r.op, func() (err error) {
		object, err = r.object(ctx)
		r.outcomes.object.value = object
		return err
	}) {
		return false
	}
	switch o := object.(type) {
	case *principal.User:
		return r.principal(ctx, &o.Header)
	case *principal.Group:
		return r.principal(ctx, &o.Header)
	case *library.Content:
		r.found.Item = graph.RowOf(o)
	case nil:
	default: // byKey has found a branch, a revision, a draft or a suggestion
		return false
	}
	return true
}

// object reads the object of the field of Query with the method that resolves it. It returns nil if
// there is no object that the viewer may see.
func (r *reading) object(ctx context.Context) (any, error) {
	q := queries{r.Root}
	switch r.plan.Field {
	case "viewer":
		return untyped(q.viewerUser(ctx, r.prefetchPage))
	case "content":
		return untyped(q.Content(ctx, r.id))
	case "contentByUrl":
		return untyped(q.ContentByURL(ctx, r.id, r.tenant))
	case "byKey":
		return q.ByKey(ctx, r.id, r.tenant)
	case "node":
		nodes, err := q.nodes(ctx, []string{r.id}, r.prefetchPage)
		if err != nil {
			return nil, err
		}
		return nodes[0], nil
	case "user":
		return q.principal(ctx, r.prefetchPage, r.plan.Field, r.id, id.User)
	case "group":
		return q.principal(ctx, r.prefetchPage, r.plan.Field, r.id, id.Group)
	}
	return q.principal(ctx, r.prefetchPage, r.plan.Field, r.id, id.User, id.Group)
}

// untyped converts a nil pointer to a nil interface.
func untyped[T any](found *T, err error) (any, error) {
	if found == nil {
		return nil, err
	}
	return found, err
}

// prefetchPage starts to read the page at the same time as its owner.
func (r *reading) prefetchPage(ctx context.Context, owner principal.ID) {
	if r.page != nil && r.Listing.Prefetches() && !r.request.Query.IncludeShared { // see Root.prefetch
		r.Listing.Prefetch(ctx, r.viewer, owner, r.request.Query)
	}
}

// principal reads the page of a user or a group.
func (r *reading) principal(ctx context.Context, h *principal.Header) bool {
	r.found.Principal = h
	if r.page == nil {
		return true
	}
	return r.outcomes.page.run(ctx, r.op, func() error {
		conn, err := r.Listing.Library(ctx, r.viewer, h.ID, r.request.Query)
		if err != nil {
			return err
		}
		r.outcomes.page.value = conn
		r.body.Hold(conn.Bytes())
		if len(r.request.Plan.Texts) > 0 { // their arguments are read from the operation
			ctx = graphql.WithOperationContext(ctx, r.op)
			dataloader.From(ctx).Page(conn.Edges)
		}
		r.found.Page, err = r.fill(ctx, conn, r.request.Plan, loadCreatorsOnce)
		if err != nil {
			r.found.Page = nil
		}
		return nil
	}) && r.found.Page != nil
}

// loadCreatorsOnce loads the creators of the only page of an operation.
func loadCreatorsOnce(ctx context.Context, rows []graph.Row) error {
	ids := make([]principal.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].Node.Creator
	}
	found, err := dataloader.From(ctx).Principals.LoadOnce(ctx, ids)
	if err != nil {
		return err
	}
	for i, p := range found {
		rows[i].Creator, _ = p.(*principal.User)
	}
	return nil
}
