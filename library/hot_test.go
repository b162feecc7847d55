package library_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// busy is a journal whose list is more than half full: nothing is deferred.
type busy struct{ commit.Journal }

func (busy) MayDefer() bool { return false }

// TestMove_RemembersTheWidestVisibilityOfThePositionLeft: a position that an item leaves is
// remembered with the widest visibility that the item had there. Entries of it may be in the
// buckets of that visibility, even if the item became narrower before it moved.
func TestMove_RemembersTheWidestVisibilityOfThePositionLeft(t *testing.T) {
	for _, tc := range []struct {
		name string
		move func(ctx context.Context, busy *domain.Services, id library.ContentID) error
	}{
		{"by the deferred move", func(ctx context.Context, busy *domain.Services, id library.ContentID) error {
			_, err := busy.Library.Move(ctx, id, false)
			return err
		}},
		{"by an update that is not deferred", func(ctx context.Context, busy *domain.Services, id library.ContentID) error {
			_, err := busy.Library.UpdateContent(ctx, domaintest.As("u:acme:ann"),
				library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("third"))})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, m := meddledFixture(t)
			config := domain.Config{
				Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{},
				Tuning: library.Tuning{HotMoves: 1, HotPause: time.Hour},
			}
			deferring := domaintest.Open(t, config)
			config.Journal = busy{h.Journal}
			busy := domaintest.Open(t, config)
			id := h.Note("hot", principal.Public, "u:acme:ben=VIEWER")
			update := func(in library.UpdateContent) {
				t.Helper()
				in.ID = string(id)
				if _, err := deferring.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"), in); err != nil {
					t.Fatal(err)
				}
			}
			update(library.UpdateContent{Title: input.Some(domaintest.Ptr("second"))})
			at := h.Content(id).Position
			update(library.UpdateContent{Visibility: input.Some(domaintest.Ptr(principal.Private))})
			if h.Content(id).Position != at {
				t.Fatal("the item is not hot: it has moved")
			}
			var superseded []library.Superseded
			m.on(func() {
				m.commit = func(c *library.ContentCommit) (commit.Verdict, error) {
					if c.Supersede != nil {
						superseded = append(superseded, *c.Supersede)
					}
					return m.ContentStore.Commit(t.Context(), c)
				}
			})
			if err := tc.move(t.Context(), busy, id); err != nil {
				t.Fatal(err)
			}
			m.on(func() { m.commit = nil })
			if diff := cmp.Diff([]library.Superseded{{Position: at, Widest: principal.Public}}, superseded); diff != "" {
				t.Errorf("the positions left (-want +got):\n%s", diff)
			}
			h.WantClean()
		})
	}
}
