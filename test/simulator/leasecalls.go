package simulator

import (
	"context"
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/lease"
	"carrel/principal"
)

// leaseCall is the input of an operation on keys, and its answer.
type leaseCall struct {
	keys []string // of acquireLease; isKeyAvailable has one
	ttl  int      // in milliseconds
	// waits is for how many milliseconds acquireLease waits for taken keys.
	waits int
	// of is the lease that is confirmed, cancelled or read. foreign: another token is sent.
	of      *granted
	foreign bool
	// wait, if it is set, is how long the client waits before the call; otherwise that is drawn.
	wait *time.Duration

	// began is the time of the process when it was called last, and struck the number of
	// faults up to then.
	began  clock.Instant
	struck int

	got       *lease.Lease
	token     string
	available bool
}

// granted is a lease whose token a client has received.
type granted struct {
	id       lease.ID
	token    string
	deadline clock.Instant
}

// neverGranted is a lease that does not exist.
var neverGranted = &granted{id: "l:00000000000000000000000000000000", token: "none"}

func (c *leaseCall) String() string {
	switch {
	case c.of != nil && c.foreign:
		return fmt.Sprintf("%s with another token", c.of.id)
	case c.of != nil:
		return string(c.of.id)
	}
	return fmt.Sprintf("%v for %d ms, waiting %d ms", c.keys, c.ttl, c.waits)
}

// askLeases makes the call of an operation that is about keys.
func (o *Operation) askLeases(ctx context.Context, p *process) (err error) {
	c := o.lease
	c.began, c.struck, c.got, c.token = clock.Of(p.a.clock()), p.c.st.struck, nil, ""
	var end lease.End
	if c.of != nil {
		if end = (lease.End{ID: string(c.of.id), Token: c.of.token}); c.foreign {
			end.Token = "foreign"
		}
	}
	switch o.kind {
	case opConfirm:
		c.got, err = p.leases.Confirm(ctx, end)
	case opCancel:
		c.got, err = p.leases.Cancel(ctx, end)
	case opLease:
		c.got, err = p.leases.Lease(ctx, end.ID, end.Token)
	case opAvailable:
		c.available, err = p.leases.KeyAvailable(ctx, &principal.Viewer{User: o.viewer}, c.keys[0])
	default:
		in := lease.Acquire{TTLMs: &c.ttl, WaitMs: &c.waits, IdempotencyKey: o.key}
		for _, k := range c.keys {
			in.Documents = append(in.Documents, lease.Document{Key: k})
		}
		var made *lease.Acquired
		if made, err = p.leases.Acquire(ctx, &principal.Viewer{User: o.viewer}, in); err == nil {
			c.got, c.token = made.Lease, made.Token
		}
	}
	return err
}

// aim decides which lease an operation is about, when it starts, and in many cases waits until
// shortly before or after its deadline.
func (r *run) aim(p *process, o *Operation) {
	s, c := r.s, o.lease
	switch {
	case c.wait != nil:
		_ = p.a.After(r.ctx, *c.wait)
	case o.kind == opAcquire || o.kind == opAvailable:
		if n := len(r.leases); n > 0 && s.chance(256) {
			r.awaitDeadline(p, r.leases[n-1])
		}
	}
	if o.kind == opAcquire || o.kind == opAvailable || c.of != nil {
		return
	}
	r.awaitFirst(p, func() bool { return len(r.leases) > 0 })
	if len(r.leases) == 0 {
		c.of = neverGranted
		return
	}
	n := len(r.leases)
	c.of = r.leases[n-1]
	if s.chance(350) {
		c.of = r.leases[s.pick(n)]
	}
	if c.wait == nil && s.chance(350) {
		r.awaitDeadline(p, c.of)
	}
}

// awaitDeadline waits until about the deadline of a lease, by the clock of a process or by
// that of another one.
func (r *run) awaitDeadline(p *process, g *granted) {
	by := r.procs[r.s.pick(len(r.procs))].a.clock()
	rest := g.deadline.Time().Sub(by)
	if rest <= 0 {
		return
	}
	r.waitAbout(p, rest)
}

// waitAbout waits for about as long as given.
func (r *run) waitAbout(p *process, d time.Duration) {
	spread := []int{20, 200, 2000}[r.s.pick(3)]
	_ = p.a.After(r.ctx, max(d+time.Duration(r.s.pick(2*spread)-spread)*time.Millisecond, time.Millisecond))
}

// awaitFirst waits until something is there, for up to two seconds.
func (r *run) awaitFirst(p *process, there func() bool) {
	for range 5 {
		if there() {
			return
		}
		_ = p.a.After(r.ctx, time.Duration(1+r.s.pick(400))*time.Millisecond)
	}
}

// planLeases draws the operations of a schedule that is about keys.
func planLeases(s *Scheduler, n, keys int) []*Operation {
	kinds := [...]opKind{opAcquire, opAcquire, opAcquire, opAcquire, opAcquire, opConfirm, opConfirm, opConfirm, opCancel,
		opCancel, opLease, opAvailable}
	ops := make([]*Operation, n)
	keyed := []uint64{0, 200, 700}[s.pick(3)]
	for i := range ops {
		o := &Operation{n: i + 1, viewer: []principal.ID{ann, bob, dan}[s.pick(3)], lease: &leaseCall{}}
		if o.kind = kinds[s.pick(len(kinds))]; i == 0 {
			o.kind = opAcquire
		}
		switch o.kind {
		case opAcquire:
			o.lease.ttl = []int{1000, 1000, 2000, 5000, 60_000}[s.pick(5)]
			o.lease.keys = drawKeys(s, keys)
			o.lease.waits = []int{0, 0, 100, 3000}[s.pick(4)]
			if s.chance(keyed) {
				o.key = keyFor(i)
			}
			repeatSome(s, o, ops[:i])
		case opAvailable:
			o.lease.keys = drawKeys(s, keys)[:1]
		default:
			o.lease.foreign = s.chance(60)
		}
		ops[i] = o
	}
	return ops
}

// drawKeys draws some of the first n keys, in any order.
func drawKeys(s *Scheduler, n int) []string {
	all := []string{"a", "b", "c", "d", "e"}[:n]
	s.rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+s.pick(n)]
}

// repeatSome makes an operation, in some cases, the repetition of an earlier one with an
// idempotency key, as a client without an answer sends it. Some repetitions have another input.
func repeatSome(s *Scheduler, o *Operation, earlier []*Operation) {
	for _, e := range earlier {
		if e.kind == opAcquire && e.key != nil && s.chance(250) {
			o.key, o.viewer = e.key, e.viewer
			if s.chance(800) {
				o.lease.keys, o.lease.ttl, o.lease.waits = e.lease.keys, e.lease.ttl, e.lease.waits
			}
			return
		}
	}
}

// buildForLeases fills an empty store with users, and nothing else.
func (st *Store) buildForLeases(*Scheduler) world {
	w := world{principals: []principal.ID{ann, bob, dan}}
	for _, p := range w.principals {
		st.addPrincipal(p, clock.Of(epoch))
	}
	return w
}

// drawLeases draws the parameters of a schedule about keys.
func (r *run) drawLeases() {
	s := r.s
	r.ops = planLeases(s, 3+s.pick(7), 1+s.pick(5))
	r.drawFaults()
	s.slow = []uint64{0, 0, 300}[s.pick(3)]
	r.brisk = s.chance(512)
	r.assign(2 + s.pick(3))
	r.after = r.sweepAll
}
