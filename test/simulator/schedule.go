package simulator

import (
	"context"
	"fmt"
	"time"

	"carrel/headercache"
	"carrel/library"
)

// Machine runs schedules, one after another, and reuses memory between them.
type Machine struct {
	s  *Scheduler
	st *Store
	// Following is the chance, in 1024, that somebody follows libraries.
	Following uint64
	// Trace, if it is set, is called with every step.
	Trace func(format string, args ...any)
	// Played counts schedules, Steps their steps, Commits the states decided, and Faulty the
	// schedules with faults.
	Played, Steps, Commits, Faulty int
	// Reached counts what has happened in them.
	Reached map[string]int
}

// leaseShare: the seeds that it divides are those of schedules about the keys of leases, and about
// nothing else. Of leaseShare consecutive seeds, one is about texts, one about pastes, and one about unique names.
const leaseShare = 8

// isAboutLibraries reports whether a seed is that of a schedule about libraries.
func isAboutLibraries(seed uint64) bool {
	return seed%leaseShare != 0 && !isAboutPages(seed) && !isAboutPastes(seed) && !isAboutNames(seed)
}

// someFollow is the usual chance that libraries are followed. It is low, because such
// schedules take several times as long as others.
const someFollow = 100

// NewMachine returns a Machine.
func NewMachine() *Machine {
	s := NewScheduler()
	return &Machine{s: s, st: NewStore(s), Following: someFollow}
}

// Close releases what the Machine keeps.
func (m *Machine) Close() { m.s.Close() }

// TraceHash returns the hash of the trace of the last schedule.
func (m *Machine) TraceHash() uint64 { return m.s.TraceHash() }

// run is one schedule.
type run struct {
	m     *Machine
	ctx   context.Context
	seed  uint64
	s     *Scheduler
	st    *Store
	hist  *History
	w     world
	ops   []*Operation
	tune  library.Tuning
	procs []*process
	users []*client
	walks []*reader
	// followers have copies of libraries that they keep up to date.
	followers []*follower
	// drained is the step at which processes began to drain; 0: none did.
	drained int
	// lateness is the chance, in 1024, that a late write arrives at a step.
	lateness   uint64
	recoverers int
	// scrubs: a process looks for texts that no row refers to, while others write.
	scrubs bool
	// deadlines: the product's own deadlines end what takes long.
	deadlines bool
	// brisk: clients pause about as long as background work.
	brisk bool
	// together: clients prefer a process that serves others.
	together bool
	// apart is how far the clocks of some processes are behind those of others.
	apart time.Duration
	// unfollowed: nobody follows a library.
	unfollowed bool
	// impatient is the chance, in 1024, that at a step some client gives up.
	impatient uint64
	leave     []context.CancelFunc
	// ending: the operations have ended, and no new faults begin.
	ending bool
	// leases are those that clients were given.
	leases []*granted
	// pastes are those whose secrets clients have received.
	pastes []*pasted
	// pasteFollowers is how many follow the public pastes, and followings are all of them.
	pasteFollowers int
	followings     []*pasteFollower
	// watched is the operation whose calls are counted from its start, at which onWatch is called.
	watched *Operation
	onWatch func(*Client)
	// after is what an operator does once everything was recovered.
	after func(ctx context.Context, p *process) error
	// copies says how pages are served from copies of headers; most schedules have none.
	copies headercache.Config
	found  []Violation
}

func (r *run) report(kind, format string, args ...any) {
	r.found = append(r.found, Violation{r.seed, kind, fmt.Sprintf(format, args...)})
}

