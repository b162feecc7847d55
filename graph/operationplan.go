package graph

import (
	"cmp"
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/answer"
	"carrel/library"
	"carrel/principal"
)

// OperationPlan is a query that is compiled as a whole, so that it is executed without the generated
// code. It has one field that reads a user, a group or an item, and below it only fields that
// need no further read, except one page of a library. ADR 36 says why. It is immutable and may be
// shared by operations.
type OperationPlan struct {
	// Field is the field of Query that reads the object.
	Field graphql.CollectedField
	// id is the argument that identifies the object, and tenant the tenant in which a URL is looked
	// up.
	id, tenant  argument
	query       plan[*Object]
	user, group principalPlan
	steps       int
}

// principalPlan writes a user or a group.
type principalPlan struct {
	below plan[*Object]
	page  *PageField // of its library, or nil if none is selected
}

// Object is the input of an OperationPlan: a user or group, an item, or nothing.
type Object struct {
	Principal *principal.Header
	Page      *Page             // of its library, if the plan needs it
	Resolved  graphql.Marshaler // the page, if the generated code has resolved it
	Item      *Row
	part      *answer.Part // to which the object is written
}

// readsOf maps the fields of Query that a plan can start with to the types that they return.
var readsOf = map[string][]string{
	"viewer": {"User"}, "user": {"User"}, "group": {"Group"}, "principal": {"User", "Group"},
	"content": {"Content"}, "node": {"User", "Group", "Content"}, "contentByUrl": {"Content"},
	// byKey may return other types too, for which the plan is not used.
	"byKey": {"Content"},
}

// idsOf names the argument that identifies the object, for the fields of Query where it is not id.
var idsOf = map[string]string{"contentByUrl": "url", "byKey": "key"}

// IsPlanned reports whether a plan can start with a field of Query.
func IsPlanned(field string) bool { return readsOf[field] != nil }

// ID returns the argument that identifies the object to read. ok is false if only the generated code
// can evaluate it.
func (p *OperationPlan) ID(variables map[string]any) (id string, ok bool) {
	value, _, err := p.id.of(variables)
	id, ok = value.(string)
	return id, ok && err == nil
}

// Tenant returns the argument tenant of the field that reads, or nil if it is null or missing. ok is
// false if only the generated code can evaluate it.
func (p *OperationPlan) Tenant(variables map[string]any) (tenant *string, ok bool) {
	value, _, err := p.tenant.of(variables)
	if value == nil || err != nil {
		return nil, err == nil
	}
	name, ok := value.(string)
	return &name, ok
}

// PageOf returns the selected page of a user's or group's library, or nil.
func (p *OperationPlan) PageOf(id principal.ID) *PageField {
	if id.IsGroup() {
		return p.group.page
	}
	return p.user.page
}

// Write writes the answer to body. If ok is false, nothing was written, because a value is not in the
// schema.
func (p *OperationPlan) Write(o *Object, body *answer.Body) (ok bool) {
	if !o.known() {
		return false
	}
	part := answer.Part{Body: body}
	o.part = &part
	capacity := 512
	if o.Page != nil {
		o.Page.part = &part
		capacity += 512 * len(o.Page.Rows)
	}
	part.End(p.query.append(body.Buffer(capacity), o))
	part.Join()
	body.Finish()
	return true
}

// partWriter writes to a part until its answer has failed.
type partWriter struct {
	part *answer.Part
	b    []byte // the buffer to append to
}

// Write implements io.Writer.
func (w *partWriter) Write(b []byte) (int, error) {
	if w.part.Body.Err() == nil {
		w.b = w.part.Cut(append(w.b, b...))
	}
	return len(b), nil
}

// known reports whether each non-null enum value has a name in the schema.
func (o *Object) known() bool {
	return (o.Principal == nil || o.Principal.Visibility.Valid()) && (o.Page == nil || o.Page.known()) &&
		(o.Item == nil || o.Item.knownItem())
}

// planOperation compiles an operation. It returns nil if the generated code must execute it.
func planOperation(ctx context.Context, op *graphql.OperationContext, pages *PlanCache) *OperationPlan {
	if op.Operation.Operation != ast.Query {
		return nil
	}
	c := operationCompiler{compiler: compiler{op: op}, ctx: ctx, pages: pages, plan: &OperationPlan{}}
	p := c.plan
	p.query = compile(&c.compiler, op.Operation.SelectionSet, c.field, queryImplementors)
	p.steps = c.want.steps
	if w := &c.want; w.Unplanned || p.Field.Field == nil || w.Creators || w.Permissions || len(w.Texts) > 0 {
		return nil
	}
	return p
}

type operationCompiler struct {
	compiler
	ctx   context.Context // of the operation that is planned
	pages *PlanCache
	plan  *OperationPlan
}

// field compiles a field of Query. Only one field may read, because the generated code reads several
// concurrently.
func (c *operationCompiler) field(f graphql.CollectedField) writer[*Object] {
	types := readsOf[f.Name]
	if types == nil || c.plan.Field.Field != nil {
		return nil
	}
	c.plan.Field = f
	c.plan.id = argumentOf(f, cmp.Or(idsOf[f.Name], "id"))
	c.plan.tenant = argumentOf(f, "tenant")
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
			return func(b []byte, o *Object) []byte {
				if o.Resolved != nil {
					w := &partWriter{o.part, b}
					o.Resolved.MarshalGQL(w)
					return w.b
				}
				return page.append(b, o.Page)
			}
		}
		write := principalFields[f.Name]
		if write == nil {
			return nil
		}
		return func(b []byte, o *Object) []byte { return write(b, o.Principal) }
	}, types)
}

// page compiles a field with the name library. It returns nil if the field cannot be planned.
func (c *operationCompiler) page(f graphql.CollectedField) *PageField {
	p := &PageField{Field: f, plan: c.pages.plan(c.op, f)}
	if p.plan.Unplanned || !p.bind(c.ctx, c.op) {
		return nil
	}
	c.want.steps += p.plan.steps
	return p
}

// RowOf returns an item in the form that plans write.
func RowOf(item *library.Content) *Row { return &Row{LibraryEdge: &library.LibraryEdge{Node: item}} }
