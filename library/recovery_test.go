package library_test

import (
	"context"
	"sync/atomic"
	"testing"

	"carrel/core/commit"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// serialReads counts the readings of items, and those that are not serial.
type serialReads struct {
	library.ContentStore
	all, plain atomic.Int32
}

func (r *serialReads) note(serial bool) {
	if r.all.Add(1); !serial {
		r.plain.Add(1)
	}
}

func (r *serialReads) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	r.note(q.Serial)
	return r.ContentStore.Read(ctx, id, q)
}

func (r *serialReads) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int,
	serial bool) (*library.ContentRows, error) {
	r.note(serial)
	return r.ContentStore.MembersPage(ctx, id, after, limit, serial)
}

// TestResume_ReadsSerially: a process that finishes a change of another has seen no
// acknowledgement of its compare-and-set, so that only a serial read is sure to return it.
func TestResume_ReadsSerially(t *testing.T) {
	reads := &serialReads{}
	h := domaintest.New(t, func(s *domain.Store) { reads.ContentStore, s.Contents = s.Contents, reads })
	h.User("u:acme:ann", principal.Public)
	id := h.Note("a", principal.Public)
	h.Quiet()
	base := h.Content(id).Seq - 1
	for name, finish := range map[string]func() error{
		"Resume": func() error {
			e := commit.Entry{Kind: commit.Content, Key: string(id), Base: base,
				Reach: commit.Reach{Scope: commit.ScopeAll, Principals: []string{"u:acme:ann"}, All: true}}
			_, err := h.Background().Resume(t.Context(), e)
			return err
		},
		"RepeatWalk": func() error { return h.Library.Upkeep.RepeatWalk(t.Context(), id, base) },
	} {
		t.Run(name, func(t *testing.T) {
			reads.all.Store(0)
			reads.plain.Store(0)
			if err := finish(); err != nil {
				t.Fatal(err)
			}
			if all, plain := reads.all.Load(), reads.plain.Load(); all == 0 || plain > 0 {
				t.Errorf("%d of %d readings were not serial", plain, all)
			}
		})
	}
}
