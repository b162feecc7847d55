package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"carrel/core/fault"
)

// ErrMalformedCell is the error for a cell that does not have the format of its column.
var ErrMalformedCell = errors.New("a cell of an unknown format")

// errTombstones is the error of a read that meets too many tombstones.
var errTombstones = errors.New("the read meets more tombstones than a node allows")

// withoutDriverTypes returns the text of an error as a new error, so that no type of the
// driver leaves this package. It keeps the errors of contexts.
func withoutDriverTypes(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// WrapError turns the error of a read, or of a repeatable write, into one of the domain.
// operation says what the request was for.
func WrapError(operation string, err error) error {
	if err == nil {
		return nil
	}
	var mine *fault.Error
	if errors.As(err, &mine) {
		return err
	}
	if errors.Is(err, ErrMalformedCell) {
		return &fault.Error{Code: fault.Internal, Msg: operation + ": a row of the store cannot be read", Err: err}
	}
	if errors.Is(err, errPanic) {
		return &fault.Error{Code: fault.Internal, Msg: operation + ": the driver has failed", Err: withoutDriverTypes(err)}
	}
	e := &fault.Error{Code: fault.Unavailable, RetryAfter: 1, Err: withoutDriverTypes(err)}
	switch outcomeOf(err) {
	case outcomeEnded:
		e.Reason, e.Msg = fault.ReasonTimeout, "the deadline of this request has passed"
		if errors.Is(err, context.Canceled) {
			e.Msg = "the request was canceled"
		}
	case outcomeUnavailable:
		e.Msg = operation + ": too few nodes of the cluster are up"
		var u *gocql.RequestErrUnavailable
		if errors.As(err, &u) {
			e.Msg = fmt.Sprintf("%s: too few nodes of the cluster are up (%d of %d)", operation, u.Alive, u.Required)
		}
	case outcomeOverloaded:
		e.Msg = operation + ": the cluster is overloaded"
	case outcomeTimeout:
		e.Msg = operation + ": the cluster did not answer in time"
	case outcomeLost:
		e.Msg = operation + ": the connection to the cluster was lost"
	case outcomeFailed:
		e.Msg = operation + ": the cluster failed"
		if saysTooManyTombstones(err) {
			e.Err = errTombstones
		}
	default:
		e.Code, e.RetryAfter, e.Msg = fault.Internal, 0, operation+": the cluster refused a statement"
	}
	return e
}

// wrapDecisionError is WrapError for a conditional write. The error satisfies
// fault.MayHaveCommitted unless it is certain that the write was not applied and never
// will be.
func wrapDecisionError(operation string, err error) error {
	if err == nil {
		return nil
	}
	if notApplied(err) {
		return WrapError(operation, err)
	}
	return fault.Uncertain(WrapError(operation, err))
}

// outcome classifies an error of the driver by what happened to the request.
type outcome byte

const (
	outcomeRefused     outcome = iota // the statement itself is at fault
	outcomeEnded                      // our context ended; the request may still be executed
	outcomeUnavailable                // too few replicas or no node: not executed, except perhaps part of a decision
	outcomeOverloaded                 // the coordinator accepts no more requests
	outcomeTimeout                    // the node or its replicas did not answer in time
	outcomeLost                       // the connection broke
	outcomeFailed                     // replicas or the coordinator failed
)

// outcomeOf classifies an error of the driver. Unknown errors, such as those of the
// network, count as a lost connection: the request may have been executed.
func outcomeOf(err error) outcome {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return outcomeEnded
	case errors.Is(err, gocql.ErrNoConnections), errors.Is(err, gocql.ErrSessionClosed), errors.Is(err, gocql.ErrUnavailable),
		errors.Is(err, gocql.ErrNoConnectionsStarted), errors.Is(err, gocql.ErrNoHosts):
		return outcomeUnavailable
	case errors.Is(err, gocql.ErrNoStreams):
		return outcomeOverloaded
	case errors.Is(err, gocql.ErrTimeoutNoResponse), errors.Is(err, gocql.ErrTooManyTimeouts), errors.Is(err, errSilent):
		return outcomeTimeout
	case errors.Is(err, gocql.ErrConnectionClosed):
		return outcomeLost
	case errors.Is(err, gocql.ErrQueryArgLength), errors.Is(err, gocql.ErrUnsupported), errors.Is(err, gocql.ErrTooManyStmts),
		errors.Is(err, gocql.ErrNoKeyspace):
		return outcomeRefused
	}
	var few *gocql.RequestErrUnavailable
	if errors.As(err, &few) {
		return outcomeUnavailable
	}
	var marshal gocql.MarshalError
	var unmarshal gocql.UnmarshalError
	if errors.As(err, &marshal) || errors.As(err, &unmarshal) {
		return outcomeRefused
	}
	var answer gocql.RequestError
	if errors.As(err, &answer) {
		return outcomeOfCode(answer.Code())
	}
	return outcomeLost
}

