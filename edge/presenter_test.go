package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/library"
)

func newPresenter(log *bytes.Buffer) *presenter {
	return &presenter{
		log:    slog.New(slog.NewJSONHandler(log, nil)),
		random: func(b []byte) { copy(b, "0123456789abcdef") },
	}
}

func TestPresenter(t *testing.T) {
	const internal = "Internal error."
	fault := func(code library.Code, reason library.Reason) error {
		return &library.Error{Code: code, Reason: reason, Msg: "shown", Err: errors.New("SELECT secret")}
	}
	for name, c := range map[string]struct {
		err           error
		code, message string
	}{
		"invalid":                           {fault(library.Invalid, ""), "BAD_USER_INPUT", "shown"},
		"bad input":                         {library.BadInputf("shown"), "BAD_USER_INPUT", "shown"},
		"bad cursor":                        {fault(library.Invalid, library.ReasonBadCursor), "BAD_CURSOR", "shown"},
		"unauthenticated":                   {fault(library.Unauthenticated, ""), "UNAUTHENTICATED", "shown"},
		"forbidden":                         {library.Forbiddenf(nil, "shown"), "FORBIDDEN", "shown"},
		"not found":                         {library.NotFoundf(nil, "shown"), "NOT_FOUND", "shown"},
		"not a member":                      {fault(library.NotFound, library.ReasonNotAMember), "NOT_FOUND", "shown"},
		"conflict":                          {fault(library.Conflict, ""), "CONFLICT", "shown"},
		"version":                           {fault(library.Conflict, library.ReasonVersion), "CONFLICT", "shown"},
		"taken":                             {fault(library.Conflict, library.ReasonTaken), "CONFLICT", "shown"},
		"last manager":                      {fault(library.Conflict, library.ReasonLastManager), "CONFLICT", "shown"},
		"idempotency mismatch":              {fault(library.Conflict, library.ReasonIdempotencyMismatch), "IDEMPOTENCY_MISMATCH", "shown"},
		"too many":                          {library.TooManyf(nil, "shown"), "BAD_USER_INPUT", "shown"},
		"exhausted":                         {fault(library.Exhausted, ""), "BAD_USER_INPUT", "shown"},
		"contention":                        {fault(library.Unavailable, library.ReasonContention), "CONTENTION", "shown"},
		"queue full":                        {library.ErrQueueFull, "CONTENTION", library.ErrQueueFull.Msg},
		"outcome unknown":                   {fault(library.Unavailable, library.ReasonOutcomeUnknown), "OUTCOME_UNKNOWN", "shown"},
		"timeout":                           {fault(library.Unavailable, library.ReasonTimeout), "TIMEOUT", "shown"},
		"resync":                            {fault(library.Conflict, library.ReasonResync), "RESYNC", "shown"},
		"slow":                              {fault(library.Exhausted, library.ReasonSlow), "SLOW_CONSUMER", "shown"},
		"unavailable":                       {library.Unavailablef(errors.New("10.0.0.1:9042 refused"), "shown"), "UNAVAILABLE", "shown"},
		"a fault of the domain, wrapped":    {fmt.Errorf("read: %w", fault(library.NotFound, "")), "NOT_FOUND", "shown"},
		"placed by gqlgen":                  {gqlerror.WrapPath(ast.Path{ast.PathName("a")}, fault(library.NotFound, "")), "NOT_FOUND", "shown"},
		"several faults":                    {library.Faults{library.Invalidf(nil, "one"), library.Invalidf(nil, "two")}, "BAD_USER_INPUT", "one; two"},
		"internal among faults":             {library.Faults{library.Invalidf(nil, "one"), {Code: library.Internal, Msg: "SELECT secret"}}, "INTERNAL_SERVER_ERROR", internal},
		"internal of the domain":            {fault(library.Internal, ""), "INTERNAL_SERVER_ERROR", internal},
		"a reason that is not known":        {fault(library.Internal, "X"), "INTERNAL_SERVER_ERROR", internal},
		"a class that is not known":         {fault(library.Code(200), ""), "INTERNAL_SERVER_ERROR", internal},
		"anything else":                     {errors.New("SELECT secret"), "INTERNAL_SERVER_ERROR", internal},
		"anything else, placed":             {gqlerror.WrapPath(ast.Path{ast.PathName("a")}, errors.New("SELECT secret")), "INTERNAL_SERVER_ERROR", internal},
		"gqlgen's own":                      {gqlerror.Errorf("SELECT secret"), "INTERNAL_SERVER_ERROR", internal},
		"an error that claims a code":       {&gqlerror.Error{Message: "SELECT secret", Extensions: map[string]any{"code": "NOT_FOUND", "dsn": "SELECT secret"}}, "INTERNAL_SERVER_ERROR", internal},
		"a panic":                           {recovered(context.Background(), "SELECT secret"), "INTERNAL_SERVER_ERROR", internal},
		"deadline":                          {fmt.Errorf("read: %w", context.DeadlineExceeded), "TIMEOUT", "The operation took longer than it may."},
		"cancelled, but not by the client":  {context.Canceled, "INTERNAL_SERVER_ERROR", internal},
		"an uncertain write, not converted": {library.Uncertain(errors.New("SELECT secret")), "OUTCOME_UNKNOWN", "It is not known whether the change was made: look, and try again with the same idempotency key."},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			shown := newPresenter(&log).present(context.Background(), c.err)
			if shown.Extensions["code"] != c.code || shown.Message != c.message {
				t.Errorf("got %v %q, want %s %q", shown.Extensions, shown.Message, c.code, c.message)
			}
			if text := fmt.Sprint(shown.Message, shown.Extensions); strings.Contains(text, "SELECT") || strings.Contains(text, "10.0.0.1") {
				t.Errorf("shown: %s", text)
			}
			lines := strings.Count(log.String(), "\n")
			if c.code != "INTERNAL_SERVER_ERROR" {
				if lines != 0 || shown.Extensions["errorId"] != nil {
					t.Errorf("%d log lines, %v", lines, shown.Extensions)
				}
				return
			}
			const id = "30313233343536373839616263646566"
			if lines != 1 || shown.Extensions["errorId"] != id || !strings.Contains(log.String(), id) {
				t.Errorf("%d log lines, %v: %s", lines, shown.Extensions, log.String())
			}
		})
	}
}

func TestRetryAfterIsShown(t *testing.T) {
	shown := newPresenter(&bytes.Buffer{}).present(context.Background(), library.Unavailablef(nil, "later"))
	if shown.Extensions["retryAfter"] != 1 {
		t.Errorf("%v", shown.Extensions)
	}
}

func TestAClientThatIsGoneIsNoDefect(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var log bytes.Buffer
	shown := newPresenter(&log).present(ctx, fmt.Errorf("read: %w", context.Canceled))
	if shown.Extensions["code"] != codeTimeout || log.Len() > 0 {
		t.Errorf("%v %s", shown.Extensions, log.String())
	}
}

func TestPlacesAreKept(t *testing.T) {
	at := &gqlerror.Error{Err: library.BadInputf("no"), Path: ast.Path{ast.PathName("a"), ast.PathIndex(3)}, Locations: []gqlerror.Location{{Line: 2, Column: 5}}}
	shown := newPresenter(&bytes.Buffer{}).present(context.Background(), at)
	if diff := cmp.Diff(at.Path, shown.Path); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(at.Locations, shown.Locations); diff != "" {
		t.Error(diff)
	}
}
