package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// verify checks the end of a schedule: the store, the answers, what was shown, and the
// product's own audit.
func (r *run) verify() {
	r.st.audit(r.report)
	r.hist.check(r.ops, r.report)
	r.hist.checkRights(r.ops, r.report)
	r.checkPauses()
	r.checkLeases()
	r.checkPastes()
	r.hist.checkPages(r.ops, r.report)
	for _, w := range r.walks {
		w.check(r.hist, r.report)
	}
	for _, f := range r.followers {
		f.check(r.hist, r.report)
	}
	r.resumeEndedWalks()
	if r.s.chance(128) || len(r.found) > 0 {
		r.compare()
	}
	if r.s.chance(24) && len(r.found) == 0 {
		r.m.reached("copy")
		r.copyStore()
	}
}

// compare runs the product's audit and reads all libraries.
func (r *run) compare() {
	p := r.procs[len(r.procs)-1]
	r.do(p, "the audit", func() {
		rep, err := p.svc.Repair.Audit(r.ctx)
		switch wrong := r.seen(wrongLibrary, leftOver); {
		case err != nil:
			r.report(disagreement, "the audit fails: %v", err)
		case rep.Clean() && wrong:
			r.report(disagreement, "the audit finds nothing")
		case !rep.Clean() && !wrong && !r.seen(brokenHeader, lostKey, wrongLease, wrongText, wrongPaste, wrongFeed):
			r.report(disagreement, "the audit finds %+v", *rep)
		}
		if len(r.found) == 0 && !r.expiring() {
			r.readAll(p)
			r.readNewest(r.ctx, p)
		}
	})
}

// seen reports whether a violation of one of the kinds was found.
func (r *run) seen(kinds ...string) bool {
	return slices.ContainsFunc(r.found, func(v Violation) bool { return slices.Contains(kinds, v.Kind) })
}

// do has a task of a process do something, to its end.
func (r *run) do(p *process, what string, f func()) bool {
	done := false
	p.a.Spawn(nil, func() {
		defer func() { done = true }()
		f()
	})
	return r.until(what, func() bool { return done })
}

// expiring reports whether an item expires about now, so that clocks differ on it.
func (r *run) expiring() bool {
	for _, c := range r.st.contents {
		if at := c.header.ExpiresAt; at != nil && epoch.Add(r.s.now).Sub(at.Time()).Abs() < 10*time.Second {
			return true
		}
	}
	return false
}

// readAll pages through each library as its owner, as an anonymous viewer and as another one, in
// an order that is drawn, and compares the pages with the headers.
func (r *run) readAll(p *process) {
	for _, owner := range r.w.principals {
		if r.st.deleted(owner) {
			_, err := p.page(r.ctx, &principal.Viewer{User: boss, GlobalAdmin: true}, owner, library.LibraryQuery{})
			if fault.CodeOf(err) != fault.NotFound {
				r.report(wrongPage, "the library of %s, which was deleted, is read with %v", owner, err)
			}
			continue
		}
		for _, viewer := range []principal.ID{owner, "", cid} {
			if viewer != "" && viewer.IsGroup() {
				viewer = ann
			}
			w := &reader{view: view{viewer: viewer, owner: owner}}
			w.drawOrder(r.s)
			w.counts = r.s.chance(300)
			if err := w.read(r.ctx, p, 1+r.s.pick(2)); err != nil {
				r.report(wrongPage, "reading %v: %v", w.view, err)
				continue
			}
			r.compareRead(w)
		}
	}
}

// compareRead compares a walk with what it must show when nothing changes.
func (r *run) compareRead(w *reader) {
	if want := r.expect(w); fmt.Sprint(want) != fmt.Sprint(w.items()) {
		r.report(wrongPage, "%v saw %v, not %v", w.view, w.items(), want)
	}
	if !w.counts {
		return
	}
	n := 0
	for _, c := range r.st.library(w.owner).entries {
		if c.live && c.bucket == w.bucket && c.entry.Title == "" {
			n++
		}
	}
	if w.count.Value != n || !w.count.Exact {
		r.report(wrongPage, "%v gets a count of %d entries in %v, there are %d", w.view, w.count.Value, w.bucket, n)
	}
	for i := range w.pages {
		if i > 0 && len(w.items()) > 0 && len(w.pages[i].items) == 0 {
			r.report(wrongPage, "%v reads on page %d that there is more, and then nothing", w.view, i-1)
		}
		if w.pages[i].other != (i > 0) {
			r.report(wrongPage, "%v reads on page %d that there is something before it: %v", w.view, i, w.pages[i].other)
		}
	}
}

// expect returns what a walk must show when nothing changes.
func (r *run) expect(w *reader) []library.ContentID {
	now := readPage{view: w.view, start: r.s.steps, end: r.s.steps}
	var found []*contentPart
	for _, c := range r.st.contents {
		if r.hist.mayHaveSeen(&now, c.id) && c.header.Exists(clock.Of(epoch.Add(r.s.now))) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *contentPart) int {
		key := cmp.Compare(a.header.Position, b.header.Position)
		if w.byTitle {
			key = cmp.Compare(collation.Of(a.header.Title), collation.Of(b.header.Title))
		}
		return cmp.Or(key, cmp.Compare(a.id, b.id))
	})
	if !w.ascending() {
		slices.Reverse(found)
	}
	ids := make([]library.ContentID, len(found))
	for i, c := range found {
		ids[i] = c.id
	}
	return ids
}
