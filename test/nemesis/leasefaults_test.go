package nemesis

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/lease"
	"carrel/principal"
)

// leaseTTL is the time to live of a lease in these tests. An encounter takes less. By a clock that
// is lapsed ahead, the lease has expired.
const leaseTTL = 30 * time.Second

// longTTL is the time to live of a long lease, which gets its full time only when it has its keys.
// By a clock that is lapsed ahead, such a lease has not expired.
const longTTL = 10 * time.Minute

var leases = subject{table: "lease", prefix: "lease of "}

// leaseOperations acquire two keys together, and confirm or cancel the lease that holds them. The
// second deciding statement of an acquisition counts as stepFence. It fences the overdue lease
// whose keys are taken, ends the new lease if that is refused, or sets the deadline of a long one. The
// first one of a confirmation counts as stepFence, too: it puts the lease on the list of its owner. The
// claims of a lease that has ended stay until it is swept, so none is released.
var leaseOperations = []operation{
	{name: "acquire", of: &leases, steps: []step{stepReserve, stepRead, stepDue, stepDay, stepDecide, stepClaim},
		play: (*encounter).acquireFree},
	{name: "acquire what is overdue", of: &leases, steps: []step{stepDecide, stepClaim, stepHolder, stepFence, stepTakeOver},
		fence: 2, play: (*encounter).acquireOverdue},
	{name: "acquire what is taken", of: &leases, steps: []step{stepClaim, stepHolder, stepFence}, fence: 2, play: (*encounter).acquireTaken},
	{name: "acquire for long", of: &leases, steps: []step{stepFence}, fence: 2, play: (*encounter).acquireLong},
	{name: "confirm", of: &leases, steps: []step{stepRead, stepFence, stepDecide}, fence: 1, play: (*encounter).confirm},
	{name: "cancel", of: &leases, steps: []step{stepRead, stepDecide}, play: (*encounter).cancel},
}

// keys returns the keys of an encounter.
func (c *encounter) keys() []string { return []string{c.id + " a", c.id + " b"} }

// acquire leases keys.
func acquire(ctx context.Context, d *instance, key *string, keys ...string) (*lease.Acquired, error) {
	return acquireAs(ctx, d, owner, leaseTTL, key, keys...)
}

// acquireFor leases keys for a time.
func acquireFor(ctx context.Context, d *instance, within time.Duration, key *string, keys ...string) (*lease.Acquired, error) {
	return acquireAs(ctx, d, owner, within, key, keys...)
}

func acquireAs(ctx context.Context, d *instance, user principal.ID, within time.Duration, key *string,
	keys ...string) (*lease.Acquired, error) {
	ttl := int(within.Milliseconds())
	in := lease.Acquire{TTLMs: &ttl, IdempotencyKey: key}
	for _, k := range keys {
		in.Documents = append(in.Documents, lease.Document{Key: k})
	}
	return d.service.leases.Acquire(ctx, &principal.Viewer{User: user}, in)
}

// acquired leases keys that must be free, however slow the machine is.
func (c *encounter) acquired(t *testing.T, d *instance, keys ...string) lease.End {
	t.Helper()
	var got *lease.Acquired
	err := tried(func() (err error) {
		got, err = acquire(t.Context(), d, nil, keys...)
		return err
	})
	if err != nil {
		c.errorf("nobody holds %q, but they cannot be leased: %v %q", keys, err, lease.CollidingKeys(err))
		return lease.End{}
	}
	return endOf(got)
}

func endOf(a *lease.Acquired) lease.End { return lease.End{ID: string(a.Lease.ID), Token: a.Token} }

// taken checks that another client holds the keys, by the clock of the given process.
func (c *encounter) taken(t *testing.T, d *instance, keys ...string) {
	t.Helper()
	err := tried(func() error {
		_, err := acquire(t.Context(), d, nil, keys...)
		return err
	})
	if fault.ReasonOf(err) != fault.ReasonTaken || !slices.Equal(lease.CollidingKeys(err), keys) {
		c.errorf("%q are held, but leasing them is answered %v %q", keys, err, lease.CollidingKeys(err))
	}
}

