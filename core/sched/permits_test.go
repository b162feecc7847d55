package sched

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// givesUp is a Runtime in which every wait calls meanwhile and then fails with the error of its
// context.
type givesUp struct {
	Runtime
	meanwhile func()
}

func (g *givesUp) Wait(context.Context, Latch, time.Duration) (bool, error) {
	g.meanwhile()
	return false, context.Canceled
}

// A waiter that gives up loses no permit: neither one that it got at the same time, nor one that
// is returned afterwards.
func TestPermits_WaiterThatGivesUpLosesNone(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after func(p *Permits, account string) // what the holder does before and after the waiter has left the queue
	}{
		{"the permit was returned before the waiter left", (*Permits).Give, func(*Permits, string) {}},
		{"the permit is returned after the waiter has left", func(*Permits, string) {}, (*Permits).Give},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rt := &givesUp{Runtime: NewReal()}
			p := NewPermits(rt, 1)
			if err := p.Take(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			rt.meanwhile = func() { tc.before(p, "a") }
			if err := p.Take(t.Context(), "a"); !errors.Is(err, context.Canceled) {
				t.Fatalf("Take returned %v", err)
			}
			tc.after(p, "a")
			rt.meanwhile = func() { t.Error("the only permit is not free, though nobody holds it") }
			if err := p.Take(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A waiter that gives up does not change the order of the others.
func TestPermits_WaiterThatGivesUpKeepsOthersWaiting(t *testing.T) {
	rt := &givesUp{Runtime: NewReal()}
	p := NewPermits(rt, 0)
	first, last := rt.Latch(), rt.Latch()
	a := p.of("a")
	rt.meanwhile = func() { a.waiting = append(a.waiting, last) }
	a.waiting = []Latch{first}
	if err := p.Take(t.Context(), "a"); !errors.Is(err, context.Canceled) {
		t.Fatalf("Take returned %v", err)
	}
	p.Give("b")
	if !first.IsOpen() || last.IsOpen() {
		t.Errorf("the first waiter was served: %v, the last: %v", first.IsOpen(), last.IsOpen())
	}
	p.Give("a")
	if !last.IsOpen() || p.free != 0 || len(a.waiting) != 0 {
		t.Errorf("the last waiter was served: %v; %d free, %d waiting", last.IsOpen(), p.free, len(a.waiting))
	}
}

// Accounts share the permits: who wants few of them does not wait behind all who want many.
func TestPermits_AccountsShareFairly(t *testing.T) {
	rt := NewReal()
	p := NewPermits(rt, 4)
	for range 4 {
		if err := p.Take(t.Context(), "many"); err != nil {
			t.Fatal(err)
		}
	}
	waits := map[string]Latch{}
	for _, name := range []string{"many 1", "many 2", "many 3", "few 1", "other 1", "few 2"} {
		account, _, _ := strings.Cut(name, " ")
		waits[name] = rt.Latch()
		p.of(account).waiting = append(p.of(account).waiting, waits[name])
	}
	for _, want := range []string{"few 1", "other 1", "many 1", "few 2", "many 2", "many 3"} {
		p.Give("many")
		if !waits[want].IsOpen() {
			t.Errorf("%s is not served", want)
		}
	}
	for _, account := range []string{"few", "few", "other"} {
		p.Give(account)
	}
	if p.of("many").held != 1 || p.free != 3 || len(p.shares) != 1 {
		t.Errorf("many holds %d, %d are free, %d shares are left", p.of("many").held, p.free, len(p.shares))
	}
}
