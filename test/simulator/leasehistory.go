package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/lease"
)

// leaseHistory is every state of a lease.
type leaseHistory struct {
	id     lease.ID
	states []leaseState
	// answered: a client got it with its token, and holds its keys.
	answered bool
}

// leaseState is a state of a lease, in force until the next one. A removed row has state 0.
type leaseState struct {
	step     int
	seq      int64
	state    lease.State
	created  clock.Instant
	deadline clock.Instant
	fence    int64
	keys     []string
	op       *Operation
}

// unansweredFor is how long a lease may last without its client having received it.
const unansweredFor = 30 * time.Second

// isLease reports whether a row of the table of leases is a lease. Others list the leases of a user.
func isLease(id lease.ID) bool { return strings.HasPrefix(string(id), "l:") }

// leased is the key that the users of the schedules lease under a name.
func leased(name string) claim.Key { return claim.Leased(ann.Tenant(), name) }

// live reports whether the lease may hold keys.
func (s *leaseState) live() bool { return s.state == lease.Pending || s.state == lease.Confirmed }

// claimHistory is every record that the claim of a key has pointed to; "" is none.
type claimHistory struct {
	name   string
	states []claimState
}

type claimState struct {
	step   int
	record lease.ID
}

func (h *History) ofLease(id lease.ID) *leaseHistory {
	return historyOf(&h.leases, func(l *leaseHistory) bool { return l.id == id },
		func() *leaseHistory { return &leaseHistory{id: id, states: []leaseState{{}}} })
}

func (h *History) ofClaim(name string) *claimHistory {
	return historyOf(&h.claims, func(c *claimHistory) bool { return c.name == name },
		func() *claimHistory { return &claimHistory{name: name, states: []claimState{{}}} })
}

// fence returns the largest fencing number that the lease has had.
func (l *leaseHistory) fence() (n int64) {
	for _, s := range l.states {
		n = max(n, s.fence)
	}
	return n
}

// now returns the last state.
func (l *leaseHistory) now() *leaseState { return &l.states[len(l.states)-1] }

// during returns the states in force at some moment from step start to step end.
func (l *leaseHistory) during(start, end int) []leaseState {
	return inForce(l.states, start, end, func(s leaseState) int { return s.step })
}

// inForce returns the states in force at some moment from start to end. The first state is in force
// from the beginning.
func inForce[T any](states []T, start, end int, step func(T) int) []T {
	first, until := 0, len(states)
	for i, s := range states {
		if step(s) > end {
			until = i
			break
		}
		if step(s) < start {
			first = i
		}
	}
	return states[first:until]
}

// leaseChanged records a new state of a lease.
func (st *Store) leaseChanged(r lease.Row, by *Operation) {
	h := st.history
	if h == nil || !isLease(r.ID) {
		return
	}
	l := h.ofLease(r.ID)
	before, after := l.now(), readLeaseRow(r)
	after.step, after.op = h.s.steps, by
	st.tracef("  %s: seq %d state %d deadline %d keys %v", r.ID, after.seq, after.state, after.deadline, after.keys)
	if wrong := h.mayFollow(l, before, &after); wrong != "" {
		h.lost = append(h.lost, fmt.Sprintf("%s: state %d at seq %d follows state %d at seq %d: %s", l.id, after.state,
			after.seq, before.state, before.seq, wrong))
	}
	l.states = append(l.states, after)
	if k := st.lacks(l); k != "" && after.state == lease.Pending && after.seq > 1 {
		h.lost = append(h.lost, fmt.Sprintf("%s: its deadline was extended, but it lacks the key %q", l.id, k))
	}
	st.checkHolders()
}

// readLeaseRow reads the parts of a row that the checks need.
func readLeaseRow(r lease.Row) leaseState {
	if r.Seq == 0 {
		return leaseState{}
	}
	in := commit.NewReader(r.Data)
	in.Byte() // the version
	s := leaseState{seq: r.Seq, state: lease.State(in.Byte())}
	in.Byte() // whether there is a request
	skip := func(n int) {
		for range n {
			in.Byte()
		}
	}
	skip(32) // the hash of the token
	in.Text()
	s.created = clock.Instant(in.Int())
	s.deadline = clock.Instant(in.Int())
	s.fence = in.Int()
	skip(int(in.Uint()) * len(commit.EntryID{}))
	for n := in.Uint(); n > 0; n-- {
		s.keys = append(s.keys, in.Text())
		for range 2 { // value and etag
			if in.Byte() != 0 {
				in.Text()
			}
		}
	}
	return s
}

