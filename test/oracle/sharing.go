package oracle

import (
	"maps"
	"slices"

	"carrel/core/id"
	"carrel/library"
	"carrel/principal"
)

func (g *game) shareContent() {
	id := g.contentID()
	v := g.itemManager(id)
	if g.rarely(2) {
		v = g.viewer(func(v viewer) bool { return g.w.stored(v) && g.w.reads(v, g.w.items[library.ContentID(id)]) })
	}
	in := library.ShareContent{Content: id, Principals: g.principalIDs(v), Role: *g.role(), IdempotencyKey: g.key()}
	if g.rarely(3) {
		in.Role = library.Viewing
	}
	if g.rarely(5) {
		in.Principals, in.Role = []string{string(v.user)}, library.Viewing
	}
	g.shareContentAs(v, in)
}

func (g *game) shareContentAs(v viewer, in library.ShareContent) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.shareContentAs, g.w.shareContent, g.svc.Library.ShareContent)
	if !ok {
		return
	}
	libraries := -1
	if !r.again {
		c := g.w.items[library.ContentID(in.Content)]
		libraries = 0
		for _, id := range in.Principals {
			p := principal.ID(id)
			if before := c.members[p]; before < in.Role {
				c.members[p] = in.Role
				libraries++
			}
		}
	}
	g.sameOutcome(r, out, libraries)
	if r.again || out.Content == nil {
		return
	}
	distinct := slices.Clone(in.Principals)
	slices.Sort(distinct)
	if n := len(slices.Compact(distinct)); len(out.Edges) != n {
		g.Fatalf("shared with %d, got %d edges", n, len(out.Edges))
	}
}

func (w *world) shareContent(r *request, in library.ShareContent) (f faults) {
	v := r.v
	f.add(id.KindOf(in.Content) != id.Content, "INVALID", "contentId")
	f.add(len(in.Principals) == 0, "INVALID", "principalIds")
	if f.add(len(in.Principals) > 100, "TOO_MANY", "principalIds"); len(in.Principals) <= 100 {
		for i, id := range in.Principals {
			f.add(!isPrincipal(id), "INVALID", "principalIds", index(i))
		}
	}
	if f = w.begin(r, f, library.ContentID(in.Content).Tenant(), in.Content); f != nil || r.again {
		return f
	}
	c := w.items[library.ContentID(in.Content)]
	if !w.reads(v, c) {
		return faults{"NOT_FOUND contentId"}
	}
	for i, id := range in.Principals {
		p := principal.ID(id)
		repeated := slices.Index(in.Principals, id) < i
		f.add(!repeated && p != v.user && !w.sees(v, p), "NOT_FOUND", "principalIds", index(i))
	}
	if f != nil {
		return f
	}
	f.add(!w.managesItem(v, c) && w.sharesTooMuch(v, c, in), "FORBIDDEN")
	if f == nil {
		// Only principals that exist can have roles.
		for i, id := range in.Principals {
			f.add(w.principals[principal.ID(id)] == nil && slices.Index(in.Principals, id) == i, "NOT_FOUND", "principalIds", index(i))
		}
	}
	return f
}

// sharesTooMuch reports whether a viewer who does not manage an item would give more access
// than it may.
func (w *world) sharesTooMuch(v viewer, c *item, in library.ShareContent) bool {
	if c.visibility == principal.Private || in.Role != library.Viewing {
		return true
	}
	return slices.ContainsFunc(in.Principals, func(id string) bool {
		p := principal.ID(id)
		ofTenant := p.IsUser() && p.Tenant() == c.id.Tenant()
		return c.visibility != principal.Public && !ofTenant && p != v.user && w.role(p, c) == library.NoRole
	})
}

func (g *game) setContentMembers() {
	id := g.contentID()
	v := g.itemManager(id)
	in := library.SetContentMembers{Content: id, Members: g.changes(v, true), IdempotencyKey: g.key()}
	if g.rarely(8) {
		in.Members = []library.ContentMemberChange{{Principal: string(v.user)}}
	}
	g.setContentMembersAs(v, in)
}

func (g *game) setContentMembersAs(v viewer, in library.SetContentMembers) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.setContentMembersAs, g.w.setContentMembers, g.svc.Library.SetContentMembers)
	if !ok {
		return
	}
	libraries := -1
	if !r.again {
		libraries = g.w.items[library.ContentID(in.Content)].apply(rolesOf(in.Members))
	}
	g.sameOutcome(r, out, libraries)
}

func rolesOf(changes []library.ContentMemberChange) map[principal.ID]library.ContentRole {
	roles := map[principal.ID]library.ContentRole{}
	for _, c := range changes {
		role := library.NoRole
		if c.Role != nil {
			role = *c.Role
		}
		roles[principal.ID(c.Principal)] = role
	}
	return roles
}

// apply sets roles; it returns how many differ.
func (c *item) apply(roles map[principal.ID]library.ContentRole) (changed int) {
	for p, role := range roles {
		if c.members[p] != role {
			changed++
		}
		if role == library.NoRole {
			delete(c.members, p)
		} else {
			c.members[p] = role
		}
	}
	return changed
}

