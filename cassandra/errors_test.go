package cassandra

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

	"carrel/library"
)

// answered is an error that a node has answered; the driver's own types for
// some codes cannot be made outside it with their code.
type answered struct{ code int }

func (a answered) Code() int       { return a.code }
func (a answered) Message() string { return "SECRET at 10.0.0.1" }
func (a answered) Error() string   { return a.Message() }

func TestErrorsOfTheDriver(t *testing.T) {
	const never, maybe = false, true
	for _, c := range []struct {
		name      string
		err       error
		code      library.Code
		reason    library.Reason
		committed bool // a conditional write may have been applied
	}{
		{"too few replicas to propose", &gocql.RequestErrUnavailable{Consistency: gocql.Consistency(gocql.Serial)}, library.Unavailable, "", never},
		{"too few replicas to propose here", &gocql.RequestErrUnavailable{Consistency: gocql.Consistency(gocql.LocalSerial)}, library.Unavailable, "", never},
		{"too few replicas to commit", &gocql.RequestErrUnavailable{Consistency: gocql.Quorum}, library.Unavailable, "", maybe},
		{"too few replicas to commit here", &gocql.RequestErrUnavailable{Consistency: gocql.LocalQuorum}, library.Unavailable, "", maybe},
		{"too few replicas, for what is not told", answered{gocql.ErrCodeUnavailable}, library.Unavailable, "", maybe},
		{"bootstrapping", answered{gocql.ErrCodeBootstrapping}, library.Unavailable, "", never},
		{"overloaded coordinator", answered{gocql.ErrCodeOverloaded}, library.Unavailable, "", maybe},
		{"write timeout", answered{gocql.ErrCodeWriteTimeout}, library.Unavailable, "", maybe},
		{"read timeout", answered{gocql.ErrCodeReadTimeout}, library.Unavailable, "", maybe},
		{"outcome unknown", answered{gocql.ErrCodeCASWriteUnknown}, library.Unavailable, "", maybe},
		{"write failure", answered{gocql.ErrCodeWriteFailure}, library.Unavailable, "", maybe},
		{"read failure", answered{gocql.ErrCodeReadFailure}, library.Unavailable, "", maybe},
		{"server error", answered{gocql.ErrCodeServer}, library.Unavailable, "", maybe},
		{"truncate error", answered{gocql.ErrCodeTruncate}, library.Unavailable, "", maybe},
		{"a code of the future", answered{0x1900}, library.Unavailable, "", maybe},
		{"syntax", answered{gocql.ErrCodeSyntax}, library.Internal, "", never},
		{"invalid", answered{gocql.ErrCodeInvalid}, library.Internal, "", never},
		{"unauthorized", answered{gocql.ErrCodeUnauthorized}, library.Internal, "", never},
		{"configuration", answered{gocql.ErrCodeConfig}, library.Internal, "", never},
		{"exists", answered{gocql.ErrCodeAlreadyExists}, library.Internal, "", never},
		{"protocol", answered{gocql.ErrCodeProtocol}, library.Internal, "", never},
		{"credentials", answered{gocql.ErrCodeCredentials}, library.Internal, "", never},
		// While its values are made, before anything is proposed.
		{"a function failed", answered{gocql.ErrCodeFunctionFailure}, library.Internal, "", never},
		// The driver prepares it again by itself, so this is one that it has not.
		{"unprepared", answered{gocql.ErrCodeUnprepared}, library.Unavailable, "", maybe},
		{"no place for changes to be captured", answered{gocql.ErrCodeCDCWriteFailure}, library.Unavailable, "", maybe},

		{"no node", gocql.ErrNoConnections, library.Unavailable, "", never},
		{"no node at start", gocql.ErrNoConnectionsStarted, library.Unavailable, "", never},
		{"no hosts", gocql.ErrNoHosts, library.Unavailable, "", never},
		{"nowhere to be sent", gocql.ErrUnavailable, library.Unavailable, "", never},
		{"closed session", gocql.ErrSessionClosed, library.Unavailable, "", never},
		{"no stream free", gocql.ErrNoStreams, library.Unavailable, "", never},
		{"no response", gocql.ErrTimeoutNoResponse, library.Unavailable, "", maybe},
		{"a silent node", errSilent, library.Unavailable, "", maybe},
		{"too many timeouts", gocql.ErrTooManyTimeouts, library.Unavailable, "", maybe},
		{"closed connection", gocql.ErrConnectionClosed, library.Unavailable, "", maybe},
		{"end of file", io.EOF, library.Unavailable, "", maybe},
		{"network", &net.OpError{Op: "read", Err: errors.New("reset by 10.0.0.1")}, library.Unavailable, "", maybe},
		{"deadline", context.DeadlineExceeded, library.Unavailable, library.ReasonTimeout, maybe},
		{"given up", fmt.Errorf("query: %w", context.Canceled), library.Unavailable, library.ReasonTimeout, maybe},
		{"wrong number of values", gocql.ErrQueryArgLength, library.Internal, "", never},
		{"more than the protocol can", gocql.ErrUnsupported, library.Internal, "", never},
		{"no keyspace", gocql.ErrNoKeyspace, library.Internal, "", never},
		// Told of what is sent and of what has come.
		{"a frame beyond all bounds", gocql.ErrFrameTooBig, library.Unavailable, "", maybe},
		{"too many statements", gocql.ErrTooManyStmts, library.Internal, "", never},
		{"value of a wrong type", gocql.MarshalError("int8 into text"), library.Internal, "", never},
		{"answer of a wrong type", gocql.UnmarshalError("text into int8"), library.Internal, "", maybe},
		{"a panic", fmt.Errorf("%w: SECRET", errPanic), library.Internal, "", maybe},
		{"cell of an unknown form", errCell, library.Internal, "", maybe},
		{"anything else", errors.New("whatever"), library.Unavailable, "", maybe},
	} {
		t.Run(c.name, func(t *testing.T) {
			for what, err := range map[string]error{"reading": fault("try", c.err), "decision": casFault("try", c.err)} {
				if got := library.CodeOf(err); got != c.code {
					t.Errorf("%s: code %d, not %d", what, got, c.code)
				}
				if got := library.ReasonOf(err); got != c.reason {
					t.Errorf("%s: reason %q, not %q", what, got, c.reason)
				}
				if err.Error() == "" || errors.As(err, new(answered)) {
					t.Errorf("%s: %q with the driver's type in it", what, err)
				}
				var shown *library.Error
				if errors.As(err, &shown); shown.Msg == "" || containsSecret(shown.Msg) {
					t.Errorf("%s: the message %q is not fit to be shown", what, shown.Msg)
				}
			}
			if library.MayHaveCommitted(fault("try", c.err)) {
				t.Error("a reading may not have committed anything")
			}
			if got := library.MayHaveCommitted(casFault("try", c.err)); got != c.committed {
				t.Errorf("a decision may have been made: %v, not %v", got, c.committed)
			}
		})
	}
}