// outcomeOfCode classifies the error code that a node has returned.
func outcomeOfCode(code int) outcome {
	switch code {
	case gocql.ErrCodeUnavailable, gocql.ErrCodeBootstrapping:
		return outcomeUnavailable
	case gocql.ErrCodeOverloaded:
		return outcomeOverloaded
	case gocql.ErrCodeWriteTimeout, gocql.ErrCodeReadTimeout, gocql.ErrCodeCASWriteUnknown:
		return outcomeTimeout
	case gocql.ErrCodeSyntax, gocql.ErrCodeInvalid, gocql.ErrCodeUnauthorized, gocql.ErrCodeConfig, gocql.ErrCodeAlreadyExists,
		gocql.ErrCodeProtocol, gocql.ErrCodeCredentials, gocql.ErrCodeFunctionFailure:
		return outcomeRefused
	}
	return outcomeFailed
}

// notApplied reports whether a conditional write that failed with err was certainly not
// applied and never will be. Timeouts, failures and lost connections may come after the
// write was proposed.
func notApplied(err error) bool {
	var mine *fault.Error
	if errors.As(err, &mine) {
		return !fault.MayHaveCommitted(err)
	}
	switch outcomeOf(err) {
	case outcomeUnavailable:
		return !mayBeOfCommit(err)
	case outcomeOverloaded:
		// Our own connections had no free stream. A coordinator returns the same error when
		// it cannot store hints, after the write was decided.
		return errors.Is(err, gocql.ErrNoStreams)
	case outcomeRefused:
		var unmarshal gocql.UnmarshalError
		return !errors.As(err, &unmarshal)
	}
	return false
}

// mayBeOfCommit reports whether the missing replicas may be those for the commit of a
// decision, rather than for the decision. A node looks for replicas at the serial level
// before it proposes. In the first version of Paxos, which is Cassandra's default, it
// looks again after the proposal was accepted, at the level of the write; the next
// decision then finds the accepted proposal and completes it.
func mayBeOfCommit(err error) bool {
	var few *gocql.RequestErrUnavailable
	if errors.As(err, &few) {
		return few.Consistency != gocql.Consistency(gocql.Serial) && few.Consistency != gocql.Consistency(gocql.LocalSerial)
	}
	var answer gocql.RequestError
	return errors.As(err, &answer) && answer.Code() == gocql.ErrCodeUnavailable
}

// sessionFault is the reason why a session could not be opened.
type sessionFault byte

const (
	sessionOther  sessionFault = iota
	sessionUser                // the user or the password was refused
	sessionTLS                 // a certificate was refused
	sessionCentre              // no node is in the data centre
	sessionUnsure              // too few nodes are up to check the user
)

// sessionFaultOf classifies an error of opening a session by its text, because the driver has no
// types for these errors.
func sessionFaultOf(err error) sessionFault {
	text := strings.ToLower(err.Error())
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case contains("unable to perform authentication", "cannot achieve consistency"):
		return sessionUnsure // it has the error code of a wrong password
	case contains("password", "credentials", "authentication"):
		return sessionUser
	case contains("certificate", "tls:", "x509"):
		return sessionTLS
	case contains("host was filtered"):
		return sessionCentre
	}
	return sessionOther
}

// TooManyTombstones reports whether a read has failed because it meets more tombstones than a node
// allows. A read of a part of the rows may succeed.
func TooManyTombstones(err error) bool { return errors.Is(err, errTombstones) }

// saysTooManyTombstones reports whether an error of the driver says that a read has met more tombstones than
// a node allows. Only the text says so.
func saysTooManyTombstones(err error) bool {
	return strings.Contains(err.Error(), "READ_TOO_MANY_TOMBSTONES")
}

// retryOnce is gocql.SimpleRetryPolicy, but does not repeat a read that has met too many tombstones: it is
// costly, and the other replicas most likely have as many.
type retryOnce struct{ gocql.SimpleRetryPolicy }

// GetRetryType implements gocql.RetryPolicy.
func (r *retryOnce) GetRetryType(err error) gocql.RetryType {
	if saysTooManyTombstones(err) {
		return gocql.Rethrow
	}
	return r.SimpleRetryPolicy.GetRetryType(err)
}
