package simulator

import (
	"context"
	"errors"
	"time"

	"carrel/core/fault"
	"carrel/domain"
)

// Client is one actor's connection to the Store: a domain.Store whose every
// call is a step of the schedule and may fail.
type Client struct {
	domain.Store
	st *Store
	a  *Actor // nil: an ordinary backend, without switches and faults
	// calls counts the calls; inject, if it is set, decides the fault of one.
	calls  int
	record func(call string)
	inject func(n int) Fault
	// outage is how many of the next writes fail too, after one has.
	outage int
	// calm: calls of this client have no faults.
	calm bool
	// hook is called around each call of an ordinary backend; nil: nothing is.
	hook func(call string, done bool)
}

// NewClient returns the client of an actor, or for nil an ordinary backend.
func NewClient(st *Store, a *Actor) *Client {
	c := newClient(Client{st: st, a: a})
	if a != nil {
		a.store = c
	}
	return c
}

// newClient connects the Stores of the domains to a client.
func newClient(client Client) *Client {
	c := &client
	c.Store = domain.Store{
		Journal: journalStore{c}, Registers: registers{c}, Claims: claims{c}, Principals: principals{c}, Directory: directory{c},
		Contents: contents{c}, Libraries: libraries{c}, Texts: texts{c}, Pastes: pastesOf(c), Feeds: feeds{c}, Leases: leasesOf(c),
	}
	return c
}

// Hooked returns an ordinary backend on the same store. It calls hook with the name of each call before
// the call takes effect, and again, with done set, when it has taken effect and before it returns. hook
// may call the store through other clients.
func (c *Client) Hooked(hook func(call string, done bool)) *Client {
	return newClient(Client{st: c.st, hook: hook})
}

// immediately makes a call of an ordinary backend.
func (c *Client) immediately(call string, effect func()) {
	if c.hook != nil {
		c.hook(call, false)
		defer c.hook(call, true)
	}
	c.st.mu.Lock()
	defer c.st.mu.Unlock()
	effect()
}

// Fault is what happens to a store call.
type Fault uint8

// The faults. If a conditional write returns a false error, the error satisfies
// MayHaveCommitted.
const (
	NoFault      Fault = iota
	Refused            // an error, and nothing happened: the error is true
	Lost               // an error; the write never arrives
	Late               // an error; the write arrives later
	AppliedError       // an error although the write was applied
	Partly             // an error; a part was applied, the rest comes late or never
	DiesBefore         // the process dies before the call takes effect
	DiesAfter          // the process dies after the call has taken effect
	DiesLate           // the process dies, the write arrives later
	numFaults
	Unsent // the caller's context had ended before
)

var faultNames = [...]string{"none", "refused", "unknown-lost", "unknown-late", "unknown-applied",
	"partly", "before", "applied then died", "died, late", "", "unsent"}

func (f Fault) String() string { return faultNames[f] }

// Faults sets how often each fault happens in a schedule.
type Faults struct {
	Budget  int    // remaining faults
	Chance  uint64 // in 1024, for each call
	Crashes int    // remaining crashes
	Stall   uint64 // in 1024: a call takes long
	Reads   bool   // reads fail too
	Outage  uint64 // in 1024: a write that fails is the first of several
}

// slowAnswer is the chance, in 1024, that the answers of replicas take long.
const slowAnswer = 64

// slowCall is the chance, in 1024, that a call of a slow task takes long.
const slowCall = 400

var errStore = errors.New("simulated store: no answer")

// draw decides the fault of the next call.
func (c *Client) draw(write, conditional bool) Fault {
	n := c.calls
	c.calls++
	if c.inject != nil {
		return c.inject(n)
	}
	f, s := &c.st.faults, c.st.s
	if c.outage > 0 && write && !c.calm {
		c.outage--
		return [...]Fault{Refused, Lost, Late, AppliedError}[s.pick(4)]
	}
	if c.calm || f.Budget <= 0 || !s.chance(f.Chance) {
		return NoFault
	}
	fault := Fault(1 + s.pick(int(numFaults)-1))
	switch fault {
	case DiesBefore, DiesAfter, DiesLate:
		if f.Crashes <= 0 {
			return NoFault
		}
		f.Crashes--
	case Partly:
		if conditional {
			fault = AppliedError
		}
	}
	if !write {
		switch {
		case fault == DiesBefore, fault == DiesAfter, fault == DiesLate:
			fault = DiesBefore
		case !f.Reads:
			return NoFault
		default:
			fault = Refused
		}
	}
	f.Budget--
	if write && s.chance(f.Outage) {
		c.outage = 1 + s.pick(12)
	}
	return fault
}

