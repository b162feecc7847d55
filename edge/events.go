package edge

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/edge/connection"
	"carrel/observe"
)

// eventStream is an answer by server-sent events, in the distinct connections mode of graphql-sse:
// events "next" with results, and a final "complete". Comments keep an idle connection open. If a
// stream ends without "complete", the connection was lost, and its client may reconnect.
type eventStream struct {
	*delivery
	wire   wire
	limits *Limits

	mu     sync.Mutex
	broken bool
	slow   bool // broken because its client read nothing in time
	pinger *time.Timer
}

// stream answers an operation by events. Once the stream is open, a refusal is sent as an event.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, x *exchange, caller auth.Caller, op *operation) *refusal {
	d, refused := h.delivery(context.WithoutCancel(r.Context()), caller, op)
	if refused != nil {
		return refused
	}
	defer d.leave()
	s := &eventStream{delivery: d, limits: &h.limits}
	d.to, d.transport, d.status, d.began, d.span = s, observe.TransportEvents, http.StatusOK, x.began, x.span
	if refused := h.streams.enter(s, op.account.owner); refused != nil {
		return refused
	}
	defer h.streams.leave(s)
	header := eventHeader(w.Header())
	if d.endless && r.ProtoMajor == 1 {
		connection.BecomesStream(r)
		header.Set("Connection", "close") // what the client sends after the request is not run
	}
	if d.endless && !caller.Until.IsZero() {
		var stop context.CancelFunc
		d.ctx, stop = context.WithDeadlineCause(d.ctx, caller.Until, errTokenExpired)
		defer stop()
	}
	defer context.AfterFunc(r.Context(), d.cancel)()
	x.opened = true
	w.WriteHeader(http.StatusOK)
	s.wire = newWire(w)
	s.open()
	defer s.close()
	d.run()
	return nil
}

// refuseByEvents sends a refusal to a client that prefers events.
func (h *Handler) refuseByEvents(w http.ResponseWriter, r *refusal) {
	header := eventHeader(w.Header())
	if r.status == http.StatusTooManyRequests {
		header.Set("Connection", "close")
	}
	w.WriteHeader(http.StatusOK)
	s := &eventStream{delivery: &delivery{cancel: func() {}}, wire: newWire(w), limits: &h.limits}
	s.open()
	defer s.close()
	s.finish(r.errs)
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

func (s *eventStream) next(result [][]byte) { s.send("next", result) }

// finish implements sink. Errors are the last result of the stream. That of a query or a mutation is complete even if
// its client has closed its own side of the connection.
func (s *eventStream) finish(errs gqlerror.List) {
	if errs != nil {
		s.next([][]byte{append(appendErrors([]byte{'{'}, errs), '}')})
	}
	if errs != nil || !s.endless || s.ctx.Err() == nil {
		s.send("complete", nil)
	}
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

// cutOff implements sink. A client that is cut off gets no message about that, because the connection
// accepts none.
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
