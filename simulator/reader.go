package simulator

import (
	"context"
	"slices"

	"carrel/library"
)

// page is one page that a reader was shown.
type page struct {
	viewer, owner library.PrincipalID // no viewer: anonymous
	start, end    int
	items         []library.ContentID
}

// reader walks through a library in pages of one, by one of the ways.
type reader struct {
	viewer, owner library.PrincipalID
	descending    bool
	pages         []page
	// calm are the items that nothing was under way of when the walk began: they
	// must be in it, unless they change meanwhile.
	calm []library.ContentID
}

// read makes the walk. A newest-first walk must never show an item twice.
func (r *reader) read(ctx context.Context, svc *library.Service, s *Scheduler, size int) error {
	var after *string
	for range 8 {
		// Each page is a request of its own: a viewer keeps who it is for one.
		v := &library.Viewer{User: r.viewer}
		q := library.LibraryQuery{Descending: r.descending}
		q.First, q.After = &size, after
		p := page{viewer: r.viewer, owner: r.owner, start: s.steps}
		if len(r.pages)%2 == 0 {
			// Resolvers do so for every page whose owner is still to be read.
			svc.Prefetch(ctx, v, r.owner, q)
		}
		conn, err := svc.Library(ctx, v, r.owner, q)
		if err != nil {
			return err
		}
		p.end = s.steps
		for _, e := range conn.Edges {
			p.items = append(p.items, e.Node.ID)
		}
		r.pages = append(r.pages, p)
		if !conn.PageInfo.HasNextPage {
			return nil
		}
		if after = conn.PageInfo.EndCursor(); after == nil {
			return nil
		}
	}
	return nil
}

// items are what the walk showed, in order.
func (r *reader) items() []library.ContentID {
	var all []library.ContentID
	for _, p := range r.pages {
		all = append(all, p.items...)
	}
	return all
}

// check judges what a reader was shown by the history.
func (r *reader) check(h *History, report func(kind, format string, args ...any)) {
	for _, p := range r.pages {
		for i, id := range p.items {
			if slices.Contains(p.items[:i], id) {
				report(wrongPage, "%q saw %s twice on one page of %s", p.viewer, id, p.owner)
			}
			if !h.mayHaveSeen(&p, id) {
				report(wrongPage, "%q saw %s in the library of %s in steps %d to %d, which it never might then", p.viewer, id, p.owner, p.start, p.end)
			}
		}
	}
	all := r.items()
	for _, id := range r.calm {
		if !slices.Contains(all, id) && h.mustHaveSeen(r, id) {
			report(wrongPage, "%q was not shown %s in the library of %s in steps %d to %d, though nothing of it was under way",
				r.viewer, id, r.owner, r.pages[0].start, r.pages[len(r.pages)-1].end)
		}
	}
	slices.Sort(all)
	if r.descending && len(slices.Compact(slices.Clone(all))) != len(all) {
		report(wrongPage, "%q saw %v in one newest-first walk of %s", r.viewer, r.items(), r.owner)
	}
}

// mayHaveSeen tells whether the viewer might be shown the item in the owner's
// library at some moment while the page was read.
func (h *History) mayHaveSeen(p *page, id library.ContentID) bool {
	states := h.of(id).during(p.start, p.end)
	for i := range states {
		st := &states[i]
		if st.header.State != library.Live || st.role(p.owner) == library.NoRole {
			continue
		}
		if h.sees(p, st) {
			return true
		}
	}
	return false
}

// mustHaveSeen tells whether the item was all the same, and to be shown, from
// the first page of a walk to the last.
func (h *History) mustHaveSeen(r *reader, id library.ContentID) bool {
	all := page{viewer: r.viewer, owner: r.owner, start: r.pages[0].start, end: r.pages[len(r.pages)-1].end}
	return len(h.of(id).during(all.start, all.end)) == 1 &&
		len(h.ofPrincipal(r.owner).during(all.start, all.end)) == 1 && h.mayHaveSeen(&all, id)
}

// sees is BEHAVIOUR.md section 2 for libraries, in its own words: the owner and
// its group's members see all, the tenant what is LOGGEDIN of the tenant's own,
// everybody what is PUBLIC.
func (h *History) sees(p *page, st *contentState) bool {
	switch {
	case st.header.Visibility == library.Public:
		return true
	case p.viewer == "":
		return false
	case p.viewer == p.owner:
		return true
	}
	for _, g := range h.ofPrincipal(p.owner).during(p.start, p.end) {
		if g.role(p.viewer) != library.NotInGroup {
			return true
		}
	}
	return st.header.Visibility == library.LoggedIn &&
		tenant(string(p.viewer)) == tenant(string(p.owner)) && tenant(string(p.owner)) == tenant(string(st.header.ID))
}
