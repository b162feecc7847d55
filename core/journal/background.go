package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"carrel/core/sched"
)

// Run does what is due in the background until ctx ends, and returns when all
// of it has stopped. Call Recover before the first request is served.
func (j *Journal) Run(ctx context.Context, s Service) {
	changes, repairs, expiries := newWorkers(j.rt), newWorkers(j.rt), newWorkers(j.rt)
	loops := []struct {
		every time.Duration
		step  func(context.Context, Service) error
		what  string
	}{
		{heartbeat, func(ctx context.Context, _ Service) error { return j.Beat(ctx) }, "writing the lane"},
		{pollEvery, func(ctx context.Context, s Service) error { j.startDue(ctx, s, changes, j.rt.Elapsed()); return nil }, "finishing changes"},
		{pollEvery, func(ctx context.Context, s Service) error { j.startRepairs(ctx, s, repairs); return repairs.failed() }, "repairing libraries"},
		{pollEvery, func(ctx context.Context, s Service) error {
			_, err := j.startExpiries(ctx, s, expiries)
			return errors.Join(err, expiries.failed())
		}, "expiring items"},
		{pollEvery, newWatch(j).step, "taking over lanes"},
		{scrubEvery, j.scrub, "scrubbing"},
	}
	ended := make([]sched.Latch, len(loops))
	for i, l := range loops {
		ended[i] = j.rt.Latch()
		j.rt.Go(func() {
			defer ended[i].Open()
			for j.rt.After(ctx, l.every) == nil {
				if err := l.step(ctx, s); err != nil && ctx.Err() == nil {
					j.log.WarnContext(ctx, "background work failed and will be tried again", "what", l.what, "error", err)
				}
			}
		})
	}
	for _, l := range ended {
		// ctx has ended or will: what is waited for sees that itself.
		if _, err := j.rt.Wait(j.life, l, 0); err != nil {
			return
		}
	}
	for _, w := range []*workers{changes, repairs, expiries} {
		w.wait(j.life)
	}
}

// Beat writes the lane where it holds anything, or did when it was written
// last: a lane that is written is one whose owner lives.
func (j *Journal) Beat(ctx context.Context) error {
	j.mu.Lock()
	if len(j.entries) == 0 && !j.dirty {
		j.mu.Unlock()
		return nil
	}
	w := j.request()
	j.mu.Unlock()
	if done, err := j.rt.Wait(ctx, w.done, listWait); err != nil || !done {
		return err
	}
	return w.err
}

// DoDue carries out the deferred moves whose time has come, the entries left to
// the background, and repairs. It returns when each was tried once.
func (j *Journal) DoDue(ctx context.Context, s Service) error {
	w := newWorkers(j.rt)
	// One that fails is due again later than this.
	for now := j.rt.Elapsed(); j.startDue(ctx, s, w, now) > 0; {
		w.wait(ctx)
	}
	for {
		started := j.startRepairs(ctx, s, w)
		w.wait(ctx)
		if started == 0 {
			return w.failed()
		}
	}
}

// startDue starts to work on what is due at an elapsed time, as far as there are workers, and
// returns how many entries that are.
func (j *Journal) startDue(ctx context.Context, s Service, w *workers, now time.Duration) int {
	due := j.takeDue(w, now)
	for _, e := range due {
		w.start(e.troubled(), func() error { j.doOne(ctx, s, e); return nil })
	}
	return len(due)
}

// troubled reports whether an attempt at the entry has failed, by its fan-out or
// in the background. Such an entry never takes the worker of another one.
func (e *entry) troubled() bool { return e.left || e.failures > 0 }

// takeDue marks what is due as being worked on, as much as there are workers
// for. Those that failed least come first.
func (j *Journal) takeDue(w *workers, elapsed time.Duration) []*entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var due []*entry
	for _, e := range j.entries {
		waits := e.retry > elapsed
		if e.busy || waits || !e.left && !e.deferred {
			continue
		}
		due = append(due, e)
	}
	slices.SortStableFunc(due, func(a, b *entry) int { return cmp.Compare(a.failures, b.failures) })
	due = slices.DeleteFunc(due, func(e *entry) bool { return !w.reserve(e.troubled()) })
	for _, e := range due {
		e.busy = true
	}
	return due
}

