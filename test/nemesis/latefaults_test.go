package nemesis

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library"
)

// tooLate is a request that a process sent before it died, and that arrives after others have
// made changes. It must not have an effect any more.
type tooLate struct {
	op   operation
	step step
	// do runs the operation; if it is nil, op.do does.
	do        func(c *encounter, t *testing.T, d *instance)
	meanwhile func(c *encounter, t *testing.T)
	// check checks the state after the request has arrived.
	check func(c *encounter, t *testing.T)
}

// lateNames are requests of operations that take a URL. Meanwhile others take it.
func lateNames() []tooLate {
	create, move := urlOperations[0], urlOperations[1]
	rivals := func(c *encounter, t *testing.T) {
		for i, url := range c.op.urls(c.id) {
			if rival := c.rival(i); c.r.itemAt(t, url) == "" {
				if err := tried(func() error { return createAt(t.Context(), c.r.aheadBy(t, lapsed).service, rival, url, &rival) }); err != nil {
					c.errorf("%s leads to no item, but another client cannot take it: %v", url, err)
				}
			}
		}
	}
	leads := func(whose ...string) func(c *encounter, t *testing.T) {
		return func(c *encounter, t *testing.T) {
			for i, url := range c.op.urls(c.id) {
				if want := c.id + whose[i]; c.r.itemAt(t, url) != want {
					c.errorf("%s leads to %q, want %s", url, c.r.itemAt(t, url), want)
				}
			}
		}
	}
	moveBack := func(c *encounter, t *testing.T) {
		url := firstURL(c.id)
		if _, err := c.r.healthy.service.Library.MoveContent(t.Context(), ownerViewer(),
			library.MoveContent{ID: c.id, URL: input.Some(&url)}); err != nil {
			c.errorf("moving it back: %v", err)
		}
	}
	back := move
	back.name += " and back"
	return []tooLate{
		{op: create, step: stepClaim, meanwhile: rivals, check: leads("-rival-0")},
		{op: create, step: stepDecide, meanwhile: rivals, check: leads("-rival-0")},
		{op: move, step: stepClaim, meanwhile: rivals, check: leads("", "-rival-1")},
		{op: move, step: stepDecide, meanwhile: rivals, check: leads("", "-rival-1")},
		{op: move, step: stepRelease, meanwhile: rivals, check: leads("-rival-0", "")},
		{op: back, step: stepRelease, meanwhile: moveBack, check: func(c *encounter, t *testing.T) {
			rival, url := c.rival(0), firstURL(c.id)
			err := tried(func() error { return createAt(t.Context(), c.r.aheadBy(t, lapsed).service, rival, url, &rival) })
			if c.r.itemAt(t, url) != c.id || fault.ReasonOf(err) != fault.ReasonTaken {
				c.errorf("%s leads to %q, want %s; another client that takes it: %v", url, c.r.itemAt(t, url), c.id, err)
			}
		}},
	}
}

// rival returns the id of the item that takes the nth URL of an encounter.
func (c *encounter) rival(n int) string { return fmt.Sprintf("%s-rival-%d", c.id, n) }

// leaseOperation returns the lease operation of a name.
func leaseOperation(name string) operation {
	return leaseOperations[slices.IndexFunc(leaseOperations, func(op operation) bool { return op.name == name })]
}

// lateLeases are requests of leases. Meanwhile others lease the keys and confirm the
// lease.
func lateLeases() []tooLate {
	held := func(c *encounter, t *testing.T) { c.taken(t, c.r.aheadBy(t, 2*lapsed), c.keys()...) }
	acquires := func(c *encounter, t *testing.T, d *instance) { _, _ = acquire(t.Context(), d, nil, c.keys()...) }
	leased := func(c *encounter, t *testing.T) {
		c.confirms(t, c.acquired(t, c.r.aheadBy(t, 2*lapsed), c.keys()...), "")
	}
	confirmed := func(c *encounter, t *testing.T) { c.confirms(t, c.former, "") }
	return []tooLate{
		{op: leaseOperation("acquire"), step: stepDecide, do: acquires, meanwhile: leased, check: held},
		{op: leaseOperation("acquire"), step: stepClaim, do: acquires, meanwhile: leased, check: held},
		{op: leaseOperation("acquire what is overdue"), step: stepFence, do: acquires, meanwhile: confirmed, check: held},
		{op: leaseOperation("acquire what is overdue"), step: stepTakeOver, do: acquires, meanwhile: leased, check: held},
		{op: leaseOperation("confirm"), step: stepDecide, do: func(c *encounter, t *testing.T, d *instance) {
			_, _ = d.service.leases.Confirm(t.Context(), c.former)
		}, meanwhile: leased, check: func(c *encounter, t *testing.T) {
			c.confirms(t, c.former, fault.ReasonExpired)
			held(c, t)
		}},
		{op: leaseOperation("cancel"), step: stepDecide, do: func(c *encounter, t *testing.T, d *instance) {
			_, _ = d.service.leases.Cancel(t.Context(), c.former)
		}, meanwhile: confirmed, check: held},
	}
}

