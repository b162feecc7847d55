package library_test

import (
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/library"
)

// An outcome that is older than a day binds its key no more: whoever uses the key
// for other inputs then is answered by what is, and not by that outcome.
func TestCreate_AnExpiredOutcomeBindsItsKeyNoMore(t *testing.T) {
	for _, c := range creations {
		t.Run(c.name, func(t *testing.T) {
			// The clock of the store stands still, so that it forgets nothing.
			h := newHouse(t, nil)
			clock := &calendar{Real: h.runtime}
			clock.at.Store(time.Now().UnixMicro())
			svc, err := library.New(t.Context(), library.Config{Store: h.store, Runtime: clock, Journal: h.journal, Names: &counting{}})
			if err != nil {
				t.Fatal(err)
			}
			h.svc = svc
			h.user("u:acme:ann", library.Public)
			wantTold(t, c.create(h, "key", "x", "first"))
			wantTold(t, c.create(h, "key", "x", "second"), "IDEMPOTENCY_MISMATCH")
			clock.pass(24*time.Hour + time.Minute)
			// The key is fixed to the taken name again, and its attempt refused. Then the
			// next input finds the expired outcome of the first under that name.
			for _, title := range []string{"second", "third"} {
				if err := c.create(h, "key", "x", title); fault.ReasonOf(err) == fault.ReasonIdempotencyMismatch || err == nil {
					t.Errorf("%s under a taken name: %v", title, err)
				}
			}
			wantTold(t, c.create(h, "key", "y", "fourth"))
			wantTold(t, c.create(h, "key", "y", "fifth"), "IDEMPOTENCY_MISMATCH")
			h.quiet()
			h.wantClean()
		})
	}
}
