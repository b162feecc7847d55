package simulator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/lease"
	"carrel/principal"
)

// day is how long the row of a lease is kept after its deadline.
const day = 24 * time.Hour

// backwards is how far a clock goes back within an operation at most.
const backwards = 100 * time.Millisecond

// latestClock returns the latest time that any clock of a process may have shown.
func (r *run) latestClock() clock.Instant {
	var fastest time.Duration
	for _, p := range r.procs {
		fastest = max(fastest, p.a.fastest)
	}
	return clock.Of(epoch.Add(r.s.now + fastest))
}

// leaseAnswered checks the answer of an operation on keys, at the moment of the answer.
func (r *run) leaseAnswered(o *Operation) {
	if o.kind == opAcquire && o.err == nil && o.lease.token != "" {
		r.leases = append(r.leases, &granted{o.lease.got.ID, o.lease.token, o.lease.got.Deadline})
		r.hist.ofLease(o.lease.got.ID).answered = true
		r.st.checkHolders()
	}
	if wrong := r.verifyLease(o); wrong != "" {
		r.report(wrongLease, "%v was answered %v: %s", o, o.err, wrong)
	}
}

// verifyLease returns what is wrong with an answer, or "".
func (r *run) verifyLease(o *Operation) string {
	switch c := o.lease; {
	case o.kind == opAcquire:
		return r.verifyAcquired(o)
	case o.kind == opAvailable && o.err == nil:
		return r.verifyAvailable(o)
	case o.kind == opAvailable || o.outcome == uncertain || fault.CodeOf(o.err) == fault.Unavailable && o.err != nil:
		return ""
	case o.err != nil:
		return r.verifyRefused(o)
	case c.got == nil:
		return r.was(o, 0)
	case c.foreign:
		return "it came with another token"
	default:
		return r.verifyEnded(o)
	}
}

// was returns "" if the lease of an operation was in one of the states while it ran.
func (r *run) was(o *Operation, states ...lease.State) string {
	seen := r.hist.ofLease(o.lease.of.id).during(o.start, o.end)
	for _, s := range seen {
		if slices.Contains(states, s.state) {
			return ""
		}
	}
	return fmt.Sprintf("the lease was never in one of the states %d while it ran, but in %+v", states, seen)
}

// verifyRefused checks an error of an operation on one lease.
func (r *run) verifyRefused(o *Operation) string {
	code, reason := fault.CodeOf(o.err), fault.ReasonOf(o.err)
	switch {
	case code == fault.Forbidden:
		if !o.lease.foreign {
			return "it came with the token of the lease"
		}
		return r.was(o, lease.Pending, lease.Confirmed, lease.Cancelled, lease.Expired, lease.Refused)
	case code == fault.NotFound:
		return r.was(o, 0)
	case o.lease.foreign:
		return "it came with another token"
	case reason == fault.ReasonConfirmed:
		return r.was(o, lease.Confirmed)
	case reason == fault.ReasonCancelled:
		return r.was(o, lease.Cancelled, lease.Refused)
	case reason == fault.ReasonExpired:
		return r.was(o, lease.Expired)
	}
	return "no such error was to be expected"
}

// verifyEnded checks the success of an operation on one lease.
func (r *run) verifyEnded(o *Operation) string {
	c := o.lease
	now := r.hist.ofLease(c.of.id).now().state
	switch {
	case o.kind == opConfirm && now != lease.Confirmed:
		return fmt.Sprintf("the lease is in state %d", now)
	case o.kind == opConfirm && c.began.Add(-backwards) >= c.of.deadline && !o.repeated:
		return fmt.Sprintf("it began at %d, and the deadline was %d", c.began, c.of.deadline)
	case o.kind == opCancel && now != lease.Cancelled && now != lease.Expired && now != 0:
		return fmt.Sprintf("the lease is in state %d", now)
	}
	return r.was(o, c.got.State)
}

// verifyAvailable checks an answer that says whether a key is free.
func (r *run) verifyAvailable(o *Operation) string {
	key := o.lease.keys[0]
	switch {
	case o.lease.available && r.hist.heldThroughout(key, o):
		return "the key was held all the time"
	case !o.lease.available && !r.hist.heldDuring(key, o):
		return "nobody has held the key"
	}
	return ""
}

