package edge

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

// streams are the answers that stay open: event streams and sockets. They are
// bounded, all of them and those of each caller, and told when the process is to
// end.
type streams struct {
	limits *Limits

	mu      sync.Mutex
	open    map[stream]string // whose each is: a viewer's id, an address, or nobody's yet
	sockets int               // of them
	// pending are the sockets of each address that are nobody's yet, because
	// their connection_init was not accepted yet. The oldest come first.
	pending map[string][]*socket
	closed  bool
	empty   chan struct{} // closed once closed and none is open
	// held are the streams, and subscriptions what is told over them, counted by
	// whose they are.
	held, subscriptions map[string]int
}

// stream is one of them. Drain has it end what has no end of its own.
type stream interface{ drain() }

func newStreams(l *Limits) *streams {
	return &streams{limits: l, open: map[stream]string{}, pending: map[string][]*socket{}, empty: make(chan struct{}), held: map[string]int{}, subscriptions: map[string]int{}}
}

// enter takes a stream of whose in, unless there are too many or the process ends.
func (s *streams) enter(st stream, whose string) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.hold(whose); refused != nil {
		return refused
	}
	refused := s.add(st, whose)
	if refused != nil {
		release(s.held, whose)
	}
	return refused
}

// nobodys is whose a socket is before its connection_init.
const nobodys = ""

// enterPending adds a socket without a viewer. Sockets that have not sent
// their connection_init are counted apart from all others, and one too many
// closes the oldest of its address: idle sockets lock nobody out.
func (s *streams) enterPending(so *socket) *refusal {
	s.mu.Lock()
	refused := s.add(so, nobodys)
	if refused == nil {
		s.pending[so.from] = append(s.pending[so.from], so)
	}
	// Those that are being closed stay in the list until they are gone, and may
	// be as many again. Beyond that their clients are not waited for.
	sockets, most := slices.Clone(s.pending[so.from]), s.limits.PendingSockets
	s.mu.Unlock()
	for i, oldest := range sockets[:max(0, len(sockets)-most)] {
		oldest.displace(i < len(sockets)-2*most)
	}
	return refused
}

// add makes a stream known, unless there are too many or the process ends. The
// lock is held.
func (s *streams) add(st stream, whose string) *refusal {
	if s.closed || len(s.open) >= s.limits.Streams {
		return refuseUntil(http.StatusServiceUnavailable, codeUnavailable, "No more connections can be kept open; try again.", 1)
	}
	s.open[st] = whose
	if _, ok := st.(*socket); ok {
		s.sockets++
	}
	return nil
}

// hold counts a stream of whose. The lock is held.
func (s *streams) hold(whose string) *refusal {
	if s.held[whose] >= s.limits.StreamsPerViewer {
		return refuseUntil(http.StatusTooManyRequests, codeRateLimited, "Too many connections are kept open; close one of them first.", 1)
	}
	s.held[whose]++
	return nil
}

// initialise counts a socket that has sent its connection_init as one of whose.
func (s *streams) initialise(so *socket, whose string) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, open := s.open[so]
	if !open || was == whose {
		return nil
	}
	if refused := s.hold(whose); refused != nil {
		return refused
	}
	s.uncount(so, was)
	s.open[so] = whose
	return nil
}

// uncount takes a stream out of the streams of whose. The lock is held.
func (s *streams) uncount(st stream, whose string) {
	if whose != nobodys {
		release(s.held, whose)
		return
	}
	so := st.(*socket)
	waiting := slices.DeleteFunc(s.pending[so.from], func(other *socket) bool { return other == so })
	if s.pending[so.from] = waiting; len(waiting) == 0 {
		delete(s.pending, so.from)
	}
}

func (s *streams) leave(st stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whose, open := s.open[st]
	if !open {
		return
	}
	delete(s.open, st)
	s.uncount(st, whose)
	if _, ok := st.(*socket); ok {
		s.sockets--
	}
	s.settle()
}

// release counts one less, and forgets whose nothing is.
func release(counts map[string]int, whose string) {
	if counts[whose]--; counts[whose] == 0 {
		delete(counts, whose)
	}
}

// settle tells drain when nothing is open any more. The lock is held.
func (s *streams) settle() {
	if s.closed && len(s.open) == 0 {
		select {
		case <-s.empty:
		default:
			close(s.empty)
		}
	}
}

// subscribe counts a subscription of whose; done ends it.
func (s *streams) subscribe(whose string) (done func(), r *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscriptions[whose] >= s.limits.Subscriptions {
		return nil, refuseUntil(http.StatusTooManyRequests, codeRateLimited, "Too many subscriptions are open; end one of them first.", 1)
	}
	s.subscriptions[whose]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		release(s.subscriptions, whose)
	}, nil
}

// count is how many event streams and sockets are open.
func (s *streams) count() (events, sockets int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) - s.sockets, s.sockets
}

// drain ends all streams: no more are taken in, those that are open end what
// has no end of its own and finish the rest. It returns when all are gone, or
// with the error of ctx.
func (s *streams) drain(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.settle()
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
