package timeline_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/timeline"
)

// After a page has read many expired entries, the next pages skip them, in both directions
// and across days, but still show new entries.
func TestRead_ReadsExpiredEntriesOnce(t *testing.T) {
	f := newFixture(t)
	f.rt.hold = true // no forecast runs
	f.put(timeline.Entry{Created: today - 9*day, ID: "oldest"}, true)
	for n := range 4000 {
		f.put(timeline.Entry{Created: today - day*clock.Instant(n/1000) + clock.Instant(n), ID: fmt.Sprint(n), Until: today}, true)
	}
	local := timeline.New(timeline.Config{Store: f.store, Runtime: f.rt})
	read := func(newer bool, want ...string) (slices int64) {
		t.Helper()
		f.store.slices.Store(0)
		p, err := timeline.Read(t.Context(), local, "f", timeline.Query{Size: 20, Newer: newer}, f.resolve)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, found := range p.Found {
			got = append(got, found.Entry.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("newer %t (-want +got):\n%s", newer, diff)
		}
		return f.store.slices.Load()
	}
	f.put(timeline.Entry{Created: today - 3*day + 2999, ID: "behind"}, true)
	first := read(false, "behind", "oldest")
	for _, newer := range []bool{false, true} {
		if n := read(newer, "behind", "oldest"); n*3 > first {
			t.Errorf("newer %t: %d slices after a page that took %d", newer, n, first)
		}
	}
	f.put(timeline.Entry{Created: clock.Of(f.rt.Now()).Add(-3 * time.Second), ID: "new"}, true)
	f.put(timeline.Entry{Created: today - 9*day + 1, ID: "older"}, true)
	read(false, "new", "behind", "older", "oldest")
	read(true, "new", "behind", "older", "oldest")
	f.put(timeline.Entry{Created: today - day, ID: "late"}, true)
	f.rt.elapsed.Add(int64(11 * time.Second))
	read(false, "new", "late", "behind", "older", "oldest")
	read(true, "new", "late", "behind", "older", "oldest")
}

// Many expired entries, at the head of a feed and across some days, cost the next page no additional round
// trip: it reads the newer entries and the first day after the gap at once.
func TestRead_TakesOneRoundTripAroundExpiredEntries(t *testing.T) {
	f := newFixture(t)
	for n := range 2000 {
		f.put(timeline.Entry{Created: today - day*clock.Instant(n/500) + clock.Instant(n), ID: fmt.Sprint(n), Until: today}, true)
	}
	for n := range 400 {
		f.put(timeline.Entry{Created: today - 4*day + clock.Instant(n), ID: fmt.Sprint("live ", n)}, true)
	}
	f.reader = timeline.New(timeline.Config{Store: f.store, Runtime: f.rt, Remote: true})
	f.want(timeline.Query{Size: 20})
	within, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	all := make(chan struct{})
	f.store.slices.Store(0)
	var sent atomic.Int64
	f.store.listing = func() {
		if sent.Add(1) == 8 {
			close(all)
		}
		select {
		case <-all:
		case <-within.Done():
		}
	}
	f.want(timeline.Query{Size: 20})
	if n := f.store.slices.Load(); n != 8 || within.Err() != nil {
		t.Errorf("%d slices, and %v: want 8, all sent before any was answered", n, within.Err())
	}
}

// A page reaches the entries that remain, although very many entries expire while it is read.
func TestRead_SkipsEntriesThatExpireMeanwhile(t *testing.T) {
	for _, remote := range []bool{false, true} {
		f := newFixture(t)
		f.rt.hold = !remote // no forecast runs; with a remote store, reads use Go, too, so it cannot hold tasks
		now := clock.Of(f.rt.Now())
		f.put(timeline.Entry{Created: today, ID: "oldest"}, true)
		for n := range clock.Instant(3000) {
			f.put(timeline.Entry{Created: today + 1 + n, ID: fmt.Sprint(n), Until: now + 1000}, false)
		}
		reader := timeline.New(timeline.Config{Store: f.store, Runtime: f.rt, Remote: remote})
		p, err := timeline.Read(t.Context(), reader, "f", timeline.Query{Size: 20}, func(ctx context.Context, es []timeline.Entry) ([]*string, error) {
			f.rt.now.Store(int64(now) + 1000)
			return f.resolve(ctx, es)
		})
		if err != nil || len(p.Found) != 1 || p.Found[0].Entry.ID != "oldest" || p.HasOlder {
			t.Errorf("remote %t: %+v, %v", remote, p, err)
		}
		if f.checked > 200 {
			t.Errorf("remote %t: %d entries were compared with their rows", remote, f.checked)
		}
	}
}
