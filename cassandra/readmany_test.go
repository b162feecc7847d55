package cassandra

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// TestReadMany_HeadersOfAPageAreReadTogether: all headers of a page are read at the same time,
// including the extra one that shows whether there are more. So a page waits for two round trips
// and not for twenty.
func TestReadMany_HeadersOfAPageAreReadTogether(t *testing.T) {
	const first = 20
	o := options(t)
	slow := newSlowNode(t, o.Hosts[0])
	var holds atomic.Bool
	o.Hosts, o.Timeout, o.HedgeAfter = []string{slow.address}, time.Minute, time.Hour
	o.Observe = func(_ context.Context, seen session.Observation) {
		// Before the reader of the slice gets its result.
		if seen.Operation == "page a library" && holds.Load() {
			slow.hold()
		}
	}
	b := newCostFixtureOn(t, o)
	b.person(costOwner)
	for n := range 2 * first {
		b.storeItem(library.ContentID(fmt.Sprintf("c:t:item%02d", n)), someTime+clock.Instant(n), 0)
	}
	v := &principal.Viewer{User: costOwner} // the second page does not read the owner, so nothing else is in flight
	page := func() error {
		n, q := first, library.LibraryQuery{Descending: true}
		q.First = &n
		page, err := b.service.Listing.Library(t.Context(), v, costOwner, q)
		if err == nil && len(page.Edges) != first {
			err = fmt.Errorf("a page of %d", len(page.Edges))
		}
		return err
	}
	// This prepares the statements, which needs the node too.
	if err := page(); err != nil {
		t.Fatal(err)
	}
	defer slow.release()
	holds.Store(true)
	ended := make(chan error, 1)
	go func() { ended <- page() }()
	until(t, "all headers in flight", func() bool { inFlight, _ := b.store.Load(); return inFlight == first+1 })
	slow.release()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
