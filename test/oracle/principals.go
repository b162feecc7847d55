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
	got, r, ok := perform(g, v, in, in.IdempotencyKey, g.createUserAs, g.w.createUser, g.svc.People.CreateUser)
	if !ok {
		return
	}
	if !r.again {
		g.w.principals[id] = &someone{id: id, name: in.DisplayName, email: in.Email, visibility: in.Visibility}
	}
	samePrincipal(g, v, id, got)
}

func (w *world) createUser(r *request, in principal.CreateUser) (f faults) {
	f.add(in.Name == "a b", "INVALID", "name")
	f.add(badName(in.DisplayName), "INVALID", "displayName")
	f.add(badEmail(in.Email), "INVALID", "email")
	if f = r.check(f); f != nil {
		return f
	}
	id := principal.UserID(in.Tenant, in.Name)
	mayCreate := r.v.user == id || r.v.administers(id.Tenant()) && !w.gone[r.v.user]
	return w.createPrincipal(r, id, in.Email, mayCreate)
}

// createPrincipal returns the faults of the creation of a user or a group with valid input.
func (w *world) createPrincipal(r *request, id principal.ID, email string, mayCreate bool) (f faults) {
	r.partition = string(id)
	if f = w.answered(r, r.partition); f != nil || r.again {
		return f
	}
	if !mayCreate {
		return faults{"FORBIDDEN"}
	}
	if f = w.recordCreation(r, string(id)); f != nil {
		return f
	}
	f.add(w.principals[id] != nil || w.gone[id] || w.hasEmail(id, email), "TAKEN")
	return f
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

// samePrincipal compares the answer of a mutation: a user or a group as v sees it now.
func samePrincipal[P interface {
	comparable
	Head() *principal.Header
}](g *game, v viewer, id principal.ID, got P) {
	g.Helper()
	var none P
	if sees := g.w.sees(v, id); sees != (got != none) {
		g.Fatalf("%+v sees %s: %t, but is shown %+v", v, id, sees, got)
	}
	if got != none {
		g.same("principal", g.w.principals[id].plain(), plainHeader(*got.Head()))
	}
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
	got, r, ok := perform(g, v, in, in.IdempotencyKey, g.updateUserAs, g.w.updateUser, g.svc.People.UpdateUser)
	if !ok {
		return
	}
	if !r.again {
		g.w.principals[id].update(in.DisplayName, in.Email, in.Visibility)
	}
	samePrincipal(g, v, id, got)
}

func (w *world) updateUser(r *request, in principal.UpdateUser) (f faults) {
	id := principal.ID(in.ID)
	f.add(!isUser(in.ID), "INVALID", "id")
	f.add(wrong(in.DisplayName, badName), "INVALID", "displayName")
	f.add(wrong(in.Email, badEmail), "INVALID", "email")
	f.add(in.Visibility.Set && in.Visibility.Value == nil, "INVALID", "visibility")
	f.add(!in.DisplayName.Set && !in.Email.Set && !in.Visibility.Set, "INVALID")
	if f = w.begin(r, f, id.Tenant(), in.ID); f != nil || r.again {
		return f
	}
	switch {
	case !w.sees(r.v, id):
		f.add(true, "NOT_FOUND", "id")
	case r.v.user != id && !r.v.administers(id.Tenant()):
		f.add(true, "FORBIDDEN")
	case in.Email.Set:
		f.add(w.hasEmail(id, *in.Email.Value), "TAKEN")
	}
	return f
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
