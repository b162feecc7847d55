package library_test

import (
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestCreate_ExpiredOutcomeFreesItsKey: an outcome that is older than a day no longer binds its
// key. A request that uses the key for other inputs is then answered by the present state, and not
// by that outcome.
func TestCreate_ExpiredOutcomeFreesItsKey(t *testing.T) {
	for _, c := range creations {
		t.Run(c.name, func(t *testing.T) {
			// The clock of the store does not advance, so that the store forgets nothing.
			h := domaintest.New(t, nil)
			clock := &calendar{Real: h.Runtime}
			clock.at.Store(time.Now().UnixMicro())
			svc := domaintest.Open(t, domain.Config{Store: h.Store, Runtime: clock, Journal: h.Journal, Names: &domaintest.CountingNames{}})
			h.Services = svc
			h.User("u:acme:ann", principal.Public)
			domaintest.WantFaults(t, c.create(h, "key", "x", "first"))
			domaintest.WantFaults(t, c.create(h, "key", "x", "second"), "IDEMPOTENCY_MISMATCH")
			clock.pass(24*time.Hour + time.Minute)
			// The key is fixed to the taken name again, and its attempt refused. Then the
			// next input finds the expired outcome of the first under that name.
			for _, title := range []string{"second", "third"} {
				if err := c.create(h, "key", "x", title); fault.ReasonOf(err) == fault.ReasonIdempotencyMismatch || err == nil {
					t.Errorf("%s under a taken name: %v", title, err)
				}
			}
			domaintest.WantFaults(t, c.create(h, "key", "y", "fourth"))
			domaintest.WantFaults(t, c.create(h, "key", "y", "fifth"), "IDEMPOTENCY_MISMATCH")
			h.Quiet()
			h.WantClean()
		})
	}
}

// TestCreate_ClaimDoesNotReviveADeletedID: a deleted id stays deleted when its key is used for
// another input. It cannot be created again.
func TestCreate_ClaimDoesNotReviveADeletedID(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	content := creations[0]
	domaintest.WantFaults(t, content.create(h, "one", "x", "first"))
	if err := content.create(h, "two", "x", "second"); err == nil {
		t.Fatal("a name was taken twice")
	}
	if _, err := h.Library.DeleteContent(t.Context(), domaintest.As("u:acme:ann"), library.DeleteContent{ID: "c:acme:x"}); err != nil {
		t.Fatal(err)
	}
	domaintest.WantFaults(t, content.create(h, "two", "y", "third"))
	if state := h.Content("c:acme:x").State; state != commit.Deleted {
		t.Errorf("the deleted item is in state %v", state)
	}
	if err := content.create(h, "three", "x", "fourth"); err == nil {
		t.Error("a deleted id was created again")
	}
	h.Quiet()
	h.WantClean()
}