// lateTexts are requests of operations that write a revision. Meanwhile others write
// another one.
func lateTexts() []tooLate {
	save, saveAndPublish, publish := textOperations[0], textOperations[1], textOperations[2]
	again := func(c *encounter, t *testing.T) {
		if err := tried(func() error { return saveUnpublished(t.Context(), c.r.healthy.service, c.id, &c.id) }); err != nil {
			c.errorf("saving another one: %v", err)
		}
	}
	texts := func(want ...string) func(c *encounter, t *testing.T) {
		return func(c *encounter, t *testing.T) {
			if got := c.r.texts(t, library.ContentID(c.id)); !slices.Equal(got, want) {
				c.errorf("the revisions are %q, want %q", got, want)
			}
		}
	}
	return []tooLate{
		{op: save, step: stepText, meanwhile: again, check: texts("1 after working", "0 before current")},
		{op: save, step: stepDecide, meanwhile: again, check: texts("1 after working", "0 before current")},
		{op: saveAndPublish, step: stepDecide, meanwhile: again, check: texts("1 after working", "0 before current")},
		{op: publish, step: stepDecide, meanwhile: again, check: texts("2 after working", "1 after", "0 before current")},
	}
}

// TestLateRequests_ChangeNothing delays the last request of a process that takes a name, ends a
// lease, writes a text or changes a paste. It arrives when the process is dead and others have
// taken the name, or have written. It must take nothing from them.
func TestLateRequests_ChangeNothing(t *testing.T) {
	r := newFixture(t)
	defer r.close(t)
	r.aheadBy(t, lapsed)
	r.aheadBy(t, 2*lapsed)
	t.Run("requests", func(t *testing.T) {
		var wait sync.WaitGroup
		defer wait.Wait()
		for n, l := range slices.Concat(lateNames(), lateLeases(), lateTexts(), latePastes()) {
			wait.Go(func() {
				t.Run(l.op.name+"/"+string(l.step), func(t *testing.T) { r.playLate(t, &l, n) })
			})
		}
		wait.Go(func() { t.Run("a refused fence", r.playRefusedFence) })
	})
	r.quiet(t)
	if report := r.audit(t); !report.Clean() {
		t.Errorf("the audit found %+v", report)
	}
}

// playLate plays a late request, and repeats it while the machine is too slow.
func (r *fixture) playLate(t *testing.T, l *tooLate, n int) {
	t.Helper()
	c := encounter{r: r, op: l.op, step: l.step, fault: dieSending}
	for try := range slowTries + 1 {
		c.id, c.wrong = fmt.Sprintf("%slate-%d-%d", c.op.of.prefix, n, try), nil
		if c.deliver(t, l); !c.slow {
			break
		}
	}
	for _, wrong := range c.wrong {
		t.Error(wrong)
	}
}

// deliver kills a process as it sends a request, and delivers the request after others
// have made changes.
func (c *encounter) deliver(t *testing.T, l *tooLate) {
	t.Helper()
	skew := c.skew
	switch {
	case c.op.of == &leases && c.op.name != "acquire":
		c.former = c.acquired(t, c.r.healthy, c.keys()...)
		if c.op.name == "acquire what is overdue" {
			skew = lapsed
		}
	case c.op.of.table == "paste":
		c.makePaste(t)
	case c.op.of != &leases:
		c.prepare(t)
	}
	p, d := c.meet(t, skew)
	if l.do != nil {
		l.do(c, t, d)
	} else if err := c.op.do(t.Context(), d.service, c.id, nil); c.step == stepDecide && fault.ReasonOf(err) != fault.ReasonOutcomeUnknown {
		c.errorf("its last request is in flight, but the answer is %v", err)
	}
	c.awaitEnd(t, p)
	inFlightList := d.journal.InFlightList()
	d.close(t)
	if !p.hasDied() {
		return
	}
	l.meanwhile(c, t)
	p.deliver(t)
	l.check(c, t)
	c.r.healthy.takeOver(t, inFlightList)
	l.check(c, t)
	c.slow = p.wasSlow()
}

// playRefusedFence confirms a lease while a process that finds it overdue is about to
// fence it. The fence is refused, and the process must read again: the lease keeps its
// keys.
func (r *fixture) playRefusedFence(t *testing.T) {
	c := encounter{r: r, op: leaseOperation("acquire what is overdue"), step: stepFence, fault: nodeBefore}
	for try := range slowTries + 1 {
		c.id, c.wrong = fmt.Sprintf("lease of refused-%d", try), nil
		key := c.keys()[0]
		c.former = c.acquired(t, r.healthy, key)
		p, d := c.meet(t, lapsed)
		answer := make(chan error, 1)
		go func() {
			_, err := acquire(t.Context(), d, nil, key)
			answer <- err
		}()
		select {
		case <-p.held:
			c.confirms(t, c.former, "")
			close(p.letGo)
			if err := <-answer; fault.ReasonOf(err) != fault.ReasonTaken {
				c.errorf("the lease was confirmed, but another client that takes its keys is answered %v", err)
			}
		case err := <-answer:
			c.errorf("the lease was not fenced, but the answer is %v", err)
		}
		c.taken(t, r.aheadBy(t, 2*lapsed), key)
		d.close(t)
		if c.slow = p.wasSlow(); !c.slow {
			break
		}
	}
	for _, wrong := range c.wrong {
		t.Error(wrong)
	}
}
