package simulator

import (
	"time"

	"carrel/headercache"
	"carrel/library"
)

// copiesFrom is the first seed of the schedules about pages that are served from copies of
// headers, by a store with three replicas. Those of everything else are below.
const copiesFrom = 1 << 32

// revealing are the operations of such a schedule: those that change what pages show, and whom.
var revealing = [...]opKind{opTitle, opTitle, opTitle, opTitle, opVisibility, opVisibility, opVisibility, opExpire,
	opMembers, opMembers, opShare, opRemove, opDelete}

// renaming are those of a schedule that is about principals.
var renaming = [...]opKind{opUpdateUser, opUpdateUser, opUpdateUser, opUpdateUser, opUpdateUser, opDeleteUser, opTitle, opVisibility}

// copyWatcher counts what is served from copies.
type copyWatcher struct {
	library.Unwatched
	r *run
}

// Copied implements library.Watcher.
func (w copyWatcher) Copied(hits, refused, misses int) {
	w.count(map[string]int{"copy served": hits, "copy refused": refused, "no copy": misses})
}

// CopiedPrincipals implements library.Watcher.
func (w copyWatcher) CopiedPrincipals(hits, refused, misses int) {
	w.count(map[string]int{"copy of a principal served": hits, "copy of a principal refused": refused, "no copy of a principal": misses})
}

func (w copyWatcher) count(happened map[string]int) {
	for what, n := range happened {
		if n > 0 {
			w.r.m.reached(what)
		}
	}
}

// CopyWrong implements library.Watcher: the product's own sampler has found a wrong copy.
func (w copyWatcher) CopyWrong() {
	w.r.report(wrongPage, "the sampler has found a copy that was served and not current")
}

// buildForCopies is build for a store with replicas.
func (st *Store) buildForCopies(s *Scheduler) world {
	w := st.build(s)
	st.replicate()
	st.repairs = s.chance(512)
	return w
}

// drawCopies draws the parameters of a schedule about copies. A few processes serve readers,
// again and again, while others change what they read.
func (r *run) drawCopies() {
	s := r.s
	r.drawTuning()
	if s.chance(300) {
		// Hot items cool down while they are read.
		r.tune.HotMoves, r.tune.HotPause = 1, time.Duration(1+s.pick(3000))*time.Millisecond
	}
	r.copies = headercache.Config{
		Bytes: (1 + s.pick(20)) * 1500, AlwaysOn: true, SampleEvery: 1 + s.pick(6), MaxAge: time.Duration(1+s.pick(6)) * time.Second,
	}
	r.together, r.brisk = true, s.chance(512)
	kinds := revealing[:]
	if s.chance(250) {
		kinds = renaming[:]
	}
	r.ops = r.w.plan(s, 2, 6, kinds)
	for _, o := range r.ops {
		if o.kind == opUpdateUser && s.chance(512) {
			o.group = ann
		}
	}
	r.drawFaults()
	s.slow = []uint64{0, 0, 300}[s.pick(3)]
	for range 1 + s.pick(2) {
		r.users = append(r.users, &client{readers: 1 + s.pick(2)})
	}
	r.assign(0)
	for range 1 + s.pick(2) {
		r.users = append(r.users, &client{readers: 3 + s.pick(4)})
	}
}

// pauseReader has a reader pause, so that copies become old. Some machines are suspended meanwhile,
// and the wall clocks of some are set back. No machine meets both: the age of a copy is right while
// one of the two clocks is.
func (r *run) pauseReader(p *process) {
	d := time.Duration(r.s.pick(1<<r.s.pick(36))) * time.Nanosecond
	switch r.s.pick(8) {
	case 0, 1:
		if p.a.setBack == 0 {
			p.a.suspend(r.ctx, d)
			return
		}
	case 2, 3:
		_ = p.a.After(r.ctx, d)
		if !p.a.wasSuspended {
			p.a.setBackBy(min(d, 10*time.Second))
		}
		return
	}
	_ = p.a.After(r.ctx, d)
}
