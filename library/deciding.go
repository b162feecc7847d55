package library

import (
	"context"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
)

// decidedTimeout is how long a page waits for a change that is being decided. A compare-and-set takes
// a few milliseconds; one whose outcome is unknown may take much longer.
const decidedTimeout = time.Second

// deciding are the changes of items that this process is deciding.
type deciding struct {
	mu      sync.Mutex
	changes map[ContentID]decision
}

// decision is a change of an item that is being decided.
type decision struct {
	oldest clock.Instant // the oldest position to which it may move the item
	done   sched.Latch
}

func (d *deciding) begin(id ContentID, c decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changes == nil {
		d.changes = map[ContentID]decision{}
	}
	d.changes[id] = c
}

func (d *deciding) end(id ContentID) {
	d.mu.Lock()
	c := d.changes[id]
	delete(d.changes, id)
	d.mu.Unlock()
	if c.done != nil {
		c.done.Open()
	}
}

// until returns the changes of the items of es that may move them to a position up to until.
func (d *deciding) until(until clock.Instant, es []Entry) (found []decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.changes) == 0 {
		return nil
	}
	for i := range es {
		if c, ok := d.changes[es[i].Content]; ok && c.oldest <= until {
			found = append(found, c)
		}
	}
	return found
}

// AwaitDecided waits until this process has decided the changes that may move an item of es to a
// position up to until. A later read finds these items moved, and a change that begins later moves
// its item further.
func (s *Service) AwaitDecided(ctx context.Context, es []Entry, until clock.Instant) error {
	for _, c := range s.deciding.until(until, es) {
		if _, err := s.rt.Wait(ctx, c.done, decidedTimeout); err != nil {
			return err
		}
	}
	return nil
}
