package library_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
)

func TestURLRecord_FencesOnlyTheStateThatWasRead(t *testing.T) {
	h := newURLs(t, nil)
	h.mustCreate(domaintest.As("u:acme:ann"), "one", pageA)
	record := library.URLRecord(h.Library)
	before := h.Content("c:acme:one")
	base := domaintest.WantFence(t, record, "c:acme:one", claim.URL("acme", pageB))
	after := h.Content("c:acme:one")
	if after.Seq != base || after.MTS <= before.MTS {
		t.Errorf("the fence made seq %d and mts %d of %d and %d", after.Seq, after.MTS, before.Seq, before.MTS)
	}
	after.Seq, after.MTS, after.Writers = before.Seq, before.MTS, before.Writers
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the fence changed (-before +after):\n%s", diff)
	}
	domaintest.WantFence(t, record, "c:acme:none", claim.URL("acme", pageB))
	if got := h.Content("c:acme:none").State; got != commit.Void {
		t.Errorf("the fence of an absent item made the state %d, want void", got)
	}
	h.Delete("c:acme:one")
	if look, err := record.Look(t.Context(), "c:acme:one", claim.URL("acme", pageA)); err != nil || look.Status != claim.Ended {
		t.Errorf("a deleted item: %+v, %v", look, err)
	}
}

// TestResume_FencesOnlyAnUndecidedChange: the entry of a change that may still be decided is
// fenced, once. That of a decided one is not.
func TestResume_FencesOnlyAnUndecidedChange(t *testing.T) {
	h := newURLs(t, nil)
	h.mustCreate(domaintest.As("u:acme:ann"), "one", pageA)
	h.Quiet()
	seq := h.Content("c:acme:one").Seq
	for _, c := range []struct {
		base   int64
		fenced bool
	}{{seq - 1, false}, {seq, true}, {seq, false}} {
		e := commit.Entry{ID: commit.EntryID{1}, Kind: commit.Content, Key: "c:acme:one", Base: c.base}
		if fenced, err := h.Background().Resume(t.Context(), e); err != nil || fenced != c.fenced {
			t.Errorf("base %d: fenced %t, %v", c.base-seq, fenced, err)
		}
		if c.fenced {
			seq++
		}
		if got := h.Content("c:acme:one").Seq; got != seq {
			t.Fatalf("base %d: the item has seq %d, want %d", c.base, got, seq)
		}
	}
}

// overtaking is a store with an item whose compare-and-set applies between two reads of a
// contender. The contender runs when the compare-and-set is sent, and reads the item serially.
type overtaking struct {
	library.ContentStore
	id      library.ContentID
	contend func()
	reads   int // before the compare-and-set applies; 0: it is not held up
	land    func()
}

func (o *overtaking) Commit(ctx context.Context, c *library.ContentCommit) (verdict commit.Verdict, err error) {
	if c.ID != o.id || o.reads == 0 || o.land != nil {
		return o.ContentStore.Commit(ctx, c)
	}
	o.land = func() { verdict, err = o.ContentStore.Commit(ctx, c) }
	o.contend()
	return verdict, err
}

func (o *overtaking) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	rows, err := o.ContentStore.Read(ctx, id, q)
	if id == o.id && q.Serial && o.land != nil {
		if o.reads--; o.reads == 0 {
			o.land()
		}
	}
	return rows, err
}

// TestURL_ContenderDoesNotOvertakeItsOwner: an owner with a slower clock has taken the claim of a
// URL. It commits at any moment while a contender, for whom the claim has lapsed, excludes it.
func TestURL_ContenderDoesNotOvertakeItsOwner(t *testing.T) {
	for _, created := range []bool{true, false} {
		for reads := 1; reads <= 2; reads++ {
			t.Run(fmt.Sprintf("created %t, after read %d", created, reads), func(t *testing.T) {
				store := &overtaking{id: "c:acme:one"}
				h := newURLs(t, func(s *domain.Store) { store.ContentStore, s.Contents = s.Contents, store })
				ann, bob := domaintest.As("u:acme:ann"), domaintest.As("u:acme:bob")
				if !created {
					h.mustCreate(ann, "one", pageB)
				}
				var contended error
				later := h.After(claim.TakenWithin + time.Second)
				store.contend = func() { contended = h.create(later, bob, "two", pageA, nil) }
				store.reads = reads
				own := func(svc *domain.Services) error {
					if created {
						return h.create(svc, ann, "one", pageA, nil)
					}
					return h.move(svc, ann, "c:acme:one", pageA)
				}
				domaintest.WantFaults(t, own(h.Services))
				domaintest.WantFaults(t, contended, "TAKEN url")
				if store.reads > 0 {
					t.Fatalf("the contender must read the owner %d times more", store.reads)
				}
				h.wantAt(pageA, "acme", "c:acme:one")
				if got := h.Content("c:acme:two"); got.CanonicalURL == pageA {
					t.Error("two items own the URL")
				}
				h.Quiet()
				h.WantClean()
			})
		}
	}
}
