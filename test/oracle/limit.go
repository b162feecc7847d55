package oracle

import (
	"flag"
	"strconv"
	"testing"
)

// Limit sets the number of games that a test plays, unless -rapid.checks sets it for all tests.
func Limit(t *testing.T, games int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() != checks.DefValue {
		return
	}
	if err := checks.Value.Set(strconv.Itoa(games)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := checks.Value.Set(checks.DefValue); err != nil {
			t.Error(err)
		}
	})
}
