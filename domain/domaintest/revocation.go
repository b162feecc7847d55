package domaintest

import (
	"carrel/core/commit"
	"carrel/principal"
)

// Revocation ends the rights of bob, who has them through the group crew, or by a role of his own.
type Revocation struct {
	Name string
	// Member is the member of an item or a group through which bob has his rights.
	Member string
	Revoke func(h *Fixture)
}

// Revocations returns the ways to lose a right, after Enroll.
func Revocations() []Revocation {
	return []Revocation{
		{"bob leaves the group", "g:acme:crew", func(h *Fixture) { h.MustSet(Ann(), "g:acme:crew", "u:acme:bob=") }},
		{"the group loses its own membership", "g:acme:all",
			func(h *Fixture) { h.MustSet(Ann(), "g:acme:all", "g:acme:crew=") }},
		{"bob is deleted, in the group", "g:acme:crew", func(h *Fixture) { h.MarkDeleted("u:acme:bob") }},
		{"bob is deleted, with a role of his own", "u:acme:bob", func(h *Fixture) { h.MarkDeleted("u:acme:bob") }},
		{"the group is deleted", "g:acme:crew", func(h *Fixture) { h.MarkDeleted("g:acme:crew") }},
	}
}

// MarkDeleted decides the deletion of a principal, and removes nothing that depends on it yet.
func (h *Fixture) MarkDeleted(id principal.ID) {
	h.T.Helper()
	rows, err := h.Store.Principals.ReadPrincipal(h.T.Context(), id, principal.Query{})
	if err != nil {
		h.T.Fatal(err)
	}
	after := rows.Header
	after.State, after.Managers, after.Members = commit.Deleted, 0, 0
	after.Seq, after.MTS = after.Seq+1, after.MTS+1
	v, err := h.Store.Principals.CommitPrincipal(h.T.Context(), &principal.Commit{ID: id, Base: rows.Header.Seq, Header: after})
	if err != nil || !v.Applied {
		h.T.Fatalf("deleting %s: %+v, %v", id, v, err)
	}
}

// Enroll creates ann, bob and cid, the group crew of ann and bob, and the group all of ann and crew.
func (h *Fixture) Enroll() {
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cid"} {
		h.User(u, principal.Public)
	}
	h.Group("g:acme:crew", "u:acme:ann", principal.Public)
	h.MustSet(Ann(), "g:acme:crew", "u:acme:bob=MEMBER")
	h.Group("g:acme:all", "u:acme:ann", principal.Public)
	h.MustSet(Ann(), "g:acme:all", "g:acme:crew=MEMBER")
}
