package simulator

import (
	"context"
	"time"

	"carrel/library"
	"carrel/principal"
)

// Scenario is an operation that fails at each of its store calls in turn.
type Scenario struct {
	Name string
	// before are the operations that run before it, without faults.
	before []*Operation
	op     *Operation
	tune   library.Tuning
	// prepare changes the store before anything runs; after runs at the end and repairs what no
	// recovery repairs.
	prepare func(*Store)
	after   func(ctx context.Context, p *process) error
	// later is the time that passes at once when nothing is in flight after the answer, and runFor
	// is how long the process runs at least after that.
	later, runFor time.Duration
	// refused: the operation is refused even without faults.
	refused bool
}

// CallPoint is a store call of an operation, at which it can fail.
type CallPoint struct {
	N    int
	Call string
}

// CrashFaults are the faults that each call meets in turn.
var CrashFaults = [...]Fault{DiesBefore, DiesAfter, DiesLate, Lost, Late}

// crashWorld builds the world of all scenarios.
func crashWorld(st *Store, _ *Scheduler) world {
	w := world{principals: []principal.ID{ann, bob, cid, crew}, contents: []library.ContentID{item}, groups: []principal.ID{crew}}
	at := st.addEverybody(w.principals[:3])
	st.putContent(item, principal.LoggedIn, []library.Member{
		{Principal: ann, Role: library.Manages, Seq: 1},
		{Principal: bob, Role: library.Viewing, Seq: 1},
	}, at)
	return w
}

// again returns a copy of an operation that was not called yet.
func (o *Operation) again() Operation {
	fresh := *o
	fresh.lease, fresh.page, fresh.paste = copied(o.lease), copied(o.page), copied(o.paste)
	return fresh
}

// Record runs a scenario without faults and returns the store calls of its process from the
// start of the operation until nothing is in flight.
func (m *Machine) Record(ctx context.Context, sc *Scenario, seed uint64) ([]CallPoint, []Violation) {
	var points []CallPoint
	found := m.playScenario(ctx, sc, seed, true, func(c *Client) {
		c.inject = func(int) Fault { return NoFault }
		c.record = func(call string) { points = append(points, CallPoint{c.calls, call}) }
	})
	return points, found
}

// Crash runs a scenario with a fault at one call. It returns the name of that call, or "" if it was
// never made.
func (m *Machine) Crash(ctx context.Context, sc *Scenario, seed uint64, at CallPoint, fault Fault) (string, []Violation) {
	hit := ""
	found := m.playScenario(ctx, sc, seed, false, func(c *Client) {
		last := ""
		c.record = func(call string) { last = call }
		c.inject = func(n int) Fault {
			if n != at.N {
				return NoFault
			}
			hit = last
			return fault
		}
	})
	return hit, found
}

func (m *Machine) playScenario(ctx context.Context, sc *Scenario, seed uint64, undisturbed bool, watch func(*Client)) []Violation {
	r := m.begin(ctx, seed, crashWorld)
	if sc.prepare != nil {
		sc.prepare(m.st)
	}
	op := sc.op.again()
	for i, o := range sc.before {
		earlier := o.again()
		earlier.n = 2 + i
		r.ops = append(r.ops, &earlier)
	}
	op.n = 1
	r.ops = append(r.ops, &op)
	r.tune, r.after, r.lateness = sc.tune, sc.after, 32
	r.tune.SnapshotPage, r.tune.FanOutWidth = 1, 2
	switch {
	case op.lease != nil:
		r.after = r.sweepAll
	case op.paste != nil:
		r.after = r.repairPastes(sc.after)
	case op.page != nil || len(sc.before) > 0 && sc.before[0].page != nil:
		r.after = r.scrubTexts
	}
	r.watched, r.onWatch = &op, func(c *Client) {
		c.calls = 0
		watch(c)
	}
	r.users = []*client{{queue: r.ops}}
	r.start(r.users[0])
	if !r.until("the operation", r.idle) {
		return r.found
	}
	r.ending = true
	if sc.later > 0 {
		if r.live(0); r.quiet() {
			r.s.now += sc.later
		}
	}
	r.live(sc.runFor)
	r.users[0].p.c.inject, r.users[0].p.c.record = nil, nil
	r.clear()
	if !r.seen(noEnd, defect) {
		r.verify()
	}
	if undisturbed && (op.outcome != answered && !sc.refused || sc.refused && op.outcome != refused) {
		r.report(lostChange, "undisturbed, %v was answered: %v", &op, op.err)
	}
	return r.found
}

// repairPastes returns what is done with the pastes at the end of a scenario: what repair does, if
// it is set, and what time does.
func (r *run) repairPastes(repair func(ctx context.Context, p *process) error) func(ctx context.Context, p *process) error {
	return func(ctx context.Context, p *process) error {
		if repair != nil {
			if err := repair(ctx, p); err != nil {
				return err
			}
		}
		return r.expirePastes(ctx, p)
	}
}
