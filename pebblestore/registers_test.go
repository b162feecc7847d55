package pebblestore

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

func TestReserveBlock_SurvivesReopening(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openStore(t, "", Options{FS: mem})
	reserve := func(host string, size, want int64) {
		t.Helper()
		first, err := s.ReserveBlock(t.Context(), host, size)
		if err != nil || first != want {
			t.Fatalf("the block of %d numbers of %q starts at %d, want %d: %v", size, host, first, want, err)
		}
	}
	reserve("a", 100, 1)
	reserve("a", 1, 101)
	reserve("a", 50, 102)
	reserve("a/b", 5, 1)
	s = openStore(t, "", Options{FS: mem.CrashClone(vfs.CrashCloneCfg{})})
	reserve("a", 1000, 152)
	reserve("b", math.MaxInt64-1, 1)
	for _, size := range []int64{0, -1, 1, math.MaxInt64} {
		if _, err := s.ReserveBlock(t.Context(), "b", size); fault.CodeOf(err) != fault.Internal {
			t.Errorf("a block of %d more numbers: %v", size, err)
		}
	}
	reserve("a", 1, 1152)
}

func TestReserveBlock_ConcurrentCallsGetDifferentNumbers(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	var mu sync.Mutex
	var firsts []int64
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			for range 10 {
				first, err := s.ReserveBlock(t.Context(), "host", 7)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				firsts = append(firsts, first)
				mu.Unlock()
			}
		})
	}
	done.Wait()
	slices.Sort(firsts)
	for n, first := range firsts {
		if first != int64(7*n+1) {
			t.Fatalf("block %d starts at %d", n, first)
		}
	}
}

