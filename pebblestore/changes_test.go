package pebblestore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// TestChanges_ExpiredAreDeleted checks that a store that is written to deletes changes that are
// older than they must be kept, also after it was reopened and after its clock was set back.
func TestChanges_ExpiredAreDeleted(t *testing.T) {
	fs, now := vfs.NewMem(), clock.Instant(1767225600000000)
	began := now
	opts := Options{FS: fs, FreeReserve: -1, Now: func() clock.Instant { return now }}
	s, err := Open("", opts)
	if err != nil {
		t.Fatal(err)
	}
	const every = 90 * time.Second
	kept := int(library.ChangesKept / every)
	items := 0
	write := func(n int) {
		t.Helper()
		writeChange(t, s, items, now)
		items++
		cs, err := s.Libraries.Changes(t.Context(), changesOwner, library.ChangeKey{At: 1}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		// Changes written while the clock was ahead stay until their time comes.
		cs = slices.DeleteFunc(cs, func(c library.Change) bool { return c.At > now })
		// All changes that must be kept, and at most one minute more at either end.
		if want := min(n+1, kept+1); len(cs) < want || len(cs) > want+1 || cs[len(cs)-1].At != now {
			t.Fatalf("after %d: %d changes, the last at %v", n, len(cs), cs[len(cs)-1].At)
		}
		now = now.Add(every)
	}
	for n := range 3 * kept {
		write(n)
		if n == kept+2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = Open("", opts); err != nil {
				t.Fatal(err)
			}
		}
	}
	now = began.Add(-3 * library.ChangesKept)
	for n := range 2 * kept {
		write(n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// countRows counts the rows of a table.
func countRows(t *testing.T, s *Store, table byte) (n int) {
	t.Helper()
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{table}, UpperBound: []byte{table + 1}})
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

const changesOwner = principal.ID("u:acme:ann")

// writeChange creates the item with a number, and a change in the library of changesOwner.
func writeChange(t *testing.T, s *Store, n int, at clock.Instant) {
	t.Helper()
	h := library.Header{State: commit.Live, Seq: 1, MTS: at, Position: at, Widest: principal.Public}
	h.ID, h.Visibility = library.ContentID(fmt.Sprint("c:acme:", n)), principal.Public
	v, err := s.Contents.Commit(t.Context(), &library.ContentCommit{ID: h.ID, Header: h})
	if err != nil || !v.Applied {
		t.Fatal(v, err)
	}
	causes := library.Causes{All: library.Cause{Reason: library.ReasonUpdated, By: changesOwner}}
	e := &library.IndexUpdate{Header: &h, Rows: []library.Member{{Principal: changesOwner, Role: library.Viewing, Seq: 1}},
		At: at, Causes: causes}
	if err := s.Contents.ApplyIndex(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkChanges reads the changes of one library over half an hour in which thousands of other
// libraries changed too.
func BenchmarkChanges(b *testing.B) {
	s := openStore(b, "", Options{FS: vfs.NewMem(), FreeReserve: -1})
	at := s.now()
	h := library.Header{State: commit.Live, Seq: 1, MTS: at, Position: at, Widest: principal.Public}
	h.ID, h.Visibility = "c:acme:x", principal.Public
	for n := range 20_000 {
		m := library.Member{Principal: principal.ID(fmt.Sprint("u:acme:", n)), Role: library.Viewing, Seq: 1}
		e := &library.IndexUpdate{Header: &h, Rows: []library.Member{m}, At: at.Add(time.Duration(n) * 100 * time.Millisecond)}
		if err := s.Contents.ApplyIndex(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		cs, err := s.Libraries.Changes(b.Context(), "u:acme:10000", library.ChangeKey{At: at}, 100)
		if err != nil || len(cs) != 1 {
			b.Fatal(cs, err)
		}
	}
}
