package pebblestore

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func TestDeadRows_ManyStartAFlush(t *testing.T) {
	var d dead
	d.init()
	wanted := func() bool {
		select {
		case <-d.flush:
			return true
		default:
			return false
		}
	}
	for n := range deadPerOwner - 1 {
		d.add("u:acme:ann", 1)
		d.add(fmt.Sprintf("u:acme:b%d", n), deadPerOwner/2)
	}
	if wanted() {
		t.Error("a flush was wanted too early")
	}
	d.add("u:acme:ann", 1)
	if !wanted() || len(d.rows) != 0 {
		t.Errorf("no flush was wanted, or %d owners are still counted", len(d.rows))
	}
	for n := range deadOwners {
		d.add(fmt.Sprintf("u:acme:b%d", n), 1)
	}
	if !wanted() || len(d.rows) != 0 {
		t.Errorf("no flush was wanted for many owners, or %d are still counted", len(d.rows))
	}
}

// TestDeadRows_PagesStayCheap moves one item very often and counts the dead rows that reading the
// newest page then passes.
func TestDeadRows_PagesStayCheap(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	const owner, moves = principal.ID("u:acme:ann"), 20 * deadPerOwner
	wall := clock.Instant(0)
	applyIndex := func(name string, unsettled []library.Superseded) clock.Instant {
		wall++
		h := library.Header{Seq: int64(wall), MTS: wall, Position: wall, State: commit.Live, Widest: principal.Private, Unsettled: unsettled}
		h.ID, h.Visibility = library.ContentID("c:acme:"+name), principal.Private
		if err := s.db.Set(appendHeaderKey(nil, tableContent, string(h.ID)), appendHeader(nil, &h), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		if err := s.Contents.ApplyIndex(t.Context(), &library.IndexUpdate{Header: &h,
			Rows: []library.Member{{Principal: owner, Role: library.Manages, Seq: 1}}}); err != nil {
			t.Fatal(err)
		}
		return h.Position
	}
	for n := range 50 {
		applyIndex(fmt.Sprintf("still%d", n), nil)
	}
	at := applyIndex("busy", nil)
	for range moves {
		at = applyIndex("busy", []library.Superseded{{Position: at, Widest: principal.Private}})
	}
	// Flushes and compactions run in the background, so wait for them.
	for {
		m := s.db.Metrics()
		if m.Flush.Count > 0 && m.Flush.NumInProgress == 0 && m.Compact.NumInProgress == 0 && s.passed(t, owner) <= 3*deadPerOwner {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("a page still passes %d rows", s.passed(t, owner))
		}
		runtime.Gosched()
	}
	es, err := s.Libraries.PageLibrary(t.Context(), library.Slice{Owner: owner, Bucket: principal.Private, Limit: 51})
	if err != nil || len(es) != 51 || es[0].Content != "c:acme:busy" || es[0].Position != at {
		t.Errorf("%d entries: %v", len(es), err)
	}
}

// passed counts the rows that reading the newest page of 20 passes, including dead rows and
// tombstones.
func (s *Store) passed(t *testing.T, owner principal.ID) int {
	t.Helper()
	v, err := s.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	v.sliceBounds(&library.Slice{Owner: owner, Bucket: principal.Private})
	v.it.SetBounds(v.key, v.end)
	n := 0
	for ok := v.it.Last(); ok && n < 20; ok = v.it.Prev() {
		n++
	}
	steps := v.it.Stats().ReverseStepCount[pebble.InternalIterCall]
	if err := s.done(v); err != nil {
		t.Fatal(err)
	}
	return steps
}
