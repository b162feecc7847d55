package oracle

import (
	"maps"
	"slices"
	"strconv"

	"github.com/google/go-cmp/cmp"

	"carrel/core/id"
	"carrel/core/input"
	"carrel/principal"
)

func (g *game) displayName() string {
	if g.rarely(25) {
		return one(g, []string{" ", "a\nb"})
	}
	return one(g, slices.Sorted(maps.Keys(nameForms)))
}

func badName(s string) bool  { return s == " " || s == "a\nb" }
func badEmail(s string) bool { return s == "nobody" }

func badKey(key *string) bool { return key != nil && *key == "" }

func (g *game) email() string {
	if g.rarely(25) {
		return "nobody"
	}
	return one(g, []string{"u0@example.com", "u1@example.com", "x@example.com", "y@example.com", "z@example.com"})
}

func (g *game) createUser() {
	u := one(g, g.users)
	v := g.viewer(func(v viewer) bool { return v.user == u || v.administers(u.Tenant()) })
	if v.signedIn() && g.rarely(3) {
		u = v.user
	}
	in := principal.CreateUser{
		Tenant: u.Tenant(), Name: u.Name(), DisplayName: g.displayName(), Email: g.email(), Visibility: g.visibility(), IdempotencyKey: g.key(),
	}
	if g.rarely(30) {
		in.Name = "a b"
	}
	g.createUserAs(v, in)
}

func (g *game) createUserAs(v viewer, in principal.CreateUser) {
	id := principal.UserID(in.Tenant, in.Name)
	plain := in
	plain.IdempotencyKey = nil
	r := g.request(v, in.IdempotencyKey, "createUser", plain, func() { g.createUserAs(v, in) })
	again, want := g.w.createUser(v, id, in, r)
	got, err := g.svc.People.CreateUser(g.ctx, v.fresh(), in)
	if !g.agrees("createUser", in, v, want, err) {
		return
	}
	if !again {
		g.w.principals[id] = &someone{id: id, name: in.DisplayName, email: in.Email, visibility: in.Visibility}
		g.w.remember(r, string(id))
	}
	g.sameUser(v, id, got)
}

func (w *world) createUser(v viewer, id principal.ID, in principal.CreateUser, r *request) (again bool, f faults) {
	if !v.signedIn() {
		return false, faults{"UNAUTHENTICATED"}
	}
	f.add(in.Name == "a b", "INVALID", "name")
	f.add(badName(in.DisplayName), "INVALID", "displayName")
	f.add(badEmail(in.Email), "INVALID", "email")
	f.add(badKey(in.IdempotencyKey), "INVALID", "idempotencyKey")
	if f != nil {
		return false, f
	}
	again, err := w.answered(r, string(id))
	if err != nil {
		return false, faults{err.Error()}
	}
	f.add(!again && v.user != id && (!v.administers(id.Tenant()) || w.gone[v.user]), "FORBIDDEN")
	if f != nil || again {
		return again, f
	}
	if err := w.recordCreation(r, string(id)); err != nil {
		return false, faults{err.Error()}
	}
	f.add(w.principals[id] != nil || w.gone[id] || w.hasEmail(id, in.Email), "TAKEN")
	return false, f
}

// hasEmail reports whether another user of id's tenant has an address.
func (w *world) hasEmail(id principal.ID, email string) bool {
	for other, p := range w.principals {
		if other != id && other.IsUser() && other.Tenant() == id.Tenant() && p.email == email {
			return true
		}
	}
	return false
}

// sameUser compares the answer of a mutation.
func (g *game) sameUser(v viewer, id principal.ID, got *principal.User) {
	g.Helper()
	if !g.w.sees(v, id) {
		if got != nil {
			g.Fatalf("%s is shown to %+v, who may not see it", id, v)
		}
		return
	}
	if got == nil {
		g.Fatalf("%s is not shown to %+v", id, v)
	}
	g.same("user", g.w.principals[id].plain(), plainHeader(got.Header))
}

func (g *game) sameGroup(v viewer, id principal.ID, got *principal.Group) {
	g.Helper()
	if !g.w.sees(v, id) {
		if got != nil {
			g.Fatalf("%s is shown to %+v, who may not see it", id, v)
		}
		return
	}
	if got == nil {
		g.Fatalf("%s is not shown to %+v", id, v)
	}
	g.same("group", g.w.principals[id].plain(), plainHeader(got.Header))
}

// same compares a value of the model with that of the Service.
func (g *game) same(what string, model, service any) {
	g.Helper()
	if diff := cmp.Diff(model, service); diff != "" {
		g.Fatalf("%s (-model +service):\n%s", what, diff)
	}
}

// plainPrincipal is what the model and a header have in common.
type plainPrincipal struct {
	ID          principal.ID
	Name, Email string
	Visibility  principal.Visibility
	Members     int
	Managers    int
}