// confirms confirms a lease and checks that the outcome is one of outcomes; "" means that
// it is confirmed now.
func (c *encounter) confirms(t *testing.T, end lease.End, outcomes ...fault.Reason) fault.Reason {
	t.Helper()
	err := tried(func() error {
		_, err := c.r.healthy.service.leases.Confirm(t.Context(), end)
		return err
	})
	reason := fault.ReasonOf(err)
	if err != nil && reason == "" || !slices.Contains(outcomes, reason) {
		c.errorf("confirming %s is answered %v, want one of %q", end.ID, err, outcomes)
	}
	return reason
}

// holds checks that a pending lease holds its keys: no other client gets them, and it can
// be confirmed.
func (c *encounter) holds(t *testing.T, end lease.End, keys ...string) {
	t.Helper()
	c.taken(t, c.r.healthy, keys...)
	c.confirms(t, end, "", fault.ReasonConfirmed)
	c.taken(t, c.r.aheadBy(t, lapsed), keys...)
}

// meet starts a process whose next statement of the step meets the fault.
func (c *encounter) meet(t *testing.T, skew time.Duration) (*proxy, *instance) {
	t.Helper()
	p, d := c.instance(t, skew, everyRule)
	c.arm(p)
	return p, d
}

// checkLease checks an answer. It does not expect TAKEN.
func (c *encounter) checkLease(err error) {
	c.unknown = fault.ReasonOf(err) == fault.ReasonOutcomeUnknown
	switch {
	case err == nil:
	case c.unknown && (c.step != stepDecide || !c.leavesUnknown()):
		c.errorf("the outcome is unknown although the process could have read it: %v", err)
	case !c.unknown && fault.CodeOf(err) != fault.Unavailable:
		c.errorf("the answer: %v", err)
	case !c.unknown && !c.mayRefuse():
		c.errorf("it was refused after it was decided: %v", err)
	}
}

// acquireFree leases keys that no other client takes.
func (c *encounter) acquireFree(t *testing.T) {
	p, d := c.meet(t, c.skew)
	key := c.id
	got, err := acquire(t.Context(), d, &key, c.keys()...)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.checkLease(err)
	again, repeated := acquire(t.Context(), c.r.healthy, &key, c.keys()...)
	interrupted := c.died() || c.unknown
	switch {
	case err == nil && (repeated != nil || again.Lease.ID != got.Lease.ID):
		c.errorf("%s was leased, but the repetition answers %+v, %v", got.Lease.ID, again, repeated)
	case err == nil:
		c.holds(t, endOf(got), c.keys()...)
	case repeated == nil && again.Token != "":
		c.holds(t, endOf(again), c.keys()...)
	case !interrupted:
		c.errorf("it was refused (%v), but the repetition answers %v", err, repeated)
	case repeated != nil && fault.CodeOf(repeated) != fault.Unavailable:
		c.errorf("the repetition of what was interrupted answers %v", repeated)
	default: // the token of the lease is lost
		c.confirms(t, c.acquired(t, c.r.aheadBy(t, lapsed), c.keys()...), "")
	}
}

// acquireLong leases keys for a long time. If its process dies before the lease has its
// deadline, its keys are free half a minute later.
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
	again, repeated := acquireFor(t.Context(), c.r.healthy, longTTL, &key, c.keys()...)
	switch {
	case err == nil && (repeated != nil || again.Lease.ID != got.Lease.ID):
		c.errorf("%s was leased, but the repetition answers %+v, %v", got.Lease.ID, again, repeated)
	case err == nil:
		c.taken(t, c.r.aheadBy(t, lapsed), c.keys()...)
		c.holds(t, endOf(got), c.keys()...)
	case repeated == nil && again.Token != "":
		c.taken(t, c.r.aheadBy(t, lapsed), c.keys()...)
		c.holds(t, endOf(again), c.keys()...)
	case !c.died():
		c.errorf("it was refused (%v), but the repetition answers %v", err, repeated)
	case repeated == nil: // the lease has its deadline, but its token is lost
		c.taken(t, c.r.aheadBy(t, lapsed), c.keys()...)
		c.confirms(t, c.acquired(t, c.r.aheadBy(t, 2*longTTL), c.keys()...), "")
	case fault.CodeOf(repeated) != fault.Unavailable:
		c.errorf("the repetition of what was interrupted answers %v", repeated)
	default:
		c.confirms(t, c.acquired(t, c.r.aheadBy(t, lapsed), c.keys()...), "")
	}
}

