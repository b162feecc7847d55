package simulator

import (
	"context"
	"fmt"
	"time"

	"carrel/library"
)

// Machine plays schedules, one after another; what can be used again is.
type Machine struct {
	s  *Scheduler
	st *Store
	// Without is the rule of the protocol that is off.
	Without library.Ablation
	// Following is the chance, in 1024, that somebody follows libraries.
	Following uint64
	// Trace, where set, is told every step.
	Trace func(format string, args ...any)
	// Played counts schedules, Steps their steps, Commits the states decided.
	Played, Steps, Commits, Faulty int
	// Reached counts what has happened in them.
	Reached map[string]int
}

// someFollow is the usual chance that libraries are followed: such schedules
// take several times as long as others.
const someFollow = 100

// NewMachine is a Machine for the protocol without one of its rules;
// library.WholeProtocol is all of it.
func NewMachine(without library.Ablation) *Machine {
	s := NewScheduler()
	return &Machine{s: s, st: NewStore(s), Without: without, Following: someFollow}
}

// Close ends what the Machine keeps.
func (m *Machine) Close() { m.s.Close() }

// TraceHash is that of the last schedule.
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
	// followers keep libraries before their users' eyes.
	followers []*follower
	// lateness is the chance, in 1024, that a late write arrives at a step.
	lateness   uint64
	recoverers int
	// deadlines: what takes long is given up, by the product's own deadlines.
	deadlines bool
	// brisk: clients pause about as long as the background does.
	brisk bool
	// together: clients prefer a process that serves others.
	together bool
	// impatient is the chance, in 1024, that at a step some client gives up.
	impatient uint64
	leave     []context.CancelFunc
	settling  bool
	// watched is the operation whose calls are counted from its beginning on,
	// and onWatch is told when that is.
	watched *Operation
	onWatch func(*Client)
	// after is what an operator does once everything was recovered.
	after func(ctx context.Context, p *process) error
	found []Violation
}

// client makes operations one after the other, through one process; when that
// dies it may go on through the next.
type client struct {
	queue   []*Operation
	readers int
	running bool
	p       *process
}

func (r *run) report(kind, format string, args ...any) {
	r.found = append(r.found, Violation{r.seed, kind, fmt.Sprintf(format, args...)})
}

// Play plays the schedule of a seed and tells what is wrong at its end.
func (m *Machine) Play(ctx context.Context, seed uint64) []Violation {
	r := m.begin(ctx, seed, (*Store).build)
	r.draw()
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
	m.st.Trace, m.st.without = m.Trace, m.Without
	r := &run{m: m, ctx: ctx, seed: seed, s: m.s, st: m.st, hist: &History{s: m.s}}
	m.st.history = r.hist
	r.w = build(m.st, m.s)
	m.s.Between = r.between
	m.s.Orphaned = func(msg *message) {
		if m.s.chance(512) {
			m.st.late = append(m.st.late, msg)
		}
	}
	return r
}

// draw decides what kind of schedule it is.
func (r *run) draw() {
	s := r.s
	users, slow := 1+s.pick(3), uint64(0)
	r.drawTuning()
	readers := 2
	switch s.pick(20) {
	case 0, 1, 2, 3, 4, 5:
		// The same few rows again and again, by several, none of them fast.
		users, slow = 2+s.pick(2), 300
		r.tune.SnapshotPage = 1
		r.w.focus = r.w.principals[1+s.pick(len(r.w.principals)-1)]
		r.ops = r.w.plan(s, 5, 9, churn[:])
	case 6, 7:
		// One item that is hot at once, and cools down while others change it.
		r.tune.HotMoves, r.tune.HotPause = 1, time.Duration(1+s.pick(3000))*time.Millisecond
		r.brisk = true
		users, slow = 1+s.pick(2), 128
		r.ops = r.w.plan(s, 4, 6, moves[:])
	case 8, 9:
		// A few principals are called otherwise again and again.
		users, slow = 2+s.pick(2), []uint64{0, 300}[s.pick(2)]
		r.ops = r.w.plan(s, 4, 8, names[:])
	case 10, 11:
		// Several share one item at once, through few processes: their shares wait
		// together and are decided together.
		users, slow, r.together = 3+s.pick(3), []uint64{0, 300}[s.pick(2)], true
		r.w.crowded, r.w.contents = true, r.w.contents[:1]
		r.ops = r.w.plan(s, 5, 9, shares[:])
	case 12:
		// Items expire while they are read.
		users, readers, r.w.soon = 2+s.pick(2), 4, 1000
		r.ops = r.w.plan(s, 2, 4, ends[:])
	default:
		most := 6
		if r.w.crowded {
			most = 9 // many of them are refused
		}
		r.ops = r.w.plan(s, 2, most, kinds[:])
	}
	r.drawFaults()
	r.drawFollowers()
	s.slow = slow
	for range users {
		r.users = append(r.users, &client{readers: s.pick(readers)})
	}
	for _, o := range r.ops {
		c := r.users[s.pick(len(r.users))]
		c.queue = append(c.queue, o)
	}
}

