package edge

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
)

// errTokenExpired ends what stays open longer than its token is good.
var errTokenExpired = errors.New("the token has expired")

// eventStream is an answer by server-sent events, in the protocol of graphql-sse
// with a connection for each operation: events "next" with results, and one
// "complete". Comments keep it open while nothing happens. A stream that ends
// without "complete" was cut off, and its client may ask again.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limits  *Limits
	cancel  context.CancelFunc
	endless bool // a subscription

	mu     sync.Mutex
	broken bool
	pinger *time.Timer
}

// stream answers an operation by events. What is refused once it is open is
// told by an event.
func (h *Handler) stream(ctx context.Context, w http.ResponseWriter, x *exchange, caller auth.Caller, op *operation) *refusal {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newEventStream(w, &h.limits, cancel)
	s.endless = op.Operation.Operation == ast.Subscription
	if refused := h.streams.enter(s); refused != nil {
		return refused
	}
	defer h.streams.leave(s)
	if s.endless {
		done, refused := h.streams.subscribe(op.account.whose)
		if refused != nil {
			return refused
		}
		defer done()
	}
	x.opened = true
	s.open()
	defer s.close()
	emit := h.emitOne
	if s.endless {
		emit = h.emitAll
	}
	if refused := emit(ctx, s, x, caller, op); refused != nil {
		x.code = firstCode(refused.errs)
		s.fail(refused.errs)
	}
	return nil
}

// emitOne sends the result of a query or a mutation.
func (h *Handler) emitOne(ctx context.Context, s *eventStream, x *exchange, caller auth.Caller, op *operation) *refusal {
	resp, refused := h.run(ctx, caller, op)
	if refused != nil {
		return refused
	}
	x.code = firstCode(resp.Errors)
	x.out = appendResponse(x.out[:0], resp, op.told(h.limits.Cost))
	s.send("next", x.out)
	s.send("complete", nil)
	return nil
}

// emitAll sends the results of a subscription, as long as the token is good.
func (h *Handler) emitAll(ctx context.Context, s *eventStream, x *exchange, caller auth.Caller, op *operation) *refusal {
	if !caller.Until.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, caller.Until, errTokenExpired)
		defer stop()
	}
	x.code = codeOK
	from := h.results(ctx, caller, op)
	defer from.end()
	for resp := from.next(); resp != nil; resp = from.next() {
		s.tell(x, resp)
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
func (s *eventStream) tell(x *exchange, resp *graphql.Response) {
	x.code = firstCode(resp.Errors)
	x.sent++
	x.out = appendResponse(x.out[:0], resp, nil)
	s.send("next", x.out)
}

// refuseByEvents answers a client that reads events alone.
func (h *Handler) refuseByEvents(w http.ResponseWriter, r *refusal) {
	s := newEventStream(w, &h.limits, func() {})
	s.open()
	defer s.close()
	s.fail(r.errs)
}

func newEventStream(w http.ResponseWriter, l *Limits, cancel context.CancelFunc) *eventStream {
	return &eventStream{w: w, control: http.NewResponseController(w), limits: l, cancel: cancel}
}

// open sends the head. Each message has a deadline of its own, in the place of
// that of ordinary answers.
func (s *eventStream) open() {
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // or nginx would hold messages back
	header.Add("Vary", "Accept")
	secure(header)
	s.w.WriteHeader(http.StatusOK)
	s.write([]byte(":\n\n"))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinger = time.AfterFunc(s.limits.Ping, s.ping)
}

func (s *eventStream) ping() {
	s.write([]byte(":\n\n"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.broken {
		s.pinger.Reset(s.limits.Ping)
	}
}

// close ends the pings; nothing is written afterwards.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = true
	s.pinger.Stop()
}

// send writes one event. Data is JSON, whose white space may be new lines.
func (s *eventStream) send(event string, data []byte) {
	message := make([]byte, 0, len(data)+32)
	message = append(message, "event: "+event+"\ndata:"...)
	if len(data) > 0 {
		message = append(message, ' ')
		message = append(message, bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))...)
	}
	s.write(append(message, "\n\n"...))
}

// fail tells by events why there is no result, or no more.
func (s *eventStream) fail(errs gqlerror.List) {
	s.send("next", append(appendErrors([]byte{'{'}, errs), '}'))
	s.send("complete", nil)
}

// write sends bytes at once. A client that does not take them in time, or is
// gone, ends the operation.
func (s *eventStream) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(s.limits.StreamWrite))
	_, err := s.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil {
		s.broken = true
		s.cancel()
	}
}

// drain ends a subscription, so that its client asks another process; an
// operation that ends by itself is left to do so.
func (s *eventStream) drain() {
	if s.endless {
		s.cancel()
	}
}