// startRepairs starts as many of the repairs as there are workers for. One that
// fails is not tried again: whoever reads the library asks for it again.
func (j *Journal) startRepairs(ctx context.Context, s Service, w *workers) int {
	j.mu.Lock()
	n := 0
	for n < len(j.repairs) && w.reserve(false) {
		n++
	}
	taken := slices.Clone(j.repairs[:n])
	j.repairs = slices.Delete(j.repairs, 0, n)
	j.mu.Unlock()
	for _, r := range taken {
		w.start(false, func() error {
			if err := s.Repair(ctx, r); err != nil {
				return fmt.Errorf("repairing %s: %w", r.Key, err)
			}
			j.note(func(c *Stats) { c.RepairsDone++ })
			return nil
		})
	}
	return n
}

// doOne finishes one entry of our own, or puts it off.
func (j *Journal) doOne(ctx context.Context, s Service, e *entry) {
	var err error
	fenced := false
	if e.left {
		fenced, err = s.Resume(ctx, e.Entry)
	} else {
		_, err = s.RunDue(ctx, e.Entry)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e.busy = false
	if err != nil {
		e.failures++
		e.retry = j.rt.Elapsed() + j.pauseOf(e)
		j.log.WarnContext(ctx, "a change could not be finished yet",
			"key", e.Key, "failures", e.failures, "error", err)
		return
	}
	j.count(fenced)
	j.remove(e)
	j.dirty = true
}

// count counts an entry that the background finished. The caller holds mu.
func (j *Journal) count(fenced bool) {
	j.counts.Resumed++
	if fenced {
		j.counts.Fenced++
	}
}

// pauseOf is how long an entry that failed waits for its next try. While the
// process drains that is not long: whatever is not tried in it waits for another
// process. The caller holds mu.
func (j *Journal) pauseOf(e *entry) time.Duration {
	if j.draining {
		return backOffAtLeast
	}
	return backOff(e.failures)
}

// backOff is the pause after so many failures in a row.
func backOff(failures int) time.Duration {
	pause := backOffAtLeast
	for range failures - 1 {
		if pause *= 2; pause >= backOffAtMost {
			return backOffAtMost
		}
	}
	return pause
}

// scrub has everything that is stored be looked at, a little at a time, for ever.
func (j *Journal) scrub(ctx context.Context, s Service) error {
	settled, mismatches, err := s.Scrub(ctx)
	if err != nil {
		return err
	}
	j.note(func(n *Stats) {
		n.ScrubSteps++
		n.ScrubSettled += int64(settled)
		n.ScrubMismatches += int64(mismatches)
	})
	if settled+mismatches > 0 {
		j.log.WarnContext(ctx, "the scrubber mended libraries", "items", settled, "mismatches", mismatches)
	}
	return nil
}

// Drain finishes what is on the list, deferred moves and what waits for its next
// try included, and then removes the lane. It returns when the list is empty or ctx
// ends.
func (j *Journal) Drain(ctx context.Context, s Service) error {
	j.mu.Lock()
	j.draining = true
	for _, e := range j.entries {
		// What it failed by may be over, and its pause be longer than ctx lasts.
		e.retry = 0
	}
	j.mu.Unlock()
	w := newWorkers(j.rt)
	for {
		// No repairs: whoever reads what needs one finds it again. What fails or
		// hangs is not waited for, so that it delays nothing else.
		j.startDue(ctx, s, w, j.rt.Elapsed())
		w.waitFor(ctx, drainPause)
		j.mu.Lock()
		empty := len(j.entries) == 0
		j.mu.Unlock()
		if empty {
			w.wait(ctx)
			return j.dropOwn(ctx)
		}
		if err := j.rt.After(ctx, drainPause); err != nil {
			w.wait(ctx)
			return fmt.Errorf("changes are still under way: %w", err)
		}
	}
}

// dropOwn writes the empty list, and then deletes the lane: a store may keep it until then.
// Nothing is deleted that is written meanwhile, because that has a newer stamp.
func (j *Journal) dropOwn(ctx context.Context) error {
	if err := j.Beat(ctx); err != nil {
		return err
	}
	if stamp := j.unused(); stamp != 0 {
		return j.store.DeleteInFlightList(ctx, j.inFlightList, stamp)
	}
	return nil
}

// unused returns the stamp at which the lane may be deleted: that of an acknowledged write
// of the empty list; 0 where there is none.
func (j *Journal) unused() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) > 0 || j.dirty || j.acked != j.stamp {
		return 0
	}
	return j.stamp
}

// drainPause is how long Drain waits for fan-outs that others run.
const drainPause = 10 * time.Millisecond
