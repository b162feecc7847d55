package oracle

import (
	"carrel/library"
	"carrel/principal"
)

// deletePrincipal deletes a user or a group.
func (g *game) deletePrincipal() {
	v := g.viewer(func(viewer) bool { return true })
	id := g.principalID(v)
	if g.rarely(3) {
		id = string(v.user)
	}
	// The other operations of the game need most of the users.
	if len(g.w.principals) < 5 {
		return
	}
	g.deletePrincipalAs(v, id, g.key())
}

func (g *game) deletePrincipalAs(v viewer, id string, key *string) {
	mutation, plain := "deleteUser", any(principal.DeleteUser{ID: id})
	ofGroup := isGroup(id)
	if ofGroup {
		mutation, plain = "deleteGroup", principal.DeleteGroup{ID: id}
	}
	r := g.request(v, key, mutation, plain, func() { g.deletePrincipalAs(v, id, key) })
	again, want := g.w.deletePrincipal(v, id, key, r)
	var d *principal.Deletion
	var err error
	if ofGroup {
		d, err = g.svc.People.DeleteGroup(g.ctx, v.fresh(), principal.DeleteGroup{ID: id, IdempotencyKey: key})
	} else {
		d, err = g.svc.People.DeleteUser(g.ctx, v.fresh(), principal.DeleteUser{ID: id, IdempotencyKey: key})
	}
	if !g.agrees(mutation, id, v, want, err) {
		return
	}
	if d.ID != principal.ID(id) || !d.Complete {
		g.Fatalf("deleting %s is answered with %+v", id, d)
	}
	if !again {
		g.w.forget(principal.ID(id))
		g.w.remember(r, id)
	}
}

func (w *world) deletePrincipal(v viewer, id string, key *string, r *request) (again bool, f faults) {
	if !v.signedIn() {
		return false, faults{"UNAUTHENTICATED"}
	}
	f.add(!isPrincipal(id), "INVALID", "id")
	f.add(badKey(key), "INVALID", "idempotencyKey")
	if f != nil {
		return false, f
	}
	p := principal.ID(id)
	again, err := w.answered(r, id)
	switch {
	case err != nil:
		f.add(true, err.Error())
	case again:
	case w.actor(v, p.Tenant()) != nil:
		f = w.actor(v, p.Tenant())
	case !w.sees(v, p):
		f.add(true, "NOT_FOUND", "id")
	case p.IsUser() && v.user != p && !v.administers(p.Tenant()), p.IsGroup() && !w.managesGroup(v, p):
		f.add(true, "FORBIDDEN")
	}
	return again, f
}

// forget removes a principal from everything. Its id is not used again.
func (w *world) forget(p principal.ID) {
	delete(w.principals, p)
	w.gone[p] = true
	for _, g := range w.principals { // in any order
		delete(g.members, p)
	}
	for _, c := range w.items { // in any order
		delete(c.members, p)
	}
}

// lastManager reports whether a change would remove the last manager of an item.
func lastManager(members, changed map[principal.ID]library.ContentRole) bool {
	return managed(members, changed) == 0 && managed(members, nil) > 0
}