// verifyAcquired checks the answer of acquireLease.
func (r *run) verifyAcquired(o *Operation) string {
	c := o.lease
	if o.err == nil {
		return r.verifyGranted(c)
	}
	if r.st.struck == c.struck && !o.repeated {
		// If no call failed, a refused acquisition leaves no lease that is pending. If the store
		// was too slow for ending the lease, it remains, but it holds no key once its deadline
		// has passed.
		for _, l := range r.hist.leases {
			if first := l.states[min(1, len(l.states)-1)]; first.op == o && l.now().live() && l.now().deadline > r.latestClock() {
				return fmt.Sprintf("%s is in state %d", l.id, l.now().state)
			}
		}
	}
	if fault.ReasonOf(o.err) != fault.ReasonTaken {
		return ""
	}
	colliding := lease.CollidingKeys(o.err)
	if len(colliding) == 0 {
		return "no key is named"
	}
	for _, k := range c.keys {
		named := slices.Contains(colliding, k)
		switch {
		case named && !r.hist.heldDuring(k, o):
			return fmt.Sprintf("%q is named, and nobody has held it", k)
		case !named && r.hist.heldThroughout(k, o):
			return fmt.Sprintf("%q is not named, and was held all the time", k)
		}
	}
	return ""
}

// verifyGranted checks the success of acquireLease: the lease has all its keys, or its time is
// over.
func (r *run) verifyGranted(c *leaseCall) string {
	l := r.hist.ofLease(c.got.ID)
	switch now := l.now(); now.state {
	case lease.Pending:
		if !slices.Equal(now.keys, c.keys) {
			return fmt.Sprintf("the lease has the keys %v", now.keys)
		}
		if k := r.st.lacks(l); k != "" {
			return fmt.Sprintf("it does not hold the key %q", k)
		}
		if now.deadline != now.created.Add(time.Duration(c.ttl)*time.Millisecond) {
			return fmt.Sprintf("it lasts from %d to %d", now.created, now.deadline)
		}
	case lease.Expired:
		if now.deadline > r.latestClock() {
			return "it has expired, and its deadline has passed on no clock"
		}
	default:
		if c.token != "" {
			return fmt.Sprintf("it is in state %d, and nobody else has the token", now.state)
		}
	}
	return ""
}

// checkLeases checks at the end what was changed by whom.
func (r *run) checkLeases() {
	for _, what := range r.hist.lost {
		r.report(lostKey, "%s", what)
	}
	for _, l := range r.hist.leases {
		for i := range l.states {
			if wrong := madeBy(l, &l.states[i]); wrong != "" {
				r.report(wrongLease, "%s: state %d by %v, %s", l.id, l.states[i].state, l.states[i].op, wrong)
			}
		}
	}
	r.checkFences()
	r.checkKeyed()
}

// checkFences checks that each owner of a key has a larger fencing number than the owners before it. A lease
// that has ended owns nothing: a repetition that read it earlier may still put its claim.
func (r *run) checkFences() {
	for _, c := range r.hist.claims {
		before := &leaseHistory{}
		for _, at := range c.states {
			l := r.hist.ofLease(at.record)
			lives := func(s leaseState) bool { return s.state == lease.Pending || s.state == lease.Confirmed }
			if l.id == "" || l == before || !l.answered || !slices.ContainsFunc(l.during(at.step, at.step), lives) {
				continue
			}
			if l.fence() <= before.fence() {
				r.report(wrongLease, "%s has the number %d as an owner of %q, and %s had %d before", l.id, l.fence(), c.name, before.id, before.fence())
			}
			before = l
		}
	}
}

// checkKeyed checks that one idempotency key creates one lease. A repetition may have come
// while the first attempt, which was then refused, was in progress.
func (r *run) checkKeyed() {
	r.checkCreated(opAcquire, wrongLease, func(o *Operation) string {
		id := o.lease.got.ID
		if slices.ContainsFunc(r.hist.ofLease(id).states, func(s leaseState) bool { return s.state == lease.Refused }) {
			return ""
		}
		return string(id)
	})
}

