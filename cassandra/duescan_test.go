package cassandra

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
)

// purge leaves n tombstones in the partition of an item, spread evenly over a period.
func purge(t *testing.T, s *Store, id library.ContentID, from clock.Instant, within time.Duration, n int) {
	t.Helper()
	const batch = 500
	err := session.ForEach(t.Context(), n/batch, 8, func(ctx context.Context, i int) error {
		b := s.session.Driver().NewBatch(gocql.UnloggedBatch).WithContext(ctx)
		for k := range batch {
			at := from.Add(within / time.Duration(n) * time.Duration(i*batch+k))
			b.Query(dropDue, int64(at), dayOf(at), shardOf(string(id)), int64(at), string(id))
		}
		return s.session.Driver().ExecuteBatch(b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hintAt writes a hint and returns it.
func hintAt(t *testing.T, s *Store, at clock.Instant, id library.ContentID) commit.Due {
	t.Helper()
	d := commit.Due{At: at, Kind: commit.Content, Key: string(id), MTS: at - 1}
	if err := s.PutDue(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// wantDues compares the hints that are due.
func wantDues(t *testing.T, s *Store, when string, until clock.Instant, want ...commit.Due) {
	t.Helper()
	got, err := s.DueUntil(t.Context(), until, 100)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// idOfShard returns an item of a shard.
func idOfShard(shard int8) library.ContentID {
	for n := 0; ; n++ {
		if id := library.ContentID(fmt.Sprintf("c:t:%d", n)); shardOf(string(id)) == shard {
			return id
		}
	}
}

// TestDueScan_FindsHintsAfterManyTombstones removes more hints of a day than the tombstones that
// one read may pass. Due hints after them are found, even by a process that has just started.
func TestDueScan_FindsHintsAfterManyTombstones(t *testing.T) {
	t.Parallel()
	o := options(t)
	counts := new(counter)
	other := open(t, o)
	o.Observe = counts.add
	s := open(t, o)
	first, id := dayInstant(2030, 5, 5), idOfShard(3)
	early := hintAt(t, s, first+1, id)
	limit := node.Tombstones(t)
	purge(t, s, id, first.Add(time.Minute), 2*time.Hour, limit/10*6)
	purge(t, s, id, first.Add(3*time.Hour), time.Minute, limit/10*12) // more than one slice may pass
	late := hintAt(t, s, first.Add(5*time.Hour), id)
	now := first.Add(6 * time.Hour)
	var got []commit.Due
	for n := 0; len(got) < 2; n++ {
		if n == 30 {
			t.Fatalf("after %d calls: %v", n, got)
		}
		got, _ = s.DueUntil(t.Context(), now, 100) // errors, while slices become smaller
		now = now.Add(10 * time.Second)
	}
	if diff := cmp.Diff([]commit.Due{early, late}, got); diff != "" {
		t.Error(diff)
	}
	// From then on one read per partition is enough.
	next := hintAt(t, other, now.Add(time.Second), id)
	counts.take()
	wantDues(t, s, "a hint that becomes due", now.Add(time.Second), early, late, next)
	if n := counts.take()["read hints ok"]; n != 1+dueShards {
		t.Errorf("%d reads, want one of the days and one per shard", n)
	}
}

// TestDueScan_FailingPartitionHidesNoOthers: if a partition cannot be read, the hints of others are
// returned with the error, and it is retried after a pause.
func TestDueScan_FailingPartitionHidesNoOthers(t *testing.T) {
	t.Parallel()
	o := options(t)
	counts := new(counter)
	o.Observe = counts.add
	s := open(t, o)
	first, bad := dayInstant(2030, 5, 5), idOfShard(3)
	purge(t, s, bad, first+1000, 500*time.Millisecond, node.Tombstones(t)/10*12)
	var want []commit.Due
	for shard := range int8(dueShards) {
		if shard != 3 {
			want = append(want, hintAt(t, s, first.Add(time.Hour), idOfShard(shard)))
		}
	}
	want = append(want, hintAt(t, s, first.Add(30*time.Hour), bad)) // on the next day
	slices.SortFunc(want, func(a, b commit.Due) int { return comparePositions(positionOf(a), positionOf(b)) })
	now := first.Add(31 * time.Hour)
	got, err := s.DueUntil(t.Context(), now, 100)
	if err == nil {
		t.Error("no error for the partition that cannot be read")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the hints returned with the error:\n%s", diff)
	}
	counts.take()
	wantDues(t, s, "during its pause", now, want...)
	if _, err := s.DueUntil(t.Context(), now.Add(duePauseLeast-1), 100); err != nil {
		t.Errorf("it was read during its pause: %v", err)
	}
	if _, err := s.DueUntil(t.Context(), now.Add(duePauseLeast), 100); err == nil {
		t.Error("it was not read after its pause")
	}
	// Its smallest slice cannot be read either, but what follows is.
	behind := hintAt(t, s, first.Add(time.Hour), bad)
	skipped := false
	for n := 0; ; n++ {
		if n == 100 {
			t.Fatal("the hint after the tombstones was not found")
		}
		got, _ = s.DueUntil(t.Context(), now, 100)
		skipped = skipped || s.dues.days[dayOf(first)].parts[3].skipped
		if slices.Contains(got, behind) {
			break
		}
		now = now.Add(duePauseMost)
	}
	if !skipped {
		t.Error("the scan has forgotten that it skipped a slice")
	}
}

// TestDueScan_FindsLateHints: hints that are written before the position of the read are found.
// Those of this process are found at once, recent ones of others at once too, and older ones by the
// full read.
func TestDueScan_FindsLateHints(t *testing.T) {
	t.Parallel()
	o := options(t)
	s, other := open(t, o), open(t, o)
	first := dayInstant(2030, 5, 5)
	now := first.Add(10 * time.Hour)
	stored := hintAt(t, s, first.Add(time.Hour), "c:t:kept")
	wantDues(t, s, "at the start", now, stored)
	mine := hintAt(t, s, first.Add(2*time.Hour), "c:t:mine")
	wantDues(t, s, "a hint of this process", now, stored, mine)
	recent := hintAt(t, other, now.Add(-dueOverlap+time.Second), "c:t:recent")
	wantDues(t, s, "a recent hint of another process", now, stored, mine, recent)
	old := hintAt(t, other, first.Add(3*time.Hour), "c:t:old")
	wantDues(t, s, "before the full read", now.Add(dueFullEvery-1), stored, mine, recent)
	now = now.Add(dueFullEvery)
	for range 4 {
		if _, err := s.DueUntil(t.Context(), now, 100); err != nil {
			t.Fatal(err)
		}
	}
	wantDues(t, s, "after the full read", now, stored, mine, old, recent)
	// The full read notices what others have dropped. What this process drops is forgotten at once.
	if err := other.DropDue(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := s.DropDue(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	wantDues(t, s, "after a removal", now, stored, old, recent)
	now = now.Add(dueFullEvery)
	for range 12 {
		if _, err := s.DueUntil(t.Context(), now, 100); err != nil {
			t.Fatal(err)
		}
	}
	wantDues(t, s, "after the next full read", now, stored, recent)
	// A hint of a day that was read to its end causes the day to be read again.
	now = first.Add(26 * time.Hour)
	wantDues(t, s, "on the next day", now, stored, recent)
	for range 60 { // two full reads: one that is due, one for the hints noted since
		if _, err := s.DueUntil(t.Context(), now, 100); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := hintAt(t, other, first.Add(time.Minute), "c:t:yesterday")
	wantDues(t, s, "a hint of a day that is over", now, yesterday, stored, recent)
}

// TestDueScan_ListsHintsUntilTheyAreDropped: a hint that cannot be dropped stays listed although
// the read position has passed it, and the limit does not hide those after it.
func TestDueScan_ListsHintsUntilTheyAreDropped(t *testing.T) {
	t.Parallel()
	o := options(t)
	s := open(t, o)
	first, id := dayInstant(2030, 5, 5), library.ContentID("c:t:stays")
	stays := hintAt(t, s, first+5, id)
	now := first.Add(20 * time.Hour)
	var all []commit.Due
	for n := range 30 { // at one instant, of one partition
		c := library.ContentID(fmt.Sprintf("c:t:%d-", n))
		for k := 0; shardOf(string(c)) != 2; k++ {
			c = library.ContentID(fmt.Sprintf("c:t:%d-%d", n, k))
		}
		all = append(all, hintAt(t, s, first.Add(time.Hour), c))
	}
	seen := map[library.ContentID]bool{}
	for range 40 {
		got, err := s.DueUntil(t.Context(), now, 5)
		if err != nil || len(got) == 0 || len(got) > 5 || got[0] != stays {
			t.Fatalf("%v, %v", got, err)
		}
		for _, d := range got[1:] {
			if seen[library.ContentID(d.Key)] {
				t.Errorf("%s was listed after it was dropped", d.Key)
			}
			seen[library.ContentID(d.Key)] = true
			if err := s.DropDue(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Second)
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d were listed", len(seen), len(all))
	}
	// The scrubber writes it again: it is the same hint with another mts.
	stays.MTS = now
	if err := s.PutDue(t.Context(), stays); err != nil {
		t.Fatal(err)
	}
	wantDues(t, s, "written again", now, stays)
}

// TestDueScan_FindsHintsWrittenDuringARead: a hint that this process writes during a read of its
// partition may be missing from the result, although the walk passes its position. It is
// remembered.
func TestDueScan_FindsHintsWrittenDuringARead(t *testing.T) {
	t.Parallel()
	first, id := dayInstant(2030, 5, 5), idOfShard(3)
	day := dueDay{day: dayOf(first)}
	var s dueScan
	now := first.Add(time.Hour)
	s.begin([]dueDay{day}, now)
	p := &s.day(day).parts[3]
	from, to := p.near.position, duePosition{at: now + 1}
	s.reading(p, to)
	d := commit.Due{At: first.Add(time.Minute), Kind: commit.Content, Key: string(id), MTS: 1}
	s.wrote(d)
	s.wrote(commit.Due{At: now.Add(time.Hour), Kind: commit.Content, Key: string(id), MTS: 1}) // will be read
	s.learn(p, &p.near, from, to, nil)
	if diff := cmp.Diff([]commit.Due{d}, s.list(now.Add(2*time.Hour), 10)); diff != "" {
		t.Errorf("known after the read:\n%s", diff)
	}
	// The next call sees what was written before it started: others have dropped the hint.
	s.begin([]dueDay{day}, now)
	s.learn(p, &p.near, from, to, nil)
	if got := s.list(now, 10); len(got) != 0 {
		t.Errorf("known after others have dropped it: %v", got)
	}
}

// TestDueScan_ManyLateHintsCauseAFullRead: more hints before the position than are remembered cause
// a full read at once.
func TestDueScan_ManyLateHintsCauseAFullRead(t *testing.T) {
	t.Parallel()
	first, id := dayInstant(2030, 5, 5), idOfShard(3)
	day := dueDay{day: dayOf(first)}
	var s dueScan
	now := first.Add(time.Hour)
	s.begin([]dueDay{day}, now)
	p := &s.day(day).parts[3]
	s.learn(p, &p.near, p.near.position, duePosition{at: now + 1}, nil)
	for n := range mostDuesKept {
		s.wrote(commit.Due{At: first.Add(time.Duration(n) * time.Second), Kind: commit.Content, Key: string(id), MTS: 1})
	}
	if s.day(day); p.full {
		t.Error("a full read started although each hint is remembered")
	}
	s.wrote(commit.Due{At: first + 1, Kind: commit.Content, Key: string(id), MTS: 1})
	if s.day(day); !p.full || len(p.known) != mostDuesKept {
		t.Errorf("full read: %t, remembered: %d", p.full, len(p.known))
	}
}

// TestDueScan_ForgetsADayAfterAllItsHintsArrived: a hint may arrive later than the note of its day.
// So a past day is forgotten only after a read that started a minute after the note and read every
// slice.
func TestDueScan_ForgetsADayAfterAllItsHintsArrived(t *testing.T) {
	t.Parallel()
	first := dayInstant(2030, 5, 5)
	now := first.Add(10 * 24 * time.Hour)
	day := dueDay{day: dayOf(first), noted: int64(now)}
	var s dueScan
	// over reads the day to its end and reports whether it would be forgotten.
	over := func() bool {
		s.begin([]dueDay{day}, now)
		state := s.day(day)
		for i := range state.parts {
			p := &state.parts[i]
			s.learn(p, &p.near, p.near.position, duePosition{at: p.last + 1}, nil)
			p.full = false
		}
		_, over := s.dueIn(state, now)
		return over
	}
	if now = now.Add(time.Second); over() {
		t.Error("it was forgotten a second after its note")
	}
	if now = now.Add(2 * dueOverlap); over() {
		t.Error("it was forgotten although the last read started a second after its note")
	}
	now = now.Add(dueFullEvery)
	s.begin([]dueDay{day}, now)
	s.day(day).parts[5].skipped = true // by the read that starts here
	if over() {
		t.Error("it was forgotten although a slice could not be read")
	}
	if now = now.Add(dueFullEvery); !over() {
		t.Error("it was not forgotten after it was read once more")
	}
}
