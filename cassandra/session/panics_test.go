package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"carrel/core/fault"
)

// panics behaves like the driver, which panics if an answer lacks the columns that it
// expects.
func panics() error {
	var answer map[string]any
	if answer["[applied]"].(bool) {
		return nil
	}
	return errors.New("it should have panicked")
}

// wantPanic checks the error: an internal one that names the panic for the log.
func wantPanic(t *testing.T, err error, mayHaveCommitted bool) {
	t.Helper()
	if fault.CodeOf(err) != fault.Internal || err == nil || !strings.Contains(err.Error(), "the driver has panicked") {
		t.Fatalf("it ended with %v", err)
	}
	if got := fault.MayHaveCommitted(err); got != mayHaveCommitted {
		t.Errorf("may have committed: %v, want %v", got, mayHaveCommitted)
	}
}

// A panic of the driver ends its request, and not the process.
func TestDriverPanic_EndsItsRequestOnly(t *testing.T) {
	hedging := &hedges{after: time.Hour, another: func(string) bool { return true }, slots: make(chan struct{}, 1)}
	t.Run("a read", func(t *testing.T) {
		_, err := hedged(t.Context(), hedging, func(*attempt) (int, error) { return 0, panics() })
		wantPanic(t, err, false)
	})
	t.Run("one of many", func(t *testing.T) {
		err := ForEach(t.Context(), 3, 3, func(_ context.Context, i int) error {
			if i == 1 {
				return panics()
			}
			return nil
		})
		wantPanic(t, err, false)
	})
	t.Run("a request", func(t *testing.T) {
		var observed []Observation
		s := &Session{gate: newGate(1, 1, time.Hour), observe: func(_ context.Context, o Observation) { observed = append(observed, o) }}
		wantPanic(t, s.request(t.Context(), "try", func() (sent, error) { return sent{outcomeOK, 1}, panics() }), false)
		if inFlight, _ := s.Load(); inFlight != 0 {
			t.Error("it has kept its slot")
		}
		if len(observed) != 1 || observed[0].Outcome != "failed" {
			t.Errorf("the observation is %+v", observed)
		}
	})
	t.Run("a decision", func(t *testing.T) {
		s := &Session{nodes: newThreeNodes(t).nodes}
		err := s.decideBy(t.Context(), func(context.Context) error { return panics() })
		wantPanic(t, wrapDecisionError("try", err), true)
	})
}
