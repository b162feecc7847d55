package nemesis

import (
	"context"
	"slices"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/lease"
)

// leaseTTL is how long a lease of these tests is pending. An encounter takes less, and
// after lapsed it is over.
const leaseTTL = 30 * time.Second

// longTTL is how long a lease is to be pending that gets its whole time when it has its
// keys. What takes less than that is not over when lapsed is.
const longTTL = 10 * time.Minute

var leases = subject{table: "lease", prefix: "lease of "}

// leaseOperations take two keys together, and end the lease that has them. The second
// decision of a lease that takes keys from one that is overdue is the fence of that; of
// one that is refused it is its own end, and of one for long that which gives it its time.
var leaseOperations = []operation{
	{name: "acquire", of: &leases, steps: []step{stepFix, stepRead, stepDue, stepDay, stepDecide, stepClaim}, play: (*encounter).acquireFree},
	{name: "acquire what is overdue", of: &leases, steps: []step{stepDecide, stepClaim, stepJudge, stepFence, stepTakeOver}, fence: 2, play: (*encounter).acquireOverdue},
	{name: "acquire what is taken", of: &leases, steps: []step{stepClaim, stepJudge, stepFence, stepRelease}, fence: 2, play: (*encounter).acquireTaken},
	{name: "acquire for long", of: &leases, steps: []step{stepFence}, fence: 2, play: (*encounter).acquireLong},
	{name: "confirm", of: &leases, steps: []step{stepRead, stepDecide}, play: (*encounter).confirm},
	{name: "cancel", of: &leases, steps: []step{stepRead, stepDecide, stepRelease}, play: (*encounter).cancel},
}

// keys are those of an encounter.
func (c *encounter) keys() []string { return []string{c.id + " a", c.id + " b"} }

// acquire leases keys.
func acquire(ctx context.Context, d *door, key *string, keys ...string) (*lease.Acquired, error) {
	return acquireFor(ctx, d, leaseTTL, key, keys...)
}

// acquireFor leases keys for a time.
func acquireFor(ctx context.Context, d *door, within time.Duration, key *string, keys ...string) (*lease.Acquired, error) {
	ttl := int(within.Milliseconds())
	in := lease.Acquire{TTLMs: &ttl, IdempotencyKey: key}
	for _, k := range keys {
		in.Documents = append(in.Documents, lease.Document{Key: k})
	}
	return d.service.leases.Acquire(ctx, ownerViewer(), in)
}

// acquired is acquire of what must be free, however slow the machine is.
func (c *encounter) acquired(t *testing.T, d *door, keys ...string) lease.End {
	t.Helper()
	var got *lease.Acquired
	err := tried(func() (err error) {
		got, err = acquire(t.Context(), d, nil, keys...)
		return err
	})
	if err != nil {
		c.errorf("nobody holds %q, and they cannot be leased: %v %q", keys, err, lease.CollidingKeys(err))
		return lease.End{}
	}
	return endOf(got)
}

func endOf(a *lease.Acquired) lease.End { return lease.End{ID: string(a.Lease.ID), Token: a.Token} }

// taken wants keys to be held by somebody else, by the clock of a door.
func (c *encounter) taken(t *testing.T, d *door, keys ...string) {
	t.Helper()
	err := tried(func() error {
		_, err := acquire(t.Context(), d, nil, keys...)
		return err
	})
	if fault.ReasonOf(err) != fault.ReasonTaken || !slices.Equal(lease.CollidingKeys(err), keys) {
		c.errorf("%q are held, and to lease them is answered %v %q", keys, err, lease.CollidingKeys(err))
	}
}

// confirms confirms a lease, and wants one of some outcomes; "" is that it is confirmed now.
func (c *encounter) confirms(t *testing.T, end lease.End, outcomes ...fault.Reason) fault.Reason {
	t.Helper()
	err := tried(func() error {
		_, err := c.r.whole.service.leases.Confirm(t.Context(), end)
		return err
	})
	reason := fault.ReasonOf(err)
	if err != nil && reason == "" || !slices.Contains(outcomes, reason) {
		c.errorf("confirming %s is answered %v, want one of %q", end.ID, err, outcomes)
	}
	return reason
}