func (r *run) drawTuning() {
	s := r.s
	r.tune = library.Tuning{SnapshotPage: 1 + s.pick(2), FanOutWidth: 1 + s.pick(3), Without: r.m.Without}
	if s.chance(350) {
		// Every item is hot from its first or second move on.
		r.tune.HotMoves = 1 + s.pick(2)
		r.tune.HotPause = time.Duration(1+s.pick(60_000)) * time.Millisecond
	}
	if s.chance(200) {
		r.tune.MaxUnsettled = 1 + s.pick(3)
	}
}

// drawFaults decides what goes wrong; recoverers are processes that take over
// all lanes, whoever lives.
func (r *run) drawFaults() {
	s := r.s
	s.jump = []uint64{0, 2, 24}[s.pick(3)]
	s.stick = []uint64{0, 512, 900}[s.pick(3)]
	r.lateness = []uint64{4, 32, 128}[s.pick(3)]
	f := Faults{
		Budget: s.pick(6), Chance: []uint64{4, 16, 48}[s.pick(3)], Crashes: s.pick(3),
		Stall: []uint64{0, 8, 48}[s.pick(3)], Reads: s.chance(300), Outage: []uint64{0, 200}[s.pick(2)],
	}
	if s.chance(450) {
		r.recoverers = 1 + s.pick(2)
	}
	if s.chance(256) {
		// Processes that die while others take over what they have under way.
		f.Budget, f.Chance, f.Crashes, f.Stall = 4, 48, 3, 48
		r.recoverers = 2
	}
	if s.chance(128) {
		r.impatient = 64
	}
	r.deadlines = s.chance(700)
	r.st.faults = f
	if f.Budget > 0 {
		r.m.Faulty++
	}
}

// play runs the schedule: the operations with everything that befalls them,
// then quiescence, then the judges.
func (r *run) play() {
	s := r.s
	for _, c := range r.users {
		r.start(c)
	}
	for range r.recoverers {
		r.recoverer()
	}
	r.refollow()
	if !r.until("the operations", r.idle) {
		return
	}
	r.settling, s.jump, s.slow = true, 0, 0
	r.st.faults = Faults{}
	for _, p := range r.procs {
		p.c.outage = 0
	}
	switch s.pick(5) {
	case 0, 1:
		r.live(0)
		r.listen()
	case 2:
		r.drain()
	}
	r.clear()
	r.hearAgain()
	if !r.seen(noEnd, defect) {
		r.judge()
	}
}

// until runs to a condition; what stops it is a violation.
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

// between is what happens beside tasks: late writes arrive, clients of dead
// processes turn to a new one.
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
	if r.settling {
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
			r.refollow()
		}
	}
}

// idle tells whether all clients have ended.
func (r *run) idle() bool {
	for _, c := range r.users {
		if c.running && !c.p.a.dead || len(c.queue) > 0 {
			return false
		}
	}
	return true
}

// process is a simulated gateway.
func (r *run) process(name string) *process {
	s := r.s
	skew := time.Duration(0)
	switch s.pick(3) {
	case 0:
		skew = time.Duration(s.pick(2_000_000)-1_000_000) * time.Nanosecond
	case 1:
		skew = time.Duration(s.pick(6_000)-3_000) * time.Millisecond
	}
	a := s.NewActor(fmt.Sprintf("%s%d", name, len(r.procs)+1), skew, []uint64{0, 64}[s.pick(2)])
	a.deadlines = r.deadlines
	p := &process{a: a, c: NewClient(r.st, a), announces: len(r.followers) > 0}
	r.procs = append(r.procs, p)
	return p
}

