package sched

import (
	"context"
	"errors"
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
		before, after func(p *Permits) // what the holder does before and after the waiter has left the queue
	}{
		{"the permit was returned before the waiter left", (*Permits).Give, func(*Permits) {}},
		{"the permit is returned after the waiter has left", func(*Permits) {}, (*Permits).Give},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rt := &givesUp{Runtime: NewReal()}
			p := NewPermits(rt, 1)
			if err := p.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
			rt.meanwhile = func() { tc.before(p) }
			if err := p.Take(t.Context()); !errors.Is(err, context.Canceled) {
				t.Fatalf("Take returned %v", err)
			}
			tc.after(p)
			rt.meanwhile = func() { t.Error("the only permit is not free, though nobody holds it") }
			if err := p.Take(t.Context()); err != nil {
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
	rt.meanwhile = func() { p.waiting = append(p.waiting, last) }
	p.waiting = []Latch{first}
	if err := p.Take(t.Context()); !errors.Is(err, context.Canceled) {
		t.Fatalf("Take returned %v", err)
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
