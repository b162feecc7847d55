package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"carrel/cassandra"
	"carrel/core/fault"
	"carrel/edge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// /readyz shows the public reason for each error of a store, but never the cause, which names
// hosts.
func TestReadiness_ShowsOnlyPublicReasons(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		status int
		text   string
	}{
		{"no error", nil, 200, "ready\n"},
		{"another schema", cassandra.ErrSchema, 503, "not ready: the schema of the store is not the one of this program\n"},
		{"a clock that differs", cassandra.ErrClock, 503, "not ready: the clock differs too much from the store's\n"},
		{"a clock, with details", fmt.Errorf("10.0.0.1: %w", cassandra.ErrClock), 503,
			"not ready: the clock differs too much from the store's\n"},
		{"an almost full disk", &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonFull, Msg: "the disk is full"}, 503,
			"not ready: the disk of the store is almost full; only changes that free space or withdraw access are made\n"},
		{"no answer", errors.New("10.0.0.1 is down"), 503, "not ready: the store does not answer\n"},
		{"no answer in time", context.DeadlineExceeded, 503, "not ready: the store does not answer\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sites, err := edge.NewCrossOrigin(edge.CrossOriginConfig{})
			if err != nil {
				t.Fatal(err)
			}
			h := edge.Mux(edge.Routes{GraphQL: http.NotFoundHandler(), Sites: sites, Ready: func(context.Context) error { return notReady(c.err) }})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			if w.Code != c.status || w.Body.String() != c.text {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.status, c.text)
			}
			// The log contains the cause.
			if reason := notReady(c.err); c.err != nil && strings.Contains(c.text, "answer") && !errors.Is(reason, c.err) {
				t.Errorf("the cause is lost: %v", reason)
			}
		})
	}
}

// The store is checked at most once in 250 ms, however many requests arrive and however slow it is.
func TestReadiness_ConcurrentCallsShareOneCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		down := errors.New("down")
		answers := make(chan error)
		r := &Readiness{check: func(context.Context) error { asked.Add(1); return <-answers }}
		want := func(err, want error, times int64) {
			t.Helper()
			if !errors.Is(err, want) || asked.Load() != times {
				t.Errorf("it is %v after %d checks, want %v after %d", err, asked.Load(), want, times)
			}
		}
		together := func(callers int, answer error, times int64) {
			t.Helper()
			var wait sync.WaitGroup
			for range callers {
				wait.Go(func() { want(r.Check(t.Context()), answer, times) })
			}
			synctest.Wait() // all callers wait for the same check
			answers <- answer
			wait.Wait()
		}
		together(100, nil, 1)
		<-time.After(readyFor - 1)
		want(r.Check(t.Context()), nil, 1)
		<-time.After(1)
		together(100, down, 2)
		want(r.Check(t.Context()), down, 2)
		<-time.After(readyFor)

		// If the caller that checks the store is gone, the others still get the answer. A waiting
		// caller waits no longer than its context lasts.
		gone, leave := context.WithCancel(t.Context())
		impatient, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		var wait sync.WaitGroup
		wait.Go(func() { want(r.Check(gone), nil, 3) })
		synctest.Wait()
		leave()
		wait.Go(func() { want(r.Check(t.Context()), nil, 3) })
		want(r.Check(impatient), context.DeadlineExceeded, 3)
		answers <- nil
		wait.Wait()
	})
}

func TestReadiness_LogsOnlyChanges(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	var answer error
	check := logChanges(log, func(context.Context) error { return answer })
	slow, clock := errors.New("slow"), errors.New("clock")
	for _, answer = range []error{nil, nil, slow, slow, clock, nil, nil, slow} {
		if err := check(t.Context()); err != answer {
			t.Errorf("it returned %v, want %v", err, answer)
		}
	}
	want := `level=WARN msg="not ready" reason=slow
level=WARN msg="not ready" reason=clock
level=INFO msg="ready again"
level=WARN msg="not ready" reason=slow
`
	if out.String() != want {
		t.Errorf("it logged\n%swant\n%s", out.String(), want)
	}
}
