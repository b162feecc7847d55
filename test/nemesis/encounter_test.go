package nemesis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/lease"
)

// encounter is one mutation with one fault.
type encounter struct {
	r     *fixture
	op    operation
	step  step
	fault faultKind
	skew  time.Duration
	id    string
	// former is the lease that held the keys before.
	former lease.End
	// death is the death of the node, which all encounters share. It is nil if the node
	// stays alive.
	death *death
	// without is a rule of the write protocol that the process does not follow.
	without rule

	// The result: whether the client does not know the outcome, what was wrong, and
	// whether the machine was too slow for a result.
	unknown bool
	wrong   []string
	slow    bool
	// late reports that the operation had not reached its step when the node was killed.
	late bool
}

func (c *encounter) errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// playInTime runs a named encounter, repeats it while the machine is too slow for a result,
// and returns how often it was repeated.
func (c *encounter) playInTime(t *testing.T, name string) (again int64) {
	for {
		c.id = fmt.Sprintf("%s%s-%d", c.op.of.prefix, name, again)
		c.play(t)
		if !c.slow || len(c.wrong) == 0 && c.without == everyRule || again == slowTries {
			return again
		}
		again++
	}
}

func (c *encounter) play(t *testing.T) {
	if c.op.ends != "" {
		c.playTakeOver(t)
		return
	}
	c.wrong = nil
	if c.op.play != nil {
		c.op.play(c, t)
		return
	}
	c.prepare(t)
	c.meetFault(t)
}

// meetFault runs the operation in a process that meets the fault, and then in one that
// meets none.
func (c *encounter) meetFault(t *testing.T) {
	t.Helper()
	before, after := wanted(c.op)
	p, d := c.instance(t, c.skew, c.without)
	key := c.id
	c.arm(p)
	err := c.op.do(t.Context(), d.service, c.id, &key)
	c.recover(t, p, d)
	got := c.op.of.look(c.r, t, c.id)
	c.check(err, got, before, after)
	c.slow = p.wasSlow()
	if c.died() && c.op.urls != nil {
		c.contend(t, &key, got, after)
		return
	}
	c.repeat(t, &key, after)
}

// died reports whether the process has ended.
func (c *encounter) died() bool { return c.fault == dieBefore || c.fault == dieAfter || c.death != nil }

// instance starts a process behind a proxy.
func (c *encounter) instance(t *testing.T, skew time.Duration, without rule) (*proxy, *instance) {
	t.Helper()
	p := newProxy(t, c.r.host)
	o := c.r.throughProxy(p)
	if c.death != nil {
		o.Timeout = deathWithin // no statement times out while it waits for the death
	}
	if skew >= lapsed {
		// A background worker would sweep all leases.
		return p, openWithoutWork(t, o, skew, without)
	}
	return p, openInstance(t, o, skew, without)
}

// arm makes the next statement of the step meet the fault.
func (c *encounter) arm(p *proxy) {
	p.fences(c.op.fence)
	p.arm(c.op.of.table, c.step, c.fault)
	if c.death != nil {
		c.death.await(p)
	}
}

// repeat runs the operation again with the same key. The Service returns the first outcome, or
// makes the change now. Either way the change is made exactly once.
func (c *encounter) repeat(t *testing.T, key *string, after seen) {
	t.Helper()
	if err := c.op.do(t.Context(), c.r.healthy.service, c.id, key); err != nil {
		c.errorf("the repetition: %v", err)
	}
	if got := c.op.of.look(c.r, t, c.id); !got.equal(after) {
		c.errorf("after the repetition: got %v, want %v", got, after)
	}
}

// prepare creates what the operation works on.
func (c *encounter) prepare(t *testing.T) {
	t.Helper()
	if prepare := c.op.of.prepare; prepare != nil {
		if err := prepare(t.Context(), c.r, c.id); err != nil {
			t.Fatal(err)
		}
	}
	if c.op.creates {
		return
	}
	if err := c.op.of.make(t.Context(), c.r.healthy.service, c.id, nil); err != nil {
		t.Fatal(err)
	}
}

