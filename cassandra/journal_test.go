package cassandra

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/interchange/archive"
	"carrel/library"
)

// longEntry is an entry whose encoding is about so many bytes.
func longEntry(n byte, size int) library.InFlight {
	e := library.InFlight{ID: library.EntryID{n}, Content: "c:t:long", Base: int64(n), Scope: library.ScopeListed}
	for i := 0; i*60 < size; i++ {
		e.Principals = append(e.Principals, library.PrincipalID(fmt.Sprintf("u:t:%08d-%s", i, strings.Repeat("x", 46))))
	}
	return e
}

func TestLaneRows(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []library.InFlight
		rows    int
	}{
		{"one", []library.InFlight{longEntry(1, 100)}, 1},
		{"as many as fit", []library.InFlight{longEntry(1, 200<<10), longEntry(2, 200<<10)}, 1},
		{"one more", []library.InFlight{longEntry(1, 200<<10), longEntry(2, 200<<10), longEntry(3, 200<<10)}, 2},
		{"large ones", []library.InFlight{longEntry(1, 400<<10), longEntry(2, 400<<10), longEntry(3, 10), longEntry(4, 400<<10)}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, err := laneRowsOf(c.entries)
			if err != nil || len(rows) != c.rows {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			var got []library.InFlight
			for _, row := range rows {
				if len(row) > maxLaneRow {
					t.Errorf("a row of %d bytes", len(row))
				}
				es, err := decodeEntries(row)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, es...)
			}
			if diff := cmp.Diff(c.entries, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := laneRowsOf([]library.InFlight{longEntry(1, maxLaneRow+1)}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("an entry that no row can hold: %v", err)
	}
}

func FuzzDecodeEntries(f *testing.F) {
	rows, err := laneRowsOf([]library.InFlight{longEntry(1, 100), {ID: library.EntryID{2}, Principal: "g:t:g", Reverse: true, Due: 5, Decided: true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(rows[0])
	f.Add([]byte{laneVersion})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, row []byte) {
		entries, err := decodeEntries(row)
		if err != nil || len(entries) == 0 {
			return
		}
		again, err := laneRowsOf(entries)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeEntries(again[0])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entries, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A lane of several rows that becomes one of fewer loses the others, also to
// another process, and a write that comes late brings none of them back.
func TestLaneOfSeveralRows(t *testing.T) {
	o := options(t)
	s := open(t, o)
	large := []library.InFlight{longEntry(1, 400<<10), longEntry(2, 400<<10), longEntry(3, 400<<10)}
	put := func(s *Store, stamp int64, entries []library.InFlight) {
		t.Helper()
		if err := s.PutLane(t.Context(), library.Lane{ID: "lane", Stamp: stamp, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	stands := func(stamp int64, entries []library.InFlight) {
		t.Helper()
		lanes, err := s.Lanes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var want []library.Lane
		if len(entries) > 0 {
			want = []library.Lane{{ID: "lane", Stamp: stamp, Entries: entries}}
		}
		if diff := cmp.Diff(want, lanes); diff != "" {
			t.Fatal(diff)
		}
	}
	put(s, 1000, large)
	stands(1000, large)
	put(s, 2000, large[:1])
	stands(2000, large[:1])
	put(s, 1500, large)
	stands(2000, large[:1])
	put(s, 3000, large)
	stands(3000, large)
	put(open(t, o), 4000, large[1:2])
	stands(4000, large[1:2])
	put(s, 5000, nil)
	stands(5000, nil)
	put(s, 4500, large)
	stands(4500, nil)
}

// Days of which nothing is left are forgotten when they are long over, and a
// day costs a reading only while it may hold items.
func TestDueDays(t *testing.T) {
	o := options(t)
	counts := new(counter)
	o.Observe = counts.add
	s := open(t, o)
	first := dayInstant(2030, 5, 5)
	old := library.Due{At: first + 7, Content: "c:t:old"}
	late := library.Due{At: first.Add(300*day) + 9, Content: "c:t:late"}
	for _, d := range []library.Due{old, late} {
		if err := s.PutDue(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	until := func(at clock.Instant, want ...library.Due) map[string]int {
		t.Helper()
		counts.take()
		got, err := s.DueUntil(t.Context(), at, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		return counts.take()
	}
	until(first.Add(-day))
	until(first.Add(2*day), old)
	if n := until(first.Add(200*day), old)["read dues ok"]; n != 1+dueShards {
		t.Errorf("%d readings for one day that holds an item within 200", n)
	}
	if err := s.DropDue(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if n := until(first.Add(2 * day))["forget a day ok"]; n != 0 {
		t.Error("a day that is hardly over was forgotten")
	}
	if n := until(first.Add(4 * day))["forget a day ok"]; n != 1 {
		t.Error("a day that is long over was not forgotten")
	}
	if n := until(first.Add(299 * day))["read dues ok"]; n != 1 {
		t.Errorf("%d readings for 299 days without items", n)
	}
	// A day that is noted again while it is forgotten stays.
	days, err := s.dueDays(t.Context(), late.At)
	if err != nil || len(days) != 1 {
		t.Fatalf("%v, %v", days, err)
	}
	again := library.Due{At: late.At + 1, Content: "c:t:again"}
	if err := s.PutDue(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), "forget a day", forgetDay, days[0].noted, days[0].day); err != nil {
		t.Fatal(err)
	}
	until(late.At.Add(day), late, again)
}

// A hint that an earlier version has written has no mts, and the time of its
// writer's clock as its timestamp. It is listed, removed when its time has come,
// and takes an mts where it is written again.
func TestDuesOfEarlierVersions(t *testing.T) {
	s := open(t, options(t))
	day := dayInstant(2030, 5, 5)
	const putOld = `INSERT INTO due (day, shard, at, content_id) VALUES (?, ?, ?, ?)`
	for _, id := range []library.ContentID{"c:t:dropped", "c:t:again"} {
		err := errors.Join(s.write(t.Context(), "note a day", noteDay, dayOf(day)),
			s.write(t.Context(), "write an old due", putOld, dayOf(day), shardOf(id), int64(day)+7, string(id)))
		if err != nil {
			t.Fatal(err)
		}
	}
	until := day + 10
	again := library.Due{At: day + 7, Content: "c:t:again", MTS: until}
	dropped := library.Due{At: day + 7, Content: "c:t:dropped", MTS: until}
	want := func(dues ...library.Due) {
		t.Helper()
		got, err := s.DueUntil(t.Context(), until, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(dues, got); diff != "" {
			t.Error(diff)
		}
	}
	want(again, dropped)
	if err := s.DropDue(t.Context(), dropped); err != nil {
		t.Fatal(err)
	}
	want(again)
	again.MTS = until + 5
	if err := s.PutDue(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	want(again)
	rows, _, err := s.ReadRows(t.Context(), archive.ChapterDues, nil, 10)
	if err != nil || len(rows) != 1 || *rows[0].Due != again {
		t.Errorf("archived: %+v, %v", rows, err)
	}
	if err := s.DropDue(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	// One that was copied from a store of an earlier version.
	copied := library.Due{At: day + 8, Content: "c:t:copied"}
	if err := s.PutRows(t.Context(), []archive.Row{{Due: &copied}}); err != nil {
		t.Fatal(err)
	}
	want(copied)
	if err := s.DropDue(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	want()
}

func dayInstant(year, month, d int) clock.Instant {
	return clock.Of(time.Date(year, time.Month(month), d, 0, 0, 0, 0, time.UTC))
}

// Blocks that are reserved at the same time never overlap.
func TestReserveBlock(t *testing.T) {
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
		t.Fatalf("blocks begin at %v", firsts)
	}
	for i, first := range firsts[1:] {
		if first < firsts[i]+10 {
			t.Fatalf("blocks overlap: they begin at %v", firsts)
		}
	}
	if first, err := s.ReserveBlock(t.Context(), "another", 10); err != nil || first != 1 {
		t.Errorf("the first block of another host begins at %d, %v", first, err)
	}
	if _, err := s.ReserveBlock(t.Context(), "host", 0); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a block of no numbers: %v", err)
	}
}

// A lane of which a row cannot be read is told by its id, is left as it stands
// with what could be read of it, and keeps no other from being taken over.
func TestUnreadableLane(t *testing.T) {
	b := newBilled(t)
	lane := func(id library.LaneID, entries ...library.InFlight) library.Lane {
		l := library.Lane{ID: id, Stamp: int64(someTime), Entries: entries}
		if err := b.store.PutLane(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	var want []library.Lane
	for n := range byte(6) {
		id := library.LaneID(fmt.Sprintf("lane%d", n))
		want = append(want, lane(id, library.InFlight{ID: library.EntryID{n}, Content: "c:t:gone", Scope: library.ScopeAll}))
	}
	damaged := lane("lane3x", longEntry(1, 400<<10), longEntry(2, 400<<10)).ID
	const damage = `INSERT INTO inflight (part, lane, n, pending) VALUES (?, ?, 1, 0x0909) USING TIMESTAMP ?`
	if err := b.store.session.Query(damage, partOf(damaged), string(damaged), int64(someTime)+1).WithContext(t.Context()).Exec(); err != nil {
		t.Fatal(err)
	}
	stands := func(want []library.Lane) {
		t.Helper()
		got, err := b.store.Lanes(t.Context())
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		var bad *library.UnreadableLanes
		if !errors.As(err, &bad) || !slices.Equal(bad.IDs, []library.LaneID{damaged}) || fault.CodeOf(err) != fault.Internal {
			t.Errorf("it is told %v", err)
		}
	}
	stands(want)
	if err := b.journal.Recover(t.Context(), b.service); err == nil || !strings.Contains(err.Error(), string(damaged)) {
		t.Errorf("what could not be recovered was told as %v", err)
	}
	stands(nil)
	var rows int
	if err := b.store.session.Query(`SELECT count(*) FROM inflight WHERE part = ? AND lane = ?`, partOf(damaged), string(damaged)).
		WithContext(t.Context()).Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows are left of the lane that cannot be read, %v", rows, err)
	}
}
