package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/pebblestore"
	"carrel/principal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// domain records the calls of the journal. As many as failing says fail first.
type domain struct {
	mu             sync.Mutex
	failing        int
	resumed        []commit.EntryID
	moved, expired []library.ContentID
	scrubs         []commit.ScrubStep
	repaired       []principal.ID
	whileMoving    func()
}

var errDown = errors.New("the store is down")

func (d *domain) fail() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failing > 0 {
		d.failing--
		return errDown
	}
	return nil
}

func (d *domain) Resume(_ context.Context, e commit.Entry) (bool, error) {
	if err := d.fail(); err != nil {
		return false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resumed = append(d.resumed, e.ID)
	slices.SortFunc(d.resumed, func(a, b commit.EntryID) int { return bytes.Compare(a[:], b[:]) })
	return true, nil
}

func (d *domain) RunDue(_ context.Context, e commit.Entry) (bool, error) {
	if err := d.fail(); err != nil {
		return false, err
	}
	d.mu.Lock()
	d.moved = append(d.moved, library.ContentID(e.Key))
	d.mu.Unlock()
	if d.whileMoving != nil {
		d.whileMoving()
	}
	return true, nil
}

func (d *domain) Expire(_ context.Context, due commit.Reminder) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expired = append(d.expired, library.ContentID(due.Key))
	slices.Sort(d.expired)
	return due.Key != "c:acme:early", nil
}

func (d *domain) Repair(_ context.Context, r commit.Repair) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.repaired = append(d.repaired, principal.ID(r.Key))
	return nil
}

func (d *domain) Scrub(_ context.Context, rest func(commit.ScrubStep) (context.Context, error)) error {
	for _, step := range d.scrubs {
		if _, err := rest(step); err != nil {
			return err
		}
	}
	return nil
}

func open(t *testing.T) (*pebblestore.Store, *clockwork) {
	t.Helper()
	store, err := pebblestore.Open("", pebblestore.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	rt := &clockwork{Real: sched.NewReal()}
	t.Cleanup(func() {
		rt.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store, rt
}

func change(n byte) commit.Entry {
	return commit.Entry{ID: commit.EntryID{n}, Kind: commit.Content, Key: fmt.Sprintf("c:acme:%d", n), Base: int64(n),
		Reach: commit.Reach{Scope: commit.ScopeAll}}
}

// inFlightLists returns the ids of the entries on each list of the store.
func inFlightLists(t *testing.T, store commit.JournalStore) map[commit.ListID][]commit.EntryID {
	t.Helper()
	all, err := commit.OpenLists(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	found := map[commit.ListID][]commit.EntryID{}
	for _, l := range all {
		for _, e := range l.Entries {
			found[l.ID] = append(found[l.ID], e.ID)
		}
	}
	return found
}

func TestBegin_ReturnsOnceTheEntryIsStored(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	var wg sync.WaitGroup
	for n := range byte(50) {
		wg.Go(func() {
			e := change(n)
			if err := j.Begin(t.Context(), e); err != nil {
				t.Errorf("beginning %d: %v", n, err)
			}
			if !slices.Contains(inFlightLists(t, store.Journal)[j.InFlightList()], e.ID) {
				t.Errorf("Begin %d returned before its list was written", n)
			}
		})
	}
	wg.Wait()
	for n := range byte(50) {
		j.End(commit.EntryID{n})
	}
	if err := j.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if remaining := inFlightLists(t, store.Journal); len(remaining) != 0 {
		t.Errorf("an empty list remains: %v", remaining)
	}
}

// broken is a store that fails to write lists.
type broken struct{ commit.JournalStore }

func (broken) PutInFlightList(context.Context, commit.InFlightList) error { return errDown }

func TestBegin_FailedWriteIsAnError(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), broken{store.Journal}, rt, nil)
	if err := j.Begin(t.Context(), change(1)); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a list that was not written: %v", err)
	}
	if st := j.Stats(); st.Entries != 0 {
		t.Errorf("%d entries remain", st.Entries)
	}
}

func TestBegin_RefusesTooManyUndecidedChanges(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	for n := range maxUndecided {
		if got, want := j.MayDefer(), n < maxUndecided/2; got != want {
			t.Fatalf("with %d entries MayDefer is %v", n, got)
		}
		j.entries = append(j.entries, &entry{Entry: commit.Entry{ID: commit.EntryID{1, byte(n), byte(n >> 8)}}})
	}
	if err := j.Begin(t.Context(), change(1)); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("one more: %v", err)
	}
}

