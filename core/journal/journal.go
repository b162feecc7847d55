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
	listWait       = 2 * time.Second  // for the write that carries an entry
	heartbeat      = time.Second      // a non-empty lane is rewritten as often
	deadAfter      = 15 * time.Second // a lane that was not written for so long is taken over
	pollEvery      = time.Second
	backOffAtLeast = time.Second
	backOffAtMost  = 5 * time.Minute
	scrubEvery     = 10 * time.Second
	maxRepairs     = 1000 // waiting; more are dropped, reads find them again
)

// Service is what the journal has the domain do.
type Service interface {
	// Resume finishes a change in place of its process.
	Resume(ctx context.Context, e commit.Entry) (fenced bool, err error)
	// RunDue carries out a deferred change whose time has come. It reports whether
	// anything was changed.
	RunDue(ctx context.Context, e commit.Entry) (bool, error)
	Expire(ctx context.Context, due commit.Due) (bool, error)
	Repair(ctx context.Context, r commit.Repair) error
	// Scrub looks at a little more of what is stored, and repairs what is wrong. It
	// returns how many items it has settled, and how many rows were wrong.
	Scrub(ctx context.Context) (settled, mismatches int, err error)
}

// Journal is the in-flight list of this process incarnation. It implements
// library.Journal; Run does what is due in the background.
type Journal struct {
	store commit.JournalStore
	rt    sched.Runtime
	log   *slog.Logger
	life  context.Context // of the process: a lane write belongs to no one request

	inFlightList commit.ListID

	mu       sync.Mutex
	entries  []*entry // in the order in which they began
	stamp    int64    // of the last write
	acked    int64    // of the last write that was acknowledged
	writing  bool
	next     *write // the write that is to be begun; nil when nobody waits
	dirty    bool   // entries were taken off since the last write
	repairs  []commit.Repair
	dues     map[dueKey]*dueState
	counts   Stats // what only rises, and InFlightLists
	draining bool
}

// entry is a change on the list, with what the background knows of it.
type entry struct {
	commit.Entry
	since time.Duration // on the monotonic clock
	// left: only the background finishes it. deferred: a move that waits for its
	// time. Both are tried at retry, after failures in a row.
	left     bool
	deferred bool
	busy     bool
	failures int
	retry    time.Duration
}

// write is one write of the lane, and those who wait for it.
type write struct {
	done sched.Latch
	err  error // after done
}

var _ commit.Journal = (*Journal)(nil)

// New makes the journal of this process incarnation, with a lane of its own.
// ctx lends its values to what no request asks for; its end cancels nothing.
func New(ctx context.Context, store commit.JournalStore, rt sched.Runtime, log *slog.Logger) *Journal {
	var id [16]byte
	rt.Random(id[:])
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Journal{store: store, rt: rt, log: log, life: rt.Detach(ctx),
		dues:         map[dueKey]*dueState{},
		inFlightList: commit.ListID(hex.EncodeToString(id[:]))}
}

// InFlightList is the id of this process's lane.
func (j *Journal) InFlightList() commit.ListID { return j.inFlightList }

// Begin puts e on the list and returns once a write of the list whose copy held
// e was acknowledged. UNAVAILABLE: nothing is on the list, or will be.
func (j *Journal) Begin(ctx context.Context, e commit.Entry) error {
	j.mu.Lock()
	if err := j.full(e); err != nil {
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

// request is the next write of the lane; the writer is started where none
// runs. The caller holds mu.
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

// writeInFlightList writes the whole list, again and again while somebody waits: those
// who come during a write share the next one.
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
			// What the store holds is unknown; an empty list must be written too.
			j.dirty = true
		}
		j.mu.Unlock()
		w.done.Open()
	}
}

// copyList returns the list as it is to be written, and the stamp of the write. The
// stamp rises although the clock may be set back: a write with an older one would
// change nothing. The caller holds mu.
func (j *Journal) copyList() (stamp int64, entries []commit.Entry) {
	j.stamp = max(j.stamp+1, int64(clock.Of(j.rt.Now())))
	entries = make([]commit.Entry, len(j.entries))
	for i, e := range j.entries {
		entries[i] = e.Entry
	}
	j.dirty = false
	return j.stamp, entries
}