func containsSecret(msg string) bool {
	return slices.ContainsFunc([]string{"SECRET", "10.0.0.1", "SELECT"}, func(s string) bool { return strings.Contains(msg, s) })
}

// The types that the driver makes of a node's answers have the codes by which
// they are classed.
func TestDriverTypesAreRequestErrors(t *testing.T) {
	for _, err := range []error{
		&gocql.RequestErrUnavailable{}, &gocql.RequestErrWriteTimeout{}, &gocql.RequestErrWriteFailure{}, &gocql.RequestErrReadTimeout{},
		&gocql.RequestErrReadFailure{}, &gocql.RequestErrCASWriteUnknown{}, &gocql.RequestErrAlreadyExists{}, &gocql.RequestErrFunctionFailure{},
		&gocql.RequestErrCDCWriteFailure{},
	} {
		var answer gocql.RequestError
		if !errors.As(err, &answer) {
			t.Errorf("%T is not classed by its code", err)
		}
	}
}

func TestNoErrorStaysNone(t *testing.T) {
	if err := fault("try", nil); err != nil {
		t.Errorf("a reading without an error: %v", err)
	}
	if err := casFault("try", nil); err != nil {
		t.Errorf("a decision without an error: %v", err)
	}
}

// TestWhyThereIsNoSession: too few nodes to look a user up have the code of a
// wrong password.
func TestWhyThereIsNoSession(t *testing.T) {
	for text, want := range map[string]sessionFault{
		"gocql: unable to create session: unable to connect to initial hosts: Provided username ann and/or password are incorrect":                              sessionUser,
		"gocql: unable to create session: unable to connect to initial hosts: Unable to perform authentication: Cannot achieve consistency level LOCAL_QUORUM":  sessionUnsure,
		"gocql: unable to create session: unable to connect to initial hosts: tls: failed to verify certificate: x509: certificate signed by unknown authority": sessionTLS,
		"gocql: unable to create session: unable to setup control conn: host was filtered: 127.0.0.1":                                                           sessionCentre,
		"gocql: unable to create session: unable to connect to initial hosts: EOF":                                                                              sessionOther,
	} {
		if got := sessionFaultOf(errors.New(text)); got != want {
			t.Errorf("%s: %d, not %d", text, got, want)
		}
	}
}
