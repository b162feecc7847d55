package cassandra

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/library/storetest"
)

// The statements of the former release.
const (
	formerPutList            = `INSERT INTO inflight (part, lane, n, pending) VALUES (?, ?, ?, ?) USING TIMESTAMP ?`
	formerDeleteInFlightList = `DELETE FROM inflight USING TIMESTAMP ? WHERE part = ? AND lane = ?`
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
	inFlightLists, err := s.InFlightLists(t.Context())
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
		l := commit.InFlightList{ID: commit.ListID(fmt.Sprintf("list%d", n)), Stamp: int64(1000 + int(n)), Blocks: [][]byte{{2, n}}}
		if n > 6 {
			l.Blocks = nil
		}
		if err := s.PutInFlightList(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		want = append(want, l)
	}
	wantLists(t, s, want...)
	rows, err := s.listRows(t.Context(), "read in-flight lists", listPart, listsPage)
	if err != nil || len(rows) != len(want) {
		t.Errorf("the partition has %d rows, %v; want %d", len(rows), err, len(want))
	}
	for _, l := range want[1:] {
		if err := s.DeleteInFlightList(t.Context(), l.ID, l.Stamp); err != nil {
			t.Fatal(err)
		}
	}
	wantLists(t, s, want[0])
}

// TestInFlightLists_OfTheFormerReleaseAreReadAndDeleted: lists that the former release has written
// can be read and deleted.
func TestInFlightLists_OfTheFormerReleaseAreReadAndDeleted(t *testing.T) {
	s := open(t, options(t))
	var want []commit.InFlightList
	for n := range byte(8) {
		name := fmt.Sprintf("%032x", n)
		l := commit.InFlightList{ID: commit.ListID("former:" + name), Stamp: int64(2000 + int(n)), Blocks: [][]byte{{2, 1}, {2, 2}, {2, 3}}}
		for i, block := range l.Blocks {
			exec(t, s, formerPutList, formerPart(name), name, i, block, l.Stamp)
		}
		want = append(want, l)
	}
	wantLists(t, s, want...)
	for _, l := range want {
		if err := s.DeleteInFlightList(t.Context(), l.ID, l.Stamp-1); err != nil {
			t.Fatal(err)
		}
	}
	wantLists(t, s, want...)
	for _, l := range want[1:] {
		if err := s.DeleteInFlightList(t.Context(), l.ID, l.Stamp); err != nil {
			t.Fatal(err)
		}
	}
	wantLists(t, s, want[0])
}

// TestInFlightLists_AreDeletedByTheFormerRelease: the former release deletes a list in the
// partition in which it would have written it.
func TestInFlightLists_AreDeletedByTheFormerRelease(t *testing.T) {
	s := open(t, options(t))
	for n := range 8 {
		l := commit.InFlightList{ID: commit.ListID(fmt.Sprintf("%032x", n)), Stamp: 1000, Blocks: [][]byte{{2}, {3}}[n%2:]}
		if err := s.PutInFlightList(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		name := listName(l.ID)
		h := fnv.New32a()
		h.Write([]byte(name))
		exec(t, s, formerDeleteInFlightList, l.Stamp, int8(h.Sum32()%4), name)
	}
	wantLists(t, s)
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

// TestInFlightLists_UnreadableListBlocksNoOthers: a list with an unreadable row is returned with
// its id and its readable rows, is not deleted, and does not keep others from being taken over.
func TestInFlightLists_UnreadableListBlocksNoOthers(t *testing.T) {
	b := newCostFixture(t)
	inFlightList := func(id commit.ListID, blocks ...[]byte) commit.OpenList {
		l := commit.InFlightList{ID: id, Stamp: int64(someTime), Blocks: blocks}
		if err := b.store.PutInFlightList(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		entries, err := commit.Decode(blocks)
		if err != nil {
			t.Fatal(err)
		}
		return commit.OpenList{ID: id, Stamp: l.Stamp, Entries: entries}
	}
	var want []commit.OpenList
	for n := range byte(6) {
		id := commit.ListID(fmt.Sprintf("list%d", n))
		want = append(want, inFlightList(id, storetest.Blocks(library.InFlight{ID: commit.EntryID{n}, Content: "c:t:gone", Scope: commit.ScopeAll})...))
	}
	const name = "lane3x"
	damaged := commit.ListID("former:" + name)
	one := storetest.Blocks(library.InFlight{ID: commit.EntryID{9}, Content: "c:t:long"})
	for n, block := range [][]byte{one[0], {9, 9}, one[0]} {
		exec(t, b.store, formerPutList, formerPart(name), name, n, block, int64(someTime))
	}
	wantStored := func(want []commit.OpenList) {
		t.Helper()
		got, err := commit.OpenLists(t.Context(), b.store)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		var bad *commit.UnreadableLists
		if !errors.As(err, &bad) || !slices.Equal(bad.IDs, []commit.ListID{damaged}) || fault.CodeOf(err) != fault.Internal {
			t.Errorf("the error is %v", err)
		}
	}
	wantStored(want)
	if err := b.journal.Recover(t.Context(), b.service); err == nil || !strings.Contains(err.Error(), string(damaged)) {
		t.Errorf("the error for what could not be recovered is %v", err)
	}
	wantStored(nil)
	var rows int
	if err := b.store.session.Driver().Query(`SELECT count(*) FROM inflight WHERE part = ? AND lane = ?`, formerPart(name), name).
		WithContext(t.Context()).Scan(&rows); err != nil || rows != 3 {
		t.Errorf("the unreadable list has %d rows, %v", rows, err)
	}
}
