package edge

import (
	"context"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"carrel/observe"
)

// socketOperation is an operation that runs over a socket.
type socketOperation struct {
	*operation
	socket  *socket
	id      string
	endless bool // a subscription, which runs until it is ended
	ctx     context.Context
	cancel  context.CancelFunc
	done    func()
	began   time.Time
	span    *observe.Operation

	// outcome is how it has ended.
	outcome report
	refused *refusal
}

// start prepares an operation like a POST request, and runs it.
func (s *socket) start(id string, payload []byte) {
	h := s.handler
	ctx, span := h.tracing.Message(s.ctx, s.origin)
	if refused := s.account.begin(); refused != nil {
		s.refuseUnrun(id, refused, span)
		return
	}
	op, refused := s.prepare(ctx, payload)
	if refused != nil {
		s.refuseUnrun(id, refused, span)
		return
	}
	running := &socketOperation{operation: op, socket: s, id: id, endless: op.Operation.Operation == ast.Subscription,
		done: func() {}, began: time.Now(), span: span,
		outcome: report{operation: string(op.Operation.Operation), name: op.Operation.Name, code: codeOK, cost: op.cost}}
	if running.endless {
		if running.done, refused = h.streams.subscribe(s.account.owner); refused != nil {
			s.refuseUnrun(id, refused, span)
			return
		}
	}
	running.ctx, running.cancel = context.WithCancel(ctx)
	if !s.register(id, running) {
		running.cancel()
		running.done()
		running.outcome.code = codeUnavailable
		span.End(running.outcome.outcome(observe.TransportSocket, 0))
		return
	}
	go running.run()
}

// run runs the operation. A subscription waits here for hours, and there are thousands, so the
// calls above the waiting have small frames.
func (o *socketOperation) run() {
	defer o.end()
	if !o.endless {
		o.answer()
		return
	}
	from := o.socket.handler.results(o.ctx, o.socket.caller, o.operation)
	defer from.end()
	for done := from.next(); done != nil; done = from.next() {
		o.emitEvent(done)
	}
}

// answer sends the result of a query or a mutation.
func (o *socketOperation) answer() {
	h := o.socket.handler
	done, refused := h.run(o.ctx, o.socket.caller, o.operation)
	if refused != nil {
		o.outcome.code, o.refused = firstCode(refused.errs), refused
		return
	}
	o.outcome.code = firstCode(done.errors)
	o.socket.send("next", o.id, done.pieces(o.reportCost(h.limits.Cost))...)
}

// emitEvent sends one result of a subscription.
func (o *socketOperation) emitEvent(done *executed) {
	o.outcome.code = firstCode(done.errors)
	o.outcome.sent++
	o.socket.send("next", o.id, done.pieces(nil)...)
}

// end reports how the operation has ended, unless the client has ended it. It is deferred and
// recovers from a panic, which then ends only the operation.
func (o *socketOperation) end() {
	s := o.socket
	defer s.running.Done()
	defer o.release()
	defer o.cancel()
	defer o.done()
	if value := recover(); value != nil {
		o.outcome.code, o.refused = codeInternal, s.handler.panicked(o.ctx, value)
	}
	if s.cutOff() {
		o.outcome.code = codeSlowConsumer
	}
	s.handler.observe(o.outcome.operation, o.outcome.code, time.Since(o.began))
	o.span.End(o.outcome.outcome(observe.TransportSocket, 0))
	switch {
	case !s.unregister(o.id, o):
	case o.refused != nil:
		s.refuse(o.id, o.refused)
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
func (s *socket) prepare(ctx context.Context, payload []byte) (op *operation, refused *refusal) {
	defer func() {
		if value := recover(); value != nil {
			op, refused = nil, s.handler.panicked(ctx, value)
		}
	}()
	p, refused := s.handler.decode(ctx, payload, s.account)
	if refused != nil {
		return nil, refused
	}
	return s.handler.operation(ctx, p, s.account)
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
