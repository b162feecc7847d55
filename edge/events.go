package edge

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/observe"
)

// errTokenExpired ends what stays open longer than its token is good.
var errTokenExpired = errors.New("the token has expired")

// eventStream is an answer by server-sent events, in the protocol of graphql-sse
// with a connection for each operation: events "next" with results, and one
// "complete". Comments keep it open while nothing happens. A stream that ends
// without "complete" was cut off, and its client may ask again.
type eventStream struct {
	wire    wire
	limits  *Limits
	cancel  context.CancelFunc
	endless bool // a subscription
	began   time.Time
	span    *observe.Operation
	told

	mu     sync.Mutex
	broken bool
	slow   bool // broken, because its client took nothing in time
	pinger *time.Timer
}

// stream answers an operation by events. What is refused once it is open is
// told by an event. A subscription takes the connection over, if it can, and is
// left to a goroutine: the request is over then.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, x *exchange, caller auth.Caller, op *operation) *refusal {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	s := &eventStream{limits: &h.limits, cancel: cancel, endless: op.Operation.Operation == ast.Subscription, began: x.began, span: x.span, told: x.told}
	leave, refused := h.enter(s, op)
	if refused != nil {
		cancel()
		return refused
	}
	handedOver := false
	defer func() {
		if !handedOver {
			cancel()
			leave()
		}
	}()
	header := eventHeader(w.Header())
	if s.endless {
		if own := takeOver(w, r, header); own != nil {
			s.wire = own
			x.opened, handedOver = true, true
			go own.watch(cancel)
			go func() {
				defer leave()
				defer h.survive(ctx)
				h.emit(ctx, s, caller, op)
			}()
			return nil
		}
	}
	defer context.AfterFunc(r.Context(), cancel)()
	x.opened = true
	w.WriteHeader(http.StatusOK)
	s.wire = newResponseWire(w)
	h.emit(ctx, s, caller, op)
	return nil
}

// survive is deferred where nobody above would keep a panic from ending the
// process.
func (h *Handler) survive(ctx context.Context) {
	if value := recover(); value != nil {
		h.panicked(ctx, value)
	}
}

// enter takes a stream in; leave ends it.
func (h *Handler) enter(s *eventStream, op *operation) (leave func(), refused *refusal) {
	if refused := h.streams.enter(s, op.account.whose); refused != nil {
		return nil, refused
	}
	if !s.endless {
		return func() { h.streams.leave(s) }, nil
	}
	done, refused := h.streams.subscribe(op.account.whose)
	if refused != nil {
		h.streams.leave(s)
		return nil, refused
	}
	return func() { done(); h.streams.leave(s) }, nil
}

// emit sends the events of an operation, and how it has failed.
func (h *Handler) emit(ctx context.Context, s *eventStream, caller auth.Caller, op *operation) {
	defer func() {
		if s.cutOff() {
			s.code = codeSlowConsumer
		}
		h.observe(s.operation, s.code, time.Since(s.began))
		s.span.End(s.outcome(observe.TransportEvents, http.StatusOK))
	}()
	defer s.cancel()
	s.open()
	defer s.close()
	if refused := h.emitted(ctx, s, caller, op); refused != nil {
		s.code = firstCode(refused.errs)
		s.fail(refused.errs)
	}
}

// emitted is emit up to the failure. It may be on a goroutine where nobody above
// would keep a panic from ending the process.
func (h *Handler) emitted(ctx context.Context, s *eventStream, caller auth.Caller, op *operation) (refused *refusal) {
	defer func() {
		if value := recover(); value != nil {
			refused = h.panicked(ctx, value)
		}
	}()
	if s.endless {
		return h.emitAll(ctx, s, caller, op)
	}
	return h.emitOne(ctx, s, caller, op)
}

// emitOne sends the result of a query or a mutation.
func (h *Handler) emitOne(ctx context.Context, s *eventStream, caller auth.Caller, op *operation) *refusal {
	defer op.release()
	done, refused := h.run(ctx, caller, op)
	if refused != nil {
		return refused
	}
	s.code = firstCode(done.errors)
	s.send("next", done.pieces(op.told(h.limits.Cost)))
	s.send("complete", nil)
	return nil
}