func (w *world) setContentMembers(r *request, in library.SetContentMembers) (f faults) {
	v := r.v
	f.add(id.KindOf(in.Content) != id.Content, "INVALID", "contentId")
	f = append(f, wrongList(idsOf(in.Members), "members", "")...)
	if f = w.begin(r, f, library.ContentID(in.Content).Tenant(), in.Content); f != nil || r.again {
		return f
	}
	c := w.items[library.ContentID(in.Content)]
	if !w.reads(v, c) {
		return faults{"NOT_FOUND contentId"}
	}
	for i, change := range in.Members {
		p := principal.ID(change.Principal)
		unseen := !w.sees(v, p) && (c.members[p] == library.NoRole || !w.managesItem(v, c))
		f.add(change.Role != nil && unseen, "NOT_FOUND", "members", index(i), "principalId")
	}
	if f != nil {
		return f
	}
	leaves := len(in.Members) == 1 && principal.ID(in.Members[0].Principal) == v.user && in.Members[0].Role == nil
	f.add(!leaves && !w.managesItem(v, c), "FORBIDDEN")
	if f == nil {
		f.add(lastManager(c.members, rolesOf(in.Members)), "LAST_MANAGER")
	}
	return f
}

func (g *game) removeFromLibrary() {
	id := g.contentID()
	p := g.memberOf(id)
	v := g.viewer(func(v viewer) bool {
		return v.user == p || v.administers(p.Tenant()) || g.w.groups(v.user)[p] == principal.GroupManager
	})
	if p.IsGroup() && g.rarely(2) {
		v = g.groupManager(p)
	}
	in := library.RemoveFromLibrary{Principal: string(p), Content: id, IdempotencyKey: g.key()}
	if g.rarely(6) {
		in.Principal = g.principalID(v)
	}
	g.removeFromLibraryAs(v, in)
}

func (g *game) removeFromLibraryAs(v viewer, in library.RemoveFromLibrary) {
	out, r, ok := perform(g, v, in, in.IdempotencyKey, g.removeFromLibraryAs, g.w.removeFromLibrary, g.svc.Library.RemoveFromLibrary)
	if !ok {
		return
	}
	if !r.again {
		delete(g.w.items[library.ContentID(in.Content)].members, principal.ID(in.Principal))
	}
	g.sameOutcome(r, out, 1)
}

// memberOf draws a principal, mostly a member of an item.
func (g *game) memberOf(id string) principal.ID {
	if c := g.w.items[library.ContentID(id)]; c != nil && len(c.members) > 0 && !g.rarely(8) {
		return one(g, slices.Sorted(maps.Keys(c.members)))
	}
	return one(g, slices.Concat(g.users, g.groups))
}

func (w *world) removeFromLibrary(r *request, in library.RemoveFromLibrary) (f faults) {
	v, p := r.v, principal.ID(in.Principal)
	f.add(!isPrincipal(in.Principal), "INVALID", "principalId")
	f.add(id.KindOf(in.Content) != id.Content, "INVALID", "contentId")
	if f = w.begin(r, f, p.Tenant(), in.Content); f != nil || r.again {
		return f
	}
	c := w.items[library.ContentID(in.Content)]
	switch {
	case !w.reads(v, c):
		f.add(true, "NOT_FOUND", "contentId")
	case !w.sees(v, p):
		f.add(true, "NOT_FOUND", "principalId")
	case p != v.user && !v.administers(p.Tenant()) && w.groups(v.user)[p] != principal.GroupManager:
		f.add(true, "FORBIDDEN")
	case c.members[p] == library.NoRole:
		f.add(true, "NOT_A_MEMBER")
	default:
		f.add(lastManager(c.members, map[principal.ID]library.ContentRole{p: library.NoRole}), "LAST_MANAGER")
	}
	return f
}

func (g *game) rebuildLibrary() {
	v := g.viewer(func(v viewer) bool { return v.admin || v.global })
	id := g.principalID(v)
	var want faults
	p := principal.ID(id)
	switch {
	case !v.signedIn():
		want.add(true, "UNAUTHENTICATED")
	case !isPrincipal(id):
		want.add(true, "INVALID", "principalId")
	case g.w.actor(v, p.Tenant()) != nil:
		want = g.w.actor(v, p.Tenant())
	case !g.w.sees(v, p):
		want.add(true, "NOT_FOUND", "principalId")
	case !v.administers(p.Tenant()):
		want.add(true, "FORBIDDEN")
	}
	out, err := g.svc.Repair.RebuildLibrary(g.ctx, v.fresh(), id)
	if g.agrees("rebuildLibrary", id, v, want, err) && (out.Restored != 0 || out.Removed != 0) {
		g.Fatalf("there was nothing to repair in the library of %s, but %d were restored and %d removed", id, out.Restored, out.Removed)
	}
}
