package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"carrel/core/fault"
)

// answered is an error that a node has returned. The driver's own types for some codes
// cannot be made outside it.
type answered struct{ code int }

func (a answered) Code() int       { return a.code }
func (a answered) Message() string { return "SECRET at 10.0.0.1" }
func (a answered) Error() string   { return a.Message() }

func TestWrapError_DriverErrorsGetACode(t *testing.T) {
	const never, maybe = false, true
	for _, c := range []struct {
		name      string
		err       error
		code      fault.Code
		reason    fault.Reason
		committed bool // a conditional write may have been applied
	}{
		{"too few replicas to propose", &gocql.RequestErrUnavailable{Consistency: gocql.Consistency(gocql.Serial)}, fault.Unavailable, "", never},
		{"too few replicas to propose here", &gocql.RequestErrUnavailable{Consistency: gocql.Consistency(gocql.LocalSerial)},
			fault.Unavailable, "", never},
		{"too few replicas to commit", &gocql.RequestErrUnavailable{Consistency: gocql.Quorum}, fault.Unavailable, "", maybe},
		{"too few replicas to commit here", &gocql.RequestErrUnavailable{Consistency: gocql.LocalQuorum}, fault.Unavailable, "", maybe},
		{"too few replicas, for an unknown purpose", answered{gocql.ErrCodeUnavailable}, fault.Unavailable, "", maybe},
		{"bootstrapping", answered{gocql.ErrCodeBootstrapping}, fault.Unavailable, "", never},
		{"overloaded coordinator", answered{gocql.ErrCodeOverloaded}, fault.Unavailable, "", maybe},
		{"write timeout", answered{gocql.ErrCodeWriteTimeout}, fault.Unavailable, "", maybe},
		{"read timeout", answered{gocql.ErrCodeReadTimeout}, fault.Unavailable, "", maybe},
		{"outcome unknown", answered{gocql.ErrCodeCASWriteUnknown}, fault.Unavailable, "", maybe},
		{"write failure", answered{gocql.ErrCodeWriteFailure}, fault.Unavailable, "", maybe},
		{"read failure", answered{gocql.ErrCodeReadFailure}, fault.Unavailable, "", maybe},
		{"server error", answered{gocql.ErrCodeServer}, fault.Unavailable, "", maybe},
		{"truncate error", answered{gocql.ErrCodeTruncate}, fault.Unavailable, "", maybe},
		{"a code of the future", answered{0x1900}, fault.Unavailable, "", maybe},
		{"syntax", answered{gocql.ErrCodeSyntax}, fault.Internal, "", never},
		{"invalid", answered{gocql.ErrCodeInvalid}, fault.Internal, "", never},
		{"unauthorized", answered{gocql.ErrCodeUnauthorized}, fault.Internal, "", never},
		{"configuration", answered{gocql.ErrCodeConfig}, fault.Internal, "", never},
		{"exists", answered{gocql.ErrCodeAlreadyExists}, fault.Internal, "", never},
		{"protocol", answered{gocql.ErrCodeProtocol}, fault.Internal, "", never},
		{"credentials", answered{gocql.ErrCodeCredentials}, fault.Internal, "", never},
		// It fails before anything is proposed.
		{"a function failed", answered{gocql.ErrCodeFunctionFailure}, fault.Internal, "", never},
		// The driver prepares a statement again itself; this one failed once more.
		{"unprepared", answered{gocql.ErrCodeUnprepared}, fault.Unavailable, "", maybe},
		{"no space for change data capture", answered{gocql.ErrCodeCDCWriteFailure}, fault.Unavailable, "", maybe},

		{"no node", gocql.ErrNoConnections, fault.Unavailable, "", never},
		{"no node at start", gocql.ErrNoConnectionsStarted, fault.Unavailable, "", never},
		{"no hosts", gocql.ErrNoHosts, fault.Unavailable, "", never},
		{"nowhere to be sent", gocql.ErrUnavailable, fault.Unavailable, "", never},
		{"closed session", gocql.ErrSessionClosed, fault.Unavailable, "", never},
		{"no stream free", gocql.ErrNoStreams, fault.Unavailable, "", never},
		{"no response", gocql.ErrTimeoutNoResponse, fault.Unavailable, "", maybe},
		{"a silent node", errSilent, fault.Unavailable, "", maybe},
		{"too many timeouts", gocql.ErrTooManyTimeouts, fault.Unavailable, "", maybe},
		{"closed connection", gocql.ErrConnectionClosed, fault.Unavailable, "", maybe},
		{"end of file", io.EOF, fault.Unavailable, "", maybe},
		{"network", &net.OpError{Op: "read", Err: errors.New("reset by 10.0.0.1")}, fault.Unavailable, "", maybe},
		{"deadline", context.DeadlineExceeded, fault.Unavailable, fault.ReasonTimeout, maybe},
		{"given up", fmt.Errorf("query: %w", context.Canceled), fault.Unavailable, fault.ReasonTimeout, maybe},
		{"wrong number of values", gocql.ErrQueryArgLength, fault.Internal, "", never},
		{"more than the protocol can", gocql.ErrUnsupported, fault.Internal, "", never},
		{"no keyspace", gocql.ErrNoKeyspace, fault.Internal, "", never},
		// The driver returns it for requests and for answers.
		{"a frame beyond all bounds", gocql.ErrFrameTooBig, fault.Unavailable, "", maybe},
		{"too many statements", gocql.ErrTooManyStmts, fault.Internal, "", never},
		{"value of a wrong type", gocql.MarshalError("int8 into text"), fault.Internal, "", never},
		{"answer of a wrong type", gocql.UnmarshalError("text into int8"), fault.Internal, "", maybe},
		{"a panic", fmt.Errorf("%w: SECRET", errPanic), fault.Internal, "", maybe},
		{"cell of an unknown format", ErrMalformedCell, fault.Internal, "", maybe},
		{"anything else", errors.New("whatever"), fault.Unavailable, "", maybe},
	} {
		t.Run(c.name, func(t *testing.T) {
			for what, err := range map[string]error{"reading": WrapError("try", c.err), "decision": wrapDecisionError("try", c.err)} {
				if got := fault.CodeOf(err); got != c.code {
					t.Errorf("%s: code %d, want %d", what, got, c.code)
				}
				if got := fault.ReasonOf(err); got != c.reason {
					t.Errorf("%s: reason %q, want %q", what, got, c.reason)
				}
				if err.Error() == "" || errors.As(err, new(answered)) {
					t.Errorf("%s: %q contains a type of the driver", what, err)
				}
				var shown *fault.Error
				if errors.As(err, &shown); shown.Msg == "" || containsSecret(shown.Msg) {
					t.Errorf("%s: the message %q must not be shown to clients", what, shown.Msg)
				}
			}
			if fault.MayHaveCommitted(WrapError("try", c.err)) {
				t.Error("the error of a read says that something may have been committed")
			}
			if got := fault.MayHaveCommitted(wrapDecisionError("try", c.err)); got != c.committed {
				t.Errorf("a decision may have been made: %v, want %v", got, c.committed)
			}
		})
	}
}

