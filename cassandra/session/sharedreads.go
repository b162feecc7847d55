package session

import "context"

// SharedReads reads partitions, one statement for each key. Concurrent callers that want the same
// key share a read.
type SharedReads[K comparable, V any] struct {
	session *Session
	sharing *sharing[K, V]
}

// NewSharedReads returns a SharedReads without any read in flight.
func NewSharedReads[K comparable, V any](s *Session) *SharedReads[K, V] {
	alone := func() int {
		if inFlight, waiting := s.gate.load(); inFlight+waiting >= busyLoad {
			return 1
		}
		return separateReads
	}
	return &SharedReads[K, V]{session: s, sharing: newSharing[K, V](s.hedges, alone)}
}

// ReadMany calls read for each of the keys, Width of them at a time, and take with the index of the
// key and its value, one call at a time. The caller must not change a value, because other callers
// may have the same one. read sends one statement (ReadOnce); it is called a second time if a node
// is slow.
func (r *SharedReads[K, V]) ReadMany(ctx context.Context, keys []K, read func(ctx context.Context, key K) (V, error), take func(i int, value V)) error {
	try := func(t *attempt, i int) (V, error) {
		send := func(ctx context.Context) (V, error) { return read(ctx, keys[i]) }
		if t.hedged {
			// A second attempt must not wait for the shared read that the first one waits for.
			return send(t)
		}
		return r.sharing.read(t, keys[i], send)
	}
	return hedgedAll(ctx, r.session.hedges, len(keys), Width, try, take)
}
