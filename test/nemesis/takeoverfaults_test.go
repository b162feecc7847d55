package nemesis

import (
	"fmt"
	"slices"
	"testing"

	"carrel/core/commit"
	"carrel/core/fault"
)

// takeOvers are mutations whose process ends as it decides them. Another process finishes
// them and meets the faults. If the deciding request is still in flight, it must be
// fenced, because it arrives when the other process has finished.
var takeOvers = []operation{
	takenOver("create", dieSending, stepDecide, stepDrop),
	takenOver("update", dieSending, stepRead, stepDecide, stepSnapshot, stepApply, stepDrop),
	takenOver("update", dieAfter, stepRead, stepApply, stepCleanUp, stepDrop),
	takenOver("delete", dieAfter, stepApply, stepCleanUp, stepDrop),
	takenOver("create a user", dieSending, stepDecide, stepDrop),
	takenOver("hide a user", dieSending, stepRead, stepDecide, stepSnapshot, stepApply, stepDrop),
	takenOver("take a member out", dieAfter, stepApply, stepCleanUp, stepDrop),
	wokenUp(takenOver("update", dieSending, stepDrop)),
}

// takenOver is an operation that its own process does not finish.
func takenOver(name string, ends faultKind, steps ...step) operation {
	all := slices.Concat(operations, groupOperations, userOperations)
	op := all[slices.IndexFunc(all, func(op operation) bool { return op.name == name })]
	op.name, op.ends, op.steps = "take over: "+op.name+", "+string(ends), ends, steps
	return op
}

// wokenUp is an operation that is taken over although its process was only stopped. That
// process writes its list once more after the other one has read it, and before the other one
// drops it.
func wokenUp(op operation) operation {
	op.name, op.wakes = op.name+", and wakes up", true
	return op
}

// playTakeOver has the operation taken over: first by a process that meets the fault, and
// if that one ends too, by one without a fault.
func (c *encounter) playTakeOver(t *testing.T) {
	c.wrong = nil
	before, after := wanted(c.op)
	c.prepare(t)
	key := c.id
	dead, inFlightList := c.leave(t, &key)
	c.slow = dead.wasSlow()
	l := c.r.healthy.inFlightList(t, inFlightList)
	if l == nil {
		c.errorf("the list of the dead process is empty")
		return
	}
	if c.op.wakes {
		block, err := commit.Encode(l.Entries)
		if err != nil {
			t.Fatal(err)
		}
		newer := commit.InFlightList{ID: l.ID, Stamp: l.Stamp + 1, Block: block}
		if err := c.r.healthy.store.Journal.PutInFlightList(t.Context(), newer); err != nil {
			t.Fatal(err)
		}
	}
	// The clocks of the two differ by twice as much as those of others.
	p, d := c.instance(t, -c.skew, c.without)
	p.arm(c.op.of.table, c.step, c.fault)
	c.takeOver(t, p, d, *l)
	c.finishLists(t, inFlightList, d)
	d.close(t)
	want := after
	if c.op.ends == dieSending {
		dead.deliver(t)
		want = before
	}
	if got := c.op.of.look(c.r, t, c.id); !got.equal(want) {
		c.errorf("after the take-over: got %v, want %v", got, want)
	}
	c.repeat(t, &key, after)
	c.slow = c.slow || p.wasSlow()
}

// leave ends a process at the decision, and returns the proxy between it and the node,
// and the id of its in-flight list.
func (c *encounter) leave(t *testing.T, key *string) (*proxy, commit.ListID) {
	t.Helper()
	p, d := c.instance(t, c.skew, everyRule)
	p.arm(c.op.of.table, stepDecide, c.op.ends)
	err := c.op.do(t.Context(), d.service, c.id, key)
	if fault.ReasonOf(err) != fault.ReasonOutcomeUnknown {
		c.errorf("the process ended as it decided, but the answer is %v", err)
	}
	d.close(t)
	return p, d.journal.InFlightList()
}

// takeOver makes the process meet the fault. If it stays alive it retries, as it would in
// the background, until it has finished.
func (c *encounter) takeOver(t *testing.T, p *proxy, d *instance, l commit.OpenList) {
	t.Helper()
	var err error
	done := func() bool {
		if err = d.journal.TakeOver(t.Context(), d.finishes, l); err != nil && fault.CodeOf(err) != fault.Unavailable {
			c.errorf("the take-over: %v", err)
		}
		return err == nil
	}
	switch c.fault {
	case "":
		until(t, runTimeout, "the take-over", done)
	case dieBefore, dieAfter:
		if done() {
			c.errorf("the take-over succeeded in a process that ended")
		}
		if !p.hasDied() {
			c.errorf("the fault hit no statement")
		}
	default:
		until(t, runTimeout, "the take-over", done)
		if p.disarm() != 1 {
			c.errorf("the fault hit no statement")
		}
		until(t, runTimeout, "the arrival of late requests", p.arrived)
	}
}

// finishLists checks what the take-over has left of the list, and lets a process without
// a fault finish the rest.
func (c *encounter) finishLists(t *testing.T, inFlightList commit.ListID, d *instance) {
	t.Helper()
	left := c.r.healthy.inFlightList(t, inFlightList)
	died := c.fault == dieBefore || c.fault == dieAfter
	switch {
	case c.op.wakes && left == nil:
		c.errorf("the list that its owner wrote meanwhile is gone")
	case !c.op.wakes && left != nil && !died:
		c.errorf("the list still exists after it was taken over")
	}
	c.r.healthy.takeOver(t, inFlightList)
	c.r.healthy.takeOver(t, d.journal.InFlightList())
	if c.r.healthy.inFlightList(t, inFlightList) != nil {
		c.errorf("the list still exists after everything was finished")
	}
}

// TestTakeOver_WithoutARuleIsDetected checks that broken take-overs are detected: one without a
// fence lets a late decision through, which nobody finishes; and one that drops more than it has
// read drops the unfinished changes of its owner.
func TestTakeOver_WithoutARuleIsDetected(t *testing.T) {
	r := newFixture(t)
	defer r.healthy.close(t)
	for n, c := range []encounter{
		{op: takenOver("create", dieSending), without: noFence},
		{op: takenOver("update", dieSending), without: noFence},
		{op: wokenUp(takenOver("update", dieSending)), without: listDroppedNewer},
		{op: takenOver("create", dieSending)},
		{op: wokenUp(takenOver("update", dieSending))},
	} {
		c.r = r
		c.playInTime(t, fmt.Sprintf("missing-%d", n))
		if found := len(c.wrong) > 0; found != (c.without != everyRule) {
			t.Errorf("%s without the rule %s: found %q", c.op.name, c.without, c.wrong)
		}
	}
}
