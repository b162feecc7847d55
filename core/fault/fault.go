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

// Detail says what is wrong with a value that is Invalid. The list is closed: clients translate it.
type Detail string

// The details.
const (
	DetailMalformed     Detail = "MALFORMED"      // not of the form that the message describes
	DetailEmpty         Detail = "EMPTY"          // missing, null, or nothing that can be seen
	DetailTooLong       Detail = "TOO_LONG"       // more characters, bytes or entries than the limit
	DetailOutOfRange    Detail = "OUT_OF_RANGE"   // a number or a time outside its limits
	DetailRepeated      Detail = "REPEATED"       // named twice in one list
	DetailNotApplicable Detail = "NOT_APPLICABLE" // not allowed for this object, or beside another field
)

// Error is the error type of the domains. The faults of a mutation's input that a person can
// correct are returned together, as a List.
type Error struct {
	Code   Code
	Reason Reason
	Detail Detail   // of an Invalid value; empty for all others
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

// Invalidf returns the error of a value that is malformed.
func Invalidf(path []string, format string, args ...any) *Error {
	return invalid(DetailMalformed, path, format, args)
}

// Emptyf returns the error of a value that is missing, null, or shows nothing.
func Emptyf(path []string, format string, args ...any) *Error {
	return invalid(DetailEmpty, path, format, args)
}

// TooLongf returns the error of a value with more characters, bytes or entries than its limit.
func TooLongf(path []string, format string, args ...any) *Error {
	return invalid(DetailTooLong, path, format, args)
}

// OutOfRangef returns the error of a number or a time outside its limits.
func OutOfRangef(path []string, format string, args ...any) *Error {
	return invalid(DetailOutOfRange, path, format, args)
}

// Repeatedf returns the error of a value that a list names twice.
func Repeatedf(path []string, format string, args ...any) *Error {
	return invalid(DetailRepeated, path, format, args)
}

// NotApplicablef returns the error of a value that is not allowed for this object, or beside
// another one.
func NotApplicablef(path []string, format string, args ...any) *Error {
	return invalid(DetailNotApplicable, path, format, args)
}

func invalid(d Detail, path []string, format string, args []any) *Error {
	return &Error{Code: Invalid, Detail: d, Path: path, Msg: fmt.Sprintf(format, args...)}
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

// Contendedf returns an error of code Unavailable with reason CONTENTION: others change the same object.
func Contendedf(format string, args ...any) *Error {
	return &Error{Code: Unavailable, Reason: ReasonContention, Msg: fmt.Sprintf(format, args...), RetryAfter: 1}
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