// emitAll sends the results of a subscription, as long as the token is good.
func (h *Handler) emitAll(ctx context.Context, s *eventStream, caller auth.Caller, op *operation) *refusal {
	if !caller.Until.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, caller.Until, errTokenExpired)
		defer stop()
	}
	s.code = codeOK
	from := h.results(ctx, caller, op)
	defer from.end()
	for done := from.next(); done != nil; done = from.next() {
		s.tell(done)
	}
	switch {
	case errors.Is(context.Cause(ctx), errTokenExpired):
		return refuse(http.StatusUnauthorized, codeUnauthenticated, "The token has expired.")
	case ctx.Err() == nil:
		s.send("complete", nil)
	}
	return nil
}

// tell sends one result of a subscription.
func (s *eventStream) tell(done *executed) {
	s.code = firstCode(done.errors)
	s.sent++
	s.send("next", done.pieces(nil))
}

// refuseByEvents answers a client that reads events alone.
func (h *Handler) refuseByEvents(w http.ResponseWriter, r *refusal) {
	eventHeader(w.Header())
	w.WriteHeader(http.StatusOK)
	s := &eventStream{wire: newResponseWire(w), limits: &h.limits, cancel: func() {}}
	s.open()
	defer s.close()
	s.fail(r.errs)
}

// eventHeader is the header of an answer by events.
func eventHeader(header http.Header) http.Header {
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "private, no-store")
	header.Set("X-Accel-Buffering", "no") // or nginx would hold messages back
	header.Add("Vary", "Accept")
	secure(header)
	return header
}

// open sends the first comment, which tells the client that it is heard.
func (s *eventStream) open() {
	s.write(comment())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinger = time.AfterFunc(s.limits.Ping, s.ping)
}

func (s *eventStream) ping() {
	s.write(comment())
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken {
		s.pinger.Reset(s.limits.Ping)
	}
}

// close ends the pings and the answer; nothing is written afterwards.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinger.Stop()
	if !s.broken {
		s.broken = true
		s.wire.end(s.limits.StreamWrite)
	}
}

// comment is what clients ignore.
func comment() [][]byte { return [][]byte{[]byte(":\n\n")} }

// send writes one event. Data is pieces of JSON, whose white space may be new
// lines.
func (s *eventStream) send(event string, data [][]byte) {
	message := append(make([][]byte, 0, len(data)+2), []byte("event: "+event+"\ndata:"))
	for i, piece := range data {
		if i == 0 {
			message[0] = append(message[0], ' ')
		}
		if bytes.IndexByte(piece, '\n') >= 0 {
			piece = bytes.ReplaceAll(piece, []byte("\n"), []byte("\ndata: "))
		}
		message = append(message, piece)
	}
	s.write(append(message, []byte("\n\n")))
}

// fail tells by events why there is no result, or no more.
func (s *eventStream) fail(errs gqlerror.List) {
	s.send("next", [][]byte{append(appendErrors([]byte{'{'}, errs), '}')})
	s.send("complete", nil)
}

// write sends bytes at once. Each has a deadline of its own, in the place of that
// of ordinary answers: a client that does not take them in time, or is gone, ends
// the operation.
func (s *eventStream) write(message [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
	}
	began := time.Now()
	if err := s.wire.send(joined(message), s.limits.StreamWrite); err != nil {
		// What the error is depends on the wire: HTTP/2 tells of its deadline as of
		// any other reset.
		s.broken, s.slow = true, time.Since(began) >= s.limits.StreamWrite
		s.wire.cut()
		s.cancel()
	}
}

// cutOff tells whether the client was cut off because it took nothing in time.
// It could not be told so: there was no room for it on the wire.
func (s *eventStream) cutOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// drain ends a subscription, so that its client asks another process; an
// operation that ends by itself is left to do so.
func (s *eventStream) drain() {
	if s.endless {
		s.cancel()
	}
}
