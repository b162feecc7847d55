package graph

import (
	"io"

	"carrel/core/fault"
)

// UserError is an error that the user can correct.
type UserError struct {
	Message string
	Field   []string // nil if the error is not about one field
	Code    UserErrorCode
	Reason  *InvalidReason // of INVALID; nil for other errors
	// CurrentVersion is the current version if it is not the expected one; nil for other errors.
	CurrentVersion *int
}

// InvalidReason says what is wrong with an INVALID value; its names are those of the contract.
type InvalidReason fault.Detail

// MarshalGQL writes the reason.
func (r InvalidReason) MarshalGQL(w io.Writer) { name(r).MarshalGQL(w) }

// UnmarshalGQL is required by the binding. The reason is never an input.
func (r *InvalidReason) UnmarshalGQL(any) error {
	return fault.BadInputf("a reason is not an input")
}

// UserErrorCode is the code of a UserError in the contract.
type UserErrorCode string

// The codes that errors of the domain are shown with.
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

// UnmarshalGQL is required by the binding. The code is never an input.
func (c *UserErrorCode) UnmarshalGQL(v any) error {
	s, ok := v.(string)
	if !ok {
		return fault.BadInputf("not a value of UserErrorCode")
	}
	*c = UserErrorCode(s)
	return nil
}

// UserErrors decides which errors of a mutation are user errors. It returns all faults of err as
// user errors. If one of them is an error of the client program or of the service, it returns err
// instead, which becomes a top-level error, and the payload is null.
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
		if f.Detail != "" {
			reason := InvalidReason(f.Detail)
			shown[i].Reason = &reason
		}
	}
	return shown, nil
}

// userErrorCode returns the code of an error that a user can correct. ok is false for all others.
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

// conflictCode excludes the conflicts that only a program can resolve: CONTENTION and
// OUTCOME_UNKNOWN by a retry, IDEMPOTENCY_MISMATCH by the right key.
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
