package oracle

import (
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// sameOutcome compares the answer of a mutation of an item: the item as the actor sees it now,
// its edge in the actor's own library, and, if it is not negative, the number of libraries
// concerned.
func (g *game) sameOutcome(r *request, out *library.ContentOutcome, libraries int) {
	g.Helper()
	v := r.v
	c := g.w.items[out.ID]
	sees := c != nil && g.w.reads(v, c)
	if sees != (out.Content != nil) {
		g.Fatalf("%+v sees %s: %t, but gets %+v", v, out.ID, sees, out.Content)
	}
	if sees {
		g.same("the item answered", c.plain(), plainContent(out.Content))
	}
	role := library.NoRole
	if sees {
		role = c.members[v.user]
	}
	if (role != library.NoRole) != (out.Edge != nil) {
		g.Fatalf("%+v has the role %q on %s, but gets the edge %+v", v, role, out.ID, out.Edge)
	}
	if out.Edge != nil && out.Edge.Role != role {
		g.Fatalf("%+v has the role %q on %s, but its edge has %q", v, role, out.ID, out.Edge.Role)
	}
	// A repetition for a hot item may run while its move is deferred.
	if !out.FanOut.Complete && !(r.again && g.hot) {
		g.Fatalf("the fan-out of %s has not been waited for", out.ID)
	}
	if libraries >= 0 && out.FanOut.Libraries != libraries {
		g.Fatalf("a change of %s concerns %d libraries, want %d", out.ID, out.FanOut.Libraries, libraries)
	}
}

// plainItem is what the model and a content have in common.
type plainItem struct {
	ID                library.ContentID
	Kind              library.ContentKind
	Title             string
	Description, Link *string
	Visibility        principal.Visibility
	Creator           principal.ID
	LastModified      clock.Instant
	Version           int
	ExpiresAt         *clock.Instant
	URL               string
}

func (c *item) plain() plainItem {
	return plainItem{c.id, c.kind, c.title, c.description, c.link, c.visibility, c.creator, c.lastModified, c.version, c.expiresAt, c.url}
}

func plainContent(c *library.Content) plainItem {
	return plainItem{c.ID, c.Kind, c.Title, c.Description, c.Link, c.Visibility, c.Creator, c.LastModified, c.Version,
		c.ExpiresAt, c.CanonicalURL}
}
