package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"carrel/core/fault"
)

// wantNotSent checks an error that says that nothing was sent and that the caller may retry.
func wantNotSent(t *testing.T, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.Unavailable || fault.MayHaveCommitted(err) {
		t.Fatalf("the error is %v", err)
	}
}

func wantBusy(t *testing.T, err error) {
	t.Helper()
	wantNotSent(t, err)
	var e *fault.Error
	if errors.As(err, &e); e.RetryAfter != 1 || e.Reason != "" {
		t.Errorf("the error is %+v", e)
	}
}

// line is a gate with callers that wait at it.
type line struct {
	t     *testing.T
	gate  *gate
	order []string // the callers that were let in, in order
	ended map[string]error
}

// arrive adds a caller whose operation ends after the given time; 0: it has no deadline.
func (l *line) arrive(who string, ends time.Duration) {
	go func() {
		ctx, cancel := context.WithCancel(l.t.Context())
		if ends != 0 {
			ctx, cancel = context.WithTimeout(l.t.Context(), ends)
		}
		defer cancel()
		if err := l.gate.enter(ctx); err != nil {
			l.ended[who] = err
			return
		}
		l.order = append(l.order, who)
	}()
	synctest.Wait()
}

func newLine(t *testing.T, limit, maxWaiting int, maxWait time.Duration) *line {
	return &line{t: t, gate: newGate(limit, maxWaiting, maxWait), ended: map[string]error{}}
}

func (l *line) wantLoad(inFlight, waiting int) {
	l.t.Helper()
	if u, w := l.gate.load(); u != inFlight || w != waiting {
		l.t.Errorf("%d are in flight and %d wait, want %d and %d", u, w, inFlight, waiting)
	}
}

// The statement whose operation has the earliest deadline goes first, whatever the order
// of arrival. Background work counts as an operation that starts now.
func TestGate_EarliestDeadlineGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1, 10, time.Hour)
		l.arrive("first", 20*time.Second)
		l.wantLoad(1, 0)
		l.arrive("young", 10*time.Second)
		l.arrive("background", 0)
		l.arrive("old", 3*time.Second)
		l.arrive("as old", 3*time.Second)
		l.arrive("mutation", 14*time.Second)
		l.arrive("later background", 0)
		l.wantLoad(1, 6)
		for range 6 {
			l.gate.leave()
			synctest.Wait()
			if u, _ := l.gate.load(); u != 1 {
				t.Fatalf("%d are in flight", u)
			}
		}
		want := []string{"first", "old", "as old", "young", "mutation", "background", "later background"}
		if !slices.Equal(l.order, want) {
			t.Errorf("they were admitted as %v, want %v", l.order, want)
		}
		l.gate.leave()
		l.wantLoad(0, 0)
	})
}

// Where too many wait, the one with the latest deadline is rejected at once, whether it
// arrives or waits.
func TestGate_FullQueueRejectsTheLatestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1, 2, time.Hour)
		l.arrive("in", 9*time.Second)
		l.arrive("young", 8*time.Second)
		l.arrive("old", 2*time.Second)
		l.arrive("younger", 9*time.Second)
		wantBusy(t, l.ended["younger"])
		l.arrive("older", time.Second)
		wantBusy(t, l.ended["young"])
		l.wantLoad(1, 2)
		for range 2 {
			l.gate.leave()
			synctest.Wait()
		}
		if want := []string{"in", "older", "old"}; !slices.Equal(l.order, want) {
			t.Errorf("they were admitted as %v, want %v", l.order, want)
		}
		l.wantLoad(1, 0)
		if len(l.ended) != 2 {
			t.Errorf("rejected were %v", l.ended)
		}
	})
}

// A statement waits no longer than maxWait or its operation's deadline, and leaves no gap
// in the queue.
func TestGate_WaitingEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1, 10, 2*time.Second)
		began := time.Now()
		l.arrive("in", time.Hour)
		l.arrive("waiting", time.Hour)
		l.arrive("short", time.Second)
		<-time.After(time.Second)
		synctest.Wait()
		wantNotSent(t, l.ended["short"])
		l.wantLoad(1, 1)
		l.arrive("late", time.Hour)
		<-time.After(time.Second)
		synctest.Wait()
		wantBusy(t, l.ended["waiting"])
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the wait ended after %s", took)
		}
		l.wantLoad(1, 1)
		l.gate.leave()
		synctest.Wait()
		if want := []string{"in", "late"}; !slices.Equal(l.order, want) {
			t.Errorf("they were admitted as %v, want %v", l.order, want)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		wantNotSent(t, l.gate.enter(ended))
		l.wantLoad(1, 0)
	})
}
