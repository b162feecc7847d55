package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
)

const (
	// duePage is how many expiries are read at once, in addition to those that have failed.
	duePage = 100
	// maxFailingDues limits how many failing expiries are remembered, each with its next
	// try. Only if there are more do failing expiries delay others.
	maxFailingDues = 10_000
)

// dueKey identifies an expiry. The scrubber rewrites the reminder of a late expiry with a newer
// MTS: it is still the same expiry.
type dueKey struct {
	at   clock.Instant
	kind commit.Kind
	key  string
}

func dueKeyOf(d commit.Reminder) dueKey { return dueKey{d.At, d.Kind, d.Key} }

// dueState is the state of an expiry that is running or has not succeeded. Its reminder stays
// in the store until it succeeds.
type dueState struct {
	busy     bool
	failures int
	retry    time.Duration // on the monotonic clock
}

// ExpireDue runs the expiries that are due. It returns when each has been tried once.
func (j *Journal) ExpireDue(ctx context.Context, s Service) error {
	w := newWorkers(j.rt)
	var unread error
	for {
		started, err := j.startExpiries(ctx, s, w)
		if err != nil {
			unread = err
		}
		w.wait(ctx)
		if started == 0 {
			return errors.Join(unread, w.failed())
		}
	}
}

// startExpiries starts the expiries that are due, as long as there are free workers, and returns
// how many it started. Reminders of failed expiries stay first in the store. So the limit of reminders to
// read is raised by their number, and each failed expiry is skipped until its next try. If the
// store could not read all reminders, startExpiries works on those that it could read, and also returns
// the error.
func (j *Journal) startExpiries(ctx context.Context, s Service, w *workers) (int, error) {
	j.mu.Lock()
	limit := duePage + len(j.dues)
	j.mu.Unlock()
	dues, err := j.store.DueReminders(ctx, clock.Of(j.rt.Now()), limit)
	started := 0
	for _, d := range dues {
		failing, ok := j.takeExpiry(d, w)
		if !ok {
			continue
		}
		started++
		w.start(failing, func() error { return j.expire(ctx, s, d) })
	}
	if err == nil && len(dues) < limit {
		j.forgetDropped(dues)
	}
	return started, err
}

// takeExpiry marks an expiry as busy. It reports whether the expiry has failed before, and
// whether it should be tried now; then a worker is reserved for it.
func (j *Journal) takeExpiry(d commit.Reminder, w *workers) (failing, ok bool) {
	elapsed := j.rt.Elapsed()
	j.mu.Lock()
	defer j.mu.Unlock()
	key := dueKeyOf(d)
	st := j.dues[key]
	failing = st != nil && st.failures > 0
	if st != nil && (st.busy || st.retry > elapsed) || !w.reserve(failing) {
		return failing, false
	}
	if st == nil {
		st = &dueState{}
		j.dues[key] = st
	}
	st.busy = true
	return failing, true
}

// expire runs one expiry, or postpones it.
func (j *Journal) expire(ctx context.Context, s Service, d commit.Reminder) error {
	done, err := s.Expire(ctx, d)
	if err == nil && done {
		err = j.store.DropReminder(ctx, d)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	key := dueKeyOf(d)
	st := j.dues[key]
	st.busy = false
	switch {
	case err == nil && done, len(j.dues) > maxFailingDues:
		delete(j.dues, key)
	case err == nil:
		// The domain has found that it is not due yet.
		st.retry = j.rt.Elapsed() + backOffAtLeast
	default:
		st.failures++
		st.retry = j.rt.Elapsed() + backOff(st.failures)
	}
	if err != nil {
		return fmt.Errorf("expiring %s: %w", d.Key, err)
	}
	return nil
}

// forgetDropped forgets the expiries whose reminders are no longer in the store, because
// another process has removed them. dues are the reminders of everything that is due.
func (j *Journal) forgetDropped(dues []commit.Reminder) {
	stored := make(map[dueKey]bool, len(dues))
	for _, d := range dues {
		stored[dueKeyOf(d)] = true
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// The order does not matter, because each is checked by itself.
	maps.DeleteFunc(j.dues, func(key dueKey, st *dueState) bool { return !st.busy && !stored[key] })
}
