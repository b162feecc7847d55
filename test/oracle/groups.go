package oracle

import (
	"slices"

	"carrel/core/input"
	"carrel/principal"
)

func (g *game) createGroup() {
	id := one(g, g.groups)
	v := g.viewer(func(v viewer) bool { return g.w.stored(v) && (v.global || v.user.Tenant() == id.Tenant()) })
	in := principal.CreateGroup{
		Tenant: id.Tenant(), Name: id.Name(), DisplayName: g.displayName(), Visibility: g.visibility(), IdempotencyKey: g.key(),
	}
	if g.rarely(30) {
		in.Tenant = "-"
	}
	g.createGroupAs(v, in)
}

func (g *game) createGroupAs(v viewer, in principal.CreateGroup) {
	id := principal.GroupID(in.Tenant, in.Name)
	got, r, ok := perform(g, v, in, in.IdempotencyKey, g.createGroupAs, g.w.createGroup, g.svc.People.CreateGroup)
	if !ok {
		return
	}
	if !r.again {
		g.w.principals[id] = &someone{
			id: id, name: in.DisplayName, visibility: in.Visibility,
			members: map[principal.ID]principal.GroupRole{v.user: principal.GroupManager},
		}
	}
	samePrincipal(g, v, id, got)
}

func (w *world) createGroup(r *request, in principal.CreateGroup) (f faults) {
	f.add(in.Tenant == "-", "INVALID", "tenant")
	f.add(badName(in.DisplayName), "INVALID", "displayName")
	if f = r.check(f); f != nil {
		return f
	}
	mayCreate := w.stored(r.v) && (r.v.user.Tenant() == in.Tenant || r.v.global)
	return w.createPrincipal(r, principal.GroupID(in.Tenant, in.Name), "", mayCreate)
}

func (g *game) updateGroup() {
	in := principal.UpdateGroup{ID: g.group(), DisplayName: g.optionalName(), Visibility: g.optionalVisibility(), IdempotencyKey: g.key()}
	id := principal.ID(in.ID)
	v := g.groupManager(id)
	g.updateGroupAs(v, in)
}

func (g *game) updateGroupAs(v viewer, in principal.UpdateGroup) {
	id := principal.ID(in.ID)
	got, r, ok := perform(g, v, in, in.IdempotencyKey, g.updateGroupAs, g.w.updateGroup, g.svc.People.UpdateGroup)
	if !ok {
		return
	}
	if !r.again {
		g.w.principals[id].update(in.DisplayName, input.Optional[*string]{}, in.Visibility)
	}
	samePrincipal(g, v, id, got)
}

func (w *world) updateGroup(r *request, in principal.UpdateGroup) (f faults) {
	id := principal.ID(in.ID)
	f.add(!isGroup(in.ID), "INVALID", "id")
	f.add(wrong(in.DisplayName, badName), "INVALID", "displayName")
	f.add(in.Visibility.Set && in.Visibility.Value == nil, "INVALID", "visibility")
	f.add(!in.DisplayName.Set && !in.Visibility.Set, "INVALID")
	if f = w.begin(r, f, id.Tenant(), in.ID); f != nil || r.again {
		return f
	}
	switch {
	case !w.sees(r.v, id):
		f.add(true, "NOT_FOUND", "id")
	case !w.managesGroup(r.v, id):
		f.add(true, "FORBIDDEN")
	}
	return f
}

func (g *game) setGroupMembers() {
	in := principal.SetGroupMembers{Group: g.group(), IdempotencyKey: g.key()}
	v := g.groupManager(principal.ID(in.Group))
	for _, id := range g.principalIDs(v) {
		c := principal.GroupMemberChange{Principal: id}
		if !g.rarely(3) {
			role := one(g, []principal.GroupRole{principal.GroupMember, principal.GroupManager})
			c.Role = &role
		}
		in.Members = append(in.Members, c)
	}
	if g.rarely(8) {
		in.Members = []principal.GroupMemberChange{{Principal: string(v.user)}}
	}
	g.setGroupMembersAs(v, in)
}

