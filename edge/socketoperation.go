package edge

import (
	"context"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/observe"
)

// socketOperation is an operation that runs over a socket.
type socketOperation struct {
	*delivery
	socket *socket
	id     string
}

// start prepares an operation like a POST request, and runs it.
func (s *socket) start(id string, payload []byte) {
	ctx, span := s.handler.tracing.Message(s.ctx, s.origin)
	d, refused := s.prepare(ctx, payload)
	if refused != nil {
		s.refuseUnrun(id, refused, span)
		return
	}
	running := &socketOperation{delivery: d, socket: s, id: id}
	d.to, d.transport, d.span = running, observe.TransportSocket, span
	if !s.register(id, running) {
		d.leave()
		d.code = codeUnavailable
		span.End(d.outcome(d.transport, 0))
		return
	}
	go running.run()
}

func (o *socketOperation) next(result [][]byte) { o.socket.send("next", o.id, result...) }

func (o *socketOperation) cutOff() bool { return o.socket.cutOff() }

// finish implements sink.
func (o *socketOperation) finish(errs gqlerror.List) {
	s := o.socket
	defer s.running.Done()
	defer o.leave()
	switch {
	case !s.unregister(o.id, o):
	case errs != nil:
		s.send("error", o.id, marshalErrors(errs))
	default:
		s.send("complete", o.id, nil)
	}
}

// register registers an operation, unless the socket is ending.
func (s *socket) register(id string, op *socketOperation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.draining {
		return false
	}
	s.active[id] = op
	s.running.Add(1)
	return true
}

// unregister reports whether to notify the client of the end of the operation: not if the client
// has ended it, nor if a subscription ends with the process, because then the client should
// reconnect.
func (s *socket) unregister(id string, op *socketOperation) (notify bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[id] != op {
		return false
	}
	delete(s.active, id)
	return !s.draining || !op.endless
}

// prepare reads a message and prepares its operation.
func (s *socket) prepare(ctx context.Context, payload []byte) (d *delivery, refused *refusal) {
	defer func() {
		if value := recover(); value != nil {
			d, refused = nil, s.handler.panicked(ctx, value)
		}
	}()
	if refused := s.account.begin(); refused != nil {
		return nil, refused
	}
	p, refused := s.handler.decode(ctx, payload, s.account)
	if refused != nil {
		return nil, refused
	}
	op, refused := s.handler.operation(ctx, p, s.account)
	if refused != nil {
		return nil, refused
	}
	return s.handler.delivery(ctx, s.caller, op)
}

// refuse answers an operation with errors, which ends it.
func (s *socket) refuse(id string, r *refusal) { s.send("error", id, marshalErrors(r.errs)) }

// refuseUnrun refuses an operation that was not run, and reports it to the observers.
func (s *socket) refuseUnrun(id string, r *refusal, span *observe.Operation) {
	t := report{code: firstCode(r.errs)}
	s.handler.observe(t.operation, t.code, 0)
	span.End(t.outcome(observe.TransportSocket, 0))
	s.refuse(id, r)
}