func (p *someone) plain() plainPrincipal {
	managers := 0
	for _, role := range p.members {
		if role == principal.GroupManager {
			managers++
		}
	}
	return plainPrincipal{p.id, p.name, p.email, p.visibility, len(p.members), managers}
}

func plainHeader(h principal.Header) plainPrincipal {
	return plainPrincipal{h.ID, h.DisplayName, h.Email, h.Visibility, h.Members, h.Managers}
}

// optionalName draws the name in an update: none in half of the cases, and rarely null.
func (g *game) optionalName() input.Optional[*string] {
	if !g.rarely(2) {
		return input.Optional[*string]{}
	}
	if g.rarely(15) {
		return input.Some[*string](nil)
	}
	s := g.displayName()
	return input.Some(&s)
}

func (g *game) optionalVisibility() input.Optional[*principal.Visibility] {
	if !g.rarely(2) {
		return input.Optional[*principal.Visibility]{}
	}
	if g.rarely(15) {
		return input.Some[*principal.Visibility](nil)
	}
	x := g.visibility()
	return input.Some(&x)
}

func wrong(o input.Optional[*string], bad func(string) bool) bool {
	return o.Set && (o.Value == nil || bad(*o.Value))
}

// actor returns FORBIDDEN for viewers that neither exist nor administer the tenant, and for deleted ones.
func (w *world) actor(v viewer, tenant string) faults {
	if w.stored(v) || v.administers(tenant) && !w.gone[v.user] {
		return nil
	}
	return faults{"FORBIDDEN"}
}

func (g *game) updateUser() {
	u := one(g, g.users)
	v := g.viewer(func(v viewer) bool { return v.user == u || v.administers(u.Tenant()) })
	in := principal.UpdateUser{ID: string(u), DisplayName: g.optionalName(), Visibility: g.optionalVisibility(), IdempotencyKey: g.key()}
	if g.rarely(10) {
		in.ID = g.principalID(v)
	}
	if g.rarely(3) {
		e := g.email()
		in.Email = input.Some(&e)
	}
	g.updateUserAs(v, in)
}

func (g *game) updateUserAs(v viewer, in principal.UpdateUser) {
	id := principal.ID(in.ID)
	plain := in
	plain.IdempotencyKey = nil
	r := g.request(v, in.IdempotencyKey, "updateUser", plain, func() { g.updateUserAs(v, in) })
	again, want := g.w.updateUser(v, id, in, r)
	got, err := g.svc.People.UpdateUser(g.ctx, v.fresh(), in)
	if !g.agrees("updateUser", in, v, want, err) {
		return
	}
	if !again {
		g.w.principals[id].update(in.DisplayName, in.Email, in.Visibility)
		g.w.remember(r, in.ID)
	}
	g.sameUser(v, id, got)
}

func (w *world) updateUser(v viewer, id principal.ID, in principal.UpdateUser, r *request) (again bool, f faults) {
	if !v.signedIn() {
		return false, faults{"UNAUTHENTICATED"}
	}
	f.add(!isUser(in.ID), "INVALID", "id")
	f.add(wrong(in.DisplayName, badName), "INVALID", "displayName")
	f.add(wrong(in.Email, badEmail), "INVALID", "email")
	f.add(in.Visibility.Set && in.Visibility.Value == nil, "INVALID", "visibility")
	f.add(badKey(in.IdempotencyKey), "INVALID", "idempotencyKey")
	f.add(!in.DisplayName.Set && !in.Email.Set && !in.Visibility.Set, "INVALID")
	if f != nil {
		return false, f
	}
	if f = w.actor(v, id.Tenant()); f != nil {
		return false, f
	}
	again, err := w.answered(r, in.ID)
	switch {
	case err != nil:
		f.add(true, err.Error())
	case again:
	case !w.sees(v, id):
		f.add(true, "NOT_FOUND", "id")
	case v.user != id && !v.administers(id.Tenant()):
		f.add(true, "FORBIDDEN")
	case in.Email.Set:
		f.add(w.hasEmail(id, *in.Email.Value), "TAKEN")
	}
	return again, f
}

func (p *someone) update(name, email input.Optional[*string], visibility input.Optional[*principal.Visibility]) {
	if name.Set {
		p.name = *name.Value
	}
	if email.Set {
		p.email = *email.Value
	}
	if visibility.Set {
		p.visibility = *visibility.Value
	}
}

func isUser(globalID string) bool {
	return id.KindOf(globalID) == id.User
}

func isGroup(globalID string) bool {
	return id.KindOf(globalID) == id.Group
}

func isPrincipal(id string) bool { return isUser(id) || isGroup(id) }

func index(i int) string { return strconv.Itoa(i) }
