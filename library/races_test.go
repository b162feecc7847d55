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
	// Only the role gives rights on a PRIVATE item; a PUBLIC one is seen without it.
	for _, visibility := range []principal.Visibility{principal.Private, principal.Public} {
		for name, mutate := range mutations {
			for _, r := range domaintest.Revocations() {
				t.Run(visibility.String()+"/"+name+"/"+r.Name, func(t *testing.T) {
					const id = library.ContentID("c:acme:n")
					var after int64
					var denied error
					domaintest.Between{
						Prepare: func(h *domaintest.Fixture) {
							h.Enroll()
							h.Note("n", visibility, r.Member+"=MANAGER")
						},
						Act: func(h *domaintest.Fixture) {
							denied = mutate(h.T.Context(), h, domaintest.Bob(), id)
						},
						Meanwhile: func(h *domaintest.Fixture) {
							r.Revoke(h)
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
}

// A member that moves between the groups of a member, while its groups are read level by level, gets no right
// that it had at no time.
func TestGroups_MovingMemberGetsNoRightInBetween(t *testing.T) {
	const id = library.ContentID("c:acme:n")
	title := "by bob"
	acts := map[string]func(h *domaintest.Fixture, v *principal.Viewer) (did bool){
		"look-up": func(h *domaintest.Fixture, v *principal.Viewer) bool {
			cs, err := h.Library.Contents(h.T.Context(), v, []library.ContentID{id})
			return err == nil && cs[0] != nil
		},
		"library of the group": func(h *domaintest.Fixture, v *principal.Viewer) bool {
			c, err := h.Listing.Library(h.T.Context(), v, "g:acme:team", library.LibraryQuery{})
			return err == nil && len(c.Nodes()) > 0
		},
		"what others share": func(h *domaintest.Fixture, v *principal.Viewer) bool {
			c, err := h.Listing.Library(h.T.Context(), v, "u:acme:ann", library.LibraryQuery{IncludeShared: true})
			return err == nil && len(c.Nodes()) > 0
		},
		"update": func(h *domaintest.Fixture, v *principal.Viewer) bool {
			_, err := h.Library.UpdateContent(h.T.Context(), v, library.UpdateContent{ID: string(id), Title: input.Some(&title)})
			return err == nil
		},
	}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			did := false
			domaintest.Between{
				Prepare: func(h *domaintest.Fixture) {
					for _, u := range []string{"u:acme:ann", "u:acme:bob"} {
						h.User(u, principal.Public)
					}
					for _, g := range []string{"g:acme:a", "g:acme:b", "g:acme:team"} {
						h.Group(g, "u:acme:ann", principal.Public)
					}
					h.MustSet(domaintest.Ann(), "g:acme:a", "u:acme:bob=MEMBER")
					h.MustSet(domaintest.Ann(), "g:acme:team", "g:acme:b=MEMBER")
					h.Note("n", principal.Private, "g:acme:team=EDITOR")
				},
				Act: func(h *domaintest.Fixture) { did = act(h, domaintest.Bob()) },
				Meanwhile: func(h *domaintest.Fixture) {
					h.MustSet(domaintest.Ann(), "g:acme:a", "u:acme:bob=")
					h.MustSet(domaintest.Ann(), "g:acme:team", "g:acme:a=MEMBER")
					h.MustSet(domaintest.Ann(), "g:acme:team", "g:acme:b=")
					h.MustSet(domaintest.Ann(), "g:acme:b", "u:acme:bob=MEMBER")
				},
				Check: func(h *domaintest.Fixture) {
					if did {
						h.T.Error("bob, who was at no time in a group of the team, had its rights")
					}
				},
			}.Everywhere(t)
		})
	}
}
