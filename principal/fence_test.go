package principal_test

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
	"carrel/principal"
)

func TestEmailRecord_FencesOnlyTheStateThatWasRead(t *testing.T) {
	h := domaintest.New(t, nil)
	domaintest.WantFaults(t, createAt(h, h.Services, "u:acme:ann", "a@example.com"))
	record := principal.EmailRecord(h.People)
	before := h.Header("u:acme:ann")
	base := domaintest.WantFence(t, record, "u:acme:ann", claim.Email("acme", "b@example.com"))
	after := h.Header("u:acme:ann")
	if after.Seq != base || after.MTS <= before.MTS {
		t.Errorf("the fence made seq %d and mts %d of %d and %d", after.Seq, after.MTS, before.Seq, before.MTS)
	}
	after.Seq, after.MTS, after.Writers = before.Seq, before.MTS, before.Writers
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the fence changed (-before +after):\n%s", diff)
	}
	domaintest.WantFence(t, record, "u:acme:none", claim.Email("acme", "b@example.com"))
	if got := h.Header("u:acme:none").State; got != commit.Void {
		t.Errorf("the fence of an absent user made the state %d, want void", got)
	}
	if _, err := h.People.DeleteUser(t.Context(), domaintest.As("u:acme:ann"), principal.DeleteUser{ID: "u:acme:ann"}); err != nil {
		t.Fatal(err)
	}
	if look, err := record.Look(t.Context(), "u:acme:ann", claim.Email("acme", "a@example.com")); err != nil || look.Status != claim.Ended {
		t.Errorf("a deleted user: %+v, %v", look, err)
	}
}

// overtaking is a store with a user whose compare-and-set applies between two reads of a
// contender. The contender runs when the compare-and-set is sent, and reads the user serially.
type overtaking struct {
	principal.Store
	id      principal.ID
	contend func()
	reads   int // before the compare-and-set applies; 0: it is not held up
	land    func()
}

func (o *overtaking) CommitPrincipal(ctx context.Context, c *principal.Commit) (verdict commit.Verdict, err error) {
	if c.ID != o.id || o.reads == 0 || o.land != nil {
		return o.Store.CommitPrincipal(ctx, c)
	}
	o.land = func() { verdict, err = o.Store.CommitPrincipal(ctx, c) }
	o.contend()
	return verdict, err
}

func (o *overtaking) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	rows, err := o.Store.ReadPrincipal(ctx, id, q)
	if id == o.id && q.Serial && o.land != nil {
		if o.reads--; o.reads == 0 {
			o.land()
		}
	}
	return rows, err
}

// TestEmail_ContenderDoesNotOvertakeItsOwner: an owner with a slower clock has taken the claim of
// an address. It commits at any moment while a contender, for whom the claim has lapsed, excludes
// it.
func TestEmail_ContenderDoesNotOvertakeItsOwner(t *testing.T) {
	for _, created := range []bool{true, false} {
		for reads := 1; reads <= 2; reads++ {
			t.Run(fmt.Sprintf("created %t, after read %d", created, reads), func(t *testing.T) {
				store := &overtaking{id: "u:acme:ann"}
				h := domaintest.New(t, func(s *domain.Store) { store.Store, s.Principals = s.Principals, store })
				const wanted = "wanted@example.com"
				if !created {
					domaintest.WantFaults(t, createAt(h, h.Services, "u:acme:ann", "a@example.com"))
				}
				var contended error
				later := h.After(claim.TakenWithin + time.Second)
				store.contend = func() { contended = createAt(h, later, "u:acme:bob", wanted) }
				store.reads = reads
				if created {
					domaintest.WantFaults(t, createAt(h, h.Services, "u:acme:ann", wanted))
				} else {
					domaintest.WantFaults(t, changeTo(h, "u:acme:ann", wanted))
				}
				domaintest.WantFaults(t, contended, "TAKEN email")
				if store.reads > 0 {
					t.Fatalf("the contender must read the owner %d times more", store.reads)
				}
				if ann, bob := h.Header("u:acme:ann").Email, h.Header("u:acme:bob").Email; ann != wanted || bob == wanted {
					t.Errorf("ann has the address %q, and bob %q", ann, bob)
				}
				h.Quiet()
				h.WantClean()
			})
		}
	}
}
