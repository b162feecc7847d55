package simulator

import (
	"fmt"
	"time"

	"carrel/library"
)

// judge is the end: what stands, what was answered, what was shown, and what
// the product says of it.
func (r *run) judge() {
	r.st.audit(r.report)
	r.hist.check(r.ops, r.report)
	for _, w := range r.walks {
		w.check(r.hist, r.report)
	}
	for _, f := range r.followers {
		f.check(r.hist, r.report)
	}
	if r.s.chance(128) || len(r.found) > 0 {
		r.compare()
	}
}

// compare has the product audit and read what the judges have judged.
func (r *run) compare() {
	p := r.procs[len(r.procs)-1]
	done := false
	p.a.Spawn(nil, func() {
		defer func() { done = true }()
		rep, err := p.svc.Audit(r.ctx)
		switch wrong := r.seen(wrongLibrary, leftOver); {
		case err != nil:
			r.report(disagreement, "the audit fails: %v", err)
		case rep.Clean() && wrong:
			r.report(disagreement, "the audit finds nothing")
		case !rep.Clean() && !wrong && !r.seen(brokenHeader):
			r.report(disagreement, "the audit finds %+v", *rep)
		}
		if len(r.found) == 0 && !r.expiring() {
			r.readAll(p)
		}
	})
	r.until("the audit", func() bool { return done })
}

// seen tells whether a violation of one of the kinds was found.
func (r *run) seen(kinds ...string) bool {
	for _, v := range r.found {
		for _, k := range kinds {
			if v.Kind == k {
				return true
			}
		}
	}
	return false
}

// expiring tells whether an item ends about now, so that clocks differ on it.
func (r *run) expiring() bool {
	for _, c := range r.st.contents {
		if at := c.header.ExpiresAt; at != nil && epoch.Add(r.s.now).Sub(at.Time()).Abs() < 10*time.Second {
			return true
		}
	}
	return false
}

// readAll pages through each library as its owner and as anybody, and compares
// with the headers.
func (r *run) readAll(p *process) {
	for _, owner := range r.w.principals {
		for _, viewer := range []library.PrincipalID{owner, ""} {
			if viewer != "" && viewer.IsGroup() {
				viewer = ann
			}
			w := &reader{viewer: viewer, owner: owner, descending: r.s.chance(512)}
			if err := w.read(r.ctx, p.svc, r.s, 1+r.s.pick(2)); err != nil {
				r.report(wrongPage, "reading the library of %s as %q: %v", owner, viewer, err)
				continue
			}
			if want := r.expect(w); fmt.Sprint(want) != fmt.Sprint(w.items()) {
				r.report(wrongPage, "%q saw %v in the library of %s, not %v", viewer, w.items(), owner, want)
			}
		}
	}
}

// expect is what a walk must show when nothing changes.
func (r *run) expect(w *reader) []library.ContentID {
	now := page{viewer: w.viewer, owner: w.owner, start: r.s.steps, end: r.s.steps}
	var found []*contentPart
	for _, c := range r.st.contents {
		if r.hist.mayHaveSeen(&now, c.id) && c.header.Exists(library.InstantOf(epoch.Add(r.s.now))) {
			i := 0
			for i < len(found) && (found[i].header.Position < c.header.Position) != w.descending {
				i++
			}
			found = append(found[:i], append([]*contentPart{c}, found[i:]...)...)
		}
	}
	ids := make([]library.ContentID, len(found))
	for i, c := range found {
		ids[i] = c.id
	}
	return ids
}