// checkCreated checks that operations of a kind by the same viewer with the same idempotency key were all answered with
// the same id. idOf returns the id of an answer; those with "" do not count.
func (r *run) checkCreated(kind opKind, wrong string, idOf func(*Operation) string) {
	type request struct {
		viewer principal.ID
		key    string
	}
	given := map[request]string{}
	for _, o := range r.ops {
		if o.kind != kind || o.key == nil || o.outcome != answered {
			continue
		}
		of, id := request{o.viewer, *o.key}, idOf(o)
		if id == "" {
			continue
		}
		if other, more := given[of]; more && id != other {
			r.report(wrong, "the requests with the key %s were given %s and %s", *o.key, other, id)
		}
		given[of] = id
	}
}

// madeBy returns why an operation must not have made a state of a lease, or "".
func madeBy(l *leaseHistory, s *leaseState) string {
	var kind opKind
	switch s.state {
	case lease.Confirmed:
		kind = opConfirm
	case lease.Cancelled:
		kind = opCancel
	default:
		return ""
	}
	switch o := s.op; {
	case o == nil || o.kind != kind:
		return "which does no such thing"
	case o.lease.of.id != l.id || o.lease.foreign:
		return "which is about another lease, or has another token"
	case o.outcome == refused:
		return fmt.Sprintf("which was refused: %v", o.err)
	}
	return ""
}

// sweepAll lets time pass until every lease is swept, and then until its row is removed, and
// checks what remains: the confirmed leases with their claims, and nothing else.
func (r *run) sweepAll(ctx context.Context, p *process) error {
	r.s.now = max(r.s.now, r.lastDeadline()) + 2*time.Minute
	if err := p.sweep(ctx); err != nil {
		return err
	}
	for _, l := range r.hist.leases {
		if l.now().state == lease.Pending {
			r.report(wrongLease, "%s is pending after it was swept", l.id)
		}
	}
	r.s.now += day
	if err := p.sweep(ctx); err != nil {
		return err
	}
	if d := r.st.currentDues(); len(d) > 0 {
		r.report(wrongLease, "reminders of leases: %+v", d)
	}
	held := map[string]lease.ID{}
	for _, l := range r.hist.leases {
		switch now := l.now(); now.state {
		case 0:
		case lease.Confirmed:
			for _, k := range now.keys {
				held[k] = l.id
			}
		default:
			r.report(wrongLease, "%s is in state %d", l.id, now.state)
		}
	}
	for _, c := range r.st.claims {
		if held[c.Name] != lease.ID(c.Record) {
			r.report(wrongLease, "the claim of %q points to %s, it is held by %q", c.Name, c.Record, held[c.Name])
		}
	}
	return r.leaseFreeKeys(ctx, p, held)
}

// lastDeadline returns the last deadline of all leases, in true time.
func (r *run) lastDeadline() (last time.Duration) {
	for _, l := range r.hist.leases {
		for _, s := range l.states {
			last = max(last, s.deadline.Time().Sub(epoch))
		}
	}
	return last
}

// sweep deletes what has expired, and has the scrubber look at everything.
func (p *process) sweep(ctx context.Context) error {
	if err := p.j.ExpireDue(ctx, p.svc.Background()); err != nil {
		return err
	}
	return scrubAll(ctx, p.svc)
}

// scrubAll has the scrubber look at everything.
func scrubAll(ctx context.Context, svc *domain.Services) error {
	_, _, err := svc.Repair.ScrubAll(ctx)
	return err
}

// leaseFreeKeys leases every free key, one at a time: a lone client must get each of them.
func (r *run) leaseFreeKeys(ctx context.Context, p *process, held map[string]lease.ID) error {
	for _, k := range []string{"a", "b", "c", "d", "e"} {
		got, err := p.leases.Acquire(ctx, &principal.Viewer{User: ann}, lease.Acquire{Documents: []lease.Document{{Key: k}}})
		taken := fault.ReasonOf(err) == fault.ReasonTaken
		switch {
		case err != nil && !taken:
			return fmt.Errorf("taking %q: %w", k, err)
		case taken != (held[k] != ""):
			r.report(wrongLease, "%q is held by %q, and a lone contender was answered %v", k, held[k], err)
		case err == nil && r.st.claimAt(leased(k)).Record != string(got.Lease.ID):
			r.report(lostKey, "%q was given to %s, and its claim points elsewhere", k, got.Lease.ID)
		}
	}
	return nil
}
