package principal_test

import (
	"context"
	"testing"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// A mutation of a group by an actor whose rights were revoked changes nothing that was decided after the
// revocation, wherever between two of its reads and writes the revocation and that change come.
func TestGroupMutations_OfRevokedActorsChangeNothingLater(t *testing.T) {
	const team = principal.ID("g:acme:team")
	name := "by bob"
	mutations := map[string]func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error{
		"updateGroup": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.People.UpdateGroup(ctx, v, principal.UpdateGroup{ID: string(team), DisplayName: input.Some(&name)})
			return err
		},
		"setGroupMembers": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.Set(v, string(team), "u:acme:cid=MANAGER")
			return err
		},
		"deleteGroup": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.People.DeleteGroup(ctx, v, principal.DeleteGroup{ID: string(team)})
			return err
		},
	}
	header := func(h *domaintest.Fixture) principal.Header {
		h.T.Helper()
		rows, err := h.Store.Principals.ReadPrincipal(h.T.Context(), team, principal.Query{})
		if err != nil {
			h.T.Fatal(err)
		}
		return rows.Header
	}
	for kind, mutate := range mutations {
		for _, r := range domaintest.Revocations() {
			t.Run(kind+"/"+r.Name, func(t *testing.T) {
				var after int64
				var denied error
				domaintest.Between{
					Prepare: func(h *domaintest.Fixture) {
						h.Enroll()
						h.Group(string(team), "u:acme:ann", principal.Public)
						h.MustSet(domaintest.Ann(), string(team), r.Member+"=MANAGER")
					},
					Act: func(h *domaintest.Fixture) { denied = mutate(h.T.Context(), h, domaintest.Bob()) },
					Meanwhile: func(h *domaintest.Fixture) {
						r.Revoke(h)
						after = 0
						if header(h).State == commit.Live { // else the deletion was decided before the revocation
							by := "by ann"
							_, err := h.People.UpdateGroup(h.T.Context(), domaintest.Ann(), principal.UpdateGroup{ID: string(team),
								DisplayName: input.Some(&by)})
							if err != nil {
								h.T.Fatal(err)
							}
							after = header(h).Seq
						}
					},
					Check: func(h *domaintest.Fixture) {
						if seq := header(h).Seq; after != 0 && seq != after {
							h.T.Errorf("the group was changed after the revocation: seq %d, then %d; bob's answer is %v", after, seq, denied)
						}
					},
				}.Everywhere(t)
			})
		}
	}
}