// Play runs the schedule of a seed and returns the violations at its end.
func (m *Machine) Play(ctx context.Context, seed uint64) []Violation {
	build, draw := (*Store).build, (*run).draw
	switch {
	case seed >= copiesFrom:
		build, draw = (*Store).buildForCopies, (*run).drawCopies
	case seed%leaseShare == 0:
		build, draw = (*Store).buildForLeases, (*run).drawLeases
	case isAboutPages(seed):
		build, draw = (*Store).buildForPages, (*run).drawPages
	case isAboutNames(seed):
		build, draw = (*Store).buildForNames, (*run).drawNames
	case isAboutPastes(seed):
		build, draw = (*Store).buildForLeases, (*run).drawPastes
	}
	r := m.begin(ctx, seed, build)
	draw(r)
	r.play()
	m.Played++
	m.Steps += m.s.steps
	r.count()
	for _, c := range r.hist.contents {
		m.Commits += len(c.states) - 1
	}
	return r.found
}

// begin makes the world of a seed.
func (m *Machine) begin(ctx context.Context, seed uint64, build func(*Store, *Scheduler) world) *run {
	m.s.Reset(seed)
	m.st.Reset()
	m.st.Trace = m.Trace
	r := &run{m: m, ctx: ctx, seed: seed, s: m.s, st: m.st, hist: &History{s: m.s}}
	m.st.history = r.hist
	r.hist.latest = r.latestClock
	r.w = build(m.st, m.s)
	r.hist.replicated = len(m.st.replicas) > 0
	r.hist.monotonic = !r.hist.replicated || m.st.repairs
	m.s.Between = r.between
	m.s.Orphaned = func(msg *message) {
		if m.s.chance(512) {
			m.st.late = append(m.st.late, msg)
		}
	}
	if err := r.fillFeeds(); err != nil {
		r.report(defect, "filling the feeds: %v", err)
	}
	return r
}

// play runs the schedule: the operations with all faults, then quiescence, then the checks.
func (r *run) play() {
	s := r.s
	for _, c := range r.users {
		r.start(c)
	}
	for range r.recoverers {
		r.recoverer()
	}
	if r.scrubs {
		r.scrubber()
	}
	r.restartFollowers()
	for range r.pasteFollowers {
		r.followPastes(nil)
	}
	if !r.until("the operations", r.idle) {
		return
	}
	r.ending, s.jump, s.slow = true, 0, 0
	r.lateness = max(r.lateness, 4)
	r.st.faults = Faults{}
	for _, p := range r.procs {
		p.c.outage = 0
	}
	r.awaitPastes()
	switch s.pick(5) {
	case 0, 1:
		r.live(0)
		r.awaitFollowers()
	case 2:
		r.drain()
	}
	r.clear()
	r.reconnectFollowers()
	if !r.seen(noEnd, defect) {
		r.verify()
	}
}

// until runs to a condition; an error on the way is a violation.
func (r *run) until(what string, done func() bool) bool {
	if err := r.s.Run(done); err != nil {
		kind := noEnd
		if r.s.failure != nil {
			kind = defect
		}
		r.report(kind, "%s: %v", what, err)
		return false
	}
	return true
}

// between runs between steps of tasks: late writes arrive, and clients of dead processes choose
// a new one.
func (r *run) between() {
	if n := len(r.st.late); n > 0 && r.s.chance(r.lateness) {
		r.st.arrive(r.s.pick(n))
	}
	if len(r.leave) > 0 && r.s.chance(r.impatient) {
		r.leave[len(r.leave)-1]()
		r.leave = r.leave[:len(r.leave)-1]
		r.s.wakeEnded()
		r.st.struck++
	}
	if r.ending {
		return
	}
	for _, c := range r.users {
		if len(c.queue) > 0 && c.p.a.dead {
			if r.s.chance(256) {
				c.queue = nil
				continue
			}
			r.start(c)
		}
	}
	for _, f := range r.followers {
		if f.p.a.dead && r.s.chance(64) {
			r.restartFollowers()
		}
	}
}

// idle reports whether all clients have ended.
func (r *run) idle() bool {
	for _, c := range r.users {
		if c.running && !c.p.a.dead || len(c.queue) > 0 {
			return false
		}
	}
	return true
}
