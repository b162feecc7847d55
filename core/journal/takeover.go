package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"carrel/core/commit"
)

// watch looks for lanes whose owners are dead. Waiting saves double work, no
// more: a take-over is right beside a living owner too.
type watch struct {
	j    *Journal
	seen map[commit.ListID]sighting
	// unreadable are the lanes of which the log was told last.
	unreadable []commit.ListID
}

// sighting is the last write that was seen of a lane, and when it was first
// seen, on our own monotonic clock: clocks of others are not compared.
type sighting struct {
	stamp int64
	at    time.Duration
	// A take-over that failed is tried again at retry, after failures in a row.
	failures int
	retry    time.Duration
}

func newWatch(j *Journal) *watch { return &watch{j: j, seen: map[commit.ListID]sighting{}} }

func (w *watch) step(ctx context.Context, s Service) error {
	inFlightLists, err := commit.OpenLists(ctx, w.j.store)
	if err := w.logUnreadable(ctx, err); err != nil {
		return err
	}
	w.j.note(func(c *Stats) {
		c.InFlightLists, c.UnreadableLists = len(inFlightLists)+len(w.unreadable), len(w.unreadable)
	})
	now := w.j.rt.Elapsed()
	seen := make(map[commit.ListID]sighting, len(inFlightLists))
	var errs []error
	for _, l := range inFlightLists {
		if l.ID == w.j.inFlightList {
			continue
		}
		last, known := w.seen[l.ID]
		if !known || last.stamp != l.Stamp {
			last = sighting{stamp: l.Stamp, at: now}
		}
		if now-last.at >= deadAfter && now >= last.retry {
			if err := w.j.TakeOver(ctx, s, l); err != nil {
				errs = append(errs, err)
				last.failures++
				last.retry = now + backOff(last.failures)
			}
		}
		seen[l.ID] = last
	}
	w.seen = seen
	return errors.Join(errs...)
}

// heed tells the log of lanes that cannot be read, once until they are others:
// they stay until somebody does something about them, and keep no other lane
// from being taken over. It gives back every other error.
func (w *watch) logUnreadable(ctx context.Context, err error) error {
	var bad *commit.UnreadableLists
	if err != nil && !errors.As(err, &bad) {
		return err
	}
	var ids []commit.ListID
	if bad != nil {
		ids = bad.IDs
	}
	if len(ids) > 0 && !slices.Equal(ids, w.unreadable) {
		w.j.log.ErrorContext(ctx, "changes under way cannot be read, and so not be finished", "lanes", ids, "error", err)
	}
	w.unreadable = ids
	return nil
}

// Recover takes over all lanes but our own, at once: for a store that one
// process uses at a time, whoever wrote them is dead.
func (j *Journal) Recover(ctx context.Context, s Service) error {
	inFlightLists, err := commit.OpenLists(ctx, j.store)
	var errs []error
	if err != nil {
		errs = append(errs, fmt.Errorf("reading the changes in flight: %w", err))
	}
	for _, l := range inFlightLists {
		if l.ID != j.inFlightList {
			errs = append(errs, j.TakeOver(ctx, s, l))
		}
	}
	return errors.Join(errs...)
}

// TakeOver finishes every entry of a lane and then deletes the lane as it was
// read: what its owner wrote since stays, and every compare-and-set under the
// deleted list is fenced. An entry that cannot be finished keeps the lane, and
// keeps no other entry from being finished.
func (j *Journal) TakeOver(ctx context.Context, s Service, l commit.OpenList) error {
	w := newWorkers(j.rt)
	for _, e := range l.Entries {
		for !w.reserve(false) {
			w.wait(ctx)
		}
		w.start(false, func() error {
			fenced, err := s.Resume(ctx, e)
			if err != nil {
				return fmt.Errorf("taking over lane %s: %w", l.ID, err)
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			j.count(fenced)
			return nil
		})
	}
	w.wait(ctx)
	if err := w.failed(); err != nil {
		return err
	}
	if err := j.store.DeleteInFlightList(ctx, l.ID, l.Stamp); err != nil {
		return fmt.Errorf("dropping lane %s: %w", l.ID, err)
	}
	return nil
}
