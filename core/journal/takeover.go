package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"carrel/core/commit"
)

// watch looks for lists whose owners are dead. Waiting only avoids double work: a take-over
// is correct even while the owner is alive.
type watch struct {
	j    *Journal
	seen map[commit.ListID]lastSeen
	// unreadable are the lists that were last logged as unreadable.
	unreadable []commit.ListID
}

// lastSeen is the last seen write of a list, and when it was first seen, on this process's
// monotonic clock: clocks of different processes are not compared.
type lastSeen struct {
	stamp int64
	at    time.Duration
	// A failed take-over is tried again at retry; failures is how many have failed in a row.
	failures int
	retry    time.Duration
}

func newWatch(j *Journal) *watch { return &watch{j: j, seen: map[commit.ListID]lastSeen{}} }

func (w *watch) step(ctx context.Context, s Service) error {
	inFlightLists, err := commit.OpenLists(ctx, w.j.store)
	if err := w.logUnreadable(ctx, err); err != nil {
		return err
	}
	w.j.note(func(c *Stats) {
		c.InFlightLists, c.UnreadableLists = len(inFlightLists)+len(w.unreadable), len(w.unreadable)
	})
	now := w.j.rt.Elapsed()
	seen := make(map[commit.ListID]lastSeen, len(inFlightLists))
	var errs []error
	for _, l := range inFlightLists {
		if l.ID == w.j.inFlightList {
			continue
		}
		last, known := w.seen[l.ID]
		if !known || last.stamp != l.Stamp {
			last = lastSeen{stamp: l.Stamp, at: now}
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

// logUnreadable logs the lists that cannot be read, whenever that set changes. They stay
// until an operator acts on them, and do not prevent the take-over of other lists. Every
// other error is returned.
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
		w.j.log.ErrorContext(ctx, "in-flight lists cannot be read, so their changes cannot be finished", "lists", ids, "error", err)
	}
	w.unreadable = ids
	return nil
}

// Recover takes over all lists of other processes at once. It is for a store that one
// process uses at a time, so the owners of these lists are dead.
func (j *Journal) Recover(ctx context.Context, s Service) error {
	inFlightLists, err := commit.OpenLists(ctx, j.store)
	var errs []error
	if err != nil {
		errs = append(errs, fmt.Errorf("reading the in-flight lists: %w", err))
	}
	for _, l := range inFlightLists {
		if l.ID != j.inFlightList {
			errs = append(errs, j.TakeOver(ctx, s, l))
		}
	}
	return errors.Join(errs...)
}

// TakeOver finishes every entry of a list and then deletes the list as it was read. A list that its
// owner has written since stays. When a list is deleted, no compare-and-set of its entries can be
// applied any more. If an entry cannot be finished, the list stays, but the other entries are
// finished. If Linger was called for the kind of an entry, the entry then lingers on this process's
// list.
func (j *Journal) TakeOver(ctx context.Context, s Service, l commit.OpenList) error {
	w := newWorkers(j.rt)
	for _, e := range l.Entries {
		if e.Ended {
			continue
		}
		for !w.reserve(false) {
			w.wait(ctx)
		}
		w.start(false, func() error {
			fenced, err := s.Resume(ctx, e)
			if err != nil {
				return fmt.Errorf("taking over the in-flight list %s: %w", l.ID, err)
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
	if err := j.adoptEnded(ctx, l.Entries); err != nil {
		return fmt.Errorf("taking over the in-flight list %s: %w", l.ID, err)
	}
	if err := j.store.DeleteInFlightList(ctx, l.ID, l.Stamp); err != nil {
		return fmt.Errorf("deleting the in-flight list %s: %w", l.ID, err)
	}
	return nil
}
