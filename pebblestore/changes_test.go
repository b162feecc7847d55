package pebblestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/library"
)

// TestChangesGoInTime: a store that is written to forgets changes once they are
// older than they must be kept, by whomever it was opened.
func TestChangesGoInTime(t *testing.T) {
	fs, now := vfs.NewMem(), library.Instant(1767225600000000)
	began := now
	opts := Options{FS: fs, FreeReserve: -1, Now: func() library.Instant { return now }}
	s, err := Open("", opts)
	if err != nil {
		t.Fatal(err)
	}
	const owner = library.PrincipalID("u:acme:ann")
	write := func(n int) {
		h := library.Header{State: library.Live, Seq: 1, MTS: now, Position: now, Widest: library.Public}
		h.ID, h.Visibility = library.ContentID(fmt.Sprint("c:acme:", n)), library.Public
		v, err := s.Commit(t.Context(), &library.ContentCommit{ID: h.ID, Header: h})
		if err != nil || !v.Applied {
			t.Fatal(v, err)
		}
		e := &library.Enforcement{Header: &h, Rows: []library.Member{{Principal: owner, Role: library.Viewing, Seq: 1}}, At: now}
		if err := s.Enforce(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	const every = 90 * time.Second
	kept := int(library.ChangesKept / every)
	for n := range 3 * kept {
		write(n)
		cs, err := s.Changes(t.Context(), owner, library.ChangeKey{At: began}, 1000)
		if err != nil {
			t.Fatal(err)
		}
		// All that must be kept, and no more than the minutes round it.
		if want := min(n+1, kept+1); len(cs) < want || len(cs) > want+1 || cs[len(cs)-1].At != now {
			t.Fatalf("after %d: %d changes, the last at %v", n, len(cs), cs[len(cs)-1].At)
		}
		now = now.Add(every)
		if n == kept+2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = Open("", opts); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A clock that is set back keeps what it writes.
	now = began
	write(-1)
	cs, err := s.Changes(t.Context(), owner, library.ChangeKey{At: began}, 1)
	if err != nil || len(cs) != 1 || cs[0].At != began {
		t.Errorf("after the clock was set back: %v, %v", cs, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkChanges reads one library's changes of half an hour, in which
// thousands of others have changed too.
func BenchmarkChanges(b *testing.B) {
	s := openStore(b, "", Options{FS: vfs.NewMem(), FreeReserve: -1})
	at := s.now()
	h := library.Header{State: library.Live, Seq: 1, MTS: at, Position: at, Widest: library.Public}
	h.ID, h.Visibility = "c:acme:x", library.Public
	for n := range 20_000 {
		m := library.Member{Principal: library.PrincipalID(fmt.Sprint("u:acme:", n)), Role: library.Viewing, Seq: 1}
		e := &library.Enforcement{Header: &h, Rows: []library.Member{m}, At: at.Add(time.Duration(n) * 100 * time.Millisecond)}
		if err := s.Enforce(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		cs, err := s.Changes(b.Context(), "u:acme:10000", library.ChangeKey{At: at}, 100)
		if err != nil || len(cs) != 1 {
			b.Fatal(cs, err)
		}
	}
}
