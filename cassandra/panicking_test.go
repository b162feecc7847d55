package cassandra

import (
	"errors"
	"strings"
	"testing"

	"carrel/cassandra/session"
	"carrel/core/fault"
)

// panics behaves like the driver, which panics if a response lacks expected columns.
func panics() error {
	var answer map[string]any
	if answer["[applied]"].(bool) {
		return nil
	}
	return errors.New("it should have panicked")
}

// wantPanic checks the error for a panic: an internal one that names the panic for the log.
func wantPanic(t *testing.T, err error, mayHaveCommitted bool) {
	t.Helper()
	if fault.CodeOf(err) != fault.Internal || err == nil || !strings.Contains(err.Error(), "the driver has panicked") {
		t.Fatalf("it ended with %v", err)
	}
	if got := fault.MayHaveCommitted(err); got != mayHaveCommitted {
		t.Errorf("may have committed: %v, want %v", got, mayHaveCommitted)
	}
}

// TestRead_PanicOverRowsIsAnError: rows may be read on a goroutine without a recover above it.
func TestRead_PanicOverRowsIsAnError(t *testing.T) {
	s := open(t, options(t))
	err := s.session.Read(t.Context(), session.Query{Operation: "try", Stmt: selectVersions}, []any{new(int), new(string)}, panics)
	wantPanic(t, err, false)
	if _, err := s.schemaCurrent(t.Context()); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

// TestDecide_MalformedResponseIsAnError: the driver itself panics if a response lacks the column
// that reports whether the condition held.
func TestDecide_MalformedResponseIsAnError(t *testing.T) {
	s := open(t, options(t))
	applied, _, err := s.session.DecideOne(t.Context(), "try", selectVersions)
	if applied {
		t.Error("the decision is reported as applied")
	}
	wantPanic(t, err, true)
	if _, err := s.schemaCurrent(t.Context()); err != nil {
		t.Errorf("the next request: %v", err)
	}
}
