package cassandra

import (
	"errors"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/fault"
)

// panics stands for the driver, which panics where an answer has not the columns
// that it expects.
func panics() error {
	var answer map[string]any
	if answer["[applied]"].(bool) {
		return nil
	}
	return errors.New("it should have panicked")
}

// wantPanic checks what is told of a panic: an error inside, which names it for
// the log.
func wantPanic(t *testing.T, err error, mayHaveCommitted bool) {
	t.Helper()
	if fault.CodeOf(err) != fault.Internal || err == nil || !strings.Contains(err.Error(), "the driver has panicked") {
		t.Fatalf("it ended with %v", err)
	}
	if got := fault.MayHaveCommitted(err); got != mayHaveCommitted {
		t.Errorf("something may have been done: %v, want %v", got, mayHaveCommitted)
	}
}

// Rows may be read where nobody is above, too.
func TestAPanicOverRowsEndsTheirReading(t *testing.T) {
	s := open(t, options(t))
	err := s.session.Read(t.Context(), session.Query{Operation: "try", Stmt: selectVersions}, func(*gocql.Iter) bool { return panics() == nil })
	wantPanic(t, err, false)
	if _, err := s.schemaCurrent(t.Context()); err != nil {
		t.Errorf("what comes after it: %v", err)
	}
}

// The driver itself panics at an answer without the column that tells whether a
// condition held.
func TestADecisionThatIsAnsweredOtherwise(t *testing.T) {
	s := open(t, options(t))
	applied, _, err := s.session.DecideOne(t.Context(), "try", selectVersions)
	if applied {
		t.Error("it is said to have been applied")
	}
	wantPanic(t, err, true)
	if _, err := s.schemaCurrent(t.Context()); err != nil {
		t.Errorf("what comes after it: %v", err)
	}
}
