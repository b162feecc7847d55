package resolvers

import (
	"context"
	"fmt"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// Viewer returns the user of the signed-in viewer.
func (q queries) Viewer(ctx context.Context) (*principal.User, error) {
	return q.People.ViewerUser(ctx, viewer(ctx))
}

// Node returns the object with an id of any kind.
func (q queries) Node(ctx context.Context, globalID string) (library.Node, error) {
	if id.KindOf(globalID) == id.Malformed {
		return nil, malformed("node", globalID)
	}
	nodes, err := q.nodes(ctx, []string{globalID})
	if err != nil {
		return nil, err
	}
	return nodes[0], nil
}

// Nodes returns objects in the order of their ids.
func (q queries) Nodes(ctx context.Context, ids []string) ([]library.Node, error) {
	nodes, err := q.nodes(ctx, ids)
	for _, n := range nodes {
		if c, ok := n.(*library.Content); ok && c != nil {
			hold(ctx, c.Bytes())
		}
	}
	return nodes, err
}

func (q queries) nodes(ctx context.Context, ids []string) ([]library.Node, error) {
	nodes, err := q.ItemsByID.Nodes(ctx, viewer(ctx), ids)
	if err == nil {
		err = q.suggestions(ctx, ids, nodes)
	}
	if err == nil {
		err = q.pastes(ctx, ids, nodes)
	}
	loaders := loaders(ctx)
	for _, n := range nodes {
		if c, ok := n.(*library.Content); ok && c != nil {
			loaders.Items(c)
		}
	}
	return nodes, err
}

// suggestions adds the suggestions among the ids to the nodes.
func (q queries) suggestions(ctx context.Context, ids []string, nodes []library.Node) error {
	for i, globalID := range ids {
		if id.KindOf(globalID) != id.Suggestion {
			continue
		}
		s, err := q.Notes.Suggestion(ctx, viewer(ctx), globalID)
		if err != nil {
			return err
		}
		if s != nil {
			nodes[i] = s
		}
	}
	return nil
}

// Principal returns a user or a group.
func (q queries) Principal(ctx context.Context, globalID string) (principal.Principal, error) {
	return q.principal(ctx, "principal", globalID, id.User, id.Group)
}

// User returns a user.
func (q queries) User(ctx context.Context, globalID string) (*principal.User, error) {
	p, err := q.principal(ctx, "user", globalID, id.User)
	u, _ := p.(*principal.User)
	return u, err
}

// Group returns a group.
func (q queries) Group(ctx context.Context, globalID string) (*principal.Group, error) {
	p, err := q.principal(ctx, "group", globalID, id.Group)
	g, _ := p.(*principal.Group)
	return g, err
}

// Principals searches users and groups of a tenant. The results need not be read again elsewhere in
// the operation.
func (q queries) Principals(ctx context.Context, tenant string, prefix *string, first *int, after *string) (*principal.Connection, error) {
	found, err := q.People.FindPrincipals(ctx, viewer(ctx), principal.Search{
		PageArgs: cursor.PageArgs{First: first, After: after}, Tenant: tenant, Prefix: prefix,
	})
	if err != nil {
		return nil, err
	}
	loaders := loaders(ctx)
	for _, p := range found.Nodes() {
		loaders.Principals.Prime(p.PrincipalID(), p)
	}
	return found, nil
}

// Content returns an item.
func (q queries) Content(ctx context.Context, globalID string) (*library.Content, error) {
	if kind := id.KindOf(globalID); kind == id.Malformed {
		return nil, malformed("content", globalID)
	} else if kind != id.Content {
		return nil, nil
	}
	items, err := q.ItemsByID.Contents(ctx, viewer(ctx), []library.ContentID{library.ContentID(globalID)})
	if err != nil || items[0] == nil {
		return nil, err
	}
	loaders(ctx).Items(items[0])
	return items[0], nil
}

// Limits returns the limits in force.
func (q queries) Limits(context.Context) (*graph.Limits, error) {
	limits := q.Root.Limits
	return &limits, nil
}

// principal returns the principal with an id. It returns nil for a well-formed id of another kind
// than kinds.
func (q queries) principal(ctx context.Context, field, globalID string, kinds ...id.Kind) (principal.Principal, error) {
	kind := id.KindOf(globalID)
	if kind == id.Malformed {
		return nil, malformed(field, globalID)
	}
	for _, k := range kinds {
		if k == kind {
			return q.principalOf(ctx, globalID)
		}
	}
	return nil, nil
}

func (q queries) principalOf(ctx context.Context, id string) (principal.Principal, error) {
	parsed, err := principal.ParseID(id)
	if err != nil {
		return nil, err
	}
	found, err := q.PeopleByID.Principals(ctx, viewer(ctx), []principal.ID{parsed})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// malformed returns the error for a malformed id. It says what is wrong with it, if it begins like an
// id, and which forms ids have.
func malformed(field, globalID string) error {
	why := ""
	if _, err := id.Parse(globalID); err != nil {
		why = ": " + err.Error()
	}
	others := ""
	if field == "node" {
		others = fmt.Sprintf("; of leases and pastes l: or p: and %d hexadecimal digits; of suggestions such digits", id.RandomDigits)
	}
	return fault.BadInputf("%s: the id is malformed%s; ids of users, groups and content have the form "+
		"u:<tenant>:<name>, g:<tenant>:<name> or c:<tenant>:<name>%s", field, why, others)
}