// start lets a client begin, or go on, through a process: a new one, or one
// that serves others already.
func (r *run) start(c *client) {
	c.p, c.running = r.shared(), true
	if c.p == nil {
		c.p = r.process("gateway")
	}
	p := c.p
	p.a.Spawn(nil, func() {
		defer func() { c.running = false }()
		if err := p.boot(r.ctx, r.tune); err != nil {
			r.report(noEnd, "%s does not start: %v", p.a.name, err)
			c.queue = nil
			return
		}
		for len(c.queue) > 0 {
			o := c.queue[0]
			if o.key == nil {
				c.queue = c.queue[1:]
			}
			r.operate(p, o)
			if o.key != nil {
				// Kept until it is answered: a client repeats it when its process dies.
				c.queue = c.queue[1:]
			}
		}
		for ; c.readers > 0; c.readers-- {
			r.walk(p)
		}
	})
}

// shared is a living process that serves another client; nil where there is
// none, or where the seed wants a new one.
func (r *run) shared() *process {
	chance := uint64(400)
	if r.together {
		chance = 900
	}
	if !r.s.chance(chance) {
		return nil
	}
	for _, c := range r.users {
		if c.p != nil && !c.p.a.dead {
			return c.p
		}
	}
	return nil
}

// operate makes one operation after a pause; one with a key whose outcome is
// unknown is repeated, as a client would.
func (r *run) operate(p *process, o *Operation) {
	switch {
	case r.brisk:
		_ = p.a.After(r.ctx, time.Duration(r.s.pick(1_500_000))*time.Microsecond)
	case r.s.chance(512):
		_ = p.a.After(r.ctx, time.Duration(r.s.pick(1<<r.s.pick(36)))*time.Nanosecond)
	}
	r.s.current.op = o
	if o == r.watched {
		r.onWatch(p.c)
		r.watched = nil
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	if r.impatient > 0 {
		r.leave = append(r.leave, cancel)
	}
	for range 3 {
		r.st.tracef("%s begins %v", p.a.name, o)
		o.call(ctx, p.svc, r.s)
		r.st.tracef("%s ends %v: %v", p.a.name, o, o.err)
		if o.outcome != uncertain || o.key == nil {
			break
		}
	}
	if o.concerning {
		r.st.checkAnswer(r.hist, o, r.report)
	}
	r.s.current.op = nil
}

// walk reads a library while others write.
func (r *run) walk(p *process) {
	s := r.s
	viewers := []library.PrincipalID{"", ann, bob, cid}
	w := &reader{sight: sight{viewer: viewers[s.pick(4)], owner: r.w.principals[s.pick(len(r.w.principals))]}}
	w.drawWay(s)
	r.awaitExpiry(p)
	w.calm = r.calm()
	if w.read(r.ctx, p, 1+s.pick(3)) == nil {
		r.walks = append(r.walks, w)
	}
}

// awaitExpiry has a reader come when an item has just ended, or is about to:
// until it is deleted, it is the reader who must not show it.
func (r *run) awaitExpiry(p *process) {
	for _, c := range r.st.contents {
		if c.header.State != library.Live || c.header.ExpiresAt == nil {
			continue
		}
		left := c.header.ExpiresAt.Time().Sub(p.a.clock())
		if left > -time.Second && left < 30*time.Second && r.s.chance(700) {
			_ = p.a.After(r.ctx, left+time.Duration(r.s.pick(1000)-100)*time.Millisecond)
			return
		}
	}
}

// recoverer is a process that takes over all lanes without waiting for anybody
// to be dead, a few times.
func (r *run) recoverer() {
	p := r.process("recoverer")
	p.a.Spawn(nil, func() {
		if p.boot(r.ctx, r.tune) != nil {
			return
		}
		for range 1 + r.s.pick(3) {
			_ = p.a.After(r.ctx, time.Duration(r.s.pick(1<<r.s.pick(31)))*time.Nanosecond)
			_ = p.takeOver(r.ctx)
		}
	})
}
