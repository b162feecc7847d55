package journal

import (
	"context"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
)

// Times and numbers of the journal (docs/write-protocol.md).
const (
	listWait       = 2 * time.Second  // for the write that contains an entry
	heartbeat      = time.Second      // between writes of a list that is not empty
	deadAfter      = 15 * time.Second // a list not written for this long is taken over
	pollEvery      = time.Second
	backOffAtLeast = time.Second
	backOffAtMost  = 5 * time.Minute
	scrubEvery     = 10 * time.Second
	maxRepairs     = 1000 // waiting; further ones are dropped, because reads find them again
)

// Service is the work of the domains that the journal starts.
type Service interface {
	// Resume finishes a change on behalf of its process.
	Resume(ctx context.Context, e commit.Entry) (fenced bool, err error)
	// RunDue runs a deferred change that is due. It reports whether it changed anything.
	RunDue(ctx context.Context, e commit.Entry) (bool, error)
	// Expire acts on a reminder that is due. It reports whether the reminder can be removed.
	Expire(ctx context.Context, due commit.Reminder) (bool, error)
	// Repair repairs a derived row that a reader has found to be wrong.
	Repair(ctx context.Context, r commit.Repair) error
	// Scrub checks all stored rows once, a few in each step, and repairs those that are wrong. It calls
	// rest after each step, and makes the next one in the context that rest returns; one that has failed
	// is made again. It ends early if rest returns an error.
	Scrub(ctx context.Context, rest func(commit.ScrubStep) (context.Context, error)) error
}

// Journal is the in-flight list of this process incarnation. It implements
// commit.Journal; Run does the background work.
type Journal struct {
	store commit.JournalStore
	rt    sched.Runtime
	log   *slog.Logger
	life  context.Context // of the process: a write of the list belongs to no single request

	inFlightList commit.ListID

	mu       sync.Mutex
	entries  []*entry // in the order in which they were added
	ended    []ended  // changes that have ended and linger
	linger   map[commit.Kind]time.Duration
	stamp    int64 // of the last write
	acked    int64 // of the last write that was acknowledged
	writing  bool
	next     *write // the next write; nil if nobody waits for it
	dirty    bool   // entries were removed since the last write
	repairs  []commit.Repair
	dues     map[dueKey]*dueState
	counts   Stats // the counters, and InFlightLists
	draining bool
}

// entry is a change on the list, with its state in the background.
type entry struct {
	commit.Entry
	since time.Duration // on the monotonic clock
	// background is whether only the background finishes it; deferred, whether it is a change that
	// waits for its due time. Both are tried at retry. failures is how many tries have failed in a
	// row.
	background bool
	deferred   bool
	busy       bool
	failures   int
	retry      time.Duration
}

// write is one write of the list. Callers wait for done.
type write struct {
	done sched.Latch
	err  error // set before done opens
}

var _ commit.Journal = (*Journal)(nil)

// New returns the journal of this process incarnation, with a list of its own. Work that
// belongs to no request uses the values of ctx; the end of ctx cancels nothing.
func New(ctx context.Context, store commit.JournalStore, rt sched.Runtime, log *slog.Logger) *Journal {
	var id [16]byte
	rt.Random(id[:])
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Journal{store: store, rt: rt, log: log, life: rt.Detach(ctx),
		dues: map[dueKey]*dueState{}, linger: map[commit.Kind]time.Duration{},
		inFlightList: commit.ListID(hex.EncodeToString(id[:]))}
}

// InFlightList returns the id of this process's list.
func (j *Journal) InFlightList() commit.ListID { return j.inFlightList }

// Begin puts e on the list, and returns once a write of the list that contains e was
// acknowledged. After an error e is not on the list. The stored list may contain e until its next
// write, which is harmless.
func (j *Journal) Begin(ctx context.Context, e commit.Entry) error {
	j.mu.Lock()
	if err := j.checkSpace(e); err != nil {
		j.counts.Refused++
		j.mu.Unlock()
		return err
	}
	j.entries = append(j.entries, &entry{Entry: e, since: j.rt.Elapsed()})
	w := j.request()
	j.mu.Unlock()
	acknowledged, err := j.rt.Wait(ctx, w.done, listWait)
	switch {
	case err == nil && acknowledged && w.err == nil:
		return nil
	case err == nil && acknowledged:
		err = w.err
	}
	j.End(e.ID)
	return fault.Unavailablef(err, "the change could not be recorded; nothing was changed, try again")
}

// request returns the next write of the list, and starts the writer unless it is running.
// The caller holds mu.
func (j *Journal) request() *write {
	if j.next == nil {
		j.next = &write{done: j.rt.Latch()}
	}
	w := j.next
	if !j.writing {
		j.writing = true
		j.rt.Go(j.writeInFlightList)
	}
	return w
}

// writeInFlightList writes the whole list, again and again while callers wait. Callers that
// arrive during a write share the next one.
func (j *Journal) writeInFlightList() {
	for {
		j.mu.Lock()
		w := j.next
		if w == nil {
			j.writing = false
			j.mu.Unlock()
			return
		}
		j.next = nil
		stamp, entries := j.copyList()
		j.mu.Unlock()

		ctx, cancel := j.rt.Deadline(j.life, listWait)
		w.err = j.putInFlightList(ctx, stamp, entries)
		cancel()
		j.mu.Lock()
		if w.err == nil {
			j.acked = stamp
		} else {
			// The stored list is unknown, so the list must be written even if it is empty.
			j.dirty = true
		}
		j.mu.Unlock()
		w.done.Open()
	}
}