// begin starts a call of the store, while other tasks run. cause is the error that the caller gets
// if the call fails.
func (c *Client) begin(ctx context.Context, call string, write, conditional bool, m *message) (fault Fault, cause error) {
	c.a.check()
	if err := ctx.Err(); err != nil {
		return Unsent, err
	}
	if c.record != nil {
		c.record(call)
	}
	s := c.st.s
	fault = c.draw(write, conditional)
	if fault != NoFault {
		c.st.struck++
	}
	s.note(uint64(len(call))<<8 | uint64(fault))
	t := s.current
	t.sending = m
	if d := c.stall(ctx, t, conditional); d == 0 {
		s.giveWay(t)
	} else if c.a.block(ctx, d); ctx.Err() != nil {
		// The caller gives up. Its request may still arrive.
		c.st.struck++
		c.st.givenUp++
		fault, cause = Refused, ctx.Err()
		if write {
			fault = [...]Fault{Lost, Late, AppliedError}[s.pick(3)]
		}
	}
	t.sending = nil
	if c.st.Trace != nil {
		c.st.tracef("%s task %d: %s%s", c.a.name, t.id, call, faultSuffix(fault))
	}
	if cause == nil {
		cause = errStore
	}
	return fault, cause
}

// outlasting is the chance, in 1024, that a slow call takes longer than its caller
// waits for it.
const outlasting = 200

// stall returns how much longer than usual a call takes, mostly 0.
func (c *Client) stall(ctx context.Context, t *task, conditional bool) time.Duration {
	if c.calm {
		return 0
	}
	s, chance := c.st.s, c.st.faults.Stall
	if conditional {
		// Calls that go through consensus wait for others.
		chance *= 4
	}
	if t.slow && s.slow > 0 {
		chance = slowCall
	}
	if !s.chance(chance) {
		return 0
	}
	if at, ok := ctx.Deadline(); ok && s.chance(outlasting) {
		return max(at.Sub(epoch)-s.now, 0) + time.Second
	}
	return time.Duration(1 + s.pick(1<<s.pick(35)))
}

func faultSuffix(f Fault) string {
	if f == NoFault {
		return ""
	}
	return " [" + f.String() + "]"
}

// end ends a call; one that failed may have taken long.
func (c *Client) end(failed bool) {
	s := c.st.s
	if failed && s.chance(300) {
		s.wait(s.current, time.Duration(1+s.pick(3000))*time.Millisecond)
		return
	}
	s.giveWay(s.current)
}

// read runs a read.
func (c *Client) read(ctx context.Context, call string, look func()) error {
	if c.a == nil {
		c.immediately(call, look)
		return ctx.Err()
	}
	fault, cause := c.begin(ctx, call, false, false, nil)
	switch fault {
	case NoFault:
		look()
		if c.replicated() && c.st.s.chance(slowAnswer) {
			c.st.s.wait(c.st.s.current, time.Duration(1+c.st.s.pick(1<<c.st.s.pick(30))))
		}
	case Unsent:
		return cause
	case DiesBefore, DiesAfter, DiesLate:
		c.a.Crash()
	default:
		c.end(true)
		return cause
	}
	c.end(false)
	return nil
}

// write runs a write. rest, if it is set, is the second part of a write that is atomic only in
// its parts; partition is set for conditional writes.
func (c *Client) write(ctx context.Context, call, partition string, apply, rest func()) error {
	both := apply
	if rest != nil {
		both = func() { apply(); rest() }
	}
	if c.a == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.immediately(call, both)
		return nil
	}
	m := &message{call: call, partition: partition, apply: both}
	conditional := partition != ""
	problem, cause := c.begin(ctx, call, true, conditional, m)
	switch problem {
	case NoFault:
		both()
		c.end(false)
		return nil
	case Unsent:
		return cause
	case Late, DiesLate:
		c.st.late = append(c.st.late, m)
	case AppliedError, DiesAfter:
		both()
	case Partly:
		c.partly(m, apply, rest)
	}
	if problem == DiesBefore || problem == DiesAfter || problem == DiesLate {
		c.a.Crash()
	}
	c.end(true)
	if conditional && problem != Refused {
		return fault.Uncertain(cause)
	}
	return cause
}

// partly applies one part of a write; the other part arrives late or never.
func (c *Client) partly(m *message, apply, rest func()) {
	if rest == nil {
		return
	}
	s := c.st.s
	if s.chance(512) {
		apply, rest = rest, apply
	}
	apply()
	if s.chance(512) {
		c.st.late = append(c.st.late, &message{call: m.call, apply: rest})
	}
}