// rowsOf counts the rows of a table.
func rowsOf(t *testing.T, s *Store, table byte) int {
	t.Helper()
	it, err := s.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ok := it.SeekGE([]byte{table}); ok && it.Key()[0] == table; ok = it.Next() {
		n++
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// If a creation is replaced by the same one with a later expiry, it survives the old expiry and is
// deleted after the new one.
func TestPutCreationIfAbsent_RenewedRowIsKeptUntilItsOwnExpiry(t *testing.T) {
	now := clock.Instant(1000)
	s := openStore(t, "", Options{FS: vfs.NewMem(), Now: func() clock.Instant { return now }})
	put := func(c commit.Creation, replace *commit.Creation) commit.Creation {
		t.Helper()
		got, err := s.Registers.PutCreationIfAbsent(t.Context(), c, replace)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := commit.Creation{Key: commit.RequestKey{1}, ID: "c:acme:x", Until: now + 100}
	renewed := one
	renewed.Until += 50
	put(one, nil)
	put(renewed, &one)
	for n, at := range []clock.Instant{1100, 1149, 1150} {
		now = at
		// The store deletes expired rows as it writes.
		put(commit.Creation{Key: commit.RequestKey{9, byte(n)}, ID: "c:acme:y", Until: now + 1000}, nil)
		want := renewed
		if at == renewed.Until {
			want = commit.Creation{}
		}
		if got := put(renewed, &one); got != want {
			t.Errorf("at %d: %+v, want %+v", at, got, want)
		}
	}
}

// TestRequests_ExpiredAreDeleted keeps writing mutations with request keys. Expired rows are
// deleted as new ones are written; rows that have not expired or were rewritten stay.
func TestRequests_ExpiredAreDeleted(t *testing.T) {
	now := clock.Instant(1000)
	mem := vfs.NewMem()
	s := openStore(t, "", Options{FS: mem, Now: func() clock.Instant { return now }})
	const day = 100
	request := func(n int) *commit.RequestRow {
		return &commit.RequestRow{Key: commit.RequestKey{byte(n), byte(n >> 8)}, Answer: []byte("x"), Until: now + day}
	}
	seqs := make(map[string]int64)
	keyed := func(item string, n int) {
		t.Helper()
		h := library.Header{Seq: seqs[item] + 1, State: commit.Live}
		h.ID = library.ContentID("c:acme:" + item)
		v, err := s.Contents.Commit(t.Context(), &library.ContentCommit{ID: h.ID, Base: seqs[item], Header: h, Request: request(n)})
		if err != nil || !v.Applied {
			t.Fatalf("%+v %v", v, err)
		}
		seqs[item]++
	}
	exists := func(item string, n int) bool {
		t.Helper()
		rows, err := s.Contents.Read(t.Context(), library.ContentID("c:acme:"+item), library.ContentQuery{Request: &request(n).Key})
		if err != nil {
			t.Fatal(err)
		}
		return rows.Request != nil
	}
	keyed("item", 0)
	if _, err := s.Registers.PutCreationIfAbsent(t.Context(), commit.Creation{Key: commit.RequestKey{1}, ID: "c:acme:x", Until: now + day},
		nil); err != nil {
		t.Fatal(err)
	}
	p := principal.Header{ID: "u:acme:ann", Seq: 1, State: commit.Live}
	if _, err := s.Principals.CommitPrincipal(t.Context(), &principal.Commit{ID: p.ID, Header: p, Request: request(1)}); err != nil {
		t.Fatal(err)
	}
	now += day / 2
	keyed("item", 0) // the same key again, with a later time
	keyed("item", 2)
	if got := rowsOf(t, s, tableExpiry); got != 5 {
		t.Fatalf("%d rows have an expiry, want 5", got)
	}
	now += day / 2
	for n := range 3 {
		keyed("other", 10+n)
	}
	if exists("item", 1) || !exists("item", 0) || !exists("item", 2) {
		t.Errorf("requests: %v %v %v", exists("item", 0), exists("item", 1), exists("item", 2))
	}
	if got := rowsOf(t, s, tableCreation); got != 0 {
		t.Errorf("%d expired creations are still stored", got)
	}
	rows, err := s.Principals.ReadPrincipal(t.Context(), "u:acme:ann", principal.Query{Request: &request(1).Key})
	if err != nil || rows.Request != nil || rows.Header.Seq != 1 {
		t.Errorf("%+v %v", rows, err)
	}
	// In the long run as many rows are deleted as added, also after a restart and when the clock
	// was set back.
	for n := range 300 {
		now += 10
		switch n {
		case 100:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, "", Options{FS: mem, Now: func() clock.Instant { return now }})
		case 200:
			now -= 500
		}
		keyed(fmt.Sprintf("item%d", n%5), 100+n)
	}
	if got := rowsOf(t, s, tableExpiry); got > 70 {
		t.Errorf("%d rows have an expiry, want at most 70", got)
	}
	now += 10 * day
	for n := range 60 {
		keyed("last", 1000+n)
	}
	if got := rowsOf(t, s, tableExpiry); got > 60 {
		t.Errorf("%d rows have an expiry, want at most 60", got)
	}
}

// TestBuilt_OfAStoreOfBeforeTheOrderOfTitles: its libraries are complete in the other order only, until they are rebuilt.
func TestBuilt_OfAStoreOfBeforeTheOrderOfTitles(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	mark := func(row []byte) {
		if err := s.db.Set(appendSingle(nil, tableBuilt, "u:a:ann"), row, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		row             []byte
		changes, titles bool
	}{{[]byte{rowVersion}, true, false}, {[]byte{rowVersion, collation.Version + 1}, true, false}, {builtRow(), true, true}} {
		mark(c.row)
		for o, want := range map[library.Order]bool{library.ByChange: c.changes, library.ByTitle: c.titles} {
			opened, err := s.Libraries.OpenLibrary(t.Context(), library.Slice{Owner: "u:a:ann", Bucket: 1, Order: o, Limit: 1}, false)
			built, err2 := s.Libraries.Built(t.Context(), "u:a:ann", o)
			if err != nil || err2 != nil || opened.Built != want || built != want {
				t.Errorf("the mark %v in the order %d: %v, %v; %v, %v; want %v", c.row, o, opened, err, built, err2, want)
			}
		}
	}
}
