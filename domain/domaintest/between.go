package domaintest

import (
	"fmt"
	"sync"
	"testing"
)

// Between is a race of two operations: Meanwhile runs between two store calls of Act.
type Between struct {
	// Prepare creates what both need; nil: nothing.
	Prepare func(h *Fixture)
	// Act runs on one gateway, and Meanwhile on another one of the same store, which has locks and
	// copies of its own.
	Act, Meanwhile func(h *Fixture)
	// Clocks sets the clocks of both gateways before Meanwhile runs, as if the gateway of Act were stopped
	// meanwhile; nil: time does not advance.
	Clocks func(actor, other *GatewayClock)
	// Check checks the result, after both have ended.
	Check func(h *Fixture)
}

// mostPoints limits the points of one race.
const mostPoints = 400

// Everywhere runs the race once for each point before and after a store call of Act, each time on a
// new store. The last run has Meanwhile after Act.
func (b Between) Everywhere(t *testing.T) {
	t.Helper()
	for n := range mostPoints {
		reached := false
		t.Run(fmt.Sprintf("at point %d", n), func(t *testing.T) {
			p := &point{in: n}
			g := NewGateways(t)
			other, otherClock := g.Open(0, true)
			g.Through = g.Store.Hooked(p.pass).Store
			actor, actorClock := g.Open(0, true)
			meanwhile := func() {
				if b.Clocks != nil {
					b.Clocks(actorClock, otherClock)
				}
				b.Meanwhile(other)
			}
			if b.Prepare != nil {
				b.Prepare(other)
			}
			p.arm(meanwhile)
			b.Act(actor)
			p.disarm()
			if reached = p.reached != ""; reached {
				t.Logf("meanwhile %s", p.reached)
			} else {
				meanwhile()
			}
			b.Check(other)
		})
		if t.Failed() || !reached {
			return
		}
	}
	t.Errorf("the operation makes more than %d calls", mostPoints/2)
}

// point is where a function runs between the calls of a store.
type point struct {
	mu      sync.Mutex
	armed   bool
	in      int // points until it runs
	do      func()
	reached string // the point at which it has run
}

// arm sets the function.
func (p *point) arm(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.do = true, do
}

// disarm makes sure that the function does not run later.
func (p *point) disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
}

// pass runs the function if this is its point.
func (p *point) pass(call string, done bool) {
	if do := p.next(call, done); do != nil {
		do()
	}
}

func (p *point) next(call string, done bool) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed {
		return nil
	}
	if p.in > 0 {
		p.in--
		return nil
	}
	p.armed = false
	p.reached = "before " + call
	if done {
		p.reached = "after " + call
	}
	return p.do
}
