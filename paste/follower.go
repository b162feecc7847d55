package paste

import (
	"context"
	"slices"
	"sync"
	"time"

	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/sched"
)

const (
	// maxQueued is how many pastes may wait in the queue of a follower.
	maxQueued = 256
	// maxMissed is how many pastes one resumption delivers. If more were missed, reading the
	// list again costs less.
	maxMissed = 10_000
	// missedPage is how many missed pastes are read at once, so that a follower holds no more.
	missedPage = 256
	// readTimeout is how long one read of the feed, or of a paste, may take.
	readTimeout = 5 * time.Second
)

// Follower receives new public pastes. Only one goroutine at a time may call Await, Next and Cursor.
// Any goroutine may call Close when none waits in Next.
type Follower struct {
	s *Service

	mu    sync.Mutex
	queue []feed.Entry // pastes that have arrived
	// replayed are the missed pastes that were delivered, and may be offered once more.
	replayed map[string]bool
	more     sched.Latch // opens with the next paste; nil if nobody waits
	cut      error       // the error after which nothing is delivered
	closed   bool

	// The fields below belong to the caller of Next. Until behind is false, missed pastes are
	// delivered: page are those that were read, and position is the last one that was read.
	behind   bool
	page     []feed.Entry
	position feed.Entry
	resumed  feed.Entry // at the cursor
	count    int        // of missed pastes that were delivered
}

// Follow begins to follow the public pastes: those that are created from now on, or after the
// position of a cursor of Latest. Missed pastes are delivered in the order of their creation,
// later ones in the order of their arrival. A paste may be listed late, so those that were created
// within lateWithin before the cursor was read are delivered again. The caller must close the
// Follower.
//
// Errors: BAD_CURSOR; those of the store.
func (s *Service) Follow(ctx context.Context, after *string) (*Follower, error) {
	f := &Follower{s: s, replayed: map[string]bool{}}
	if after != nil {
		at, read, err := s.list().Position(*after)
		if err != nil {
			return nil, err
		}
		if read == 0 {
			read = at.Created
		}
		f.behind, f.resumed, f.position = true, at, at
		if overlap := read.Add(-lateWithin); overlap <= at.Created {
			f.position = feed.Entry{Created: overlap}
		}
	}
	// It joins before it reads the missed pastes, so that none is lost in between.
	return sched.WithQueryTimeout(ctx, s.rt, func(ctx context.Context) (*Follower, error) {
		if _, err := s.rt.Wait(ctx, s.arrivals.join(f), 0); err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	})
}

// offer adds a paste to the queue.
func (f *Follower) offer(e feed.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.cut != nil || f.replayed[e.ID]:
		return
	case len(f.queue) >= maxQueued:
		f.cut = &fault.Error{Code: fault.Exhausted, Reason: fault.ReasonSlow, RetryAfter: 1,
			Msg: "too many new pastes are waiting to be delivered: resume after the last one that was delivered"}
		f.queue = nil
	default:
		f.queue = append(f.queue, e)
	}
	if f.more != nil {
		f.more.Open()
		f.more = nil
	}
}

// pending returns a latch that opens with the next paste, or nil if a paste may be waiting or
// nothing more will be delivered.
func (f *Follower) pending() sched.Latch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil || f.behind || len(f.queue) > 0 {
		return nil
	}
	if f.more == nil {
		f.more = f.s.rt.Latch()
	}
	return f.more
}

// Await waits until Ready returns without waiting for a paste, or ctx ends.
func (f *Follower) Await(ctx context.Context) {
	if more := f.pending(); more != nil {
		_, _ = f.s.rt.Wait(ctx, more, 0) // Ready observes the end of ctx too
	}
}

// Ready waits until Next returns the next paste at once.
//
// Errors: RESYNC if more than maxMissed pastes were missed; SLOW_CONSUMER if too many are waiting;
// those of the store; that of ctx.
func (f *Follower) Ready(ctx context.Context) error {
	for f.behind && len(f.page) == 0 {
		if err := f.readMissed(ctx); err != nil {
			return err
		}
	}
	if more := f.pending(); more != nil {
		if _, err := f.s.rt.Wait(ctx, more, 0); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cut
}

// readMissed reads the next missed pastes. If there are none, the follower is not behind any more.
func (f *Follower) readMissed(ctx context.Context) error {
	err := f.retry(ctx, func(ctx context.Context) (err error) {
		f.page, err = f.s.feeds.Since(ctx, feedName, f.position, missedPage)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(f.page) == 0:
		f.behind = false
		return nil
	case f.count >= maxMissed:
		return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonResync,
			Msg: "too many pastes were created since: read latestPastes again and follow from there"}
	}
	f.position = f.page[len(f.page)-1]
	f.page = slices.DeleteFunc(f.page, func(e feed.Entry) bool { return feed.Compare(e, f.resumed) == 0 })
	f.count += len(f.page)
	return nil
}

// retry repeats a read that fails. Each try has a time limit.
func (f *Follower) retry(ctx context.Context, read func(context.Context) error) error {
	return f.s.engine.Retry(ctx, func() error {
		within, cancel := f.s.rt.Deadline(ctx, readTimeout)
		defer cancel()
		return read(within)
	})
}

// take takes the paste that has waited longest. Ready must have returned nil.
func (f *Follower) take() feed.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.page) == 0 {
		e := f.queue[0]
		f.queue = f.queue[1:]
		return e
	}
	e := f.page[0]
	f.page = f.page[1:]
	if e.Created > f.s.engine.Now().Add(-2*lateWithin) { // an older one does not arrive any more
		f.replayed[e.ID] = true
	}
	f.queue = slices.DeleteFunc(f.queue, func(arrived feed.Entry) bool { return arrived.ID == e.ID })
	return e
}

// Next returns the current state of the next paste. It returns nil for a paste that has ended, is now
// private, or was not public when it was created.
//
// Errors: those of Ready.
func (f *Follower) Next(ctx context.Context) (*Paste, error) {
	if err := f.Ready(ctx); err != nil {
		return nil, err
	}
	id := ID(f.take().ID)
	var ps []*Paste
	err := f.retry(ctx, func(ctx context.Context) (err error) {
		ps, err = f.s.Pastes(ctx, []ID{id})
		return err
	})
	if err != nil {
		return nil, err
	}
	if p := ps[0]; p != nil && p.listed() && p.BornPublic {
		return p, nil
	}
	return nil, nil
}

// Cursor returns a cursor. A follower after it receives all pastes that this one has not returned,
// and may receive recent ones again.
func (f *Follower) Cursor() string {
	l := f.s.list()
	l.Read = f.s.arrivals.covered(l.Read)
	at := feed.Entry{Created: l.Read}
	f.mu.Lock()
	defer f.mu.Unlock()
	waiting := f.queue
	if f.behind {
		at = f.position
		waiting = slices.Concat(f.page, f.queue)
	}
	for _, e := range waiting {
		if e.Created <= at.Created {
			at = feed.Entry{Created: e.Created - 1}
		}
	}
	return l.Cursor(at)
}

// Close removes the follower.
func (f *Follower) Close() {
	f.mu.Lock()
	closed := f.closed
	f.closed = true
	f.mu.Unlock()
	if !closed {
		f.s.arrivals.leave(f)
	}
}