func containsSecret(msg string) bool {
	return slices.ContainsFunc([]string{"SECRET", "10.0.0.1", "SELECT"}, func(s string) bool { return strings.Contains(msg, s) })
}

// TestDriverErrors_HaveCodes: the driver's types for errors of nodes have the codes by which
// outcomeOf classifies them.
func TestDriverErrors_HaveCodes(t *testing.T) {
	for _, err := range []error{
		&gocql.RequestErrUnavailable{}, &gocql.RequestErrWriteTimeout{}, &gocql.RequestErrWriteFailure{}, &gocql.RequestErrReadTimeout{},
		&gocql.RequestErrReadFailure{}, &gocql.RequestErrCASWriteUnknown{}, &gocql.RequestErrAlreadyExists{}, &gocql.RequestErrFunctionFailure{},
		&gocql.RequestErrCDCWriteFailure{},
	} {
		var answer gocql.RequestError
		if !errors.As(err, &answer) {
			t.Errorf("%T is not classified by its code", err)
		}
	}
}

// tombstoneFailure is the error of a node for a read that met too many tombstones. Only its text says so.
type tombstoneFailure struct{ answered }

func (tombstoneFailure) Error() string {
	return "Operation failed - received 0 responses and 2 failures: READ_TOO_MANY_TOMBSTONES from /10.0.0.1:7000"
}

// TestRetryOnce: a failed request is sent once more, to another node, unless that would fail for the same
// reason.
func TestRetryOnce(t *testing.T) {
	policy := &retryOnce{gocql.SimpleRetryPolicy{NumRetries: 1}}
	for _, c := range []struct {
		err  error
		want gocql.RetryType
	}{
		{answered{gocql.ErrCodeReadFailure}, gocql.RetryNextHost},
		{gocql.ErrConnectionClosed, gocql.RetryNextHost},
		{tombstoneFailure{answered{gocql.ErrCodeReadFailure}}, gocql.Rethrow},
	} {
		if got := policy.GetRetryType(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
	err := WrapError("read", tombstoneFailure{answered{gocql.ErrCodeReadFailure}})
	if !TooManyTombstones(err) {
		t.Errorf("%v: TooManyTombstones is false", err)
	}
	if strings.Contains(err.Error(), "10.0.0.1") {
		t.Errorf("%v contains the address of a node", err)
	}
}

func TestWrapError_NilStaysNil(t *testing.T) {
	if err := WrapError("try", nil); err != nil {
		t.Errorf("a read without an error: %v", err)
	}
	if err := wrapDecisionError("try", nil); err != nil {
		t.Errorf("a decision without an error: %v", err)
	}
}

// A node that finds too few replicas to check the user returns the error code of a wrong
// password.
func TestSessionFaultOf_ClassifiesTexts(t *testing.T) {
	for text, want := range map[string]sessionFault{
		"gocql: unable to create session: unable to connect to initial hosts: Provided username ann and/or password are " +
			"incorrect": sessionUser,
		"gocql: unable to create session: unable to connect to initial hosts: Unable to perform authentication: Cannot " +
			"achieve consistency level LOCAL_QUORUM": sessionUnsure,
		"gocql: unable to create session: unable to connect to initial hosts: tls: failed to verify certificate: x509: " +
			"certificate signed by unknown authority": sessionTLS,
		"gocql: unable to create session: unable to setup control conn: host was filtered: " +
			"127.0.0.1": sessionCentre,
		"gocql: unable to create session: unable to connect to initial " +
			"hosts: EOF": sessionOther,
	} {
		if got := sessionFaultOf(errors.New(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
