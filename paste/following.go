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
	// queueMost is how many pastes may wait for one follower.
	queueMost = 256
	// missedMost is how many pastes one resumption delivers; with more of them, reading the
	// list again costs less.
	missedMost = 10_000
	// lookWithin is how long the store may take for one look at the feed.
	lookWithin = 5 * time.Second
)

// Follower is told of new public pastes. Next is called by one goroutine at a time; Close by
// any, once nobody waits in Next.
type Follower struct {
	s *Service

	mu    sync.Mutex
	queue []ID
	most  int
	// missed are those that were found when the follower resumed: others may find them once
	// more.
	missed map[ID]bool
	more   sched.Latch // opens with the next paste; nil where nobody waits
	cut    error       // why nothing more is delivered
	closed bool
}

// Follow begins to follow the public pastes: those that are created from now on, or after
// the place of a cursor of Latest. Pastes missed come in the order of their creation, and
// later ones in the order of their arrival. The caller closes what it gets.
//
// Errors: BAD_CURSOR; RESYNC where too many were missed; those of the store.
func (s *Service) Follow(ctx context.Context, after *string) (*Follower, error) {
	f := &Follower{s: s, most: queueMost, missed: map[ID]bool{}}
	var place *timeline.Entry
	if after != nil {
		at, err := s.list().Place(*after)
		if err != nil {
			return nil, err
		}
		place = &at
	}
	return sched.InTime(ctx, s.rt, func(ctx context.Context) (*Follower, error) {
		if err := f.begin(ctx, place); err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	})
}

// begin joins the followers, and then reads what was missed: so nothing falls between.
func (f *Follower) begin(ctx context.Context, place *timeline.Entry) error {
	if _, err := f.s.rt.Wait(ctx, f.s.arrivals.join(f), 0); err != nil {
		return err
	}
	if place == nil {
		return nil
	}
	missed, err := f.s.feeds.Since(ctx, feedName, *place, missedMost+1)
	if err != nil {
		return err
	}
	if len(missed) > missedMost {
		return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonResync,
			Msg: "too many pastes were created since: read latestPastes again and follow from there"}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	come := f.queue
	f.queue, f.most = nil, queueMost+len(missed)
	for _, e := range missed {
		f.queue = append(f.queue, ID(e.ID))
		f.missed[ID(e.ID)] = true
	}
	for _, id := range come {
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
			Msg: "too many pastes were created that were not taken yet: resume after the last one that was delivered"}
		f.queue = nil
	default:
		f.queue = append(f.queue, id)
	}
	if f.more != nil {
		f.more.Open()
		f.more = nil
	}
}

// pending returns a latch that opens with the next paste; nil where one waits already, or
// nothing more will come.
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
		_, _ = f.s.rt.Wait(ctx, more, 0) // Next meets the same end of ctx
	}
}

// take takes the paste that has waited longest; ok is false where none waits.
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

// Next returns the next paste, as it is now. One that has ended or was made private is
// passed over, and so is one that was not public from the first.
//
// Errors: SLOW_CONSUMER where too many wait; those of the store; that of ctx.
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
			within, cancel := f.s.rt.Deadline(ctx, lookWithin)
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

// Close ends the following.
func (f *Follower) Close() {
	f.mu.Lock()
	closed := f.closed
	f.closed = true
	f.mu.Unlock()
	if !closed {
		f.s.arrivals.leave(f)
	}
}