// mayFollow returns why a state of a lease must not follow another one, or "".
func (h *History) mayFollow(l *leaseHistory, before, after *leaseState) string {
	ended := slices.ContainsFunc(l.states, func(s leaseState) bool { return s.state > lease.Confirmed })
	switch {
	case before.state == 0:
		if after.seq != 1 || after.state != lease.Pending && after.state != lease.Refused {
			return "a lease starts as pending, or refused"
		}
		if after.deadline > after.created.Add(unansweredFor) {
			return "it lasts longer than it may before it has its keys"
		}
		// A row that arrives late may reappear, if its deadline has passed.
		if ended && after.state == lease.Pending && after.deadline > h.latest() {
			return "it has ended before"
		}
	case after.state == 0:
		if before.live() || before.deadline.Add(day) > h.latest() {
			return "it was removed too soon"
		}
	case before.state != lease.Pending:
		return "it had ended, or was permanent"
	case after.seq != before.seq+1:
		return "a number was skipped"
	case !slices.Equal(before.keys, after.keys):
		return fmt.Sprintf("the keys are %v, and were %v", after.keys, before.keys)
	case after.state == lease.Pending:
		return h.mayLast(l, before, after)
	case after.state == lease.Expired && after.deadline > h.latest():
		return "its deadline has passed on no clock"
	}
	return ""
}

// mayLast returns why the deadline of a pending lease must not be extended, or "". It is extended
// once, to the full time that was requested: when the lease has its keys, and before its client
// receives it.
func (h *History) mayLast(l *leaseHistory, before, after *leaseState) string {
	switch {
	case before.seq != 1 || after.deadline < before.deadline || after.deadline == before.deadline && after.fence <= before.fence:
		return "nothing has changed, or it was extended for a second time"
	case l.answered:
		return "a client has received an earlier deadline"
	}
	return ""
}

// claimChanged records which lease the claim of a key points to, and checks the owners of keys.
func (st *Store) claimChanged(k claim.Key) {
	if st.history == nil {
		return
	}
	if k != leased(k.Name) {
		st.checkOwners()
		return
	}
	c := st.history.ofClaim(k.Name)
	c.states = append(c.states, claimState{st.history.s.steps, lease.ID(st.claimAt(k).Record)})
	st.tracef("  claim of %s: %s", k.Name, st.claimAt(k).Record)
	st.checkHolders()
}

// checkHolders checks that every holder of keys holds all of them: their claims point to a lease
// that is confirmed, or to one that a client has received and that has not ended.
func (st *Store) checkHolders() {
	h := st.history
	for _, l := range h.leases {
		now := l.now()
		if now.state != lease.Confirmed && (now.state != lease.Pending || !l.answered) {
			continue
		}
		if k := st.lacks(l); k != "" && len(h.lost) == 0 {
			h.lost = append(h.lost, fmt.Sprintf("%s has lost the key %q to %q at step %d", l.id, k, st.claimAt(leased(k)).Record, h.s.steps))
		}
	}
}

// lacks returns a key of a lease whose claim does not point to it, or "".
func (st *Store) lacks(l *leaseHistory) string {
	for _, k := range l.now().keys {
		if st.claimAt(leased(k)).Record != string(l.id) {
			return k
		}
	}
	return ""
}

// heldDuring reports whether some lease has held a key at some moment while an operation
// ran: one that was confirmed, or whose deadline had not passed when it began, by the clock
// of its process.
func (h *History) heldDuring(key string, o *Operation) bool {
	began := o.lease.began.Add(-backwards)
	return h.anyHolding(key, o.start, o.end, func(_, _ int, l *leaseState) bool {
		return l.state == lease.Confirmed || l.state == lease.Pending && (l.deadline > began || o.repeated)
	})
}

// heldThroughout reports whether one lease has held a key as long as an operation ran, and
// its deadline has passed on no clock.
func (h *History) heldThroughout(key string, o *Operation) bool {
	return h.anyHolding(key, o.start, o.end, func(from, to int, l *leaseState) bool {
		return from <= o.start && to >= o.end && (l.state == lease.Confirmed || l.state == lease.Pending && l.deadline > h.latest())
	})
}

// anyHolding reports whether match is true for some state of a lease that the claim of a key points
// to from step start to step end. from and to are the first and the last step of that state.
func (h *History) anyHolding(key string, start, end int, match func(from, to int, l *leaseState) bool) bool {
	c := h.ofClaim(key)
	for i, at := range c.states {
		until := end
		if i+1 < len(c.states) {
			until = min(until, c.states[i+1].step)
		}
		if at.record == "" || at.step > end || until < start {
			continue
		}
		l := h.ofLease(at.record)
		for j := range l.states {
			from, to := max(at.step, l.states[j].step), until
			if j+1 < len(l.states) {
				to = min(to, l.states[j+1].step)
			}
			if from <= to && to >= start && from <= end && match(from, to, &l.states[j]) {
				return true
			}
		}
	}
	return false
}
