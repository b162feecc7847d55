package oracle

import (
	"cmp"
	"maps"
	"slices"

	"carrel/core/clock"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// world is the model: what exists, and who has which role.
type world struct {
	now        clock.Instant
	principals map[principal.ID]*someone
	gone       map[principal.ID]bool // deleted ones
	items      map[library.ContentID]*item
	pastes     map[paste.ID]*pasted
	requests   map[requestID]string   // the hash of each request that was answered
	creations  map[creationID]created // what keys have been used to create
	claims     map[requestID]string   // the ids that such a key does not create with an earlier input
}

// someone is a user or a group.
type someone struct {
	id         principal.ID
	name       string
	email      string
	visibility principal.Visibility
	members    map[principal.ID]principal.GroupRole // of a group
}

// item is a content. A deleted one stays in the model, because its id is not used again.
type item struct {
	id           library.ContentID
	kind         library.ContentKind
	title        string
	description  *string
	link         *string
	url          string // in canonical form; "" if it has none
	visibility   principal.Visibility
	creator      principal.ID
	created      clock.Instant
	lastModified clock.Instant
	version      int
	expiresAt    *clock.Instant
	members      map[principal.ID]library.ContentRole
	deleted      bool
}

type requestID struct {
	partition string
	user      principal.ID
	key       string
}

type creationID struct {
	user principal.ID
	key  string
}

type created struct{ hash, id string }

func newWorld(now clock.Instant) *world {
	return &world{
		now:        now,
		principals: map[principal.ID]*someone{},
		gone:       map[principal.ID]bool{},
		items:      map[library.ContentID]*item{},
		pastes:     map[paste.ID]*pasted{},
		requests:   map[requestID]string{},
		creations:  map[creationID]created{},
		claims:     map[requestID]string{},
	}
}

// viewer is the caller of an operation.
type viewer struct {
	user          principal.ID
	admin, global bool
}

// fresh is the viewer of one request.
func (v viewer) fresh() *principal.Viewer {
	return &principal.Viewer{User: v.user, Admin: v.admin, GlobalAdmin: v.global}
}

func (v viewer) signedIn() bool { return v.user != "" }

func (v viewer) administers(tenant string) bool {
	return v.global || v.admin && v.user.Tenant() == tenant
}

// stored reports whether the viewer's user exists.
func (w *world) stored(v viewer) bool { return w.principals[v.user] != nil }

// levels is the maximum depth of nested groups through which a membership counts.
const levels = 8

// groups returns the groups that p is in, directly or through levels of groups, with its
// strongest role in each.
func (w *world) groups(p principal.ID) map[principal.ID]principal.GroupRole {
	in := map[principal.ID]principal.GroupRole{}
	if p == "" {
		return in
	}
	reached := map[principal.ID]bool{p: true}
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

// sees reports whether v may see a principal.
func (w *world) sees(v viewer, id principal.ID) bool {
	p := w.principals[id]
	switch {
	case p == nil:
		return false
	case p.visibility == principal.Public || v.administers(id.Tenant()):
		return true
	case !v.signedIn():
		return false
	case id == v.user || w.groups(v.user)[id] != principal.NotInGroup:
		return true
	}
	return p.visibility == principal.LoggedIn && v.user.Tenant() == id.Tenant()
}

// managesGroup reports whether v may change a group.
func (w *world) managesGroup(v viewer, group principal.ID) bool {
	return v.administers(group.Tenant()) || w.groups(v.user)[group] == principal.GroupManager
}

// role returns the strongest role of a principal on an item, direct or through groups.
func (w *world) role(p principal.ID, c *item) library.ContentRole {
	if p == "" {
		return library.NoRole
	}
	role := c.members[p]
	for g := range w.groups(p) {
		role = max(role, c.members[g])
	}
	return role
}

// exists reports whether anybody could see the item now.
func (w *world) exists(c *item) bool {
	return c != nil && !c.deleted && (c.expiresAt == nil || *c.expiresAt > w.now)
}

// reads reports whether v may see an item.
func (w *world) reads(v viewer, c *item) bool {
	switch {
	case !w.exists(c):
		return false
	case c.visibility == principal.Public || v.administers(c.id.Tenant()) || w.role(v.user, c) != library.NoRole:
		return true
	}
	return c.visibility == principal.LoggedIn && v.signedIn() && v.user.Tenant() == c.id.Tenant()
}

// managesItem reports whether v may manage an item.
func (w *world) managesItem(v viewer, c *item) bool {
	return v.administers(c.id.Tenant()) || w.role(v.user, c) == library.Manages
}

// bucket returns the bucket of owner's library that v reads.
func (w *world) bucket(v viewer, owner principal.ID) principal.Visibility {
	switch {
	case v.administers(owner.Tenant()):
		return principal.Private
	case !v.signedIn():
		return principal.Public
	case v.user == owner || w.groups(v.user)[owner] != principal.NotInGroup:
		return principal.Private
	case v.user.Tenant() == owner.Tenant():
		return principal.LoggedIn
	}
	return principal.Public
}

// inBucket reports whether an item of owner's library belongs in one of the library's buckets.
func inBucket(bucket principal.Visibility, c *item, owner principal.ID) bool {
	switch bucket {
	case principal.Private:
		return true
	case principal.LoggedIn:
		return c.visibility == principal.Public || c.visibility == principal.LoggedIn && c.id.Tenant() == owner.Tenant()
	}
	return c.visibility == principal.Public
}

// library returns what v is shown of owner's library, oldest first, and the number of entries
// in the bucket it reads.
func (w *world) library(v viewer, owner principal.ID, includeShared bool) (shown []*item, count int) {
	bucket := w.bucket(v, owner)
	for _, c := range w.items {
		if c.deleted || c.members[owner] == library.NoRole {
			continue
		}
		in := inBucket(bucket, c, owner)
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

// membersSeen returns the ids in m that v may see, in order.
func membersSeen[R any](w *world, v viewer, m map[principal.ID]R) []principal.ID {
	ids := slices.Sorted(maps.Keys(m))
	return slices.DeleteFunc(ids, func(id principal.ID) bool { return !w.sees(v, id) })
}
