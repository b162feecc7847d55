package graph

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/answer"
	"carrel/library"
	"carrel/principal"
)

// OperationPlan is a query that is compiled as a whole, so that it is answered without
// gqlgen's executor: one field that reads a user, a group or an item, and below it what
// needs no further read, but for one page of a library. ADR 36 says why. It is never
// changed, and operations may share it.
type OperationPlan struct {
	// Field is the field of Query that reads the object.
	Field       string
	id          argument
	query       plan[*Object]
	user, group principalPlan
	steps       int
}

// principalPlan writes a user or a group.
type principalPlan struct {
	below plan[*Object]
	page  *PageField // of its library; nil: none
}

// Object is what an OperationPlan writes: a user or group, or an item, or neither.
type Object struct {
	Principal *principal.Header
	Page      *Page // of its library, where the plan wants one
	Item      *Row
}

// readsOf are the fields of Query that a plan may begin with, and what they answer.
var readsOf = map[string][]string{
	"viewer": {"User"}, "user": {"User"}, "group": {"Group"}, "principal": {"User", "Group"},
	"content": {"Content"}, "node": {"User", "Group", "Content"},
}

// IsPlanned reports whether a field of Query may be the beginning of a plan.
func IsPlanned(field string) bool { return readsOf[field] != nil }

// ID returns the argument id of the field that reads. ok is false where only the executor
// knows what the argument means.
func (p *OperationPlan) ID(variables map[string]any) (id string, ok bool) {
	value, _, err := p.id.of(variables)
	id, ok = value.(string)
	return id, ok && err == nil
}

// PageOf returns the page that is selected of a user's or a group's library; nil if there
// is none.
func (p *OperationPlan) PageOf(id principal.ID) *PageField {
	if id.IsGroup() {
		return p.group.page
	}
	return p.user.page
}

// Write writes the answer to body. ok is false where the generated code has to report a
// value that the schema does not know; nothing is written then.
func (p *OperationPlan) Write(o *Object, body *answer.Body) (ok bool) {
	if !o.known() {
		return false
	}
	part := answer.Part{Body: body}
	room := 512
	if o.Page != nil {
		o.Page.part = &part
		room += 512 * len(o.Page.Rows)
	}
	part.End(p.query.append(body.Buffer(room), o))
	_, _ = part.WriteTo(body) // a Body reports what is wrong by Err
	body.Finish()
	return true
}

// known reports whether all that is never null in the schema has a name there.
func (o *Object) known() bool {
	return (o.Principal == nil || o.Principal.Visibility.Valid()) && (o.Page == nil || o.Page.known()) &&
		(o.Item == nil || o.Item.knownItem())
}

// planOperation compiles an operation; nil: the executor has to run it.
func planOperation(ctx context.Context, op *graphql.OperationContext, pages *Pages) *OperationPlan {
	if op.Operation.Operation != ast.Query {
		return nil
	}
	c := operationCompiler{compiler: compiler{op: op}, ctx: ctx, pages: pages, plan: &OperationPlan{}}
	p := c.plan
	p.query = compile(&c.compiler, op.Operation.SelectionSet, c.field, queryImplementors)
	p.steps = c.want.steps
	if w := &c.want; w.Unplanned || p.Field == "" || w.Creators || w.Permissions || len(w.Texts) > 0 {
		return nil
	}
	return p
}

type operationCompiler struct {
	compiler
	ctx   context.Context // of the operation that is planned
	pages *Pages
	plan  *OperationPlan
}

// field compiles a field of Query. There is one that reads: the executor reads for several
// at once.
func (c *operationCompiler) field(f graphql.CollectedField) writer[*Object] {
	types := readsOf[f.Name]
	if types == nil || c.plan.Field != "" {
		return nil
	}
	c.plan.Field, c.plan.id = f.Name, argumentOf(f, "id")
	if slices.Contains(types, "User") {
		c.principal(&c.plan.user, f.Selections, userImplementors)
	}
	if slices.Contains(types, "Group") {
		c.principal(&c.plan.group, f.Selections, groupImplementors)
	}
	var item plan[*Row]
	if slices.Contains(types, "Content") {
		item = c.content(f.Selections)
	}
	user, group := c.plan.user.below, c.plan.group.below
	return func(b []byte, o *Object) []byte {
		switch {
		case o.Item != nil:
			return item.append(b, o.Item)
		case o.Principal == nil:
			return appendNull(b)
		case o.Principal.ID.IsGroup():
			return group.append(b, o)
		}
		return user.append(b, o)
	}
}

func (c *operationCompiler) principal(p *principalPlan, below ast.SelectionSet, types []string) {
	p.below = compile(&c.compiler, below, func(f graphql.CollectedField) writer[*Object] {
		if f.Name == "library" && p.page == nil {
			if p.page = c.page(f); p.page == nil {
				return nil
			}
			page := p.page.plan.below
			return func(b []byte, o *Object) []byte { return page.append(b, o.Page) }
		}
		write := principalFields[f.Name]
		if write == nil {
			return nil
		}
		return func(b []byte, o *Object) []byte { return write(b, o.Principal) }
	}, types)
}

// page compiles a field library; nil if it cannot be planned.
func (c *operationCompiler) page(f graphql.CollectedField) *PageField {
	p := &PageField{field: f, plan: c.pages.plan(c.op, f)}
	if p.plan.Unplanned || !p.bind(c.ctx, c.op) {
		return nil
	}
	c.want.steps += p.plan.steps
	return p
}

// RowOf returns an item as a plan writes it.
func RowOf(item *library.Content) *Row { return &Row{LibraryEdge: &library.LibraryEdge{Node: item}} }
