package edge

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/core/fault"
)

// presenter decides what clients see of an error. It shows errors of the domain, unknown outcomes,
// timeouts and cancellations. Any other error becomes "Internal error." with an id by which its
// details are in the log.
type presenter struct {
	log *slog.Logger
	// random fills b. The ids of errors are made from it.
	random func(b []byte)
	panics panicLog
}

// present returns the error as the client sees it.
func (p *presenter) present(ctx context.Context, err error) *gqlerror.Error {
	shown := p.shown(ctx, err)
	var located *gqlerror.Error
	if errors.As(err, &located) {
		shown.Path, shown.Locations = located.Path, located.Locations
	}
	if shown.Path == nil && graphql.GetFieldContext(ctx) != nil {
		shown.Path = graphql.GetPath(ctx)
	}
	if shown.Extensions["code"] == codeInternal {
		p.report(ctx, shown, err)
	}
	return shown
}

// shown returns the error without its path.
func (p *presenter) shown(ctx context.Context, err error) *gqlerror.Error {
	var faults fault.List
	var problem *fault.Error
	switch {
	case errors.As(err, &faults) && len(faults) > 0:
		return presentFaults(faults)
	case errors.As(err, &problem):
		return presentFaults(fault.List{problem})
	case fault.MayHaveCommitted(err):
		return coded(codeOutcomeUnknown, "It is not known whether the change was made: check, or try again with the same idempotency key.")
	case errors.Is(err, context.DeadlineExceeded):
		return coded(codeTimeout, "The operation timed out.")
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return coded(codeTimeout, "The operation was cancelled, because its client has disconnected.")
	}
	return internalError()
}

func internalError() *gqlerror.Error { return coded(codeInternal, "Internal error.") }

// presentFaults shows several errors of the domain as one, with the code of the first and the
// messages of all.
func presentFaults(faults fault.List) *gqlerror.Error {
	var message string
	for _, f := range faults {
		if codeOf(f) == codeInternal {
			return internalError()
		}
		if message != "" {
			message += "; "
		}
		message += f.Msg
	}
	first := faults[0]
	shown := coded(codeOf(first), message)
	if first.RetryAfter > 0 {
		shown.Extensions["retryAfter"] = first.RetryAfter
	}
	return shown
}

// codeOf maps the domain's codes and reasons to the contract's codes. A reason with its own code is
// more precise.
func codeOf(e *fault.Error) string {
	switch e.Reason {
	case fault.ReasonBadCursor:
		return codeBadCursor
	case fault.ReasonBadInput, fault.ReasonTooMany:
		return codeBadUserInput
	case fault.ReasonVersion, fault.ReasonRevision, fault.ReasonTaken, fault.ReasonLastManager, fault.ReasonExpired,
		fault.ReasonConfirmed, fault.ReasonCancelled:
		return codeConflict
	case fault.ReasonNotAMember:
		return codeNotFound
	case fault.ReasonWrongSecret:
		return codeForbidden
	case fault.ReasonContention:
		return codeContention
	case fault.ReasonOutcomeUnknown:
		return codeOutcomeUnknown
	case fault.ReasonIdempotencyMismatch:
		return codeIdempotencyMismatch
	case fault.ReasonTimeout:
		return codeTimeout
	case fault.ReasonResync:
		return codeResync
	case fault.ReasonFull:
		return codeUnavailable
	case fault.ReasonSlow:
		return codeSlowConsumer
	}
	switch e.Code {
	case fault.Invalid, fault.Exhausted:
		return codeBadUserInput
	case fault.Unauthenticated:
		return codeUnauthenticated
	case fault.Forbidden:
		return codeForbidden
	case fault.NotFound:
		return codeNotFound
	case fault.Conflict:
		return codeConflict
	case fault.Unavailable:
		return codeUnavailable
	}
	return codeInternal
}

// report assigns an id to an internal error and logs it. A panic that is not logged gets the id of
// the last one that was.
func (p *presenter) report(ctx context.Context, shown *gqlerror.Error, err error) {
	var b [16]byte
	p.random(b[:])
	id := hex.EncodeToString(b[:])
	var panicked *panicError
	skipped := 0
	if errors.As(err, &panicked) {
		var due bool
		if id, skipped, due = p.panics.log(time.Now(), id); !due {
			shown.Extensions["errorId"] = id
			return
		}
	}
	shown.Extensions["errorId"] = id
	attrs := []any{"error_id", id, "path", shown.Path.String(), "err", err.Error()}
	if graphql.HasOperationContext(ctx) {
		if op := graphql.GetOperationContext(ctx).Operation; op != nil {
			attrs = append(attrs, "type", string(op.Operation), "operation", op.Name)
		}
	}
	if panicked != nil {
		attrs = append(attrs, "stack", panicked.stack, "skipped", skipped)
	}
	p.log.ErrorContext(ctx, "internal error", attrs...)
}

// panicEvery is the minimal interval between two log lines about panics. A client may be able to
// cause them at will, and each line has a stack of kilobytes.
const panicEvery = time.Second

// panicLog decides which panics are logged.
type panicLog struct {
	mu      sync.Mutex
	last    time.Time // of the last line
	id      string    // in the last line
	skipped int       // panics since the last line
}

// log reports whether a line about a panic is due, and the number of panics that were skipped
// before it. logged is the id in that line, or in the last one if none is due.
func (l *panicLog) log(now time.Time, id string) (logged string, skipped int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last) < panicEvery {
		l.skipped++
		return l.id, 0, false
	}
	skipped = l.skipped
	l.last, l.id, l.skipped = now, id, 0
	return id, skipped, true
}

// panicError is a panic of a resolver with its stack.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// recovered converts a panic to an error, which is presented like any other. If the panic was
// recovered before, the error keeps the stack of that time.
func recovered(_ context.Context, value any) error {
	if before, ok := value.(*panicError); ok {
		return before
	}
	return &panicError{value: value, stack: string(debug.Stack())}
}

// withLocation adds the position in the query.
func withLocation(e *gqlerror.Error, at *ast.Position) gqlerror.List {
	if at != nil {
		e.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
	}
	return gqlerror.List{e}
}
