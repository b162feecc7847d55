package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
)

func TestUserErrors_ShowWhatAUserCanCorrect(t *testing.T) {
	path := []string{"members", "1", "principalId"}
	conflict := func(r fault.Reason) error {
		return &fault.Error{Code: fault.Conflict, Reason: r, Path: path, Msg: "m"}
	}
	shown := func(code UserErrorCode) []UserError { return []UserError{{Message: "m", Field: path, Code: code}} }
	reason := func(d fault.Detail) *InvalidReason { r := InvalidReason(d); return &r }
	invalid := func(d fault.Detail) []UserError {
		return []UserError{{Message: "m", Field: path, Code: CodeInvalid, Reason: reason(d)}}
	}
	malformed := reason(fault.DetailMalformed)
	seven := 7
	cases := []struct {
		name string
		err  error
		want []UserError // nil: a top-level error
	}{
		{"malformed", fault.Invalidf(path, "m"), invalid("MALFORMED")},
		{"empty", fault.Emptyf(path, "m"), invalid("EMPTY")},
		{"too long", fault.TooLongf(path, "m"), invalid("TOO_LONG")},
		{"out of range", fault.OutOfRangef(path, "m"), invalid("OUT_OF_RANGE")},
		{"repeated", fault.Repeatedf(path, "m"), invalid("REPEATED")},
		{"not applicable", fault.NotApplicablef(path, "m"), invalid("NOT_APPLICABLE")},
		{"not found", fault.NotFoundf(path, "m"), shown(CodeNotFound)},
		{"forbidden", fault.Forbiddenf(path, "m"), shown(CodeForbidden)},
		{"too many", fault.TooManyf(path, "m"), shown(CodeTooMany)},
		{"taken", conflict(fault.ReasonTaken), shown(CodeTaken)},
		{"version", conflict(fault.ReasonVersion), shown(CodeConflict)},
		{"version, with the current one", fault.VersionConflict(7, "m"),
			[]UserError{{Message: "m", Field: []string{"expectedVersion"}, Code: CodeConflict, CurrentVersion: &seven}}},
		{"last manager", conflict(fault.ReasonLastManager), shown(CodeLastManager)},
		{"not a member", conflict(fault.ReasonNotAMember), shown(CodeNotAMember)},
		{"expired", conflict(fault.ReasonExpired), shown(CodeExpired)},
		{"cancelled before", conflict(fault.ReasonCancelled), shown(CodeCancelled)},
		{"confirmed before", conflict(fault.ReasonConfirmed), shown(CodeConfirmed)},
		{"wrapped", fmt.Errorf("update: %w", fault.Invalidf(path, "m")), invalid("MALFORMED")},
		{"the fault of the whole input", fault.Invalidf(nil, "m"), []UserError{{Message: "m", Code: CodeInvalid, Reason: malformed}}},
		{"several", fault.List{fault.Invalidf(path, "m"), fault.Invalidf(nil, "n")},
			[]UserError{{Message: "m", Field: path, Code: CodeInvalid, Reason: malformed}, {Message: "n", Code: CodeInvalid, Reason: malformed}}},

		{"bad input", fault.BadInputf("m"), nil},
		{"bad cursor", &fault.Error{Code: fault.Invalid, Reason: fault.ReasonBadCursor}, nil},
		{"unauthenticated", &fault.Error{Code: fault.Unauthenticated}, nil},
		{"unavailable", fault.Unavailablef(nil, "m"), nil},
		{"contention", conflict(fault.ReasonContention), nil},
		{"outcome unknown", conflict(fault.ReasonOutcomeUnknown), nil},
		{"key used otherwise", conflict(fault.ReasonIdempotencyMismatch), nil},
		{"timeout", &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonTimeout}, nil},
		{"a conflict without a reason", conflict(""), nil},
		{"exhausted without a reason", &fault.Error{Code: fault.Exhausted}, nil},
		{"internal", &fault.Error{Code: fault.Internal}, nil},
		{"not of the domain", errors.New("SELECT secret"), nil},
		{"cancelled", context.Canceled, nil},
		{"one that cannot be shown among others", fault.List{fault.Invalidf(path, "m"), fault.BadInputf("n")}, nil},
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
				t.Errorf("shown as a user error and at the top level: %v", err)
			}
		})
	}
	if got, err := UserErrors(nil); got != nil || err != nil {
		t.Errorf("no error: got %v, %v", got, err)
	}
}

// TestInvalidReason_HasTheDetailsOfTheDomain: a detail without a value of the enum would break an
// answer.
func TestInvalidReason_HasTheDetailsOfTheDomain(t *testing.T) {
	want := []fault.Detail{fault.DetailMalformed, fault.DetailEmpty, fault.DetailTooLong, fault.DetailOutOfRange,
		fault.DetailRepeated, fault.DetailNotApplicable}
	var got []fault.Detail
	for _, value := range parsedSchema.Types["InvalidReason"].EnumValues {
		got = append(got, fault.Detail(value.Name))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the schema's reasons (-want +got):\n%s", diff)
	}
}

// TestUserErrorCode_ReservedValuesSaySo: the description of a code that nothing returns yet says
// that it is reserved.
func TestUserErrorCode_ReservedValuesSaySo(t *testing.T) {
	returned := []UserErrorCode{CodeInvalid, CodeNotFound, CodeForbidden, CodeTaken, CodeConflict, CodeLastManager,
		CodeNotAMember, CodeTooMany,
		CodeExpired, CodeCancelled, CodeConfirmed, CodeRevision, CodeWrongSecret}
	for _, value := range parsedSchema.Types["UserErrorCode"].EnumValues {
		reserved := strings.HasPrefix(value.Description, "Reserved, no mutation returns it yet: ")
		if reserved == slices.Contains(returned, UserErrorCode(value.Name)) {
			t.Errorf("%s is described by %q", value.Name, value.Description)
		}
	}
}