func (g *game) setGroupMembersAs(v viewer, in principal.SetGroupMembers) {
	id := principal.ID(in.Group)
	got, r, ok := perform(g, v, in, in.IdempotencyKey, g.setGroupMembersAs, g.w.setGroupMembers, g.svc.People.SetGroupMembers)
	if !ok {
		return
	}
	group := g.w.principals[id]
	if !r.again {
		for _, c := range in.Members {
			if p := principal.ID(c.Principal); c.Role == nil {
				delete(group.members, p)
			} else {
				group.members[p] = *c.Role
			}
		}
	}
	if group != nil && group.members[v.user] == principal.NotInGroup && removesOnly(in, v) {
		// A member that leaves is shown the group only if it may see it without being a member.
		if hidden := !v.administers(id.Tenant()) && (group.visibility == principal.Private ||
			group.visibility == principal.LoggedIn && v.user.Tenant() != id.Tenant()); hidden {
			if got != nil {
				g.Errorf("%s is shown to %+v, who has left it", id, v)
			}
			return
		}
	}
	samePrincipal(g, v, id, got)
}

// removesOnly reports whether the change only removes v.
func removesOnly(in principal.SetGroupMembers, v viewer) bool {
	return len(in.Members) == 1 && principal.ID(in.Members[0].Principal) == v.user && in.Members[0].Role == nil
}

func (w *world) setGroupMembers(r *request, in principal.SetGroupMembers) (f faults) {
	v, id := r.v, principal.ID(in.Group)
	f.add(!isGroup(in.Group), "INVALID", "groupId")
	ids := make([]string, len(in.Members))
	for i, c := range in.Members {
		ids[i] = c.Principal
	}
	f = append(f, wrongList(ids, "members", in.Group)...)
	if f = w.begin(r, f, id.Tenant(), in.Group); f != nil || r.again {
		return f
	}
	takesOut := w.takesOut(v, id, in)
	if !w.sees(v, id) && !takesOut {
		return faults{"NOT_FOUND groupId"}
	}
	group := w.principals[id]
	managers := group.plain().Managers
	for i, c := range in.Members {
		p := principal.ID(c.Principal)
		before := group.members[p]
		unseen := !w.sees(v, p) && (before == principal.NotInGroup || !w.managesGroup(v, id))
		f.add(c.Role != nil && unseen, "NOT_FOUND", "members", index(i), "principalId")
		if before == principal.GroupManager {
			managers--
		}
		if c.Role != nil && *c.Role == principal.GroupManager {
			managers++
		}
	}
	leaves := removesOnly(in, v)
	switch {
	case f != nil:
	case !leaves && !takesOut && !w.managesGroup(v, id):
		f.add(true, "FORBIDDEN")
	case managers == 0 && group.plain().Managers > 0:
		f.add(true, "LAST_MANAGER")
	}
	return f
}

// takesOut reports whether changes only remove members for which the viewer is responsible.
func (w *world) takesOut(v viewer, id principal.ID, in principal.SetGroupMembers) bool {
	group := w.principals[id]
	return group != nil && !slices.ContainsFunc(in.Members, func(c principal.GroupMemberChange) bool {
		p := principal.ID(c.Principal)
		mine := v.administers(p.Tenant()) || p.IsGroup() && w.managesGroup(v, p)
		return c.Role != nil || group.members[p] == principal.NotInGroup || !mine
	})
}

// wrongList returns the faults that a list of changes has whatever the state of the model is. self
// is an id that must not be in it.
func wrongList(ids []string, field, self string) (f faults) {
	f.add(len(ids) == 0, "INVALID", field)
	if f.add(len(ids) > 100, "TOO_MANY", field); len(ids) > 100 {
		return f
	}
	seen := map[string]bool{}
	for i, id := range ids {
		f.add(!isPrincipal(id) || seen[id] || id == self && isGroup(self), "INVALID", field, index(i), "principalId")
		seen[id] = true
	}
	return f
}
