package lease

import (
	"context"
	"sync"
	"time"

	"carrel/core/sched"
	"carrel/principal"
)

const (
	// lookTimeout is how long a shared read of a lease may take.
	lookTimeout = 5 * time.Second
	// looksQueue is how many shared reads of one lease may wait: one, and those of callers that have
	// arrived while it got its turn.
	looksQueue = 256
)

// looks shares reads of leases. The keys of a lease are looked at together when others want them, and
// serial reads of one row hinder each other and its changes.
type looks struct {
	mu sync.Mutex
	// next is the next read of each lease, which has not begun.
	next map[ID]*look
}

// look is one read. Its result may be read once done is open.
type look struct {
	done sched.Latch
	l    *Lease
	// ownerGone is whether the lease has not ended, although its owner was deleted.
	ownerGone bool
	err       error
}

// look reads a lease and whether its owner was deleted. The lease is nil if there is none. The read
// began after the call: callers that arrive while another read of the lease runs share the next one.
func (s *Service) look(ctx context.Context, id ID) (*look, error) {
	s.looks.mu.Lock()
	mine, waiting := s.looks.next[id]
	if !waiting {
		mine = &look{done: s.rt.Latch()}
		s.looks.next[id] = mine
	}
	s.looks.mu.Unlock()
	if waiting {
		if _, err := s.rt.Wait(ctx, mine.done, 0); err != nil {
			return nil, err
		}
		return mine, mine.err
	}
	shared, cancel := s.rt.Deadline(s.rt.Detach(ctx), lookTimeout)
	defer cancel()
	unlock, err := s.rt.Lock(shared, "look at "+string(id), looksQueue)
	s.looks.mu.Lock()
	delete(s.looks.next, id)
	s.looks.mu.Unlock()
	if mine.err = err; err == nil {
		mine.err = s.fill(shared, mine, id)
		unlock()
	}
	mine.done.Open()
	return mine, mine.err
}

// fill does the reads of a look.
func (s *Service) fill(ctx context.Context, k *look, id ID) (err error) {
	if k.l, err = s.read(ctx, id); err == nil && k.l != nil && !k.l.Ended() {
		k.ownerGone, err = s.ownerGone(ctx, k.l)
	}
	return err
}

// ownerGone reports whether the owner of a lease was deleted.
func (s *Service) ownerGone(ctx context.Context, l *Lease) (bool, error) {
	return s.people.IsDeleted(ctx, &principal.Viewer{User: l.Owner})
}
