package edge

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

// streams are the open event streams and sockets. Their number is limited, in total and for each
// caller, and drain closes them when the process ends. What a /64 network holds its /48 network holds
// too, which may hold networkShare times as much.
type streams struct {
	limits *Limits

	mu      sync.Mutex
	open    map[stream]string // the owner: a viewer's id, an address, or unowned
	sockets int               // how many of open are sockets
	// pending are the sockets of each address and network that have no owner yet, because their
	// connection_init was not accepted yet. The oldest is first.
	pending map[string][]*socket
	closed  bool
	empty   chan struct{} // closed as soon as the field closed is set and no stream is open
	// held is the number of streams of each owner and network, and subscriptions the number of
	// subscriptions that run over them.
	held, subscriptions map[string]int
}

// stream is an open stream. drain ends it, unless it ends by itself.
type stream interface{ drain() }

func newStreams(l *Limits) *streams {
	return &streams{limits: l, open: map[stream]string{}, pending: map[string][]*socket{}, empty: make(chan struct{}),
		held: map[string]int{}, subscriptions: map[string]int{}}
}

// enter adds a stream of an owner, unless there are too many or the process is ending.
func (s *streams) enter(st stream, owner string) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.hold(owner); refused != nil {
		return refused
	}
	refused := s.add(st, owner)
	if refused != nil {
		release(s.held, owner)
	}
	return refused
}

// unowned is the owner of a socket before its connection_init.
const unowned = ""

// enterPending adds a socket without an owner. Sockets that have not sent their connection_init are
// counted separately. If an address has too many, the oldest is closed, so that idle sockets lock
// nobody out.
func (s *streams) enterPending(so *socket) *refusal {
	s.mu.Lock()
	refused := s.add(so, unowned)
	var crowds [][]*socket // of the address, and of its network
	for _, of := range holders(so.from) {
		if refused == nil {
			s.pending[of] = append(s.pending[of], so)
		}
		crowds = append(crowds, slices.Clone(s.pending[of]))
	}
	s.mu.Unlock()
	// Sockets that are being closed stay in the list until they are gone, and there may be as many
	// of them again. Beyond that they are closed without a close handshake.
	limit := s.limits.PendingSockets
	for _, sockets := range crowds {
		for i, oldest := range sockets[:max(0, len(sockets)-limit)] {
			oldest.displace(i < len(sockets)-2*limit)
		}
		limit *= networkShare
	}
	return refused
}

// holders returns an owner, and its /48 network if it is a /64 network.
func holders(owner string) []string {
	if network := networkOf(owner); network != "" {
		return []string{owner, network}
	}
	return []string{owner}
}

// take counts one more of an owner. It returns false if the owner or its network has too many.
func take(counts map[string]int, owner string, limit int) bool {
	all := holders(owner)
	for i, of := range all {
		if i == 0 && counts[of] >= limit || i == 1 && counts[of] >= networkShare*limit {
			return false
		}
	}
	for _, of := range all {
		counts[of]++
	}
	return true
}

// release undoes take.
func release(counts map[string]int, owner string) {
	for _, of := range holders(owner) {
		if counts[of]--; counts[of] == 0 {
			delete(counts, of)
		}
	}
}

// add adds a stream, unless there are too many or the process is ending. The lock is held.
func (s *streams) add(st stream, owner string) *refusal {
	if s.closed || len(s.open) >= s.limits.Streams {
		return refuseUntil(http.StatusServiceUnavailable, codeUnavailable, "No more connections can be kept open; try again.", 1)
	}
	s.open[st] = owner
	if _, ok := st.(*socket); ok {
		s.sockets++
	}
	return nil
}

// hold counts a stream of an owner. The lock is held.
func (s *streams) hold(owner string) *refusal {
	if !take(s.held, owner, s.limits.StreamsPerViewer) {
		return refuseUntil(http.StatusTooManyRequests, codeRateLimited, "Too many connections are kept open; close one of them first.", 1)
	}
	return nil
}

// initialise assigns a socket that has sent its connection_init to an owner.
func (s *streams) initialise(so *socket, owner string) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, open := s.open[so]
	if !open || was == owner {
		return nil
	}
	if refused := s.hold(owner); refused != nil {
		return refused
	}
	s.uncount(so, was)
	s.open[so] = owner
	return nil
}

// uncount removes a stream of an owner from the counts. The lock is held.
func (s *streams) uncount(st stream, owner string) {
	if owner != unowned {
		release(s.held, owner)
		return
	}
	so := st.(*socket)
	for _, of := range holders(so.from) {
		waiting := slices.DeleteFunc(s.pending[of], func(other *socket) bool { return other == so })
		if s.pending[of] = waiting; len(waiting) == 0 {
			delete(s.pending, of)
		}
	}
}

// leave removes a stream that has ended. A second call does nothing.
func (s *streams) leave(st stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, open := s.open[st]
	if !open {
		return
	}
	delete(s.open, st)
	s.uncount(st, owner)
	if _, ok := st.(*socket); ok {
		s.sockets--
	}
	s.signalEmpty()
}

// signalEmpty notifies drain if no stream is open. The lock is held.
func (s *streams) signalEmpty() {
	if s.closed && len(s.open) == 0 {
		select {
		case <-s.empty:
		default:
			close(s.empty)
		}
	}
}

// subscribe counts a subscription of an owner. done ends it.
func (s *streams) subscribe(owner string) (done func(), r *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !take(s.subscriptions, owner, s.limits.Subscriptions) {
		return nil, refuseUntil(http.StatusTooManyRequests, codeRateLimited, "Too many subscriptions are open; end one of them first.", 1)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		release(s.subscriptions, owner)
	}, nil
}

// count returns the number of open event streams and sockets.
func (s *streams) count() (events, sockets int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) - s.sockets, s.sockets
}

// drain ends all streams: it refuses new ones, ends subscriptions and lets other operations finish.
// It returns when all are closed, or with the error of ctx.
func (s *streams) drain(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.signalEmpty()
	open := make([]stream, 0, len(s.open))
	for st := range s.open {
		open = append(open, st)
	}
	s.mu.Unlock()
	for _, st := range open {
		st.drain()
	}
	select {
	case <-s.empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
