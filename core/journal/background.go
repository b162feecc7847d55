package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"carrel/core/commit"
	"carrel/core/sched"
)

// Run does the background work until ctx ends, and returns when all of it has
// stopped. Call Recover before the first request is served.
func (j *Journal) Run(ctx context.Context, s Service) {
	changes, repairs, expiries := newWorkers(j.rt), newWorkers(j.rt), newWorkers(j.rt)
	loops := []struct {
		every time.Duration
		step  func(context.Context, Service) error
		what  string
	}{
		{heartbeat, func(ctx context.Context, _ Service) error { return j.Beat(ctx) }, "writing the in-flight list"},
		{pollEvery, func(ctx context.Context, s Service) error { j.startDue(ctx, s, changes, j.rt.Elapsed()); return nil }, "finishing changes"},
		{pollEvery, func(ctx context.Context, s Service) error { j.startRepairs(ctx, s, repairs); return repairs.failed() },
			"repairing derived rows"},
		{pollEvery, func(ctx context.Context, s Service) error {
			_, err := j.startExpiries(ctx, s, expiries)
			return errors.Join(err, expiries.failed())
		}, "ending what has expired"},
		{pollEvery, newWatch(j).step, "taking over in-flight lists"},
		{scrubEvery, j.scrub, "scrubbing"},
	}
	ended := make([]sched.Latch, len(loops))
	for i, l := range loops {
		ended[i] = j.rt.Latch()
		j.rt.Go(func() {
			defer ended[i].Open()
			for j.rt.After(ctx, l.every) == nil {
				if err := l.step(ctx, s); err != nil && ctx.Err() == nil {
					j.log.WarnContext(ctx, "background work failed", "what", l.what, "error", err)
				}
			}
		})
	}
	for _, l := range ended {
		// The loops end when ctx ends.
		if _, err := j.rt.Wait(j.life, l, 0); err != nil {
			return
		}
	}
	for _, w := range []*workers{changes, repairs, expiries} {
		w.wait(j.life)
	}
}

// Beat writes the list unless it is empty and was empty when it was last written. Entries that have
// lingered long enough leave it. The write shows other processes that this process is alive.
func (j *Journal) Beat(ctx context.Context) error {
	j.mu.Lock()
	if len(j.entries)+len(j.ended) == 0 && !j.dirty {
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

// DoDue runs the deferred changes that are due, the entries passed to the background, and the
// repairs. It returns when each has been tried once.
func (j *Journal) DoDue(ctx context.Context, s Service) error {
	w := newWorkers(j.rt)
	// An entry that fails is due again only after now.
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

// startDue starts the entries that are due at now, a monotonic time, as long as there are free
// workers, and returns how many it started.
func (j *Journal) startDue(ctx context.Context, s Service, w *workers, now time.Duration) int {
	due := j.takeDue(w, now)
	for _, e := range due {
		w.start(e.failing(), func() error { j.doOne(ctx, s, e); return nil })
	}
	return len(due)
}

// failing reports whether an attempt at the entry has failed, in its fan-out or in the background.
// Such an entry never takes a worker from an entry without failures.
func (e *entry) failing() bool { return e.background || e.failures > 0 }

// takeDue marks due entries as busy, as long as there are free workers. Those with the
// fewest failures come first.
func (j *Journal) takeDue(w *workers, elapsed time.Duration) []*entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var due []*entry
	for _, e := range j.entries {
		waits := e.retry > elapsed
		if e.busy || waits || !e.background && !e.deferred {
			continue
		}
		due = append(due, e)
	}
	slices.SortStableFunc(due, func(a, b *entry) int { return cmp.Compare(a.failures, b.failures) })
	due = slices.DeleteFunc(due, func(e *entry) bool { return !w.reserve(e.failing()) })
	for _, e := range due {
		e.busy = true
	}
	return due
}

// startRepairs starts as many repairs as there are free workers. A repair that fails is
// not retried: the next reader of the library requests it again.
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

// doOne finishes one entry of this process, or postpones it.
func (j *Journal) doOne(ctx context.Context, s Service, e *entry) {
	var err error
	fenced := false
	if e.background {
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
	if e.Lingers {
		j.keepEnded(e.Kind, e.Key)
	}
	j.dirty = true
}

// count counts an entry that the background finished. The caller holds mu.
func (j *Journal) count(fenced bool) {
	j.counts.Resumed++
	if fenced {
		j.counts.Fenced++
	}
}

// pauseOf returns how long a failed entry waits for its next try. The pause is short
// while the process drains, because what it does not finish waits for another process.
// The caller holds mu.
func (j *Journal) pauseOf(e *entry) time.Duration {
	if j.draining {
		return backOffAtLeast
	}
	return backOff(e.failures)
}

// backOff returns the pause after a number of failures in a row.
func backOff(failures int) time.Duration {
	pause := backOffAtLeast
	for range failures - 1 {
		if pause *= 2; pause >= backOffAtMost {
			return backOffAtMost
		}
	}
	return pause
}

// scrub lets the scrubber check all stored rows, a few at a time.
func (j *Journal) scrub(ctx context.Context, s Service) error {
	return s.Scrub(ctx, func(step commit.ScrubStep) (context.Context, error) {
		switch {
		case step.Err == nil:
			j.note(func(n *Stats) {
				n.ScrubSteps++
				n.ScrubFinished += int64(step.Finished)
				n.ScrubMismatches += int64(step.Mismatches)
			})
			if step.Finished+step.Mismatches > 0 {
				j.log.WarnContext(ctx, "the scrubber repaired rows", "finished", step.Finished, "mismatches", step.Mismatches)
			}
		case ctx.Err() == nil:
			j.log.WarnContext(ctx, "background work failed", "what", "scrubbing", "error", step.Err)
		}
		return ctx, j.rt.After(ctx, scrubEvery)
	})
}

// Drain finishes all entries of the list, including deferred changes and entries that wait for
// their next try, and then removes the list. It returns when all changes have ended or ctx ends. A
// list with entries that linger stays, and another process takes it over.
func (j *Journal) Drain(ctx context.Context, s Service) error {
	j.mu.Lock()
	j.draining = true
	for _, e := range j.entries {
		// The cause of a failure may be over, and the pause may last longer than ctx.
		e.retry = 0
	}
	j.mu.Unlock()
	w := newWorkers(j.rt)
	for {
		// Repairs are not done: readers find the wrong rows again. Entries that fail
		// or hang are not waited for, so that they do not delay others.
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
			return fmt.Errorf("some changes are still pending: %w", err)
		}
	}
}

// dropOwn writes the empty list and then deletes it: a store may keep empty lists. It does
// not delete a list that is written meanwhile, because that has a newer stamp, and leaves one
// with entries that linger.
func (j *Journal) dropOwn(ctx context.Context) error {
	if err := j.Beat(ctx); err != nil {
		return err
	}
	if stamp := j.unused(); stamp != 0 {
		return j.store.DeleteInFlightList(ctx, j.inFlightList, stamp)
	}
	return nil
}

// unused returns the stamp at which the list may be deleted: that of an acknowledged write
// of the empty list, or 0 if there is none.
func (j *Journal) unused() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries)+len(j.ended) > 0 || j.dirty || j.acked != j.stamp {
		return 0
	}
	return j.stamp
}

// drainPause is how long Drain waits between its attempts.
const drainPause = 10 * time.Millisecond
