package domaintest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/pebblestore"
)

// Fixture has the Services of all domains on an embedded store, which is empty at first.
type Fixture struct {
	T     *testing.T
	Store domain.Store
	// Embedded is the embedded store behind Store; nil if that is another one.
	Embedded *pebblestore.Store
	Runtime  *sched.Real
	Journal  *journal.Journal
	*domain.Services
	marks int // items that Follower.WantNothing has created
}

// New returns a Fixture, which is closed at the end of the test. If wrap is not nil, it replaces
// parts of the store that the Services use.
func New(t *testing.T, wrap func(*domain.Store)) *Fixture {
	t.Helper()
	store := embedded(t)
	h := &Fixture{T: t, Store: store.Store, Embedded: store, Runtime: sched.NewReal()}
	t.Cleanup(h.Runtime.Close)
	if wrap != nil {
		wrap(&h.Store)
	}
	h.Journal = journal.New(t.Context(), h.Store.Journal, h.Runtime, nil)
	h.Services = Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &CountingNames{}, Remote: true,
	})
	return h
}

// embedded opens an empty embedded store, and closes it at the end of the test.
func embedded(t testing.TB) *pebblestore.Store {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatalf("opening the store: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return store
}

// must fails the test if there is an error. what says what was tried.
func (h *Fixture) must(err error, what string, args ...any) {
	h.T.Helper()
	if err != nil {
		h.T.Fatalf("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

// Quiet waits until nothing is in flight.
func (h *Fixture) Quiet() {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), 30*time.Second)
	defer cancel()
	h.must(h.Journal.Drain(ctx, h.Background()), "draining")
}

// WantClean waits until nothing is in flight, and fails the test if the audit finds a
// mistake.
func (h *Fixture) WantClean() {
	h.T.Helper()
	h.Quiet()
	r, err := h.Repair.Audit(h.T.Context())
	h.must(err, "auditing")
	if !r.Clean() || r.Deferred != 0 {
		h.T.Errorf("the audit found: %+v", r)
	}
}

// WantAudited fails the test if a change is in flight, or if the audit finds a mistake.
func (h *Fixture) WantAudited() {
	h.T.Helper()
	h.WantNothingInFlight()
	report, err := h.Repair.Audit(h.T.Context())
	if err != nil || !report.Clean() {
		h.T.Errorf("audit: %+v, %v", report, err)
	}
}

// CountingNames generates names of content by counting.
type CountingNames struct{ N atomic.Int64 }

// ContentName implements library.Namer.
func (c *CountingNames) ContentName(context.Context) (string, error) {
	return fmt.Sprintf("host/%d", c.N.Add(1)), nil
}

// WantNothingInFlight fails the test if a change is in flight.
func (h *Fixture) WantNothingInFlight() {
	h.T.Helper()
	h.must(h.Journal.Beat(h.T.Context()), "writing the in-flight list")
	inFlightLists, err := h.Store.Journal.InFlightLists(h.T.Context())
	if err != nil || len(inFlightLists) != 0 {
		h.T.Errorf("changes are still in flight: %v, %v", inFlightLists, err)
	}
}

// Later is the real runtime with a clock that is ahead by a fixed duration.
type Later struct {
	*sched.Real
	By time.Duration
}

// Now implements sched.Runtime.
func (l Later) Now() time.Time { return l.Real.Now().Add(l.By) }

// After returns the Services on the same store with a clock that is ahead by d.
func (h *Fixture) After(d time.Duration) *domain.Services {
	h.T.Helper()
	return Open(h.T, domain.Config{
		Store: h.Store, Runtime: Later{h.Runtime, d}, Journal: h.Journal, Names: &CountingNames{},
	})
}
