package nemesis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/lease"
)

// encounter is one mutation that meets one fault.
type encounter struct {
	r     *room
	op    operation
	step  step
	fault faultKind
	skew  time.Duration
	id    string
	// former is the lease that has the keys before.
	former lease.End
	// death is that of the node, which all encounters have in common; nil: it lives.
	death *death
	// without is a rule that the process does not follow.
	without rule

	// What came of it: whether the outcome was unknown to the client, what was
	// wrong, and whether the machine was too slow to judge that.
	unknown bool
	wrong   []string
	slow    bool
}

func (c *encounter) errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// playInTime plays an encounter that is named, again where the machine was too
// slow for it to be judged, and tells how often that was.
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

// meetFault plays the operation by a process that meets the fault, and again by one that
// meets none.
func (c *encounter) meetFault(t *testing.T) {
	t.Helper()
	before, after := wanted(c.op)
	p, d := c.door(t, c.skew, c.without)
	key := c.id
	c.arm(p)
	err := c.op.do(t.Context(), d.service, c.id, &key)
	c.recover(t, p, d)
	got := c.op.of.look(c.r, t, c.id)
	c.judge(err, got, before, after)
	c.slow = p.wasSlow()
	if c.died() && c.op.urls != nil {
		c.contend(t, &key, got, after)
		return
	}
	c.repeat(t, &key, after)
}

// died tells that the process has ended.
func (c *encounter) died() bool { return c.fault == dieBefore || c.fault == dieAfter || c.death != nil }

// door opens a process behind a proxy.
func (c *encounter) door(t *testing.T, skew time.Duration, without rule) (*proxy, *door) {
	t.Helper()
	p := newProxy(t, c.r.host)
	o := c.r.throughProxy(p)
	if c.death != nil {
		o.Timeout = deathWithin // nothing is given up while it waits for the death
	}
	if skew >= lapsed {
		// One that did its work in the background would sweep all leases.
		return p, openStill(t, o, skew, without)
	}
	return p, openDoor(t, o, skew, without)
}

// arm has the next statement of the step meet the fault.
func (c *encounter) arm(p *proxy) {
	p.fences(c.op.fence)
	p.arm(c.op.of.table, c.step, c.fault)
	if c.death != nil {
		c.death.await(p)
	}
}

// repeat makes the operation again, with the same key: that gives the first
// outcome, or the change now, in any case once.
func (c *encounter) repeat(t *testing.T, key *string, after seen) {
	t.Helper()
	if err := c.op.do(t.Context(), c.r.whole.service, c.id, key); err != nil {
		c.errorf("the repetition: %v", err)
	}
	if got := c.op.of.look(c.r, t, c.id); !got.equal(after) {
		c.errorf("after the repetition there is %v instead of %v", got, after)
	}
}

// prepare makes what the operation is played on.
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
	if err := c.op.of.make(t.Context(), c.r.whole.service, c.id, nil); err != nil {
		t.Fatal(err)
	}
}

// judge compares an answer with what there is afterwards.
func (c *encounter) judge(err error, got, before, after seen) {
	c.unknown = fault.ReasonOf(err) == fault.ReasonOutcomeUnknown
	switch {
	case err == nil && !got.equal(after):
		c.errorf("it was acknowledged, and there is %v instead of %v", got, after)
	case c.unknown && c.op.joins && c.step == stepEnforce:
		if !got.equal(after) {
			c.errorf("it was decided, and there is %v instead of %v", got, after)
		}
		if !c.leavesUnknown() {
			c.errorf("the outcome is unknown although it could be made so: %v", err)
		}
	case c.unknown && c.death != nil && !slices.Contains(undecided, c.step) && c.step != stepDecide:
		// What is read for the answer fails too.
		if !got.equal(after) {
			c.errorf("it was decided, and there is %v instead of %v", got, after)
		}
	case c.unknown && c.step != stepDecide:
		c.errorf("the outcome is unknown although no decision was lost: %v", err)
	case c.unknown && !c.leavesUnknown():
		c.errorf("the outcome is unknown although it could be found out: %v", err)
	case c.unknown && !got.equal(after) && !got.equal(before):
		c.errorf("half of it happened: %v", got)
	case err != nil && !c.unknown && fault.CodeOf(err) != fault.Unavailable:
		c.errorf("the answer: %v", err)
	case err != nil && !c.unknown && !got.equal(before):
		c.errorf("it was refused (%v), and there is %v instead of %v", err, got, before)
	case err != nil && !c.unknown && !c.mayRefuse():
		c.errorf("it was refused after it was decided: %v", err)
	}
}

// leavesUnknown tells of the faults that keep the process from ever asking again.
func (c *encounter) leavesUnknown() bool {
	return c.fault == loseAll || c.died() || c.death != nil
}

// mayRefuse tells of what can be answered with certainty that nothing happened.
func (c *encounter) mayRefuse() bool {
	return slices.Contains(undecided, c.step) || c.step == stepDecide && (c.fault == answerRefused || c.death != nil)
}

// recover brings what the fault has left to its end: by the process itself
// where it lives, by another one where it does not.
func (c *encounter) recover(t *testing.T, p *proxy, d *door) {
	t.Helper()
	if c.death != nil {
		<-c.death.over
	}
	switch c.fault {
	case loseAll:
		if p.disarm() < 2 {
			c.errorf("the decision was not asked after")
		}
		d.idle(t)
	case dieBefore, dieAfter:
		c.awaitEnd(t, p)
	default:
		d.idle(t)
		if c.step == stepRelease { // comes after the answer
			until(t, metWithin, "the fault", func() bool { return p.met() > 0 })
		}
		if p.disarm() != 1 {
			c.errorf("no statement met the fault")
		}
		// Who closes its connections takes back what has not arrived.
		until(t, runWithin, "what comes late", p.arrived)
	}
	inFlightList := d.journal.InFlightList()
	d.close(t)
	c.r.whole.takeOver(t, inFlightList)
}

// awaitEnd waits for the end of the process. Settling and releases come after the answer.
func (c *encounter) awaitEnd(t *testing.T, p *proxy) {
	t.Helper()
	if !p.hasDied() && slices.Contains(undecided, c.step) {
		c.errorf("no statement met the fault")
		return
	}
	until(t, metWithin, "the fault", p.hasDied)
}

// metWithin is how long the statement may take to come that meets the fault after the
// answer: generous, as all waits here.
const metWithin = time.Minute
