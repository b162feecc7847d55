package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/library"
)

func TestUserErrors(t *testing.T) {
	path := []string{"members", "1", "principalId"}
	conflict := func(r library.Reason) error {
		return &library.Error{Code: library.Conflict, Reason: r, Path: path, Msg: "m"}
	}
	shown := func(code UserErrorCode) []UserError { return []UserError{{"m", path, code}} }
	cases := []struct {
		name string
		err  error
		want []UserError // nil: a top-level error
	}{
		{"invalid", library.Invalidf(path, "m"), shown(CodeInvalid)},
		{"not found", library.NotFoundf(path, "m"), shown(CodeNotFound)},
		{"forbidden", library.Forbiddenf(path, "m"), shown(CodeForbidden)},
		{"too many", library.TooManyf(path, "m"), shown(CodeTooMany)},
		{"taken", conflict(library.ReasonTaken), shown(CodeTaken)},
		{"version", conflict(library.ReasonVersion), shown(CodeConflict)},
		{"last manager", conflict(library.ReasonLastManager), shown(CodeLastManager)},
		{"not a member", conflict(library.ReasonNotAMember), shown(CodeNotAMember)},
		{"wrapped", fmt.Errorf("update: %w", library.Invalidf(path, "m")), shown(CodeInvalid)},
		{"the fault of the whole input", library.Invalidf(nil, "m"), []UserError{{"m", nil, CodeInvalid}}},
		{"several", library.Faults{library.Invalidf(path, "m"), library.Invalidf(nil, "n")},
			[]UserError{{"m", path, CodeInvalid}, {"n", nil, CodeInvalid}}},

		{"bad input", library.BadInputf("m"), nil},
		{"bad cursor", &library.Error{Code: library.Invalid, Reason: library.ReasonBadCursor}, nil},
		{"unauthenticated", &library.Error{Code: library.Unauthenticated}, nil},
		{"unavailable", library.Unavailablef(nil, "m"), nil},
		{"contention", conflict(library.ReasonContention), nil},
		{"outcome unknown", conflict(library.ReasonOutcomeUnknown), nil},
		{"key used otherwise", conflict(library.ReasonIdempotencyMismatch), nil},
		{"timeout", &library.Error{Code: library.Unavailable, Reason: library.ReasonTimeout}, nil},
		{"a conflict without a reason", conflict(""), nil},
		{"exhausted without a reason", &library.Error{Code: library.Exhausted}, nil},
		{"internal", &library.Error{Code: library.Internal}, nil},
		{"not of the domain", errors.New("SELECT secret"), nil},
		{"cancelled", context.Canceled, nil},
		{"one that cannot be shown among others", library.Faults{library.Invalidf(path, "m"), library.BadInputf("n")}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := UserErrors(c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if c.want == nil && (err == nil || err.Error() != c.err.Error()) {
				t.Errorf("top level: got %v, want the error itself", err)
			}
			if c.want != nil && err != nil {
				t.Errorf("shown and told at the top level too: %v", err)
			}
		})
	}
	if got, err := UserErrors(nil); got != nil || err != nil {
		t.Errorf("no error: got %v, %v", got, err)
	}
}

// TestUserErrorCode_ReservedValuesSaySo: a code that nothing returns yet does not
// read as if it were.
func TestUserErrorCode_ReservedValuesSaySo(t *testing.T) {
	returned := []UserErrorCode{CodeInvalid, CodeNotFound, CodeForbidden, CodeTaken, CodeConflict, CodeLastManager, CodeNotAMember, CodeTooMany}
	for _, value := range parsedSchema.Types["UserErrorCode"].EnumValues {
		reserved := strings.HasPrefix(value.Description, "Reserved, no mutation returns it yet: ")
		if reserved == slices.Contains(returned, UserErrorCode(value.Name)) {
			t.Errorf("%s is described by %q", value.Name, value.Description)
		}
	}
}
