package cassandra

import (
	"context"
	"sync"
	"time"
)

// Waiting for a common reading takes up to twice as long as one of one's own:
// that pays where many ask, and costs where few do.
const (
	// readAlone is how many readings of the same rows are under way before others
	// wait for a common one, while the cluster has little to do: one more costs
	// nobody anything then. From readsBusy statements of this process on, under
	// way or waiting, which some five pages have, a common one is less to wait for.
	readAlone = 3
	readsBusy = 100
	// readCrowd is how many must have waited for one so that the next is sent when
	// nothing else of its rows is under way.
	readCrowd = 4
)

// sharing lets requests that want the same rows at the same time have them by
// one reading.
//
// What decides access must have been read after the request came: a reading
// that was under way before may show what was withdrawn since. So nobody joins a
// reading that has been sent. Who comes while few are under way sends its own
// and waits for nobody. Who comes while there are many waits for the next,
// together with all others who come meanwhile; it is sent when one of those
// under way has ended, or all of them where there is a crowd.
type sharing[K comparable, V any] struct {
	// alone tells how many readings of a key are sent before others have to wait.
	alone func() int
	// wait sends a reading that several wait for, which has no caller to do what
	// callers do about nodes that are slow.
	wait func(ctx context.Context, send func(context.Context) (V, error)) (V, error)

	mu   sync.Mutex
	busy map[K]*asked[V]
}

// asked is what is read under a key.
type asked[V any] struct {
	under int        // readings under way
	crowd bool       // many have waited for the last common one
	next  *shared[V] // nil where nobody waits for the next one
}

// shared is a reading that is not sent yet, or was sent for all who wait for it.
type shared[V any] struct {
	ctx   context.Context // of who came first, and without its end
	waits int             // who waits for it
	until time.Time       // the last of their deadlines; zero: one of them has none
	done  chan struct{}
	value V // after done, and nobody's to change
	err   error
}

func newSharing[K comparable, V any](h *hedges, alone func() int) *sharing[K, V] {
	s := &sharing[K, V]{alone: alone, busy: map[K]*asked[V]{}}
	s.wait = func(ctx context.Context, send func(context.Context) (V, error)) (V, error) {
		return hedged(ctx, h, func(t *try) (V, error) { return send(t) })
	}
	return s
}

// read gives what send reads for the key. Others may be given the same value.
func (s *sharing[K, V]) read(ctx context.Context, key K, send func(context.Context) (V, error)) (value V, err error) {
	s.mu.Lock()
	a := s.busy[key]
	if a == nil {
		a = new(asked[V])
		s.busy[key] = a
	}
	if a.next == nil && s.room(a) { // nobody overtakes those who wait
		a.under++
		s.mu.Unlock()
		defer s.ended(key, a, send)
		return send(ctx)
	}
	next := a.next
	if next == nil {
		next = &shared[V]{ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
		a.next = next
	}
	next.join(ctx)
	s.mu.Unlock()
	select {
	case <-next.done:
		return next.value, next.err
	case <-ctx.Done():
		return value, notBegun(ctx.Err())
	}
}

// join has one more wait for a reading that is not sent yet. The reading has the
// last deadline of all, as one of its own would have: with none it would stand
// last in the gate, where the pages that wait for it stand first, and with an
// earlier one it would be cut off while somebody waits.
func (r *shared[V]) join(ctx context.Context) {
	until, bounded := ctx.Deadline()
	switch {
	case !bounded:
		r.until = time.Time{}
	case r.waits == 0 || !r.until.IsZero() && until.After(r.until):
		r.until = until
	}
	r.waits++
}

// read sends it and gives all who wait for it what it brings.
func (r *shared[V]) read(send func(context.Context) (V, error)) {
	defer close(r.done)
	ctx := r.ctx
	if !r.until.IsZero() {
		var end context.CancelFunc
		ctx, end = context.WithDeadline(ctx, r.until)
		defer end()
	}
	r.value, r.err = send(ctx)
}

// room tells whether one more reading of a key may be sent.
func (s *sharing[K, V]) room(a *asked[V]) bool {
	return a.under == 0 || !a.crowd && a.under < s.alone()
}

// ended sends the reading that others wait for, if there is one, and again
// those that they cause to wait. It does not end with whoever sends it.
func (s *sharing[K, V]) ended(key K, a *asked[V], send func(context.Context) (V, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.under--
	next := a.next
	switch {
	case next == nil && a.under == 0:
		delete(s.busy, key)
		return
	case next == nil || !s.room(a):
		return
	}
	a.next, a.crowd = nil, next.waits >= readCrowd
	a.under++
	go func() {
		defer s.ended(key, a, send)
		next.read(func(ctx context.Context) (V, error) { return s.wait(ctx, send) })
	}()
}
