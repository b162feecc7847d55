package edge

import (
	"context"
	"net/http"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/observe"
)

// socketOperation is one that runs over a socket.
type socketOperation struct {
	endless bool // a subscription
	cancel  context.CancelFunc
}

// start prepares an operation, as a request by POST would be, and runs it.
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
	running := &socketOperation{endless: op.Operation.Operation == ast.Subscription}
	done := func() {}
	if running.endless {
		if done, refused = h.streams.subscribe(s.account.whose); refused != nil {
			s.refuseUnrun(id, refused, span)
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	running.cancel = cancel
	if !s.register(id, running) {
		cancel()
		done()
		return
	}
	began := time.Now()
	go func() {
		defer s.running.Done()
		defer cancel()
		defer done()
		told, refused := s.guarded(ctx, id, op)
		h.observe(told.operation, told.code, time.Since(began))
		span.End(told.outcome(observe.TransportSocket, 0))
		if !s.unregister(id, running) {
			return
		}
		if refused != nil {
			s.refuse(id, refused)
			return
		}
		s.send("complete", id, nil)
	}()
}

// register makes an operation known, unless the socket is ending.
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

// unregister tells whether the client is to be told that the operation has
// ended: not if it has ended it, nor if a subscription ends with the process,
// for then the client shall ask again.
func (s *socket) unregister(id string, op *socketOperation) (tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[id] != op {
		return false
	}
	delete(s.active, id)
	return !s.draining || !op.endless
}

// prepare reads what a message asks for.
func (s *socket) prepare(ctx context.Context, payload []byte) (op *operation, refused *refusal) {
	defer func() {
		if value := recover(); value != nil {
			op, refused = nil, s.panicked(ctx, value)
		}
	}()
	p, refused := decodeBody(payload, &s.handler.limits)
	if refused != nil {
		return nil, refused
	}
	return s.handler.operation(p, s.account)
}

// guarded runs an operation and tells what became of it; a panic is its failure
// and not the process's.
func (s *socket) guarded(ctx context.Context, id string, op *operation) (t told, refused *refusal) {
	t = told{operation: string(op.Operation.Operation), name: op.Operation.Name, code: codeOK, cost: op.cost}
	defer func() {
		if value := recover(); value != nil {
			t.code, refused = codeInternal, s.panicked(ctx, value)
		}
	}()
	h := s.handler
	if op.Operation.Operation != ast.Subscription {
		resp, refused := h.run(ctx, s.caller, op)
		if refused != nil {
			t.code = firstCode(refused.errs)
			return t, refused
		}
		t.code = firstCode(resp.Errors)
		s.send("next", id, appendResponse(nil, resp, op.told(h.limits.Cost)))
		return t, nil
	}
	for resp := range h.results(ctx, s.caller, op) {
		t.code = firstCode(resp.Errors)
		t.sent++
		s.send("next", id, appendResponse(nil, resp, nil))
	}
	return t, nil
}

func (s *socket) panicked(ctx context.Context, value any) *refusal {
	shown := s.handler.presenter.present(ctx, recovered(ctx, value))
	return &refusal{status: http.StatusInternalServerError, errs: gqlerror.List{shown}}
}

// refuse answers an operation by its errors, which ends it.
func (s *socket) refuse(id string, r *refusal) { s.send("error", id, marshalErrors(r.errs)) }

// refuseUnrun is refuse for an operation that was never run, and is observed by
// that alone.
func (s *socket) refuseUnrun(id string, r *refusal, span *observe.Operation) {
	t := told{code: firstCode(r.errs)}
	s.handler.observe(t.operation, t.code, 0)
	span.End(t.outcome(observe.TransportSocket, 0))
	s.refuse(id, r)
}