// acquireOverdue leases the keys of a lease whose deadline has passed by the clock of the
// client that takes them, but not by the clocks of others.
func (c *encounter) acquireOverdue(t *testing.T) {
	former := c.acquired(t, c.r.healthy, c.keys()...)
	p, d := c.meet(t, lapsed)
	got, err := acquire(t.Context(), d, nil, c.keys()...)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.checkLease(err)
	if err == nil {
		c.confirms(t, former, fault.ReasonExpired)
		c.holds(t, endOf(got), c.keys()...)
		return
	}
	if c.confirms(t, former, "", fault.ReasonConfirmed, fault.ReasonExpired) == fault.ReasonExpired {
		// By this clock the new lease has lapsed, too.
		c.confirms(t, c.acquired(t, c.r.aheadBy(t, 2*lapsed), c.keys()...), "")
		return
	}
	c.taken(t, c.r.aheadBy(t, 2*lapsed), c.keys()...)
}

// acquireTaken leases two keys, one of which is held permanently.
func (c *encounter) acquireTaken(t *testing.T) {
	held, free := c.keys()[0], c.keys()[1]
	c.confirms(t, c.acquired(t, c.r.healthy, held), "")
	p, d := c.meet(t, c.skew)
	_, err := acquire(t.Context(), d, nil, c.keys()...)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	switch {
	case fault.ReasonOf(err) == fault.ReasonTaken:
		if got := lease.CollidingKeys(err); !slices.Equal(got, []string{held}) {
			c.errorf("%q is held, but the colliding keys are %q", held, got)
		}
	case err == nil || fault.CodeOf(err) != fault.Unavailable || !c.mayRefuse():
		c.errorf("%q is held, but the answer is %v", held, err)
	}
	at := c.r.healthy
	if c.died() || c.step == stepFence && c.fault == answerRefused {
		at = c.r.aheadBy(t, lapsed) // the lease could not be ended
	}
	c.confirms(t, c.acquired(t, at, free), "")
	c.taken(t, c.r.aheadBy(t, lapsed), held)
}

// confirm confirms a lease of a user of its own: others that confirm leases of the same user would change
// the same list, and the fault would hit a repeated statement. If its process dies, others take the
// keys after the deadline.
func (c *encounter) confirm(t *testing.T) {
	user := "u:acme:" + strings.ReplaceAll(c.id, " ", "-")
	if err := tried(func() error { return makeUser(t.Context(), c.r.healthy.service, user, &user) }); err != nil {
		t.Fatal(err)
	}
	held, err := acquireAs(t.Context(), c.r.healthy, principal.ID(user), leaseTTL, nil, c.keys()...)
	if err != nil {
		t.Fatal(err)
	}
	end := endOf(held)
	p, d := c.meet(t, c.skew)
	_, err = d.service.leases.Confirm(t.Context(), end)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.checkLease(err)
	late := c.r.aheadBy(t, lapsed)
	var rival *lease.Acquired
	if c.died() {
		rival, _ = acquire(t.Context(), late, nil, c.keys()...)
	}
	switch {
	case rival != nil && err == nil:
		c.errorf("it was confirmed, but another lease has its keys")
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
	end := c.acquired(t, c.r.healthy, c.keys()...)
	p, d := c.meet(t, c.skew)
	_, err := d.service.leases.Cancel(t.Context(), end)
	c.recover(t, p, d)
	c.slow = p.wasSlow()
	c.checkLease(err)
	at := c.r.healthy
	if err != nil {
		at = c.r.aheadBy(t, lapsed) // the cancellation may have failed
	}
	next := c.acquired(t, at, c.keys()...)
	c.confirms(t, end, fault.ReasonCancelled, fault.ReasonExpired)
	c.confirms(t, next, "")
	c.taken(t, c.r.aheadBy(t, lapsed), c.keys()...)
}
