package simulator

import (
	"context"
	"fmt"
	"time"

	"carrel/core/commit"
	"carrel/principal"
)

// client makes operations one after the other, through one process. If that dies
// it may continue through another one.
type client struct {
	queue   []*Operation
	readers int
	running bool
	p       *process
}

// process creates a simulated gateway, whose clock may be off.
func (r *run) process(name string) *process {
	s := r.s
	skew := time.Duration(0)
	switch s.pick(3) {
	case 0:
		skew = time.Duration(s.pick(2_000_000)-1_000_000) * time.Nanosecond
	case 1:
		skew = time.Duration(s.pick(6_000)-3_000) * time.Millisecond
	}
	if r.apart > 0 && s.chance(512) {
		skew -= r.apart
	}
	a := s.NewActor(fmt.Sprintf("%s%d", name, len(r.procs)+1), skew, []uint64{0, 64}[s.pick(2)])
	a.deadlines = r.deadlines
	p := &process{a: a, c: NewClient(r.st, a), announces: len(r.followers) > 0 || r.pasteFollowers > 0, copies: r.copies,
		linger: 2 * r.copies.MaxAge}
	if r.copies.Bytes > 0 {
		p.watch = copyWatcher{r: r}
	}
	r.procs = append(r.procs, p)
	return p
}

// start lets a client start or continue through a process: a new one, or one that serves others
// already.
func (r *run) start(c *client) {
	p := r.gateway()
	c.p, c.running = p, true
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

// gateway returns a live process that serves another client, or a new one.
func (r *run) gateway() *process {
	chance := uint64(400)
	if r.together {
		chance = 700
	}
	if r.s.chance(chance) {
		for _, c := range r.users {
			if c.p != nil && !c.p.a.dead {
				return c.p
			}
		}
	}
	return r.process("gateway")
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
	if o.lease != nil {
		r.aim(p, o)
	}
	if o.page != nil {
		r.look(p, o)
	}
	if o.paste != nil {
		r.aimPaste(p, o)
	}
	if isAboutNames(r.seed) {
		r.aimName(p, o)
	}
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
		r.st.tracef("%s starts %v", p.a.name, o)
		o.call(ctx, p, r.s)
		r.st.tracef("%s ends %v: %v", p.a.name, o, o.err)
		if o.lease != nil {
			r.leaseAnswered(o)
		}
		if o.paste != nil {
			r.pasteAnswered(o)
		}
		if o.outcome != uncertain || o.key == nil {
			break
		}
	}
	// Without read repair, the read that answers a repetition may show what the next read does not.
	if o.outcome == answered && o.content != "" && r.st.repairs {
		r.hist.answered(o)
	}
	if o.concerning {
		r.st.checkAnswer(r.hist, o, r.report)
	}
	r.s.current.op = nil
}

// walk reads a library while others write.
func (r *run) walk(p *process) {
	s := r.s
	viewers := []principal.ID{"", ann, bob, cid}
	w := &reader{view: view{viewer: viewers[s.pick(4)], owner: r.w.principals[s.pick(len(r.w.principals))]}}
	w.drawOrder(s)
	r.awaitExpiry(p)
	if r.copies.Bytes > 0 {
		w.owner = r.w.principals[s.pick(2)] // was read before
		if s.chance(400) {
			r.pauseReader(p)
		}
	}
	w.calm = r.calm()
	if w.read(r.ctx, p, 1+s.pick(3)) == nil {
		r.walks = append(r.walks, w)
	}
}

// awaitExpiry waits, in some cases, until an item has just expired or is about to: until the item
// is deleted, readers must hide it themselves.
func (r *run) awaitExpiry(p *process) {
	for _, c := range r.st.contents {
		if c.header.State != commit.Live || c.header.ExpiresAt == nil {
			continue
		}
		rest := c.header.ExpiresAt.Time().Sub(p.a.clock())
		if rest > -time.Second && rest < 30*time.Second && r.s.chance(700) {
			_ = p.a.After(r.ctx, rest+time.Duration(r.s.pick(1000)-100)*time.Millisecond)
			return
		}
	}
}

// recoverer is a process that takes over all lists a few times, without waiting for their
// owners to be dead.
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