// holds wants a pending lease to hold keys: nobody else gets them, and it can be confirmed.
func (c *encounter) holds(t *testing.T, end lease.End, keys ...string) {
	t.Helper()
	c.taken(t, c.r.whole, keys...)
	c.confirms(t, end, "", fault.ReasonConfirmed)
	c.taken(t, c.r.late(t, lapsed), keys...)
}

// meet opens a process whose next statement of the step meets the fault.
func (c *encounter) meet(t *testing.T, skew time.Duration) (*proxy, *door) {
	t.Helper()
	p, d := c.door(t, skew, everyRule)
	c.arm(p)
	return p, d
}

// judgeLease compares an answer with what may be answered. TAKEN is not for it.
func (c *encounter) judgeLease(err error) {
	c.unknown = fault.ReasonOf(err) == fault.ReasonOutcomeUnknown
	switch {
	case err == nil:
	case c.unknown && (c.step != stepDecide || !c.leavesUnknown()):
		c.errorf("the outcome is unknown although it could be found out: %v", err)
	case !c.unknown && fault.CodeOf(err) != fault.Unavailable:
		c.errorf("the answer: %v", err)
	case !c.unknown && !c.mayRefuse():
		c.errorf("it was refused after it was decided: %v", err)
	}
}

// acquireFree leases keys that nobody wants.
func (c *encounter) acquireFree(t *testing.T) {
	p, d := c.meet(t, c.skew)
	key := c.id
	got, err := acquire(t.Context(), d, &key, c.keys()...)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.judgeLease(err)
	again, repeated := acquire(t.Context(), c.r.whole, &key, c.keys()...)
	interrupted := c.died() || c.unknown
	switch {
	case err == nil && (repeated != nil || again.Lease.ID != got.Lease.ID):
		c.errorf("%s was leased, and the repetition answers %+v, %v", got.Lease.ID, again, repeated)
	case err == nil:
		c.holds(t, endOf(got), c.keys()...)
	case repeated == nil && again.Token != "":
		c.holds(t, endOf(again), c.keys()...)
	case !interrupted:
		c.errorf("it was refused (%v), and the repetition answers %v", err, repeated)
	case repeated != nil && fault.CodeOf(repeated) != fault.Unavailable:
		c.errorf("the repetition of what was interrupted answers %v", repeated)
	default: // nobody has the token
		c.confirms(t, c.acquired(t, c.r.late(t, lapsed), c.keys()...), "")
	}
}

// acquireLong leases keys for long. If its process dies before the lease has its time, its
// keys are free half a minute later.
func (c *encounter) acquireLong(t *testing.T) {
	p, d := c.meet(t, c.skew)
	key := c.id
	got, err := acquireFor(t.Context(), d, longTTL, &key, c.keys()...)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.unknown = fault.ReasonOf(err) == fault.ReasonOutcomeUnknown
	if err != nil && (fault.CodeOf(err) != fault.Unavailable || c.unknown && !c.leavesUnknown()) {
		c.errorf("the answer: %v", err)
	}
	again, repeated := acquireFor(t.Context(), c.r.whole, longTTL, &key, c.keys()...)
	switch {
	case err == nil && (repeated != nil || again.Lease.ID != got.Lease.ID):
		c.errorf("%s was leased, and the repetition answers %+v, %v", got.Lease.ID, again, repeated)
	case err == nil:
		c.taken(t, c.r.late(t, lapsed), c.keys()...)
		c.holds(t, endOf(got), c.keys()...)
	case repeated == nil && again.Token != "":
		c.taken(t, c.r.late(t, lapsed), c.keys()...)
		c.holds(t, endOf(again), c.keys()...)
	case !c.died():
		c.errorf("it was refused (%v), and the repetition answers %v", err, repeated)
	case repeated == nil: // it has its time, and nobody has the token
		c.taken(t, c.r.late(t, lapsed), c.keys()...)
		c.confirms(t, c.acquired(t, c.r.late(t, 2*longTTL), c.keys()...), "")
	case fault.CodeOf(repeated) != fault.Unavailable:
		c.errorf("the repetition of what was interrupted answers %v", repeated)
	default:
		c.confirms(t, c.acquired(t, c.r.late(t, lapsed), c.keys()...), "")
	}
}