// check compares an answer with the state that is stored afterwards.
func (c *encounter) check(err error, got, before, after seen) {
	c.unknown = fault.ReasonOf(err) == fault.ReasonOutcomeUnknown
	switch {
	case err == nil && !got.equal(after):
		c.errorf("acknowledged: got %v, want %v", got, after)
	case c.unknown && c.op.joins && c.step == stepApply:
		if !got.equal(after) {
			c.errorf("decided: got %v, want %v", got, after)
		}
		if !c.leavesUnknown() {
			c.errorf("the outcome is unknown although the process could have finished the change: %v", err)
		}
	case c.unknown && c.late:
		// The node died at an earlier step, which may be any.
		if !got.equal(after) && !got.equal(before) {
			c.errorf("the change is half done: %v", got)
		}
	case c.unknown && c.death != nil && !slices.Contains(undecided, c.step) && c.step != stepDecide:
		// The reads for the answer fail too.
		if !got.equal(after) {
			c.errorf("decided: got %v, want %v", got, after)
		}
	case c.unknown && c.step != stepDecide:
		c.errorf("the outcome is unknown although no decision was lost: %v", err)
	case c.unknown && !c.leavesUnknown():
		c.errorf("the outcome is unknown although the process could have read it: %v", err)
	case c.unknown && !got.equal(after) && !got.equal(before):
		c.errorf("the change is half done: %v", got)
	case err != nil && !c.unknown && fault.CodeOf(err) != fault.Unavailable:
		c.errorf("the answer: %v", err)
	case err != nil && !c.unknown && !got.equal(before):
		c.errorf("refused (%v): got %v, want %v", err, got, before)
	case err != nil && !c.unknown && !c.mayRefuse():
		c.errorf("it was refused after it was decided: %v", err)
	}
}

// leavesUnknown reports whether the fault keeps the process from ever reading the
// outcome.
func (c *encounter) leavesUnknown() bool {
	return c.fault == loseAll || c.died() || c.death != nil
}

// mayRefuse reports whether it is certain that nothing happened, so that the operation
// may be refused.
func (c *encounter) mayRefuse() bool {
	return c.late || slices.Contains(undecided, c.step) || c.step == stepDecide && (c.fault == answerRefused || c.death != nil)
}

// recover finishes what the fault interrupted: in the process itself if it is alive,
// otherwise in another one.
func (c *encounter) recover(t *testing.T, p *proxy, d *instance) {
	t.Helper()
	if c.death != nil {
		<-c.death.over
		c.late = p.busy.Load()
	}
	switch c.fault {
	case loseAll:
		if p.disarm() < 2 {
			c.errorf("the process did not read whether its change was decided")
		}
		d.idle(t)
	case dieBefore, dieAfter:
		c.awaitEnd(t, p)
	default:
		d.idle(t)
		if c.step == stepRelease { // comes after the answer
			until(t, metWithin, "the fault", func() bool { return p.met() > 0 })
		}
		if p.disarm() != 1 && !c.late {
			c.errorf("the fault hit no statement")
		}
		// Closing the connections would drop requests that have not arrived.
		until(t, runTimeout, "the arrival of late requests", p.arrived)
	}
	inFlightList := d.journal.InFlightList()
	d.close(t)
	c.r.healthy.takeOver(t, inFlightList)
}

// awaitEnd waits for the end of the process. Cleanup and releases happen after the
// answer.
func (c *encounter) awaitEnd(t *testing.T, p *proxy) {
	t.Helper()
	if !p.hasDied() && slices.Contains(undecided, c.step) {
		c.errorf("the fault hit no statement")
		return
	}
	until(t, metWithin, "the fault", p.hasDied)
}

// metWithin is how long after the answer the faulty statement may be sent. Like all
// timeouts here it is generous.
const metWithin = time.Minute
