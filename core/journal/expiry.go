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
	// duePage is how many expiries that have not failed are read at once.
	duePage = 100
	// maxFailingDues bounds how many failing expiries wait for their next try, each
	// for itself. Only beyond that do those that fail delay the others.
	maxFailingDues = 10_000
)

// dueKey names an expiry. The scrubber writes the hint of one that is late again,
// with a newer MTS: it is the same expiry.
type dueKey struct {
	at   clock.Instant
	kind commit.Kind
	key  string
}

func dueKeyOf(d commit.Due) dueKey { return dueKey{d.At, d.Kind, d.Key} }

// dueState is what is known of an expiry that is being worked on or did not
// succeed. Its hint stays in the store until it succeeds.
type dueState struct {
	busy     bool
	failures int
	retry    time.Duration // on the monotonic clock
}

// ExpireDue deletes the items whose time has come. It returns when each was tried
// once that was due.
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

// startExpiries starts to delete items whose time has come, as far as there are
// workers, and returns how many. Those that failed stay at the head of what is
// due, so as many more are read, and each is skipped until its next try. Where the
// store could not read all that is due, what it could read is worked on, and the
// error is returned beside it.
func (j *Journal) startExpiries(ctx context.Context, s Service, w *workers) (int, error) {
	j.mu.Lock()
	limit := duePage + len(j.dues)
	j.mu.Unlock()
	dues, err := j.store.DueUntil(ctx, clock.Of(j.rt.Now()), limit)
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

// takeExpiry marks an expiry as being worked on. It reports whether the expiry has
// failed before, and whether it is to be tried now, for which a worker is reserved.
func (j *Journal) takeExpiry(d commit.Due, w *workers) (failing, ok bool) {
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

// expire deletes one item, or puts it off.
func (j *Journal) expire(ctx context.Context, s Service, d commit.Due) error {
	done, err := s.Expire(ctx, d)
	if err == nil && done {
		err = j.store.DropDue(ctx, d)
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
		// The clock of whoever judges it is behind ours.
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

// forgetDropped forgets the expiries whose hints are in the store no more: another
// process has dropped them. dues are all that are due.
func (j *Journal) forgetDropped(dues []commit.Due) {
	there := make(map[dueKey]bool, len(dues))
	for _, d := range dues {
		there[dueKeyOf(d)] = true
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// The order does not matter: each is judged by itself.
	maps.DeleteFunc(j.dues, func(key dueKey, st *dueState) bool { return !st.busy && !there[key] })
}
