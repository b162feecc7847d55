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
	if isGroup(id) {
		g.deleteGroupAs(v, principal.DeleteGroup{ID: id, IdempotencyKey: g.key()})
	} else {
		g.deleteUserAs(v, principal.DeleteUser{ID: id, IdempotencyKey: g.key()})
	}
}

func (g *game) deleteGroupAs(v viewer, in principal.DeleteGroup) {
	model := func(r *request, in principal.DeleteGroup) faults { return g.w.deletePrincipal(r, in.ID) }
	if d, r, ok := perform(g, v, in, in.IdempotencyKey, g.deleteGroupAs, model, g.svc.People.DeleteGroup); ok {
		g.forget(r, principal.ID(in.ID), d)
	}
}

func (g *game) deleteUserAs(v viewer, in principal.DeleteUser) {
	model := func(r *request, in principal.DeleteUser) faults { return g.w.deletePrincipal(r, in.ID) }
	if d, r, ok := perform(g, v, in, in.IdempotencyKey, g.deleteUserAs, model, g.svc.People.DeleteUser); ok {
		g.forget(r, principal.ID(in.ID), d)
	}
}

// forget compares the answer to a deletion, and makes the same deletion in the model.
func (g *game) forget(r *request, id principal.ID, d *principal.Deletion) {
	g.Helper()
	if d.ID != id || !d.Complete {
		g.Fatalf("deleting %s is answered with %+v", id, d)
	}
	if !r.again {
		g.w.forget(id)
	}
}

func (w *world) deletePrincipal(r *request, id string) (f faults) {
	f.add(!isPrincipal(id), "INVALID", "id")
	if f = r.check(f); f != nil {
		return f
	}
	r.partition = id
	if f = w.answered(r, id); f != nil || r.again {
		return f
	}
	v, p := r.v, principal.ID(id)
	switch {
	case w.actor(v, p.Tenant()) != nil:
		f = w.actor(v, p.Tenant())
	case !w.sees(v, p):
		f.add(true, "NOT_FOUND", "id")
	case p.IsUser() && v.user != p && !v.administers(p.Tenant()), p.IsGroup() && !w.managesGroup(v, p):
		f.add(true, "FORBIDDEN")
	}
	return f
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