// copyList returns a copy of the list and the stamp for its write. The stamp always
// increases, even if the clock is set back, because a write with an older stamp has no
// effect. The caller holds mu.
func (j *Journal) copyList() (stamp int64, entries []commit.Entry) {
	j.stamp = max(j.stamp+1, int64(clock.Of(j.rt.Now())))
	entries = make([]commit.Entry, len(j.entries))
	for i, e := range j.entries {
		entries[i] = e.Entry
	}
	entries = j.appendEnded(entries)
	j.dirty = false
	return j.stamp, entries
}

// putInFlightList writes the list.
func (j *Journal) putInFlightList(ctx context.Context, stamp int64, entries []commit.Entry) error {
	block, err := commit.Encode(entries)
	if err != nil {
		return err
	}
	return j.store.PutInFlightList(ctx, commit.InFlightList{ID: j.inFlightList, Stamp: stamp, Block: block})
}

// End removes the entry, from the stored list with its next write. A decided entry that lingers
// stays as an ended one.
func (j *Journal) End(id commit.EntryID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, e := range j.entries {
		if e.ID == id {
			j.entries = append(j.entries[:i:i], j.entries[i+1:]...)
			j.dirty = true
			if e.Decided && e.Lingers {
				j.keepEnded(e.Kind, e.Key)
			}
			break
		}
	}
}

// Defer keeps e until e.Due. It merges e with the deferred entry of its key, if there is
// one: a single move covers all updates before it.
func (j *Journal) Defer(e commit.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var mine, waiting *entry
	for _, x := range j.entries {
		switch {
		case x.ID == e.ID:
			mine = x
		case x.deferred && !x.busy && x.Kind == e.Kind && x.Key == e.Key:
			waiting = x
		}
	}
	switch {
	case mine == nil:
	case waiting != nil:
		// It may have failed while the store was down, so that it would wait longer.
		waiting.retry = min(waiting.retry, j.elapsedAt(e.Due))
		j.remove(mine)
	default:
		mine.deferred, mine.Decided = true, true
		mine.retry = j.elapsedAt(e.Due)
		// The index writes of the change are done: only the move remains.
		mine.Reach = commit.Reach{}
	}
	j.dirty = true
}

// elapsedAt returns the monotonic time at which the wall clock will show due, unless the
// wall clock is set meanwhile. Setting the wall clock back does not prolong a wait on the
// monotonic clock. A process that drains does not wait.
func (j *Journal) elapsedAt(due clock.Instant) time.Duration {
	now := j.rt.Elapsed()
	if j.draining {
		return now
	}
	return now + time.Duration(max(0, due-clock.Of(j.rt.Now())))*time.Microsecond
}

// remove removes an entry. The caller holds mu.
func (j *Journal) remove(gone *entry) {
	kept := j.entries[:0:0]
	for _, e := range j.entries {
		if e != gone {
			kept = append(kept, e)
		}
	}
	j.entries = kept
}

// FinishLater passes the entry to the background. A decided entry is merged with another one of
// its partition that waits there, so that a library that cannot be written for a long time
// does not fill the list with one entry for each change.
func (j *Journal) FinishLater(e commit.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var mine, waiting *entry
	var merged commit.Entry
	for _, x := range j.entries {
		switch {
		case x.ID == e.ID:
			mine = x
		case x.background && !x.busy && mergeable(x.Entry, e):
			if one, ok := commit.Merge(x.Entry, e); ok {
				waiting, merged = x, one
			}
		}
	}
	switch {
	case mine == nil:
	case waiting != nil:
		waiting.Entry = merged
		j.remove(mine)
		j.dirty = true
	default:
		mine.Entry, mine.background = e, true
		mine.retry = j.rt.Elapsed() + backOffAtLeast
	}
}

// Repair requests a repair in the background, unless the same repair is waiting.
func (j *Journal) Repair(r commit.Repair) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, waiting := range j.repairs {
		if waiting == r {
			return
		}
	}
	j.counts.RepairsRequested++
	if len(j.repairs) == maxRepairs {
		j.counts.RepairsDropped++
		return
	}
	j.repairs = append(j.repairs, r)
}

// note updates the counters.
func (j *Journal) note(change func(*Stats)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.counts)
}

// Stats describes the list, for operators.
type Stats struct {
	Entries       int           // on the list, including deferred ones, without ended ones
	Ended         int           // changes that have ended and linger on the list
	Deferred      int           // changes that are not due yet
	Waiting       int           // decided changes that the background has not finished
	Oldest        time.Duration // age of the oldest entry that is not deferred
	InFlightLists int           // of all processes, when they were last read
	// UnreadableLists is how many of them could not be read.
	UnreadableLists int
	Resumed         int64 // entries that the background finished
	Fenced          int64 // those of them that were fenced
	Refused         int64 // changes refused because the list was full
	// Repairs of rows that readers have found to be wrong: requested, dropped because too
	// many were waiting, and done.
	RepairsRequested, RepairsDropped, RepairsDone int64
	// What the scrubber has found: items, claims, leases, pastes and texts that were still unsettled,
	// and entries that were wrong; and how many steps it has made.
	ScrubFinished, ScrubMismatches, ScrubSteps int64
}

// Stats returns the current state of the list.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	st := j.counts
	st.Entries, st.Ended = len(j.entries), len(j.ended)
	for _, e := range j.entries {
		if e.deferred {
			st.Deferred++
			continue
		}
		if e.background && e.Decided {
			st.Waiting++
		}
		st.Oldest = max(st.Oldest, j.rt.Elapsed()-e.since)
	}
	return st
}
