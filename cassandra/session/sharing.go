package session

import (
	"context"
	"sync"
	"time"
)

// Waiting for a shared read takes up to twice as long as a separate read. That is worth it only if
// many callers want the same rows.
const (
	// separateReads is how many reads of the same rows may be in flight before further callers wait
	// for a shared one. When this process has busyLoad statements in flight or waiting, which is
	// about five pages, only one may be.
	separateReads = 3
	busyLoad      = 100
	// crowd is a number of callers. If that many have shared a read, the next read is sent only
	// when no other read of the same rows is in flight.
	crowd = 4
)

// sharing lets callers that want the same rows at the same time share one read.
//
// Rows that decide about access must be read after the request arrived, because a read that was
// sent earlier may return rights that were withdrawn since. So no caller joins a read that has been
// sent. While few reads of the rows are in flight, a caller sends its own. While many are in
// flight, it waits for the next one together with all callers that arrive meanwhile. The next read
// is sent when one of those in flight has ended, or, in a crowd, when all of them have.
type sharing[K comparable, V any] struct {
	// limit returns how many reads of a key may be in flight.
	limit func() int
	// sendShared sends a shared read, with a second attempt if its node is slow.
	// Callers hedge their own reads themselves.
	sendShared func(ctx context.Context, send func(context.Context) (V, error)) (V, error)

	mu   sync.Mutex
	keys map[K]*keyReads[V]
}

// keyReads are the reads of a key.
type keyReads[V any] struct {
	inFlight int            // reads that were sent and have not ended
	crowded  bool           // at least crowd callers shared the last read
	next     *sharedRead[V] // the next read; nil if nobody waits for it
}

// sharedRead is a read for all callers that wait for it.
type sharedRead[V any] struct {
	ctx      context.Context // of the first caller, without its cancellation
	waiters  int             // callers that wait for it
	deadline time.Time       // the latest of theirs; zero: one of them has none
	done     chan struct{}
	value    V // valid when done is closed; read only
	err      error
}

func newSharing[K comparable, V any](h *hedges, alone func() int) *sharing[K, V] {
	s := &sharing[K, V]{limit: alone, keys: map[K]*keyReads[V]{}}
	s.sendShared = func(ctx context.Context, send func(context.Context) (V, error)) (V, error) {
		return hedged(ctx, h, func(t *attempt) (V, error) { return send(t) })
	}
	return s
}

// read returns what send reads for the key. Other callers may get the same value.
func (s *sharing[K, V]) read(ctx context.Context, key K, send func(context.Context) (V, error)) (value V, err error) {
	s.mu.Lock()
	a := s.keys[key]
	if a == nil {
		a = new(keyReads[V])
		s.keys[key] = a
	}
	if a.next == nil && s.mayStart(a) { // a caller must not overtake those that wait
		a.inFlight++
		s.mu.Unlock()
		defer s.finished(key, a, send)
		return send(ctx)
	}
	next := a.next
	if next == nil {
		next = &sharedRead[V]{ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
		a.next = next
	}
	next.join(ctx)
	s.mu.Unlock()
	select {
	case <-next.done:
		return next.value, next.err
	case <-ctx.Done():
		return value, NotSent(ctx.Err())
	}
}

// join adds a caller that waits. The read gets the latest deadline of its callers:
// without a deadline the gate would send it after the statements of newer pages, and
// with an earlier one it would end while a caller still waits.
func (r *sharedRead[V]) join(ctx context.Context) {
	until, bounded := ctx.Deadline()
	switch {
	case !bounded:
		r.deadline = time.Time{}
	case r.waiters == 0 || !r.deadline.IsZero() && until.After(r.deadline):
		r.deadline = until
	}
	r.waiters++
}

// read sends the read and passes its result to all callers.
func (r *sharedRead[V]) read(send func(context.Context) (V, error)) {
	defer close(r.done)
	ctx := r.ctx
	if !r.deadline.IsZero() {
		var end context.CancelFunc
		ctx, end = context.WithDeadline(ctx, r.deadline)
		defer end()
	}
	r.value, r.err = send(ctx)
}

// mayStart reports whether one more read of a key may be sent.
func (s *sharing[K, V]) mayStart(a *keyReads[V]) bool {
	return a.inFlight == 0 || !a.crowded && a.inFlight < s.limit()
}

// finished is called when a read has ended. It sends the next one, if callers wait
// for it, in a goroutine that outlives the caller.
func (s *sharing[K, V]) finished(key K, a *keyReads[V], send func(context.Context) (V, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.inFlight--
	next := a.next
	switch {
	case next == nil && a.inFlight == 0:
		delete(s.keys, key)
		return
	case next == nil || !s.mayStart(a):
		return
	}
	a.next, a.crowded = nil, next.waiters >= crowd
	a.inFlight++
	go func() {
		defer s.finished(key, a, send)
		next.read(func(ctx context.Context) (V, error) { return s.sendShared(ctx, send) })
	}()
}
