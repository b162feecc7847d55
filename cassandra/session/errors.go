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

// ErrMalformedCell says that a cell is not of the form its column has.
var ErrMalformedCell = errors.New("a cell of an unknown form")

// withoutDriverTypes wraps an error of the driver as text: its types must not leave this
// package, and no caller could do more with them than log them. A context's
// end stays one.
func withoutDriverTypes(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// WrapError makes a domain error of what went wrong in a reading, or in a write
// that may be repeated.
func WrapError(doing string, err error) error {
	if err == nil {
		return nil
	}
	var mine *fault.Error
	if errors.As(err, &mine) {
		return err
	}
	if errors.Is(err, ErrMalformedCell) {
		return &fault.Error{Code: fault.Internal, Msg: doing + ": a row of the store cannot be read", Err: err}
	}
	if errors.Is(err, errPanic) {
		return &fault.Error{Code: fault.Internal, Msg: doing + ": the driver has failed", Err: withoutDriverTypes(err)}
	}
	e := &fault.Error{Code: fault.Unavailable, RetryAfter: 1, Err: withoutDriverTypes(err)}
	switch outcomeOf(err) {
	case outcomeEnded:
		e.Reason, e.Msg = fault.ReasonTimeout, "the time for this request has run out"
		if errors.Is(err, context.Canceled) {
			e.Msg = "the request was given up"
		}
	case outcomeUnavailable:
		e.Msg = doing + ": too few nodes of the cluster are up"
		var u *gocql.RequestErrUnavailable
		if errors.As(err, &u) {
			e.Msg = fmt.Sprintf("%s: too few nodes of the cluster are up (%d of %d)", doing, u.Alive, u.Required)
		}
	case outcomeOverloaded:
		e.Msg = doing + ": the cluster is overloaded"
	case outcomeTimeout:
		e.Msg = doing + ": the cluster did not answer in time"
	case outcomeLost:
		e.Msg = doing + ": the connection to the cluster was lost"
	case outcomeFailed:
		e.Msg = doing + ": the cluster failed"
	default:
		e.Code, e.RetryAfter, e.Msg = fault.Internal, 0, doing+": the cluster refused a statement"
	}
	return e
}

// wrapDecisionError is fault for a conditional write: unless it is certain that the
// write was not applied and never will be, the error satisfies
// library.MayHaveCommitted.
func wrapDecisionError(doing string, err error) error {
	if err == nil {
		return nil
	}
	if notApplied(err) {
		return WrapError(doing, err)
	}
	return fault.Uncertain(WrapError(doing, err))
}

// outcome is what an error of the driver says of the request.
type outcome byte

const (
	outcomeRefused     outcome = iota // the statement itself is at fault
	outcomeEnded                      // our context ended; the request may still run
	outcomeUnavailable                // too few replicas, or no node at all; it was not begun
	outcomeOverloaded                 // the coordinator took on no more
	outcomeTimeout                    // no answer in time, of the node or of its replicas
	outcomeLost                       // the connection broke under it
	outcomeFailed                     // replicas or the coordinator failed at it
)

// outcomeOf classes an error of the driver. What it does not know, such as an
// error of the network, is a lost connection: the request may have been done.
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

// outcomeOfCode classes an error that a node has answered.
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

// notApplied tells whether a conditional write that failed with err was not
// applied and never will be. Every timeout, failure and lost connection may have
// been after it was proposed.
func notApplied(err error) bool {
	var mine *fault.Error
	if errors.As(err, &mine) {
		return !fault.MayHaveCommitted(err)
	}
	switch outcomeOf(err) {
	case outcomeUnavailable:
		return !mayBeOfCommit(err)
	case outcomeOverloaded:
		// Our own connections had no place for it. A coordinator says the same
		// when it has no place for hints, after the write was decided.
		return errors.Is(err, gocql.ErrNoStreams)
	case outcomeRefused:
		var unmarshal gocql.UnmarshalError
		return !errors.As(err, &unmarshal)
	}
	return false
}

// mayBeOfCommit tells whether a node has found too few replicas for making a
// decision known, rather than for making it. It looks for them before it
// proposes, at the serial level, and in Cassandra's first variant of Paxos,
// which is the default, once more after the proposal was accepted, at the level
// of the write: whoever decides next finds it then, and completes it.
func mayBeOfCommit(err error) bool {
	var few *gocql.RequestErrUnavailable
	if errors.As(err, &few) {
		return few.Consistency != gocql.Consistency(gocql.Serial) && few.Consistency != gocql.Consistency(gocql.LocalSerial)
	}
	var answer gocql.RequestError
	return errors.As(err, &answer) && answer.Code() == gocql.ErrCodeUnavailable
}

// sessionFault is why no session could be made.
type sessionFault byte

const (
	sessionOther  sessionFault = iota
	sessionUser                // the user or the password is refused
	sessionTLS                 // a certificate is
	sessionCentre              // no node is in the data centre
	sessionUnsure              // too few nodes are up to look a user up
)

// sessionFaultOf classes an error of making a session, which the driver tells
// as text only.
func sessionFaultOf(err error) sessionFault {
	text := strings.ToLower(err.Error())
	tells := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case tells("unable to perform authentication", "cannot achieve consistency"):
		return sessionUnsure // with the code of a wrong password
	case tells("password", "credentials", "authentication"):
		return sessionUser
	case tells("certificate", "tls:", "x509"):
		return sessionTLS
	case tells("host was filtered"):
		return sessionCentre
	}
	return sessionOther
}
