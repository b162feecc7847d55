package simulator

import (
	"fmt"
	"time"

	"carrel/principal"
)

// pasteSeed is the first seed of a schedule about pastes; every leaseShare-th one from there
// on is, too.
const pasteSeed = 6

// isAboutPastes reports whether a seed is that of a schedule about pastes.
func isAboutPastes(seed uint64) bool { return seed%leaseShare == pasteSeed }

// pasteKinds are the operations of such a schedule, with their weights.
var pasteKinds = [...]opKind{opPaste, opPaste, opPaste, opPaste, opEditPaste, opEditPaste, opEditPaste, opEditPaste,
	opEditPaste, opEditPaste,
	opDeletePaste, opReadPaste, opReadPaste, opLatest, opLatest, opLatest}

// untilMidnight is the time from the start of a schedule to midnight, if it starts shortly before.
var untilMidnight = epoch.Add(time.Hour).Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(epoch)

// drawPastes draws the parameters of a schedule about pastes.
func (r *run) drawPastes() {
	s := r.s
	if s.chance(400) {
		// The entries of one schedule are of two days.
		s.now = untilMidnight - time.Duration(s.pick(4000))*time.Millisecond
	}
	r.drawTuning()
	r.ops = planPastes(s, 4+s.pick(9))
	r.drawFaults()
	s.slow = []uint64{0, 300, 300}[s.pick(3)]
	r.brisk = s.chance(700)
	r.together = s.chance(300)
	if s.chance(200) {
		r.pasteFollowers = 1 + s.pick(2)
	}
	r.assign(2 + s.pick(3))
	r.after = r.expirePastes
}

// planPastes draws the operations of a schedule that is about pastes.
func planPastes(s *Scheduler, n int) []*Operation {
	ops := make([]*Operation, n)
	keyed := []uint64{0, 200, 700}[s.pick(3)]
	long, ends := []uint64{0, 400, 1024}[s.pick(3)], []uint64{0, 300, 800}[s.pick(3)]
	for i := range ops {
		o := &Operation{n: i + 1, viewer: []principal.ID{ann, bob, ""}[s.pick(3)], title: fmt.Sprintf("title-%d", i+1), paste: &pasteCall{}}
		if o.kind = pasteKinds[s.pick(len(pasteKinds))]; i == 0 {
			o.kind = opPaste
		}
		c := o.paste
		c.private, c.long = s.chance(300), s.chance(long)
		if s.chance(ends) {
			c.lasts = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, time.Hour}[s.pick(4)]
		}
		switch o.kind {
		case opPaste:
			if s.chance(keyed) && o.viewer != "" {
				o.key = keyFor(i)
			}
		case opEditPaste:
			drawUpdate(s, c)
		case opLatest:
			c.size, c.backward = 1+s.pick(3), s.chance(400)
		default:
			c.foreign = o.kind == opDeletePaste && s.chance(200)
		}
		ops[i] = o
	}
	return ops
}

// drawUpdate draws what an update changes: in most cases whether the paste is public.
func drawUpdate(s *Scheduler, c *pasteCall) {
	c.toggles, c.retitles, c.rewrites, c.postpones = s.chance(700), s.chance(200), s.chance(250), s.chance(250)
	if !c.toggles && !c.retitles && !c.rewrites && !c.postpones {
		c.toggles = true
	}
	c.private = s.chance(512)
	c.foreign = s.chance(60)
	if s.chance(150) {
		n := 1 + s.pick(3)
		c.version = &n
	}
}

// aimPaste decides which paste an operation is about, and waits until shortly before or
// after its end in some cases.
func (r *run) aimPaste(p *process, o *Operation) {
	s, c := r.s, o.paste
	switch {
	case o.kind == opLatest:
		if n := len(r.pastes); n > 0 && s.chance(300) {
			r.awaitPasteEnd(p, r.pastes[s.pick(n)])
		}
		c.calm = r.calmPastes(p)
		return
	case o.kind == opPaste || c.of != nil:
		return
	}
	r.awaitFirst(p, func() bool { return len(r.pastes) > 0 })
	if c.of = neverPasted; len(r.pastes) == 0 {
		return
	}
	c.of = r.pastes[0]
	if s.chance(350) {
		c.of = r.pastes[s.pick(len(r.pastes))]
	}
	if s.chance(300) {
		r.awaitPasteEnd(p, c.of)
	}
}

// awaitPasteEnd waits until about the end of a paste, by the clock of some process.
func (r *run) awaitPasteEnd(p *process, of *pasted) {
	ends := r.hist.ofPaste(of.id).now().expires
	if ends == 0 {
		return
	}
	rest := ends.Time().Sub(r.procs[r.s.pick(len(r.procs))].a.clock())
	if rest <= 0 || rest > time.Minute {
		return
	}
	r.waitAbout(p, rest)
}
