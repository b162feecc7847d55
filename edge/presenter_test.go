package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/principal"
)

func newPresenter(log *bytes.Buffer) *presenter {
	return &presenter{
		log:    slog.New(slog.NewJSONHandler(log, nil)),
		random: func(b []byte) { copy(b, "0123456789abcdef") },
	}
}

func TestPresenter_ShowsOnlyErrorsOfTheDomain(t *testing.T) {
	const internal = "Internal error."
	problem := func(code fault.Code, reason fault.Reason) error {
		return &fault.Error{Code: code, Reason: reason, Msg: "shown", Err: errors.New("SELECT secret")}
	}
	for name, c := range map[string]struct {
		err           error
		code, message string
	}{
		"invalid":                        {problem(fault.Invalid, ""), "BAD_USER_INPUT", "shown"},
		"bad input":                      {fault.BadInputf("shown"), "BAD_USER_INPUT", "shown"},
		"bad cursor":                     {problem(fault.Invalid, fault.ReasonBadCursor), "BAD_CURSOR", "shown"},
		"unauthenticated":                {problem(fault.Unauthenticated, ""), "UNAUTHENTICATED", "shown"},
		"forbidden":                      {fault.Forbiddenf(nil, "shown"), "FORBIDDEN", "shown"},
		"wrong secret":                   {problem(fault.Forbidden, fault.ReasonWrongSecret), "FORBIDDEN", "shown"},
		"not found":                      {fault.NotFoundf(nil, "shown"), "NOT_FOUND", "shown"},
		"not a member":                   {problem(fault.NotFound, fault.ReasonNotAMember), "NOT_FOUND", "shown"},
		"conflict":                       {problem(fault.Conflict, ""), "CONFLICT", "shown"},
		"revision":                       {problem(fault.Conflict, fault.ReasonRevision), "CONFLICT", "shown"},
		"version":                        {problem(fault.Conflict, fault.ReasonVersion), "CONFLICT", "shown"},
		"taken":                          {problem(fault.Conflict, fault.ReasonTaken), "CONFLICT", "shown"},
		"last manager":                   {problem(fault.Conflict, fault.ReasonLastManager), "CONFLICT", "shown"},
		"idempotency mismatch":           {problem(fault.Conflict, fault.ReasonIdempotencyMismatch), "IDEMPOTENCY_MISMATCH", "shown"},
		"too many":                       {fault.TooManyf(nil, "shown"), "BAD_USER_INPUT", "shown"},
		"exhausted":                      {problem(fault.Exhausted, ""), "BAD_USER_INPUT", "shown"},
		"contention":                     {problem(fault.Unavailable, fault.ReasonContention), "CONTENTION", "shown"},
		"queue full":                     {sched.ErrQueueFull, "CONTENTION", sched.ErrQueueFull.Msg},
		"outcome unknown":                {problem(fault.Unavailable, fault.ReasonOutcomeUnknown), "OUTCOME_UNKNOWN", "shown"},
		"timeout":                        {problem(fault.Unavailable, fault.ReasonTimeout), "TIMEOUT", "shown"},
		"resync":                         {problem(fault.Conflict, fault.ReasonResync), "RESYNC", "shown"},
		"slow":                           {problem(fault.Exhausted, fault.ReasonSlow), "SLOW_CONSUMER", "shown"},
		"unavailable":                    {fault.Unavailablef(errors.New("10.0.0.1:9042 refused"), "shown"), "UNAVAILABLE", "shown"},
		"a fault of the domain, wrapped": {fmt.Errorf("read: %w", problem(fault.NotFound, "")), "NOT_FOUND", "shown"},
		"with gqlgen's path":             {gqlerror.WrapPath(ast.Path{ast.PathName("a")}, problem(fault.NotFound, "")), "NOT_FOUND", "shown"},
		"several faults":                 {fault.List{fault.Invalidf(nil, "one"), fault.Invalidf(nil, "two")}, "BAD_USER_INPUT", "one; two"},
		"internal among faults": {fault.List{fault.Invalidf(nil, "one"), {Code: fault.Internal, Msg: "SELECT secret"}},
			"INTERNAL_SERVER_ERROR", internal},
		"internal of the domain":     {problem(fault.Internal, ""), "INTERNAL_SERVER_ERROR", internal},
		"a reason that is not known": {problem(fault.Internal, "X"), "INTERNAL_SERVER_ERROR", internal},
		"a class that is not known":  {problem(fault.Code(200), ""), "INTERNAL_SERVER_ERROR", internal},
		"anything else":              {errors.New("SELECT secret"), "INTERNAL_SERVER_ERROR", internal},
		"anything else, with a path": {gqlerror.WrapPath(ast.Path{ast.PathName("a")}, errors.New("SELECT secret")),
			"INTERNAL_SERVER_ERROR", internal},
		"gqlgen's own": {gqlerror.Errorf("SELECT secret"), "INTERNAL_SERVER_ERROR", internal},
		"an error that claims a code": {&gqlerror.Error{Message: "SELECT secret",
			Extensions: map[string]any{"code": "NOT_FOUND", "dsn": "SELECT secret"}}, "INTERNAL_SERVER_ERROR", internal},
		"a panic":                          {recovered(context.Background(), "SELECT secret"), "INTERNAL_SERVER_ERROR", internal},
		"deadline":                         {fmt.Errorf("read: %w", context.DeadlineExceeded), "TIMEOUT", "The operation timed out."},
		"cancelled, but not by the client": {context.Canceled, "INTERNAL_SERVER_ERROR", internal},
		"an uncertain write, not converted": {fault.Uncertain(errors.New("SELECT secret")), "OUTCOME_UNKNOWN",
			"It is not known whether the change was made: check, or try again with the same idempotency key."},
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

func TestPresenter_ShowsRetryAfter(t *testing.T) {
	shown := newPresenter(&bytes.Buffer{}).present(context.Background(), fault.Unavailablef(nil, "later"))
	if shown.Extensions["retryAfter"] != 1 {
		t.Errorf("%v", shown.Extensions)
	}
}

// TestPresenter_LogsOnePanicASecond: a client that causes panics at will must not fill the log. Each
// answer has the id of a line in the log.
func TestPresenter_LogsOnePanicASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, nil)
		e.onUser = func(context.Context, string) (*principal.User, error) { panic("SELECT secret") }
		began, answers := time.Now(), 0
		for time.Since(began) < 10*time.Second {
			a := e.query(t, `{a:user(id:"u:a:a"){id} b:user(id:"u:a:b"){id}}`, nil)
			for _, shown := range a.Errors {
				answers++
				if id, _ := shown.Extensions["errorId"].(string); len(id) != 32 || !strings.Contains(e.log.String(), id) {
					t.Fatalf("no line with the id of %v", shown.Extensions)
				}
			}
			<-time.After(50 * time.Millisecond) // of the bubble's clock
		}
		lines, skipped := strings.Count(e.log.String(), "\n"), strings.Count(e.log.String(), `"skipped":39`)
		if answers != 400 || lines != 10 || skipped != 9 {
			t.Errorf("%d panics, %d lines, %d of which report 39 that were skipped: %.2000s", answers, lines, skipped, e.log.String())
		}
	})
	// Errors that are no panics are all logged.
	var log bytes.Buffer
	p := newPresenter(&log)
	for range 3 {
		p.present(context.Background(), errors.New("SELECT secret"))
	}
	if lines := strings.Count(log.String(), "\n"); lines != 3 {
		t.Errorf("%d lines", lines)
	}
}

func TestPresenter_DisconnectIsNoInternalError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var log bytes.Buffer
	shown := newPresenter(&log).present(ctx, fmt.Errorf("read: %w", context.Canceled))
	if shown.Extensions["code"] != codeTimeout || log.Len() > 0 {
		t.Errorf("%v %s", shown.Extensions, log.String())
	}
}

func TestPresenter_KeepsPathAndLocation(t *testing.T) {
	at := &gqlerror.Error{Err: fault.BadInputf("no"), Path: ast.Path{ast.PathName("a"), ast.PathIndex(3)},
		Locations: []gqlerror.Location{{Line: 2, Column: 5}}}
	shown := newPresenter(&bytes.Buffer{}).present(context.Background(), at)
	if diff := cmp.Diff(at.Path, shown.Path); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(at.Locations, shown.Locations); diff != "" {
		t.Error(diff)
	}
}
