package simulator

import (
	"slices"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/library"
)

// resumeWalks lets clients continue from where their walks towards newer entries ended. They
// must be shown what has moved since: the last cursor of a walk has no bound. Nothing is in
// flight.
func (r *run) resumeWalks(p *process) {
	for _, w := range r.walks {
		if !w.towardsNewer() || !w.ended || w.next == nil {
			continue
		}
		moved := r.movedSince(w)
		if len(moved) == 0 {
			continue
		}
		r.m.reached("walk that goes on after its end")
		again := &reader{view: w.view, descending: w.descending, backward: w.backward, next: w.next}
		err := again.read(r.ctx, p, cursor.DefaultPageSize)
		if fault.ReasonOf(err) == fault.ReasonBadCursor {
			continue // it reads another bucket by now
		}
		if err != nil {
			r.report(wrongPage, "resuming a walk of %v: %v", w.view, err)
			continue
		}
		for _, id := range moved {
			if !slices.Contains(again.items(), id) {
				r.report(wrongPage, "%v resumed a walk at its end and saw %v, not %s, which has moved since", w.view, again.items(), id)
			}
		}
	}
}

// movedSince returns the items that the reader must see now and whose positions are
// newer than all that existed when its walk ended.
func (r *run) movedSince(w *reader) []library.ContentID {
	now := readPage{view: w.view, start: r.s.steps, end: r.s.steps}
	newest := r.hist.newest(w.last())
	var moved []library.ContentID
	for _, c := range r.st.contents {
		if c.header.State == commit.Live && c.header.Position > newest && c.header.ExpiresAt == nil && r.hist.mayHaveSeen(&now, c.id) {
			moved = append(moved, c.id)
		}
	}
	return moved
}

// resumeEndedWalks resumes the walks through the last process.
func (r *run) resumeEndedWalks() {
	p := r.procs[len(r.procs)-1]
	if !slices.ContainsFunc(r.walks, func(w *reader) bool {
		return w.towardsNewer() && w.ended && w.next != nil && len(r.movedSince(w)) > 0
	}) {
		return
	}
	r.do(p, "the walks that go on", func() { r.resumeWalks(p) })
}
