package graph

import (
	"io"

	"carrel/core/fault"
)

// UserError is a fault that a person can put right.
type UserError struct {
	Message string
	Field   []string // nil where the fault lies in no field
	Code    UserErrorCode
	// CurrentVersion is that of what has not the version expected; nil for other faults.
	CurrentVersion *int
}

// UserErrorCode is the kind of a UserError, as the contract names it.
type UserErrorCode string

// The codes that the domain's errors are shown as.
const (
	CodeInvalid     UserErrorCode = "INVALID"
	CodeNotFound    UserErrorCode = "NOT_FOUND"
	CodeForbidden   UserErrorCode = "FORBIDDEN"
	CodeTaken       UserErrorCode = "TAKEN"
	CodeConflict    UserErrorCode = "CONFLICT"
	CodeLastManager UserErrorCode = "LAST_MANAGER"
	CodeNotAMember  UserErrorCode = "NOT_A_MEMBER"
	CodeTooMany     UserErrorCode = "TOO_MANY"
	CodeExpired     UserErrorCode = "EXPIRED"
	CodeCancelled   UserErrorCode = "CANCELLED"
	CodeConfirmed   UserErrorCode = "CONFIRMED"
	CodeRevision    UserErrorCode = "REVISION_CONFLICT"
	CodeWrongSecret UserErrorCode = "WRONG_SECRET"
)

// MarshalGQL writes the code.
func (c UserErrorCode) MarshalGQL(w io.Writer) { name(c).MarshalGQL(w) }

// UnmarshalGQL is needed by the binding; the code is never an input.
func (c *UserErrorCode) UnmarshalGQL(v any) error {
	s, ok := v.(string)
	if !ok {
		return fault.BadInputf("not a value of UserErrorCode")
	}
	*c = UserErrorCode(s)
	return nil
}

// UserErrors is the one place that decides which errors of a mutation a person
// can put right. It gives all faults of err, or err itself where one of them
// is a fault of the caller's program or of the service: that one is a
// top-level error, and the payload null.
func UserErrors(err error) ([]UserError, error) {
	if err == nil {
		return nil, nil
	}
	faults := fault.ListOf(err)
	shown := make([]UserError, len(faults))
	for i, f := range faults {
		code, ok := userErrorCode(f)
		if !ok {
			return nil, err
		}
		shown[i] = UserError{Message: f.Msg, Field: f.Path, Code: code, CurrentVersion: f.Version}
	}
	return shown, nil
}

// userErrorCode maps what a person can put right; ok is false for all else.
func userErrorCode(e *fault.Error) (code UserErrorCode, ok bool) {
	switch e.Code {
	case fault.Invalid:
		return CodeInvalid, e.Reason == ""
	case fault.NotFound:
		return CodeNotFound, e.Reason == ""
	case fault.Forbidden:
		if e.Reason == fault.ReasonWrongSecret {
			return CodeWrongSecret, true
		}
		return CodeForbidden, e.Reason == ""
	case fault.Exhausted:
		return CodeTooMany, e.Reason == fault.ReasonTooMany
	case fault.Conflict:
		return conflictCode(e.Reason)
	}
	return "", false
}

// conflictCode leaves out the conflicts that only a program can answer:
// CONTENTION and OUTCOME_UNKNOWN by trying again, IDEMPOTENCY_MISMATCH by
// sending the right key.
func conflictCode(r fault.Reason) (code UserErrorCode, ok bool) {
	switch r {
	case fault.ReasonTaken:
		return CodeTaken, true
	case fault.ReasonVersion:
		return CodeConflict, true
	case fault.ReasonLastManager:
		return CodeLastManager, true
	case fault.ReasonNotAMember:
		return CodeNotAMember, true
	case fault.ReasonExpired:
		return CodeExpired, true
	case fault.ReasonCancelled:
		return CodeCancelled, true
	case fault.ReasonConfirmed:
		return CodeConfirmed, true
	case fault.ReasonRevision:
		return CodeRevision, true
	}
	return "", false
}