func TestDefer_RunsMovesWhenDueAndOncePerItem(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	d := &domain{failing: 1}
	due := clock.Of(rt.Now()).Add(time.Minute)
	for n := range byte(3) {
		e := change(n)
		e.Key, e.Due, e.Reach = "c:acme:hot", due, commit.Reach{}
		if err := j.Begin(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		j.Defer(e)
	}
	if st := j.Stats(); st.Entries != 1 || st.Deferred != 1 {
		t.Fatalf("three deferred updates of one item make %+v", st)
	}
	step := func(pass time.Duration, want int) {
		t.Helper()
		rt.pass(pass)
		if err := j.DoDue(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if len(d.moved) != want {
			t.Fatalf("%d moves, want %d", len(d.moved), want)
		}
	}
	step(59*time.Second, 0)
	step(time.Second, 0) // fails once
	step(0, 0)           // and waits
	// An update that is deferred while the move runs must not be lost with it.
	d.whileMoving = func() {
		d.whileMoving = nil
		e := change(9)
		e.Key, e.Due = "c:acme:hot", due.Add(time.Minute)
		if err := j.Begin(t.Context(), e); err != nil {
			t.Error(err)
		}
		j.Defer(e)
	}
	step(backOffAtLeast, 1)
	step(2*time.Minute, 2)
	if st := j.Stats(); st.Entries != 0 {
		t.Errorf("afterwards %+v", st)
	}
}

func TestFinishLater_RetriesWithGrowingPauses(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	d := &domain{failing: 12}
	e := change(1)
	if err := j.Begin(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	j.FinishLater(e)
	tries := 0
	for pause := backOffAtLeast; len(d.resumed) == 0; tries++ {
		if tries > 20 {
			t.Fatal("the entry is never finished")
		}
		before := d.failing
		if err := j.DoDue(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if d.failing != before {
			t.Fatalf("try %d came before its pause was over", tries)
		}
		rt.pass(pause)
		if err := j.DoDue(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if tries > 0 {
			pause = min(2*pause, backOffAtMost)
		}
	}
	if tries != 13 || j.Stats().Entries != 0 || j.Stats().Resumed != 1 || j.Stats().Fenced != 1 {
		t.Errorf("finished at try %d: %+v", tries, j.Stats())
	}
}

func TestWatch_TakesOverListsOfDeadProcesses(t *testing.T) {
	store, rt := open(t)
	dead := New(t.Context(), store.Journal, rt, nil)
	living := New(t.Context(), store.Journal, rt, nil)
	mine := New(t.Context(), store.Journal, rt, nil)
	for n, j := range []*Journal{dead, living, mine} {
		if err := j.Begin(t.Context(), change(byte(n))); err != nil {
			t.Fatal(err)
		}
	}
	d, w := &domain{}, newWatch(mine)
	for range 16 {
		if len(d.resumed) > 0 {
			t.Fatal("a list was taken over too early")
		}
		if err := living.Beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.step(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		rt.pass(time.Second)
	}
	if !slices.Equal(d.resumed, []commit.EntryID{{0}}) {
		t.Errorf("resumed %v, want only that of the dead process", d.resumed)
	}
	if remaining := inFlightLists(t, store.Journal); len(remaining) != 2 || len(remaining[dead.InFlightList()]) != 0 {
		t.Errorf("remaining lists: %v", remaining)
	}
}

func TestRecover_TakesOverAtOnce(t *testing.T) {
	store, rt := open(t)
	dead := New(t.Context(), store.Journal, rt, nil)
	for n := range byte(3) {
		if err := dead.Begin(t.Context(), change(n)); err != nil {
			t.Fatal(err)
		}
	}
	next := New(t.Context(), store.Journal, rt, nil)
	d := &domain{failing: 1}
	if err := next.Recover(t.Context(), d); !errors.Is(err, errDown) {
		t.Errorf("a failed take-over returned %v", err)
	}
	if remaining := inFlightLists(t, store.Journal); len(remaining[dead.InFlightList()]) != 3 {
		t.Errorf("a failed take-over deleted the list: %v", remaining)
	}
	// First the two entries that did not fail, then all three again.
	if err := next.Recover(t.Context(), d); err != nil || len(d.resumed) != 5 {
		t.Errorf("resumed %v, %v", d.resumed, err)
	}
	if remaining := inFlightLists(t, store.Journal); len(remaining) != 0 {
		t.Errorf("remaining lists: %v", remaining)
	}
}

func TestTakeOver_KeepsANewerListOfItsOwner(t *testing.T) {
	store, rt := open(t)
	slow := New(t.Context(), store.Journal, rt, nil)
	if err := slow.Begin(t.Context(), change(1)); err != nil {
		t.Fatal(err)
	}
	read, err := commit.OpenLists(t.Context(), store.Journal)
	if err != nil {
		t.Fatal(err)
	}
	rt.pass(time.Second)
	if err := slow.Begin(t.Context(), change(2)); err != nil {
		t.Fatal(err)
	}
	next := New(t.Context(), store.Journal, rt, nil)
	if err := next.TakeOver(t.Context(), &domain{}, read[0]); err != nil {
		t.Fatal(err)
	}
	if remaining := inFlightLists(t, store.Journal); len(remaining[slow.InFlightList()]) != 2 {
		t.Errorf("the list of the owner that is alive: %v", remaining)
	}
}

func TestExpireDue_DropsHandledReminders(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	now := clock.Of(rt.Now())
	for _, due := range []commit.Reminder{{At: now, Kind: commit.Content, Key: "c:acme:now"},
		{At: now - 1, Kind: commit.Content, Key: "c:acme:early"}, {At: now + 1, Kind: commit.Content, Key: "c:acme:later"}} {
		if err := store.Journal.PutReminder(t.Context(), due); err != nil {
			t.Fatal(err)
		}
	}
	d := &domain{}
	if err := j.ExpireDue(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.expired, []library.ContentID{"c:acme:early", "c:acme:now"}) {
		t.Errorf("expired %v", d.expired)
	}
	remaining, err := store.Journal.DueReminders(t.Context(), now+1, 10)
	if err != nil || !slices.Equal(remaining, []commit.Reminder{{At: now - 1, Kind: commit.Content, Key: "c:acme:early"},
		{At: now + 1, Kind: commit.Content, Key: "c:acme:later"}}) {
		t.Errorf("remaining reminders: %v, %v", remaining, err)
	}
}

// wrongEntry returns a repair of an entry of an item in a principal's library.
func wrongEntry(owner string, id library.ContentID) commit.Repair {
	return commit.Repair{Kind: commit.Content, Key: owner, Row: library.BucketEntry{Bucket: principal.Public,
		Entry: library.Entry{EntryKey: library.EntryKey{Position: 1, Content: id}, MTS: 1}}}
}

func TestRepair_RunsEachRepairOnce(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	for range 3 {
		j.Repair(wrongEntry("u:acme:ann", "c:acme:a"))
	}
	d := &domain{}
	for range 2 {
		if err := j.DoDue(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(d.repaired, []principal.ID{"u:acme:ann"}) {
		t.Errorf("repaired %v", d.repaired)
	}
}

// restless is a clockwork whose pauses end at once. It counts those of the scrubber.
type restless struct {
	*clockwork
	pauses int
}

func (r *restless) After(ctx context.Context, d time.Duration) error {
	if d == scrubEvery {
		r.pauses++
	}
	return ctx.Err()
}

func TestStats_Counts(t *testing.T) {
	store, rt := open(t)
	quick := &restless{clockwork: rt}
	j := New(t.Context(), store.Journal, quick, nil)
	d := &domain{scrubs: []commit.ScrubStep{{Finished: 1, Mismatches: 2}, {Mismatches: 3}, {Finished: 7, Err: errDown}, {}}}
	for i := range maxRepairs + 3 {
		j.Repair(wrongEntry("u:acme:ann", library.ContentID(fmt.Sprintf("c:acme:%d", i))))
		j.Repair(wrongEntry("u:acme:ann", "c:acme:0"))
	}
	other := New(t.Context(), store.Journal, rt, nil)
	if err := errors.Join(other.Begin(t.Context(), change(1)), j.DoDue(t.Context(), d), newWatch(j).step(t.Context(), d)); err != nil {
		t.Fatal(err)
	}
	if err := j.scrub(t.Context(), d); err != nil || quick.pauses != len(d.scrubs) {
		t.Fatalf("%d pauses, %v", quick.pauses, err)
	}
	want := Stats{InFlightLists: 1, RepairsRequested: maxRepairs + 3, RepairsDropped: 3, RepairsDone: maxRepairs,
		ScrubSteps: 3, ScrubFinished: 1, ScrubMismatches: 5}
	if got := j.Stats(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestRun_EndsWithItsContext(t *testing.T) {
	store, rt := open(t)
	j := New(t.Context(), store.Journal, rt, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j.Run(ctx, &domain{}) // the leak check of this package sees what stays
}
