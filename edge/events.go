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
	"carrel/edge/connection"
	"carrel/observe"
)

// errTokenExpired ends a stream whose token has expired.
var errTokenExpired = errors.New("the token has expired")

// eventStream is an answer by server-sent events, in the distinct connections mode of graphql-sse:
// events "next" with results, and a final "complete". Comments keep an idle connection open. If a
// stream ends without "complete", the connection was lost, and its client may reconnect.
type eventStream struct {
	wire    wire
	limits  *Limits
	cancel  context.CancelFunc
	endless bool // a subscription, which runs until it is ended
	began   time.Time
	span    *observe.Operation
	report

	mu     sync.Mutex
	broken bool
	slow   bool // broken because its client read nothing in time
	pinger *time.Timer
}

// stream answers an operation by events. Once the stream is open, a refusal is sent as an event.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, x *exchange, caller auth.Caller, op *operation) *refusal {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	s := &eventStream{limits: &h.limits, cancel: cancel, endless: op.Operation.Operation == ast.Subscription, began: x.began,
		span: x.span, report: x.report}
	defer cancel()
	leave, refused := h.enter(s, op)
	if refused != nil {
		return refused
	}
	defer leave()
	header := eventHeader(w.Header())
	if s.endless && r.ProtoMajor == 1 {
		connection.BecomesStream(r)
		header.Set("Connection", "close") // what the client sends after the request is not run
	}
	defer context.AfterFunc(r.Context(), cancel)()
	x.opened = true
	w.WriteHeader(http.StatusOK)
	s.wire = newWire(w)
	h.emit(ctx, s, caller, op)
	return nil
}

// enter registers a stream. leave removes it.
func (h *Handler) enter(s *eventStream, op *operation) (leave func(), refused *refusal) {
	if refused := h.streams.enter(s, op.account.owner); refused != nil {
		return nil, refused
	}
	if !s.endless {
		return func() { h.streams.leave(s) }, nil
	}
	done, refused := h.streams.subscribe(op.account.owner)
	if refused != nil {
		h.streams.leave(s)
		return nil, refused
	}
	return func() { done(); h.streams.leave(s) }, nil
}

// emit sends the events of an operation, or why it failed.
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
	if refused := h.tryEmit(ctx, s, caller, op); refused != nil {
		s.code = firstCode(refused.errs)
		s.fail(refused.errs)
	}
}

// tryEmit sends the events of an operation and returns its failure. It recovers from panics,
// because in a goroutine they would end the process.
func (h *Handler) tryEmit(ctx context.Context, s *eventStream, caller auth.Caller, op *operation) (refused *refusal) {
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
	s.send("next", done.pieces(op.reportCost(h.limits.Cost)))
	s.send("complete", nil)
	return nil
}

// emitAll sends the results of a subscription while the token is valid.
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
		s.emitEvent(done)
	}
	switch {
	case errors.Is(context.Cause(ctx), errTokenExpired):
		return refuse(http.StatusUnauthorized, codeUnauthenticated, "The token has expired.")
	case ctx.Err() == nil:
		s.send("complete", nil)
	}
	return nil
}

// emitEvent sends one result of a subscription.
func (s *eventStream) emitEvent(done *executed) {
	s.code = firstCode(done.errors)
	s.sent++
	s.send("next", done.pieces(nil))
}

// refuseByEvents sends a refusal to a client that prefers events.
func (h *Handler) refuseByEvents(w http.ResponseWriter, r *refusal) {
	header := eventHeader(w.Header())
	if r.status == http.StatusTooManyRequests {
		header.Set("Connection", "close")
	}
	w.WriteHeader(http.StatusOK)
	s := &eventStream{wire: newWire(w), limits: &h.limits, cancel: func() {}}
	s.open()
	defer s.close()
	s.fail(r.errs)
}

// eventHeader returns the header of an answer by events.
func eventHeader(header http.Header) http.Header {
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "private, no-store")
	header.Set("X-Accel-Buffering", "no") // keeps nginx from buffering messages
	header.Add("Vary", "Accept")
	secure(header)
	return header
}

// open sends the first comment, which shows the client that the stream is open.
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

// close stops the pings and ends the answer. Nothing is written afterwards.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinger.Stop()
	if !s.broken {
		s.broken = true
		s.wire.end(s.limits.StreamWrite)
	}
}

// comment returns an event that clients ignore.
func comment() [][]byte { return [][]byte{[]byte(":\n\n")} }

// send writes one event. data is JSON in pieces, whose white space may contain new lines.
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

// fail sends errors as the last result of the stream.
func (s *eventStream) fail(errs gqlerror.List) {
	s.send("next", [][]byte{append(appendErrors([]byte{'{'}, errs), '}')})
	s.send("complete", nil)
}

// write sends bytes at once. Each part has its own deadline instead of that of ordinary answers. If
// the client does not read in time, or is gone, the operation ends.
func (s *eventStream) write(message [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
	}
	for part := range connection.Pieces(joined(message)) {
		began := time.Now()
		if err := s.wire.send(part, s.limits.StreamWrite); err != nil {
			// The error depends on the protocol: HTTP/2 reports its deadline like any other reset.
			s.broken, s.slow = true, time.Since(began) >= s.limits.StreamWrite
			s.cancel()
			return
		}
	}
}

// cutOff reports whether the client was cut off because it read nothing in time. It gets no message
// about that, because the connection accepts none.
func (s *eventStream) cutOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// drain ends a subscription, so that its client reconnects to another process. Other operations are
// allowed to finish.
func (s *eventStream) drain() {
	if s.endless {
		s.cancel()
	}
}
