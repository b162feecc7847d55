package edge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/observe"
)

// errTokenExpired is the cause for which the context of a stream ends when its token expires.
var errTokenExpired = errors.New("the token has expired")

// delivery runs an operation whose results are sent one by one: as events, or as messages of a socket.
type delivery struct {
	handler *Handler
	caller  auth.Caller
	op      *operation
	to      sink
	endless bool // a subscription, which runs until it is ended
	ctx     context.Context
	cancel  context.CancelFunc
	done    func()   // counts a subscription no more
	refused *refusal // why it has failed

	transport string
	status    int // of the response; 0 for a socket
	began     time.Time
	span      *observe.Operation
	report
}

// sink sends the results of one operation to its client.
type sink interface {
	next(result [][]byte)
	// finish tells the client that the operation has ended, and why if it has failed. If the context of a
	// subscription has ended, it tells nothing: the client is gone, or is to continue at another process.
	finish(errs gqlerror.List)
	// cutOff reports whether the client was cut off because it read nothing in time.
	cutOff() bool
}

// delivery prepares the delivery of an operation. A subscription is counted for its account until leave.
func (h *Handler) delivery(ctx context.Context, caller auth.Caller, op *operation) (d *delivery, refused *refusal) {
	d = &delivery{handler: h, caller: caller, op: op, endless: op.Operation.Operation == ast.Subscription, done: func() {}, began: time.Now(),
		report: report{operation: string(op.Operation.Operation), name: op.Operation.Name, code: codeOK, cost: op.cost}}
	if d.endless {
		if d.done, refused = h.streams.subscribe(op.account.owner); refused != nil {
			return nil, refused
		}
	}
	d.ctx, d.cancel = context.WithCancel(ctx)
	return d, nil
}

// run runs the operation. A subscription waits here for hours, and there are thousands, so the
// calls above the waiting have small frames.
func (d *delivery) run() {
	defer d.end()
	if !d.endless {
		d.answer()
		return
	}
	from := d.handler.results(d.ctx, d.caller, d.op)
	defer from.end()
	for done := from.next(); done != nil; done = from.next() {
		d.sent++
		d.send(done, nil)
	}
}

// answer sends the result of a query or a mutation.
func (d *delivery) answer() {
	done, refused := d.handler.run(d.ctx, d.caller, d.op)
	if d.refused = refused; refused == nil {
		d.send(done, d.op.reportCost(d.handler.limits.Cost))
	}
}

func (d *delivery) send(done *executed, cost *costReported) {
	d.code = firstCode(done.errors)
	d.to.next(done.pieces(cost))
}

// end reports how the operation has ended. It is deferred and recovers from a panic, which then ends
// only the operation.
func (d *delivery) end() {
	defer d.op.release()
	if value := recover(); value != nil {
		d.refused = d.handler.panicked(d.ctx, value)
	} else if errors.Is(context.Cause(d.ctx), errTokenExpired) {
		d.refused = refuse(http.StatusUnauthorized, codeUnauthenticated, "The token has expired.")
	}
	var errs gqlerror.List
	if d.refused != nil {
		errs = d.refused.errs
		d.code = firstCode(errs)
	}
	if d.to.cutOff() {
		d.code = codeSlowConsumer
	}
	d.handler.observe(d.operation, d.code, time.Since(d.began))
	d.span.End(d.outcome(d.transport, d.status))
	d.to.finish(errs)
}

// leave frees what the delivery holds.
func (d *delivery) leave() {
	d.cancel()
	d.done()
}