// putInFlightList writes the list.
func (j *Journal) putInFlightList(ctx context.Context, stamp int64, entries []commit.Entry) error {
	blocks, err := commit.Encode(entries)
	if err != nil {
		return err
	}
	return j.store.PutInFlightList(ctx, commit.InFlightList{ID: j.inFlightList, Stamp: stamp, Blocks: blocks})
}

// End takes the entry off; the next write of the lane carries that.
func (j *Journal) End(id commit.EntryID) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, e := range j.entries {
		if e.ID == id {
			j.entries = append(j.entries[:i:i], j.entries[i+1:]...)
			j.dirty = true
			break
		}
	}
}

// Defer keeps e until e.Due. It joins the deferred entry of its key: one
// move carries all updates before it.
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
		// It may have failed while the store was down, and wait for longer.
		waiting.retry = min(waiting.retry, j.elapsedAt(e.Due))
		j.remove(mine)
	default:
		mine.deferred, mine.Decided = true, true
		mine.retry = j.elapsedAt(e.Due)
		// Whatever it was to enforce is enforced: what remains is the move.
		mine.Payload = nil
	}
	j.dirty = true
}

// elapsedAt returns the monotonic time at which the wall clock will show due, unless
// the clock is set meanwhile. Waiting on the monotonic clock ends in time although the
// wall clock is set back. A process that drains does not wait.
func (j *Journal) elapsedAt(due clock.Instant) time.Duration {
	now := j.rt.Elapsed()
	if j.draining {
		return now
	}
	return now + time.Duration(max(0, due-clock.Of(j.rt.Now())))*time.Microsecond
}

// remove takes an entry off. The caller holds mu.
func (j *Journal) remove(gone *entry) {
	kept := j.entries[:0:0]
	for _, e := range j.entries {
		if e != gone {
			kept = append(kept, e)
		}
	}
	j.entries = kept
}

// Leave hands the entry to the background. A decided one is merged into another
// of its partition that waits there: a library that cannot be written for long
// must not fill the list with one entry for each change.
func (j *Journal) Leave(e commit.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var mine, waiting *entry
	var merged commit.Entry
	for _, x := range j.entries {
		switch {
		case x.ID == e.ID:
			mine = x
		case x.left && !x.busy && mergeable(x.Entry, e):
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
		mine.Entry, mine.left = e, true
		mine.retry = j.rt.Elapsed() + backOffAtLeast
	}
}

// Repair asks for a repair in the background. One that waits already is not added
// again.
func (j *Journal) Repair(r commit.Repair) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, waiting := range j.repairs {
		if waiting == r {
			return
		}
	}
	j.counts.RepairsAsked++
	if len(j.repairs) == maxRepairs {
		j.counts.RepairsDropped++
		return
	}
	j.repairs = append(j.repairs, r)
}

// note changes what is counted.
func (j *Journal) note(change func(*Stats)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.counts)
}

// Stats tells of the list, for operators.
type Stats struct {
	Entries       int           // on the list, deferred ones included
	Deferred      int           // moves that wait
	Waiting       int           // decided changes that the background has yet to finish
	Oldest        time.Duration // age of the oldest that is not deferred
	InFlightLists int           // of all processes, when they were looked at last
	// UnreadableLists are those of them that could not be read.
	UnreadableLists int
	Resumed         int64 // entries finished in place of their owners
	Fenced          int64 // of them, whose writer was shut out
	Refused         int64 // changes that were refused because the list was full
	// Entries of libraries that readers have found to be wrong: asked for, asked
	// for and dropped because too many were waiting, and brought in line.
	RepairsAsked, RepairsDropped, RepairsDone int64
	// What the scrubber has found to be wrong, in items that were left unsettled
	// and in entries that differed; and how many steps it has made.
	ScrubSettled, ScrubMismatches, ScrubSteps int64
}

// Stats counts what is on the list now.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	st := j.counts
	st.Entries = len(j.entries)
	for _, e := range j.entries {
		if e.deferred {
			st.Deferred++
			continue
		}
		if e.left && e.Decided {
			st.Waiting++
		}
		st.Oldest = max(st.Oldest, j.rt.Elapsed()-e.since)
	}
	return st
}
