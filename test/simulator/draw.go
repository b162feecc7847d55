package simulator

import (
	"time"

	"carrel/library"
)

// draw decides the kind of schedule.
func (r *run) draw() {
	s := r.s
	users, slow := 1+s.pick(3), uint64(0)
	r.drawTuning()
	readers := 2
	switch s.pick(20) {
	case 0, 1, 2, 3, 4, 5:
		// Several clients change the same few rows again and again, none of them fast.
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
		// A few principals are renamed again and again.
		users, slow = 2+s.pick(2), []uint64{0, 300}[s.pick(2)]
		r.ops = r.w.plan(s, 4, 8, names[:])
	case 10, 11:
		// Several clients share one item at once, through few processes: their shares wait
		// together and are decided together.
		users, slow, r.together = 3+s.pick(3), []uint64{0, 300}[s.pick(2)], true
		r.w.crowded, r.w.contents = true, r.w.contents[:1]
		r.ops = r.w.plan(s, 5, 9, shares[:])
	case 12:
		// Items expire while they are read.
		users, readers, r.w.soon = 2+s.pick(2), 4, 1000
		r.ops = r.w.plan(s, 2, 4, ends[:])
	case 13:
		users, slow = r.drawDeletions()
	default:
		most := 6
		if r.w.crowded {
			most = 9 // many of them are refused
		}
		r.ops = r.w.plan(s, 2, most, kinds[:])
	}
	r.drawFaults()
	if !r.unfollowed {
		r.drawFollowers()
	}
	s.slow = slow
	for range users {
		r.users = append(r.users, &client{readers: s.pick(readers)})
	}
	r.assign(0)
}

// assign adds users, and gives each operation to one of all users.
func (r *run) assign(users int) {
	for range users {
		r.users = append(r.users, &client{})
	}
	for _, o := range r.ops {
		c := r.users[r.s.pick(len(r.users))]
		c.queue = append(c.queue, o)
	}
}

// drawDeletions draws deletions of users and groups, and changes that share items with them.
func (r *run) drawDeletions() (users int, slow uint64) {
	s := r.s
	users, slow = 2+s.pick(3), []uint64{0, 300}[s.pick(2)]
	r.w.focus, r.unfollowed = bob, true
	r.ops = r.w.plan(s, 5, 9, gone[:])
	return users, slow
}

func (r *run) drawTuning() {
	s := r.s
	r.tune = library.Tuning{SnapshotPage: 1 + s.pick(2), FanOutWidth: 1 + s.pick(3)}
	if s.chance(350) {
		// Every item is hot from its first or second move on.
		r.tune.HotMoves = 1 + s.pick(2)
		r.tune.HotPause = time.Duration(1+s.pick(60_000)) * time.Millisecond
	}
	if s.chance(200) {
		r.tune.MaxUnsettled = 1 + s.pick(3)
	}
	if s.chance(200) {
		// The fan-outs of a process wait for one another.
		r.tune.ProcessWidth = 1 + s.pick(2)
	}
}

// drawFaults draws what goes wrong; recoverers are processes that take over all lists, even of
// live processes.
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
		// Processes die while others take over what they have in flight.
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