// acquireOverdue leases keys of a lease whose deadline has passed by the clock of who wants
// them, and not by that of others.
func (c *encounter) acquireOverdue(t *testing.T) {
	former := c.acquired(t, c.r.whole, c.keys()...)
	p, d := c.meet(t, lapsed)
	got, err := acquire(t.Context(), d, nil, c.keys()...)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.judgeLease(err)
	if err == nil {
		c.confirms(t, former, fault.ReasonExpired)
		c.holds(t, endOf(got), c.keys()...)
		return
	}
	if c.confirms(t, former, "", fault.ReasonConfirmed, fault.ReasonExpired) == fault.ReasonExpired {
		// The lease of who wanted them has lapsed, too, by this clock.
		c.confirms(t, c.acquired(t, c.r.late(t, 2*lapsed), c.keys()...), "")
		return
	}
	c.taken(t, c.r.late(t, 2*lapsed), c.keys()...)
}

// acquireTaken leases two keys of which one is held for good.
func (c *encounter) acquireTaken(t *testing.T) {
	held, free := c.keys()[0], c.keys()[1]
	c.confirms(t, c.acquired(t, c.r.whole, held), "")
	p, d := c.meet(t, c.skew)
	_, err := acquire(t.Context(), d, nil, c.keys()...)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	switch {
	case fault.ReasonOf(err) == fault.ReasonTaken:
		if got := lease.CollidingKeys(err); !slices.Equal(got, []string{held}) {
			c.errorf("%q is held, and the colliding keys are %q", held, got)
		}
	case err == nil || fault.CodeOf(err) != fault.Unavailable || !c.mayRefuse():
		c.errorf("%q is held, and the answer is %v", held, err)
	}
	at := c.r.whole
	if c.died() || c.step == stepFence && c.fault == answerRefused {
		at = c.r.late(t, lapsed) // the lease could not be ended
	}
	c.confirms(t, c.acquired(t, at, free), "")
	c.taken(t, c.r.late(t, lapsed), held)
}

// confirm confirms a lease. Where its process dies, others want the keys when the deadline
// has passed.
func (c *encounter) confirm(t *testing.T) {
	end := c.acquired(t, c.r.whole, c.keys()...)
	p, d := c.meet(t, c.skew)
	_, err := d.service.leases.Confirm(t.Context(), end)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.judgeLease(err)
	late := c.r.late(t, lapsed)
	var rival *lease.Acquired
	if c.died() {
		rival, _ = acquire(t.Context(), late, nil, c.keys()...)
	}
	switch {
	case rival != nil && err == nil:
		c.errorf("it was confirmed, and another one has its keys")
	case rival != nil:
		c.confirms(t, end, fault.ReasonExpired)
		c.confirms(t, endOf(rival), "")
	case err == nil:
		c.confirms(t, end, fault.ReasonConfirmed)
	case c.unknown:
		c.confirms(t, end, "", fault.ReasonConfirmed)
	default:
		c.confirms(t, end, "")
	}
	c.taken(t, late, c.keys()...)
}

// cancel gives up a lease.
func (c *encounter) cancel(t *testing.T) {
	end := c.acquired(t, c.r.whole, c.keys()...)
	p, d := c.meet(t, c.skew)
	_, err := d.service.leases.Cancel(t.Context(), end)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	if c.step != stepRelease { // that comes after the answer
		c.judgeLease(err)
	} else if err != nil {
		c.errorf("it was cancelled, and the answer is %v", err)
	}
	at := c.r.whole
	if err != nil {
		at = c.r.late(t, lapsed) // it may not be cancelled
	}
	next := c.acquired(t, at, c.keys()...)
	c.confirms(t, end, fault.ReasonCancelled, fault.ReasonExpired)
	c.confirms(t, next, "")
	c.taken(t, c.r.late(t, lapsed), c.keys()...)
}
