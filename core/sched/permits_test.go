package sched

import (
	"context"
	"errors"
	"testing"
	"time"
)

// givesUp is a Runtime in which every wait ends with its context's error, after
// something has happened.
type givesUp struct {
	Runtime
	meanwhile func()
}

func (g *givesUp) Wait(context.Context, Latch, time.Duration) (bool, error) {
	g.meanwhile()
	return false, context.Canceled
}

// A waiter that gives up takes no permit with it: neither one that it was handed
// at that moment, nor one that is returned after it has left.
func TestPermits_WaiterThatGivesUpLosesNone(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before, after func(p *Permits) // what the holder does: before the waiter has left, and after
	}{
		{"the permit was returned before it left", (*Permits).Give, func(*Permits) {}},
		{"the permit is returned after it has left", func(*Permits) {}, (*Permits).Give},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rt := &givesUp{Runtime: NewReal()}
			p := NewPermits(rt, 1)
			if err := p.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			rt.meanwhile = func() { tc.before(p) }
			if err := p.Take(t.Context()); !errors.Is(err, context.Canceled) {
				t.Fatalf("the waiter was told %v", err)
			}
			tc.after(p)
			rt.meanwhile = func() { t.Error("the only permit is not free, though nobody holds it") }
			if err := p.Take(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A waiter that gives up leaves the others in their order.
func TestPermits_WaiterThatGivesUpKeepsOthersWaiting(t *testing.T) {
	rt := &givesUp{Runtime: NewReal()}
	p := NewPermits(rt, 0)
	first, last := rt.Latch(), rt.Latch()
	rt.meanwhile = func() { p.waiting = append(p.waiting, last) }
	p.waiting = []Latch{first}
	if err := p.Take(t.Context()); !errors.Is(err, context.Canceled) {
		t.Fatalf("the waiter was told %v", err)
	}
	p.Give()
	if !first.IsOpen() || last.IsOpen() {
		t.Errorf("the first waiter was served: %v, the last: %v", first.IsOpen(), last.IsOpen())
	}
	p.Give()
	if !last.IsOpen() || p.free != 0 || len(p.waiting) != 0 {
		t.Errorf("the last waiter was served: %v; %d free, %d waiting", last.IsOpen(), p.free, len(p.waiting))
	}
}
