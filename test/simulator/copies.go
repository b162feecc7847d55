package simulator

import (
	"time"

	"carrel/library"
)

// copiesFrom is the first seed of the schedules about pages that are served from copies of
// headers, by a store with three replicas. Those of everything else are below.
const copiesFrom = 1 << 32

// revealing are the operations of such a schedule: those that change what pages show, and whom.
var revealing = [...]opKind{opTitle, opTitle, opTitle, opTitle, opVisibility, opVisibility, opVisibility, opExpire,
	opMembers, opMembers, opShare, opRemove, opDelete}

// copyWatcher counts what is served from copies.
type copyWatcher struct {
	library.Unwatched
	r *run
}

// Copied implements library.Watcher.
func (w copyWatcher) Copied(hits, refused, misses int) {
	for what, n := range map[string]int{"copy served": hits, "copy refused": refused, "no copy": misses} {
		if n > 0 {
			w.r.m.reached(what)
		}
	}
}

// CopyWrong implements library.Watcher: the product's own sampler says so.
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
	r.copies = library.HeaderCache{Size: 1 + s.pick(20), AlwaysOn: true, SampleEvery: 1 + s.pick(6)}
	r.together, r.brisk = true, s.chance(512)
	r.ops = r.w.plan(s, 2, 6, revealing[:])
	r.drawFaults()
	s.slow = []uint64{0, 0, 300}[s.pick(3)]
	writers := 1 + s.pick(2)
	for range writers {
		r.users = append(r.users, &client{readers: 1 + s.pick(2)})
	}
	for _, o := range r.ops {
		c := r.users[s.pick(writers)]
		c.queue = append(c.queue, o)
	}
	for range 1 + s.pick(2) {
		r.users = append(r.users, &client{readers: 3 + s.pick(4)})
	}
}
