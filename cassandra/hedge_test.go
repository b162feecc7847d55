package cassandra

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A script says how each of the tries of a statement goes.
type script struct {
	takes time.Duration
	err   error
	avoid string // that the try must have; "" for the first one
}

func (s script) run(t *testing.T, ctx context.Context, value int) (int, error) {
	of, ok := ctx.(*try)
	if !ok {
		t.Fatalf("the context of a try is a %T", ctx)
	}
	if of.avoid != s.avoid {
		t.Errorf("try %d avoids %q, want %q", value, of.avoid, s.avoid)
	}
	node := "a"
	of.asked.Store(&node)
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return value, s.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func TestHedging(t *testing.T) {
	const slow = time.Hour
	failed, worse := errors.New("failed"), errors.New("failed too")
	for _, c := range []struct {
		name          string
		first, second script
		alone, full   bool // no other node answers; no place for a second try
		want          int
		again         bool
		err           error
		took          time.Duration
	}{
		{name: "the first is quick", first: script{takes: 400 * time.Millisecond}, want: 1, took: 400 * time.Millisecond},
		{name: "the first fails quickly", first: script{err: failed}, want: 1, err: failed},
		{name: "the second is quicker", first: script{takes: slow}, second: script{takes: time.Second}, want: 2, again: true, took: 1500 * time.Millisecond},
		{name: "the first is quicker all the same", first: script{takes: time.Second}, second: script{takes: slow}, want: 1, again: true, took: time.Second},
		{name: "the second fails", first: script{takes: time.Second}, second: script{err: failed}, want: 1, again: true, took: time.Second},
		{name: "the first fails, the second does not", first: script{takes: time.Second, err: failed}, second: script{takes: time.Second}, want: 2, again: true, took: 1500 * time.Millisecond},
		{name: "both fail", first: script{takes: time.Second, err: failed}, second: script{takes: time.Second, err: worse}, want: 1, again: true, err: failed, took: 1500 * time.Millisecond},
		{name: "no other node answers", first: script{takes: 3 * time.Second}, alone: true, want: 1, took: 3 * time.Second},
		{name: "no other node answers, and it fails", first: script{takes: 3 * time.Second, err: failed}, alone: true, want: 1, err: failed, took: 3 * time.Second},
		{name: "too many second tries", first: script{takes: 3 * time.Second}, full: true, want: 1, took: 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hedges{after: 500 * time.Millisecond, places: make(chan struct{}, 1)}
				h.another = func(id string) bool { return id == "a" && !c.alone }
				if c.full {
					h.enter()
				}
				c.second.avoid = "a"
				scripts := make(chan script, 2)
				scripts <- c.first
				scripts <- c.second
				began, tries := time.Now(), 0
				got, again, err := hedged(t.Context(), h, func(ctx context.Context) (int, error) {
					tries++
					return (<-scripts).run(t, ctx, tries)
				})
				if got != c.want || again != c.again || err != c.err {
					t.Errorf("got %d, %v, %v, want %d, %v, %v", got, again, err, c.want, c.again, c.err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				synctest.Wait()
				if !c.full && len(h.places) != 0 {
					t.Error("a second try has kept its place")
				}
			})
		})
	}
}

// The end of the caller's context ends both tries.
func TestHedgingEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hedges{after: time.Second, places: make(chan struct{}, 1), another: func(string) bool { return true }}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		scripts := make(chan script, 2)
		scripts <- script{takes: time.Hour}
		scripts <- script{takes: time.Hour, avoid: "a"}
		_, again, err := hedged(ctx, h, func(ctx context.Context) (int, error) { return (<-scripts).run(t, ctx, 1) })
		if !again || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v, again %v", err, again)
		}
	})
}
