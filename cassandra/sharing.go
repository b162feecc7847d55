package cassandra

import (
	"context"
	"sync"
)

// sharing lets requests that want the same rows at the same time have them by
// one reading.
//
// What decides access must have been read after the request came: a reading
// that was under way before may show what was withdrawn since. So nobody joins a
// reading that has been sent. Who comes while one is under way waits for the
// next, together with all others who come meanwhile; it is sent when the one
// under way has ended. Who comes alone sends its own and waits for nobody.
type sharing[K comparable, V any] struct {
	// wait sends a reading that several wait for, which has no caller to do what
	// callers do about nodes that are slow.
	wait func(ctx context.Context, send func(context.Context) (V, error)) (V, error)

	mu   sync.Mutex
	busy map[K]*shared[V] // nil where nobody waits for the next one
}

// shared is a reading that is not sent yet, or was sent for all who wait for it.
type shared[V any] struct {
	done  chan struct{}
	value V // after done, and nobody's to change
	err   error
}

func newSharing[K comparable, V any](h *hedges) *sharing[K, V] {
	s := &sharing[K, V]{busy: map[K]*shared[V]{}}
	s.wait = func(ctx context.Context, send func(context.Context) (V, error)) (V, error) {
		return hedged(ctx, h, func(t *try) (V, error) { return send(t) })
	}
	return s
}

// read gives what send reads for the key. Others may be given the same value.
func (s *sharing[K, V]) read(ctx context.Context, key K, send func(context.Context) (V, error)) (value V, err error) {
	s.mu.Lock()
	next, busy := s.busy[key]
	if !busy {
		s.busy[key] = nil
		s.mu.Unlock()
		defer s.ended(ctx, key, send)
		return send(ctx)
	}
	if next == nil {
		next = &shared[V]{done: make(chan struct{})}
		s.busy[key] = next
	}
	s.mu.Unlock()
	select {
	case <-next.done:
		return next.value, next.err
	case <-ctx.Done():
		return value, notBegun(ctx.Err())
	}
}

// ended sends the reading that others wait for, if there is one, and again
// those that they cause to wait. It does not end with whoever sends it.
func (s *sharing[K, V]) ended(ctx context.Context, key K, send func(context.Context) (V, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.busy[key]
	if next == nil {
		delete(s.busy, key)
		return
	}
	s.busy[key] = nil
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer s.ended(ctx, key, send)
		defer close(next.done)
		next.value, next.err = s.wait(ctx, send)
	}()
}
