package session

import (
	"context"
	"errors"
	"time"
)

// sent is the outcome of a request.
type sent struct {
	outcome  string
	attempts int // that the driver made
}

// request sends one request through the gate, and reports it to Options.Observe.
func (s *Session) request(ctx context.Context, operation string, send func() (sent, error)) error {
	o := Observation{Operation: operation}
	t, _ := ctx.(*attempt)
	o.Hedged = t != nil && t.hedged
	began := time.Now()
	t.setQueued(true)
	err := s.gate.enter(ctx)
	t.setQueued(false)
	if err != nil {
		o.Outcome, o.Took = outcomeBusy, time.Since(began)
		s.observe(ctx, o)
		return err
	}
	defer s.gate.leave()
	began = time.Now()
	how, err := recoverPanic(send)
	if errors.Is(err, errPanic) {
		how.outcome, err = outcomeName(err), WrapError(operation, err)
	}
	o.Outcome, o.Took, o.Retries = how.outcome, time.Since(began), max(how.attempts-1, 0)
	s.observe(ctx, o)
	return err
}

// NotSent returns the error of a call whose context ended before anything was sent.
func NotSent(err error) error { return WrapError("", err) }

// Outcomes of an Observation.
const (
	outcomeOK   = "ok"
	outcomeBusy = "busy" // rejected by the gate
)

// outcomeName returns the Outcome of a request that ended with err.
func outcomeName(err error) string {
	if err == nil {
		return outcomeOK
	}
	if errors.Is(err, context.Canceled) {
		return "ended"
	}
	switch outcomeOf(err) {
	case outcomeUnavailable, outcomeOverloaded:
		return "unavailable"
	case outcomeTimeout, outcomeEnded:
		return "timeout"
	}
	return "failed"
}

// decisionName returns the Outcome of a conditional write.
func decisionName(applied bool, err error) string {
	switch {
	case err == nil && applied:
		return "applied"
	case err == nil:
		return "refused"
	case !notApplied(err):
		return "unknown"
	}
	return outcomeName(err)
}
