package domaintest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
)

// Faults returns each fault of an error as "CODE path".
func Faults(err error) []string {
	var all []string
	for _, f := range fault.ListOf(err) {
		code := string(f.Reason)
		if code == "" {
			code = map[fault.Code]string{
				fault.Internal: "INTERNAL", fault.Invalid: "INVALID", fault.Unauthenticated: "UNAUTHENTICATED",
				fault.Forbidden: "FORBIDDEN", fault.NotFound: "NOT_FOUND", fault.Conflict: "CONFLICT?",
				fault.Exhausted: "EXHAUSTED?", fault.Unavailable: "UNAVAILABLE",
			}[f.Code]
		}
		all = append(all, strings.TrimSpace(code+" "+strings.Join(f.Path, ".")))
	}
	return all
}

// WantFaults compares the faults of an error, none for nil, and requires that each has a message.
func WantFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, Faults(err)); diff != "" {
		t.Fatalf("faults (-want +got):\n%s\n%v", diff, err)
	}
	for _, f := range fault.ListOf(err) {
		if f.Msg == "" {
			t.Errorf("a fault without a message: %+v", f)
		}
	}
}

// ErrDown is the error of a store that is temporarily unavailable.
var ErrDown = errors.New("the store is down")

// WantReason compares the code and the reason of an error.
func WantReason(t testing.TB, err error, code fault.Code, reason fault.Reason) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with code %v and reason %s", code, reason)
		return
	}
	if fault.CodeOf(err) != code || fault.ReasonOf(err) != reason {
		t.Errorf("error %v with code %v and reason %s, want %v and %s", err, fault.CodeOf(err), fault.ReasonOf(err), code, reason)
	}
}
