// Package fault defines the errors that every domain returns: their class, their reason, and
// the path into the input. It knows neither the domains nor how errors are shown.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Code is the class of an error. It says what the receiver can do about it.
type Code uint8

// The classes of errors.
const (
	Internal        Code = iota // a defect; shown in the log only
	Invalid                     // malformed input
	Unauthenticated             // the caller must sign in first
	Forbidden                   // visible, but the viewer may not change it
	NotFound                    // does not exist, or may not be seen
	Conflict                    // collides with the current state
	Exhausted                   // more than a limit allows
	Unavailable                 // the service cannot do it now; a retry may succeed
)

// Reason is more specific than the class. The list is closed; the edge maps it to the codes of
// the API contract.
type Reason string

// The reasons. An empty reason means that the Code is specific enough.
const (
	ReasonTaken               Reason = "TAKEN"
	ReasonLastManager         Reason = "LAST_MANAGER"
	ReasonNotAMember          Reason = "NOT_A_MEMBER"
	ReasonTooMany             Reason = "TOO_MANY"
	ReasonBadCursor           Reason = "BAD_CURSOR"
	ReasonBadInput            Reason = "BAD_USER_INPUT" // an error of the caller's program, not of a person
	ReasonVersion             Reason = "CONFLICT"
	ReasonRevision            Reason = "REVISION_CONFLICT"
	ReasonExpired             Reason = "EXPIRED"
	ReasonConfirmed           Reason = "CONFIRMED"
	ReasonCancelled           Reason = "CANCELLED"
	ReasonContention          Reason = "CONTENTION"
	ReasonOutcomeUnknown      Reason = "OUTCOME_UNKNOWN"
	ReasonIdempotencyMismatch Reason = "IDEMPOTENCY_MISMATCH"
	ReasonTimeout             Reason = "TIMEOUT"
	ReasonResync              Reason = "RESYNC" // the missed events are no longer kept
	ReasonWrongSecret         Reason = "WRONG_SECRET"
	ReasonSlow                Reason = "SLOW_CONSUMER" // the subscriber did not read its events in time
	ReasonFull                Reason = "STORE_FULL"    // the store has no room for more
)

// Error is the error type of the domains. The faults of a mutation's input that a person can
// correct are returned together, as a List.
type Error struct {
	Code   Code
	Reason Reason
	Path   []string // into the input; list positions in decimal
	Msg    string   // safe to show: never a secret, a host or a statement
	Err    error    // the cause; never shown
	// RetryAfter is in seconds; 0 means no advice.
	RetryAfter int
	// Version is the current version if it differs from the one that the caller expected; nil for
	// other errors. It is set only for callers who may see the object.
	Version *int
}

// Error returns the message with its cause, for logs.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// List is all faults of an input, in the order of the input.
type List []*Error

// Error joins the messages.
func (f List) Error() string {
	msgs := make([]string, len(f))
	for i, e := range f {
		msgs[i] = e.Msg
		if len(e.Path) > 0 {
			msgs[i] = strings.Join(e.Path, ".") + ": " + e.Msg
		}
	}
	return strings.Join(msgs, "; ")
}

// OrNil returns the list as an error, or nil if it is empty.
func (f List) OrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Add appends the faults of err, with path prepended to their paths. It does nothing if err is
// nil.
func (f *List) Add(err error, path ...string) {
	if err == nil {
		return
	}
	for _, e := range ListOf(err) {
		c := *e
		c.Path = append(append([]string(nil), path...), e.Path...)
		*f = append(*f, &c)
	}
}

// ListOf returns the domain errors that err consists of. An error of another type
// becomes one Internal error.
func ListOf(err error) List {
	if err == nil {
		return nil
	}
	var fs List
	if errors.As(err, &fs) {
		return fs
	}
	var e *Error
	if errors.As(err, &e) {
		return List{e}
	}
	return List{{Code: Internal, Msg: "internal error", Err: err}}
}

// CodeOf returns the class of the first error, or Internal for errors of other types.
func CodeOf(err error) Code {
	fs := ListOf(err)
	if len(fs) == 0 {
		return Internal
	}
	return fs[0].Code
}

// ReasonOf returns the reason of the first error.
func ReasonOf(err error) Reason {
	fs := ListOf(err)
	if len(fs) == 0 {
		return ""
	}
	return fs[0].Reason
}

// Invalidf returns an error of code Invalid.
func Invalidf(path []string, format string, args ...any) *Error {
	return &Error{Code: Invalid, Path: path, Msg: fmt.Sprintf(format, args...)}
}

// BadInputf returns an error in the caller's program: BAD_USER_INPUT, not a userError.
func BadInputf(format string, args ...any) *Error {
	return &Error{Code: Invalid, Reason: ReasonBadInput, Msg: fmt.Sprintf(format, args...)}
}

// NotFoundf returns an error of code NotFound.
func NotFoundf(path []string, format string, args ...any) *Error {
	return &Error{Code: NotFound, Path: path, Msg: fmt.Sprintf(format, args...)}
}

// Forbiddenf returns an error of code Forbidden.
func Forbiddenf(path []string, format string, args ...any) *Error {
	return &Error{Code: Forbidden, Path: path, Msg: fmt.Sprintf(format, args...)}
}

// TooManyf returns an error of code Exhausted with reason TOO_MANY.
func TooManyf(path []string, format string, args ...any) *Error {
	return &Error{Code: Exhausted, Reason: ReasonTooMany, Path: path, Msg: fmt.Sprintf(format, args...)}
}

// VersionConflict returns the error of a change that was made from another version than the
// current one, which the caller may see.
func VersionConflict(current int, msg string) *Error {
	return &Error{Code: Conflict, Reason: ReasonVersion, Path: []string{"expectedVersion"}, Msg: msg, Version: &current}
}

// Unavailablef returns an error of code Unavailable, with its cause.
func Unavailablef(cause error, format string, args ...any) *Error {
	var e *Error
	if errors.As(cause, &e) && e.Reason == ReasonFull {
		return e // trying again would not help
	}
	return &Error{Code: Unavailable, Msg: fmt.Sprintf(format, args...), Err: cause, RetryAfter: 1}
}

// uncertain is the error of a conditional write that may have been applied.
type uncertain struct{ err error }

func (u *uncertain) Error() string { return "outcome unknown: " + u.err.Error() }
func (u *uncertain) Unwrap() error { return u.err }

// Uncertain wraps the error of a conditional write whose outcome is unknown: it may be
// applied now, later or never.
func Uncertain(err error) error { return &uncertain{err} }

// MayHaveCommitted reports whether the write that failed with err may nevertheless have been
// applied, or may still be applied.
func MayHaveCommitted(err error) bool {
	var u *uncertain
	return errors.As(err, &u)
}

// SignInFirst returns the error of a mutation that needs a signed-in caller.
func SignInFirst() *Error {
	return &Error{Code: Unauthenticated, Msg: "sign in first: this needs a token"}
}
