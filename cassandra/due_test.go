package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/go-cmp/cmp"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/interchange/archive"
	"carrel/library"
)

// purge leaves n tombstones in the partition of an item, within a minute.
func purge(t *testing.T, s *Store, id library.ContentID, from clock.Instant, n int) {
	t.Helper()
	const batch = 500
	err := session.ForEach(t.Context(), n/batch, 8, func(ctx context.Context, i int) error {
		b := s.session.Driver().NewBatch(gocql.UnloggedBatch).WithContext(ctx)
		for k := range batch {
			at := from.Add(time.Minute / time.Duration(n) * time.Duration(i*batch+k))
			b.Query(dropReminder, int64(at), hourOf(at), shardOf(string(id)), int64(at), string(id))
		}
		return s.session.Driver().ExecuteBatch(b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reminderAt writes a reminder and returns it.
func reminderAt(t *testing.T, s *Store, at clock.Instant, id library.ContentID) commit.Reminder {
	t.Helper()
	d := commit.Reminder{At: at, Kind: commit.Content, Key: string(id), MTS: at - 1}
	if err := s.Journal.PutReminder(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// wantDues compares the reminders that are due.
func wantDues(t *testing.T, s *Store, when string, until clock.Instant, want ...commit.Reminder) {
	t.Helper()
	got, err := s.Journal.DueReminders(t.Context(), until, 100)
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

func dayInstant(year, month, d int) clock.Instant {
	return clock.Of(time.Date(year, time.Month(month), d, 0, 0, 0, 0, time.UTC))
}

// TestDue_UnreadablePartitionHidesNoOthers: if a partition has more tombstones than a read may pass,
// the reminders of others are returned with the error, and its hour stays.
func TestDue_UnreadablePartitionHidesNoOthers(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	first, bad := dayInstant(2030, 5, 5), idOfShard(3)
	purge(t, s, bad, first+1000, node.Tombstones(t)/10*12)
	var want []commit.Reminder
	for shard := range int8(dueShards) {
		d := reminderAt(t, s, first.Add(30*time.Minute), idOfShard(shard))
		if shard != 3 {
			want = append(want, d)
		}
	}
	slices.SortFunc(want, func(a, b commit.Reminder) int { return strings.Compare(a.Row(), b.Row()) })
	want = append(want, reminderAt(t, s, first.Add(time.Hour), bad)) // in the next hour
	for _, when := range []time.Duration{2 * time.Hour, 3 * time.Hour} {
		got, err := s.Journal.DueReminders(t.Context(), first.Add(when), 100)
		if err == nil {
			t.Error("no error for the partition that cannot be read")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the reminders returned with the error:\n%s", diff)
		}
		for _, d := range want { // so that the hour has no reminder that can be read
			if err := s.Journal.DropReminder(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		want = nil
	}
	if hours, err := s.dueHours(t.Context(), first.Add(3*time.Hour)); err != nil || len(hours) != 1 || hours[0].hour != int64(first) {
		t.Errorf("the hours that may have reminders: %v, %v", hours, err)
	}
}

// TestDue_FindsRemindersOfOtherProcesses: a reminder is found at once, also one of a time that was read.
func TestDue_FindsRemindersOfOtherProcesses(t *testing.T) {
	t.Parallel()
	o := options(t)
	s, other := open(t, o), open(t, o)
	first := dayInstant(2030, 5, 5)
	now := first.Add(10 * time.Hour)
	stored := reminderAt(t, s, first.Add(time.Hour), "c:t:kept")
	wantDues(t, s, "at the start", now, stored)
	late := reminderAt(t, other, first.Add(2*time.Hour), "c:t:late")
	wantDues(t, s, "a reminder of another process", now, stored, late)
	if err := other.Journal.DropReminder(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	wantDues(t, s, "a reminder that another process has removed", now, stored)
	again := reminderAt(t, other, first.Add(3*time.Hour-1), "c:t:again")
	wantDues(t, s, "a reminder of an hour that was forgotten", now, stored, again)
}

// TestDue_ListsTheEarliestUntilTheyAreDropped: a reminder that cannot be dropped stays listed, and the
// limit does not hide those after it.
func TestDue_ListsTheEarliestUntilTheyAreDropped(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	first := dayInstant(2030, 5, 5)
	stays := reminderAt(t, s, first+5, "c:t:stays")
	var all []commit.Reminder
	for n := range 30 { // at two instants, half of them of one partition
		all = append(all, reminderAt(t, s, first.Add(time.Duration(n%2)*time.Hour), library.ContentID(fmt.Sprintf("%s-%d", idOfShard(2), n))))
	}
	seen := map[string]bool{}
	for range 40 {
		got, err := s.Journal.DueReminders(t.Context(), first.Add(20*time.Hour), 5)
		if err != nil || len(got) == 0 || len(got) > 5 || !slices.Contains(got, stays) && len(seen) >= len(all)/2 {
			t.Fatalf("%v, %v", got, err)
		}
		if !slices.IsSortedFunc(got, func(a, b commit.Reminder) int { return int(a.At - b.At) }) {
			t.Errorf("not the earliest first: %v", got)
		}
		for _, d := range got {
			if d == stays {
				continue
			}
			if seen[d.Key] {
				t.Errorf("%s was listed after it was dropped", d.Key)
			}
			seen[d.Key] = true
			if err := s.Journal.DropReminder(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d were listed", len(seen), len(all))
	}
}

// TestDue_ReadsHoursWithRemindersOnly: an hour that is over and has no reminders is forgotten, and not before
// all its reminders have arrived.
func TestDue_ReadsHoursWithRemindersOnly(t *testing.T) {
	t.Parallel()
	o := options(t)
	counts := new(counter)
	o.Observe = counts.add
	s := open(t, o)
	first := dayInstant(2030, 5, 5)
	old, late := reminderAt(t, s, first+7, "c:t:old"), reminderAt(t, s, first.Add(300*day)+9, "c:t:late")
	until := func(at clock.Instant, want ...commit.Reminder) map[string]int {
		t.Helper()
		counts.take()
		wantDues(t, s, at.String(), at, want...)
		return counts.take()
	}
	until(first.Add(-day))
	until(first + 6)
	if n := until(first.Add(200*day), old)["read reminders ok"]; n != 1+dueShards {
		t.Errorf("%d reads for one hour with a reminder within 200 days", n)
	}
	if err := s.Journal.DropReminder(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if n := until(first.Add(time.Hour) - 1)["forget an hour ok"]; n != 0 {
		t.Error("an hour that is not over was forgotten")
	}
	if n := until(first.Add(time.Hour))["forget an hour ok"]; n != 1 {
		t.Error("an hour that is over was not forgotten")
	}
	if n := until(first.Add(299 * day))["read reminders ok"]; n != 1 {
		t.Errorf("%d reads for 299 days without reminders", n)
	}
	if err := s.Journal.DropReminder(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	// The reminder of a past hour may arrive a little later than the note.
	past := clock.Of(time.Now()).Add(-day)
	if err := s.session.Write(t.Context(), "note an hour", noteHour, hourOf(past)); err != nil {
		t.Fatal(err)
	}
	if n := until(clock.Of(time.Now()))["forget an hour ok"]; n != 0 {
		t.Error("an hour was forgotten right after it was noted")
	}
	if n := until(clock.Of(time.Now()).Add(2 * dueArrivesWithin))["forget an hour ok"]; n != 1 {
		t.Error("an empty hour was not forgotten after its reminders must have arrived")
	}
}

// TestDue_KeepsAnHourThatIsNotedAgain: an hour that is noted again while it is being forgotten stays.
func TestDue_KeepsAnHourThatIsNotedAgain(t *testing.T) {
	t.Parallel()
	o := options(t)
	other := open(t, o)
	at := dayInstant(2030, 5, 5)
	var reads atomic.Int64
	o.Observe = func(_ context.Context, seen session.Observation) {
		// After the hours and all shards were read.
		if seen.Operation == "read reminders" && reads.Add(1) == 1+dueShards {
			reminderAt(t, other, at, "c:t:again")
		}
	}
	s := open(t, o)
	if err := other.session.Write(t.Context(), "note an hour", noteHour, hourOf(at)); err != nil {
		t.Fatal(err)
	}
	wantDues(t, s, "while another process writes one", at.Add(day))
	wantDues(t, s, "after that", at.Add(day), commit.Reminder{At: at, Kind: commit.Content, Key: "c:t:again", MTS: at - 1})
}

// TestDue_ArePutByACopy: the reminders of a copy are listed as those that PutReminder writes.
func TestDue_ArePutByACopy(t *testing.T) {
	t.Parallel()
	s := open(t, options(t))
	d := commit.Reminder{At: dayInstant(2030, 5, 5) + 8, Kind: commit.Content, Key: "c:t:copied", MTS: 7}
	if err := s.PutRows(t.Context(), []archive.Row{{Due: &d}}); err != nil {
		t.Fatal(err)
	}
	wantDues(t, s, "after the copy", d.At, d)
	rows, _, err := s.ReadRows(t.Context(), archive.ChapterDues, nil, 10)
	if err != nil || len(rows) != 1 || *rows[0].Due != d {
		t.Errorf("archived: %+v, %v", rows, err)
	}
}
