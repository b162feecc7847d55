package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/library"
)

// Run does what is due in the background until ctx ends, and returns when all
// of it has stopped. Call Recover before the first request is served.
func (j *Journal) Run(ctx context.Context, s Service) {
	loops := []struct {
		every time.Duration
		step  func(context.Context, Service) error
		what  string
	}{
		{heartbeat, func(ctx context.Context, _ Service) error { return j.Beat(ctx) }, "writing the lane"},
		{pollEvery, j.DoDue, "finishing changes"},
		{pollEvery, j.ExpireDue, "expiring items"},
		{pollEvery, newWatch(j).step, "taking over lanes"},
		{scrubEvery, newScrubber(j).step, "scrubbing"},
	}
	ended := make([]library.Latch, len(loops))
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
	if done, err := j.rt.Wait(ctx, w.done, laneWait); err != nil || !done {
		return err
	}
	return w.err
}

// DoDue carries out the deferred moves whose time has come, the entries left to
// the background, and repairs.
func (j *Journal) DoDue(ctx context.Context, s Service) error {
	j.doEntries(ctx, s)
	j.mu.Lock()
	repairs := j.repairs
	j.repairs = nil
	j.mu.Unlock()
	var errs []error
	for _, r := range repairs {
		if err := s.RepairEntry(ctx, r.principal, r.entry); err != nil {
			errs = append(errs, fmt.Errorf("repairing the library of %s: %w", r.principal, err))
			continue
		}
		j.note(func(c *Stats) { c.RepairsDone++ })
	}
	return errors.Join(errs...)
}

func (j *Journal) doEntries(ctx context.Context, s Service) {
	for _, e := range j.takeDue() {
		j.doOne(ctx, s, e)
	}
}

// takeDue marks what is due as being worked on.
func (j *Journal) takeDue() []*entry {
	now, elapsed := library.InstantOf(j.rt.Now()), j.rt.Elapsed()
	j.mu.Lock()
	defer j.mu.Unlock()
	var due []*entry
	for _, e := range j.entries {
		waits := e.retry > elapsed
		if e.busy || waits || !e.left && !(e.deferred && (e.Due <= now || j.draining)) {
			continue
		}
		e.busy = true
		due = append(due, e)
	}
	return due
}

// doOne finishes one entry of our own, or puts it off.
func (j *Journal) doOne(ctx context.Context, s Service, e *entry) {
	var err error
	fenced := false
	if e.left {
		fenced, err = s.Resume(ctx, e.InFlight)
	} else {
		_, err = s.Move(ctx, e.Content)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e.busy = false
	if err != nil {
		e.failures++
		e.retry = j.rt.Elapsed() + j.pauseOf(e)
		j.log.WarnContext(ctx, "a change could not be finished yet",
			"content", string(e.Content), "principal", string(e.Principal), "failures", e.failures, "error", err)
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

// ExpireDue deletes the items whose time has come.
func (j *Journal) ExpireDue(ctx context.Context, s Service) error {
	dues, err := j.store.DueUntil(ctx, library.InstantOf(j.rt.Now()), duePage)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range dues {
		done, err := s.Expire(ctx, d)
		if err == nil && done {
			err = j.store.DropDue(ctx, d)
		}
		if err != nil {
			// One that fails must not keep the others.
			errs = append(errs, fmt.Errorf("expiring %s: %w", d.Content, err))
		}
	}
	return errors.Join(errs...)
}

// scrubber walks over all items and libraries, a little at a time, for ever.
type scrubber struct {
	j    *Journal
	next library.ScrubPlace
}

func newScrubber(j *Journal) *scrubber { return &scrubber{j: j} }

func (c *scrubber) step(ctx context.Context, s Service) error {
	r, err := s.Scrub(ctx, c.next, scrubPage)
	if err != nil {
		return err
	}
	c.next = r.Next
	c.j.note(func(n *Stats) {
		n.ScrubSteps++
		n.ScrubSettled += int64(r.Settled)
		n.ScrubMismatches += int64(r.Mismatches)
	})
	if r.Settled+r.Mismatches > 0 {
		c.j.log.WarnContext(ctx, "the scrubber mended libraries", "items", r.Settled, "mismatches", r.Mismatches)
	}
	return nil
}

// Drain finishes what is on the list, deferred moves and what waits for its next
// try included, and writes the lane a last time. It returns when the list is
// empty or ctx ends.
func (j *Journal) Drain(ctx context.Context, s Service) error {
	j.mu.Lock()
	j.draining = true
	for _, e := range j.entries {
		// What it failed by may be over, and its pause be longer than ctx lasts.
		e.retry = 0
	}
	j.mu.Unlock()
	for {
		// No repairs: whoever reads what needs one finds it again.
		j.doEntries(ctx, s)
		j.mu.Lock()
		empty := len(j.entries) == 0
		j.mu.Unlock()
		if empty {
			return j.Beat(ctx)
		}
		if err := j.rt.After(ctx, drainPause); err != nil {
			return fmt.Errorf("changes are still under way: %w", err)
		}
	}
}

// drainPause is how long Drain waits for fan-outs that others run.
const drainPause = 10 * time.Millisecond
