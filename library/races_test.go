package library_test

import (
	"context"
	"testing"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// revocation ends the rights of bob, who has them through the group crew, or by a role of his own.
type revocation struct {
	name string
	// member is the member of the item through which bob has his rights.
	member string
	revoke func(h *domaintest.Fixture)
}

var revocations = []revocation{
	{"bob leaves the group", "g:acme:crew", func(h *domaintest.Fixture) { h.MustSet(domaintest.Ann(), "g:acme:crew", "u:acme:bob=") }},
	{"the group loses its own membership", "g:acme:all",
		func(h *domaintest.Fixture) { h.MustSet(domaintest.Ann(), "g:acme:all", "g:acme:crew=") }},
	{"bob is deleted, in the group", "g:acme:crew", func(h *domaintest.Fixture) { markDeleted(h, "u:acme:bob") }},
	{"bob is deleted, with a role of his own", "u:acme:bob", func(h *domaintest.Fixture) { markDeleted(h, "u:acme:bob") }},
	{"the group is deleted", "g:acme:crew", func(h *domaintest.Fixture) { markDeleted(h, "g:acme:crew") }},
}

// markDeleted decides the deletion of a principal, and removes nothing that depends on it yet.
func markDeleted(h *domaintest.Fixture, id principal.ID) {
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

// enroll creates ann, bob and cid, the group crew of ann and bob, and the group all of ann and crew.
func enroll(h *domaintest.Fixture) {
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cid"} {
		h.User(u, principal.Public)
	}
	h.Group("g:acme:crew", "u:acme:ann", principal.Public)
	h.MustSet(domaintest.Ann(), "g:acme:crew", "u:acme:bob=MEMBER")
	h.Group("g:acme:all", "u:acme:ann", principal.Public)
	h.MustSet(domaintest.Ann(), "g:acme:all", "g:acme:crew=MEMBER")
}

// seqOf returns the Seq of an item.
func seqOf(h *domaintest.Fixture, id library.ContentID) int64 { return h.Content(id).Seq }

// A mutation of an actor whose rights were revoked changes nothing that was decided after the
// revocation, wherever between two of its reads and writes the revocation and that change come.
func TestMutations_OfRevokedActorsChangeNothingLater(t *testing.T) {
	title := "by bob"
	private := principal.Private
	mutations := map[string]func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID) error{
		"updateContent": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID) error {
			_, err := h.Library.UpdateContent(ctx, v, library.UpdateContent{ID: string(id), Title: input.Some(&title),
				Visibility: input.Some(&private)})
			return err
		},
		"shareContent": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID) error {
			_, err := h.Library.ShareContent(ctx, v, library.ShareContent{Content: string(id), Principals: []string{"u:acme:cid"},
				Role: library.Manages})
			return err
		},
		"setContentMembers": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID) error {
			_, err := h.Library.SetContentMembers(ctx, v, library.SetContentMembers{Content: string(id),
				Members: domaintest.MemberChanges("u:acme:cid=EDITOR")})
			return err
		},
		"moveContent": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID) error {
			url := "https://example.com/bob"
			_, err := h.Library.MoveContent(ctx, v, library.MoveContent{ID: string(id), URL: input.Some(&url)})
			return err
		},
		"deleteContent": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer, id library.ContentID) error {
			_, err := h.Library.DeleteContent(ctx, v, library.DeleteContent{ID: string(id)})
			return err
		},
	}
	for name, mutate := range mutations {
		for _, r := range revocations {
			t.Run(name+"/"+r.name, func(t *testing.T) {
				const id = library.ContentID("c:acme:n")
				var after int64
				var denied error
				domaintest.Between{
					Prepare: func(h *domaintest.Fixture) {
						enroll(h)
						h.Note("n", principal.Private, r.member+"=MANAGER")
					},
					Act: func(h *domaintest.Fixture) {
						denied = mutate(h.T.Context(), h, domaintest.Bob(), id)
					},
					Meanwhile: func(h *domaintest.Fixture) {
						r.revoke(h)
						if h.Content(id).State == commit.Live {
							h.Update(id, "by ann", 0)
						}
						after = seqOf(h, id)
					},
					Check: func(h *domaintest.Fixture) {
						if seq := seqOf(h, id); seq != after {
							h.T.Errorf("the item was changed after the revocation: seq %d, then %d; bob's answer is %v", after, seq, denied)
						}
					},
				}.Everywhere(t)
			})
		}
	}
}
