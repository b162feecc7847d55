package cassandra

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// How a session shares reads of the same rows (session/sharing.go).
const (
	readersAlone = 3   // this many readers do not wait
	busyLoad     = 100 // with so many statements in flight, only one reader does not wait
)

// waitingForShared counts the goroutines that wait for a shared read.
func waitingForShared() int {
	stacks := make([]byte, 8<<20)
	return len(waitsForShared.FindAll(stacks[:runtime.Stack(stacks, true)], -1))
}

var waitsForShared = regexp.MustCompile(`\[select[^\n]*\]:\ncarrel/cassandra/session\.\(\*sharing\[[^\n]*\]\)\.read\(`)

// openSlow opens a store on a node whose answers the test can hold back, and counts its requests.
// Its timeouts are long, and nothing is hedged.
func openSlow(t *testing.T) (*Store, *slowNode, *counter) {
	t.Helper()
	o := options(t)
	slow := newSlowNode(t, o.Hosts[0])
	counts := new(counter)
	o.Hosts, o.Timeout, o.HedgeAfter, o.Observe = []string{slow.address}, time.Minute, time.Hour, counts.add
	return open(t, o), slow, counts
}

// TestReadMany_ConcurrentReadersShareReads: all but the first few callers that want headers while
// these are being read share the next read of each, so that many concurrent readers cost hardly
// more statements than those few.
func TestReadMany_ConcurrentReadersShareReads(t *testing.T) {
	const items, readers = 5, 30
	s, slow, counts := openSlow(t)
	ids := make([]library.ContentID, items)
	people := make([]principal.ID, items)
	for n := range items {
		ids[n], people[n] = library.ContentID(fmt.Sprintf("c:t:shared%d", n)), principal.ID(fmt.Sprintf("u:t:shared%d", n))
		mustCommit(t, s, creation(ids[n], someTime))
	}
	for _, c := range []struct {
		doing string
		read  func() error
	}{
		{"read contents", func() error {
			rows, err := s.ReadMany(t.Context(), ids, nil)
			for i := range rows {
				if err == nil && rows[i].Header.ID != ids[i] {
					err = fmt.Errorf("instead of %s there is %q", ids[i], rows[i].Header.ID)
				}
			}
			return err
		}},
		{"read principals", func() error { _, err := s.ReadPrincipals(t.Context(), people); return err }},
	} {
		t.Run(c.doing, func(t *testing.T) {
			// This prepares the statement, which needs the node too.
			if err := c.read(); err != nil {
				t.Fatal(err)
			}
			counts.take()
			slow.hold()
			defer slow.release()
			ends := make(chan error, readers)
			read := func() { ends <- c.read() }
			go read()
			until(t, "the first reader", func() bool { inFlight, _ := s.Load(); return inFlight == items })
			for range readers - 1 {
				go read()
			}
			until(t, "the other readers", func() bool {
				inFlight, _ := s.Load()
				if inFlight > readersAlone*items {
					t.Fatalf("%d statements are in flight for %d headers", inFlight, items)
				}
				return waitingForShared() == items*(readers-readersAlone)
			})
			slow.release()
			for range readers {
				if err := <-ends; err != nil {
					t.Error(err)
				}
			}
			if n := counts.take()[c.doing+" ok"]; n != (readersAlone+1)*items {
				t.Errorf("%d readers of %d headers cost %d statements, want %d per header", readers, items, n, readersAlone+1)
			}
		})
	}
}

// TestReadMany_NoSeparateReadsWhileManyAreInFlight: if many statements are in flight already, the
// second reader of a header waits for a shared read and adds no load.
func TestReadMany_NoSeparateReadsWhileManyAreInFlight(t *testing.T) {
	const items = 5
	s, slow, counts := openSlow(t)
	wanted := make([]library.ContentID, items)
	for n := range wanted {
		wanted[n] = library.ContentID(fmt.Sprintf("c:t:wanted%d", n))
	}
	if _, err := s.ReadMany(t.Context(), wanted, nil); err != nil { // prepares the statement
		t.Fatal(err)
	}
	counts.take()
	slow.hold()
	defer slow.release()
	ends := make(chan error)
	asked := 0
	read := func(ids []library.ContentID) {
		asked++
		go func() { _, err := s.ReadMany(t.Context(), ids, nil); ends <- err }()
	}
	inFlight := func(n int) func() bool {
		return func() bool { now, _ := s.Load(); return now == n }
	}
	for n := 0; n < busyLoad; n += session.Width {
		others := make([]library.ContentID, session.Width)
		for i := range others {
			others[i] = library.ContentID(fmt.Sprintf("c:t:other%d", n+i))
		}
		read(others)
	}
	busy := asked * session.Width
	until(t, "the statements in flight", inFlight(busy))
	read(wanted)
	until(t, "the first reader", inFlight(busy+items))
	read(wanted)
	read(wanted)
	until(t, "the other readers", func() bool { return waitingForShared() == 2*items })
	if !inFlight(busy + items)() {
		t.Error("they have sent their own statements")
	}
	slow.release()
	for range asked {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if n := counts.take()["read contents ok"]; n != busy+2*items {
		t.Errorf("three readers of %d headers cost %d statements, want 2 per header", items, n-busy)
	}
}

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
	page := func() error {
		n, q := first, library.LibraryQuery{Descending: true}
		q.First = &n
		page, err := b.service.Library(t.Context(), &principal.Viewer{User: costOwner}, costOwner, q)
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
