package cassandra

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/storetest"
)

// exec runs a statement as another program would.
func exec(t *testing.T, s *Store, stmt string, args ...any) {
	t.Helper()
	if err := s.session.Driver().Query(stmt, args...).WithContext(t.Context()).Consistency(gocql.LocalQuorum).Exec(); err != nil {
		t.Fatal(err)
	}
}

// wantLists checks which in-flight lists are stored.
func wantLists(t *testing.T, s *Store, want ...commit.InFlightList) {
	t.Helper()
	inFlightLists, err := s.Journal.InFlightLists(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, inFlightLists, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

// TestInFlightLists_AreRowsOfOnePartition: an empty list is a row too, and is deleted only with the
// list.
func TestInFlightLists_AreRowsOfOnePartition(t *testing.T) {
	s := open(t, options(t))
	var want []commit.InFlightList
	for n := range byte(9) {
		l := commit.InFlightList{ID: commit.ListID(fmt.Sprintf("list%d", n)), Stamp: int64(1000 + int(n)), Block: []byte{1, n}}
		if n > 6 {
			l.Block = nil
		}
		if err := s.Journal.PutInFlightList(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		want = append(want, l)
	}
	wantLists(t, s, want...)
	if found, err := (journalStore{s}).InFlight(t.Context()); err != nil || len(found) != len(want) {
		t.Errorf("%d lists are in flight, %v; want %d", len(found), err, len(want))
	}
	for _, l := range want[1:] {
		if err := s.Journal.DeleteInFlightList(t.Context(), l.ID, l.Stamp); err != nil {
			t.Fatal(err)
		}
	}
	wantLists(t, s, want[0])
}

// TestReserveBlock_ConcurrentBlocksDoNotOverlap: concurrently reserved blocks never overlap.
func TestReserveBlock_ConcurrentBlocksDoNotOverlap(t *testing.T) {
	s := open(t, options(t))
	const each, racers = 5, 8
	var mu sync.Mutex
	var firsts []int64
	var wait sync.WaitGroup
	for range racers {
		wait.Go(func() {
			for n := 0; n < each; {
				first, err := s.ReserveBlock(t.Context(), "host", 10)
				if fault.MayHaveCommitted(err) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				n++
				mu.Lock()
				firsts = append(firsts, first)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	slices.Sort(firsts)
	if len(firsts) != each*racers || firsts[0] < 1 {
		t.Fatalf("blocks start at %v", firsts)
	}
	for i, first := range firsts[1:] {
		if first < firsts[i]+10 {
			t.Fatalf("blocks overlap: they start at %v", firsts)
		}
	}
	if first, err := s.ReserveBlock(t.Context(), "another", 10); err != nil || first != 1 {
		t.Errorf("the first block of another host starts at %d, %v", first, err)
	}
	if _, err := s.ReserveBlock(t.Context(), "host", 0); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a block of no numbers: %v", err)
	}
}

// TestInFlightLists_UnreadableListBlocksNoOthers: an unreadable list is named, is not deleted, and
// does not keep others from being taken over.
func TestInFlightLists_UnreadableListBlocksNoOthers(t *testing.T) {
	b := newCostFixture(t)
	put := func(id commit.ListID, block []byte) {
		t.Helper()
		if err := b.store.Journal.PutInFlightList(t.Context(), commit.InFlightList{ID: id, Stamp: int64(someTime), Block: block}); err != nil {
			t.Fatal(err)
		}
	}
	var want []commit.OpenList
	for n := range byte(6) {
		id := commit.ListID(fmt.Sprintf("list%d", n))
		change := commit.Entry{ID: commit.EntryID{n}, Kind: commit.Content, Key: "c:t:gone", Reach: commit.Reach{Scope: commit.ScopeAll}}
		put(id, storetest.Block(change))
		want = append(want, commit.OpenList{ID: id, Stamp: int64(someTime), Entries: []commit.Entry{change}})
	}
	const damaged = commit.ListID("list3x")
	put(damaged, []byte{9, 9})
	wantStored := func(want []commit.OpenList) {
		t.Helper()
		got, err := commit.OpenLists(t.Context(), b.store.Journal)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		var bad *commit.UnreadableLists
		if !errors.As(err, &bad) || !slices.Equal(bad.IDs, []commit.ListID{damaged}) || fault.CodeOf(err) != fault.Internal {
			t.Errorf("the error is %v", err)
		}
	}
	wantStored(want)
	if err := b.journal.Recover(t.Context(), b.service.Background()); err == nil || !strings.Contains(err.Error(), string(damaged)) {
		t.Errorf("the error for what could not be recovered is %v", err)
	}
	wantStored(nil)
}

// TestInFlight_UnknownIfDataCentresDecideApart: one read of the lists may then miss changes.
func TestInFlight_UnknownIfDataCentresDecideApart(t *testing.T) {
	s := &Store{apart: true}
	if _, err := (journalStore{s}).InFlight(t.Context()); !errors.Is(err, errApart) {
		t.Errorf("it returns %v", err)
	}
}
