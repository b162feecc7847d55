package paste

import (
	"context"
	"sync"
	"time"

	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/core/timeline"
)

const (
	// maxQueued is how many pastes may wait in the queue of a follower.
	maxQueued = 256
	// maxMissed is how many pastes one resumption delivers. If more were missed, reading the
	// list again costs less.
	maxMissed = 10_000
	// readWithin is how long one read of the feed, or of a paste, may take.
	readWithin = 5 * time.Second
)

// Follower receives new public pastes. Only one goroutine at a time may call Next. Any goroutine
// may call Close when none waits in Next.
type Follower struct {
	s *Service

	mu    sync.Mutex
	queue []ID
	most  int
	// missed are the pastes that were found when the follower resumed. They may be offered
	// once more.
	missed map[ID]bool
	more   sched.Latch // opens with the next paste; nil if nobody waits
	cut    error       // the error after which nothing is delivered
	closed bool
}

// Follow begins to follow the public pastes: those that are created from now on, or after the
// position of a cursor of Latest. Missed pastes are delivered in the order of their creation,
// later ones in the order of their arrival. The caller must close the Follower.
//
// Errors: BAD_CURSOR; RESYNC if too many were missed; those of the store.
func (s *Service) Follow(ctx context.Context, after *string) (*Follower, error) {
	f := &Follower{s: s, most: maxQueued, missed: map[ID]bool{}}
	var position *timeline.Entry
	if after != nil {
		at, err := s.list().Position(*after)
		if err != nil {
			return nil, err
		}
		position = &at
	}
	return sched.InTime(ctx, s.rt, func(ctx context.Context) (*Follower, error) {
		if err := f.begin(ctx, position); err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	})
}

// begin joins the followers before it reads the missed pastes, so that none is lost in between.
func (f *Follower) begin(ctx context.Context, position *timeline.Entry) error {
	if _, err := f.s.rt.Wait(ctx, f.s.arrivals.join(f), 0); err != nil {
		return err
	}
	if position == nil {
		return nil
	}
	missed, err := f.s.feeds.Since(ctx, feedName, *position, maxMissed+1)
	if err != nil {
		return err
	}
	if len(missed) > maxMissed {
		return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonResync,
			Msg: "too many pastes were created since: read latestPastes again and follow from there"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	arrived := f.queue
	f.queue, f.most = nil, maxQueued+len(missed)
	for _, e := range missed {
		f.queue = append(f.queue, ID(e.ID))
		f.missed[ID(e.ID)] = true
	}
	for _, id := range arrived {
		if !f.missed[id] {
			f.queue = append(f.queue, id)
		}
	}
	return nil
}

// offer adds a paste to the queue.
func (f *Follower) offer(id ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.cut != nil || f.missed[id]:
		return
	case len(f.queue) >= f.most:
		f.cut = &fault.Error{Code: fault.Exhausted, Reason: fault.ReasonSlow, RetryAfter: 1,
			Msg: "too many new pastes are waiting to be delivered: resume after the last one that was delivered"}
		f.queue = nil
	default:
		f.queue = append(f.queue, id)
	}
	if f.more != nil {
		f.more.Open()
		f.more = nil
	}
}

// pending returns a latch that opens with the next paste, or nil if a paste is waiting or
// nothing more will be delivered.
func (f *Follower) pending() sched.Latch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil || len(f.queue) > 0 {
		return nil
	}
	if f.more == nil {
		f.more = f.s.rt.Latch()
	}
	return f.more
}

// Await waits until Next has something to return, or ctx ends.
func (f *Follower) Await(ctx context.Context) {
	if more := f.pending(); more != nil {
		_, _ = f.s.rt.Wait(ctx, more, 0) // Next observes the end of ctx too
	}
}

// take takes the paste that has waited longest. ok is false if none is waiting.
func (f *Follower) take() (id ID, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil || len(f.queue) == 0 {
		return "", false, f.cut
	}
	id = f.queue[0]
	f.queue = f.queue[1:]
	return id, true, nil
}

// Next returns the current state of the next paste. It skips pastes that have ended, are now
// private, or were not public when they were created.
//
// Errors: SLOW_CONSUMER if too many are waiting; those of the store; that of ctx.
func (f *Follower) Next(ctx context.Context) (*Paste, error) {
	for {
		if more := f.pending(); more != nil {
			if _, err := f.s.rt.Wait(ctx, more, 0); err != nil {
				return nil, err
			}
		}
		id, ok, err := f.take()
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		var ps []*Paste
		err = f.s.Retry(ctx, func() (err error) {
			within, cancel := f.s.rt.Deadline(ctx, readWithin)
			defer cancel()
			ps, err = f.s.Pastes(within, []ID{id})
			return err
		})
		if err != nil {
			return nil, err
		}
		if p := ps[0]; p != nil && p.listed() && p.BornPublic {
			return p, nil
		}
	}
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
