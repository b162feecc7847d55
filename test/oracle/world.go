package oracle

import (
	"cmp"
	"maps"
	"slices"

	"carrel/core/clock"
	"carrel/library"
)

// world is the model: what exists, and who has which role.
type world struct {
	now        clock.Instant
	principals map[library.PrincipalID]*principal
	items      map[library.ContentID]*item
	requests   map[requestID]string   // hash of what was answered
	creations  map[creationID]created // what keys have been used to create
	again      bool                   // the request under way was answered before
}

// principal is a user or a group.
type principal struct {
	id         library.PrincipalID
	name       string
	email      string
	visibility library.Visibility
	members    map[library.PrincipalID]library.GroupRole // of a group
}

// item is a content. A deleted one stays, because its id is not given out again.
type item struct {
	id           library.ContentID
	kind         library.ContentKind
	title        string
	description  *string
	link         *string
	visibility   library.Visibility
	creator      library.PrincipalID
	lastModified clock.Instant
	version      int
	expiresAt    *clock.Instant
	members      map[library.PrincipalID]library.ContentRole
	deleted      bool
}

type requestID struct {
	partition string
	user      library.PrincipalID
	key       string
}

type creationID struct {
	user library.PrincipalID
	key  string
}

type created struct{ hash, id string }

func newWorld(now clock.Instant) *world {
	return &world{
		now:        now,
		principals: map[library.PrincipalID]*principal{},
		items:      map[library.ContentID]*item{},
		requests:   map[requestID]string{},
		creations:  map[creationID]created{},
	}
}

// viewer is who asks.
type viewer struct {
	user          library.PrincipalID
	admin, global bool
}

// fresh is the viewer of one request.
func (v viewer) fresh() *library.Viewer {
	return &library.Viewer{User: v.user, Admin: v.admin, GlobalAdmin: v.global}
}

func (v viewer) signedIn() bool { return v.user != "" }

func (v viewer) administers(tenant string) bool {
	return v.global || v.admin && v.user.Tenant() == tenant
}

// stored tells whether the viewer's user exists.
func (w *world) stored(v viewer) bool { return w.principals[v.user] != nil }

// levels is through how many levels of groups a membership counts.
const levels = 8

// groups are those that p is in through as many levels, with its strongest role in
// each.
func (w *world) groups(p library.PrincipalID) map[library.PrincipalID]library.GroupRole {
	in := map[library.PrincipalID]library.GroupRole{}
	if p == "" {
		return in
	}
	reached := map[library.PrincipalID]bool{p: true}
	for range levels {
		next := maps.Clone(reached)
		for id, g := range w.principals {
			for m, role := range g.members {
				if reached[m] {
					in[id], next[id] = max(role, in[id]), true
				}
			}
		}
		reached = next
	}
	delete(in, p)
	return in
}

// sees tells whether v may see a principal.
func (w *world) sees(v viewer, id library.PrincipalID) bool {
	p := w.principals[id]
	switch {
	case p == nil:
		return false
	case p.visibility == library.Public || v.administers(id.Tenant()):
		return true
	case !v.signedIn():
		return false
	case id == v.user || w.groups(v.user)[id] != library.NotInGroup:
		return true
	}
	return p.visibility == library.LoggedIn && v.user.Tenant() == id.Tenant()
}

// manages tells whether v may change a group.
func (w *world) manages(v viewer, group library.PrincipalID) bool {
	return v.administers(group.Tenant()) || w.groups(v.user)[group] == library.GroupManager
}

// role is the strongest role of a principal on an item, direct or through
// groups.
func (w *world) role(p library.PrincipalID, c *item) library.ContentRole {
	if p == "" {
		return library.NoRole
	}
	role := c.members[p]
	for g := range w.groups(p) {
		role = max(role, c.members[g])
	}
	return role
}

// exists tells whether anybody could see the item now.
func (w *world) exists(c *item) bool {
	return c != nil && !c.deleted && (c.expiresAt == nil || *c.expiresAt > w.now)
}

// reads tells whether v may see an item.
func (w *world) reads(v viewer, c *item) bool {
	switch {
	case !w.exists(c):
		return false
	case c.visibility == library.Public || v.administers(c.id.Tenant()) || w.role(v.user, c) != library.NoRole:
		return true
	}
	return c.visibility == library.LoggedIn && v.signedIn() && v.user.Tenant() == c.id.Tenant()
}

// directs tells whether v may change an item.
func (w *world) directs(v viewer, c *item) bool {
	return v.administers(c.id.Tenant()) || w.role(v.user, c) == library.Manages
}

// bucket is the one of owner's library that v reads.
func (w *world) bucket(v viewer, owner library.PrincipalID) library.Visibility {
	switch {
	case v.administers(owner.Tenant()):
		return library.Private
	case !v.signedIn():
		return library.Public
	case v.user == owner || w.groups(v.user)[owner] != library.NotInGroup:
		return library.Private
	case v.user.Tenant() == owner.Tenant():
		return library.LoggedIn
	}
	return library.Public
}

// stands tells whether a member's item belongs to what readers of a bucket of
// owner's library are shown.
func stands(bucket library.Visibility, c *item, owner library.PrincipalID) bool {
	switch bucket {
	case library.Private:
		return true
	case library.LoggedIn:
		return c.visibility == library.Public || c.visibility == library.LoggedIn && c.id.Tenant() == owner.Tenant()
	}
	return c.visibility == library.Public
}

// library is what v is shown of owner's library, oldest first, and the number
// of entries in the bucket it reads.
func (w *world) library(v viewer, owner library.PrincipalID, includeShared bool) (shown []*item, count int) {
	bucket := w.bucket(v, owner)
	for _, c := range w.items {
		if c.deleted || c.members[owner] == library.NoRole {
			continue
		}
		in := stands(bucket, c, owner)
		if in {
			count++
		}
		if in && w.reads(v, c) || includeShared && v.signedIn() && w.exists(c) && w.role(v.user, c) != library.NoRole {
			shown = append(shown, c)
		}
	}
	slices.SortFunc(shown, func(a, b *item) int {
		return cmp.Or(cmp.Compare(a.lastModified, b.lastModified), cmp.Compare(a.id, b.id))
	})
	return shown, count
}

// membersSeen are the ids of m that v may see, in order.
func membersSeen[R any](w *world, v viewer, m map[library.PrincipalID]R) []library.PrincipalID {
	ids := slices.Sorted(maps.Keys(m))
	return slices.DeleteFunc(ids, func(id library.PrincipalID) bool { return !w.sees(v, id) })
}
