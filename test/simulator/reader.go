package simulator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// readPage is one page that a reader was shown.
type readPage struct {
	view
	start, end int
	// from is the serving process's clock when the page was requested.
	from  time.Time
	items []library.ContentID // in the order of the walk
	shown []shownItem         // the same
	more  bool                // it reported that the walk continues
	other bool                // it reported that there is something on the other side
	// unbounded: it reported that a walk towards newer entries continues, with a cursor that has no
	// bound.
	unbounded bool
	// people are principals that the request has read, too.
	people []shownPrincipal
}

// shownPrincipal is what a request has shown of a principal.
type shownPrincipal struct {
	id    principal.ID
	shown *principal.Header // nil: nothing
}

// of reports whether this is what is shown of a state. All principals are PUBLIC.
func (p *shownPrincipal) of(s *principalState) bool {
	if p.shown == nil {
		return s.header.State != commit.Live
	}
	return s.header.State == commit.Live && s.header.DisplayName == p.shown.DisplayName
}

// shownItem is what a page has shown of an item.
type shownItem struct {
	node  library.Content
	role  library.ContentRole // of the library's owner
	at    clock.Instant
	title string // by which it is ordered
}

// of reports whether this is what a page shows of a state.
func (i *shownItem) of(owner principal.ID) func(*contentState) bool {
	return func(s *contentState) bool {
		a, b := &i.node, &s.header
		return a.Title == b.Title && a.Visibility == b.Visibility && a.Version == b.Version && a.LastModified == b.LastModified &&
			a.CanonicalURL == b.CanonicalURL && (a.ExpiresAt == nil) == (b.ExpiresAt == nil) &&
			(a.ExpiresAt == nil || *a.ExpiresAt == *b.ExpiresAt) && i.role == s.role(owner) &&
			i.at == b.Position && i.title == orderTitle(b) && describes(a) == describes(&b.Content)
	}
}

// reader walks through a library, page by page, in one of the orders and directions.
type reader struct {
	view
	// descending is newest first, or by title from the last one; backward pages with last and before.
	byTitle, descending, backward bool
	// counts: the reader requests the number of entries of the bucket.
	counts bool
	pages  []readPage
	count  library.Count
	bucket library.Bucket
	// next is the cursor from which a client continues; nil: from the beginning.
	next *string
	// ended: the last page reported that the walk is over.
	ended bool
	// calm are the items of which nothing was in flight when the walk started: they must be in it,
	// unless they change meanwhile.
	calm []library.ContentID
}

// ascending reports whether the walk goes to newer entries, or to greater titles.
func (r *reader) ascending() bool { return r.descending == r.backward }

// towardsNewer reports whether the walk goes to newer entries: then its cursors contain a
// bound.
func (r *reader) towardsNewer() bool { return r.ascending() && !r.byTitle }

// drawOrder draws the order and direction in which a reader walks, and what else it requests.
func (r *reader) drawOrder(s *Scheduler) {
	r.descending, r.backward = s.chance(600), s.chance(300)
	r.shared, r.counts = s.chance(128), s.chance(64)
	r.byTitle, r.filtered = s.chance(400), s.chance(64)
	if s.chance(128) {
		r.viewer, r.admin = boss, true
	}
}

// query returns the page that a client requests next.
func (r *reader) query(size int) library.LibraryQuery {
	q := library.LibraryQuery{Descending: r.descending, IncludeShared: r.shared, OtherSide: r.counts}
	if r.byTitle {
		q.Order = library.ByTitle
	}
	if text := filterText; r.filtered {
		q.Filter = &library.LibraryFilter{Text: &text}
	}
	if r.backward {
		q.Last, q.Before = &size, r.next
	} else {
		q.First, q.After = &size, r.next
	}
	return q
}

// read makes the walk, or continues it.
func (r *reader) read(ctx context.Context, p *process, size int) error {
	for range 8 {
		// Each page is a request of its own, and needs a new Viewer, which keeps what one request
		// has resolved.
		v := &principal.Viewer{User: r.viewer, Admin: r.admin}
		q := r.query(size)
		shown := readPage{view: r.view, start: p.a.s.steps, from: p.a.clock()}
		clockSet := p.a.setBack
		if len(r.pages)%2 > 0 {
			// The executor reads the owner first; otherwise the page is opened meanwhile.
			if _, err := people(ctx, p, v, r.owner); err != nil {
				return err
			}
		}
		conn, err := p.page(ctx, v, r.owner, q)
		if err != nil {
			return err
		}
		if shown.people, err = readPeople(ctx, p, v); err != nil {
			return err
		}
		if p.a.setBack != clockSet {
			shown.from = time.Time{}
		}
		if r.bucket = conn.Bucket; r.counts && len(r.pages) == 0 {
			if r.count, err = inTime(ctx, p, func(ctx context.Context) (library.Count,
				error) {
				return p.svc.Listing.LibraryCount(ctx, conn)
			}); err != nil {
				return err
			}
		}
		shown.end = p.a.s.steps
		for _, e := range conn.Edges {
			shown.items = append(shown.items, e.Node.ID)
			shown.shown = append(shown.shown, shownItem{*e.Node, e.Role, e.Position, e.OrderTitle})
		}
		next := conn.PageInfo.EndCursor()
		shown.more, shown.other = conn.PageInfo.HasNextPage, conn.PageInfo.HasPreviousPage
		if r.backward {
			slices.Reverse(shown.items)
			slices.Reverse(shown.shown)
			next = conn.PageInfo.StartCursor()
			shown.more, shown.other = shown.other, shown.more
		}
		shown.unbounded = shown.more && r.towardsNewer() && next != nil && r.unbounded(p, conn.Bucket, *next)
		p.c.st.tracef("%s shows %v: %v in steps %d to %d, more: %v", p.a.name, r.view, shown.items, shown.start, shown.end, shown.more)
		r.pages = append(r.pages, shown)
		r.next = next
		if !shown.more {
			r.ended = true
			return nil
		}
		if next == nil {
			return nil
		}
	}
	return nil
}

// people reads principals.
func people(ctx context.Context, p *process, v *principal.Viewer, ids ...principal.ID) ([]principal.Principal, error) {
	return inTime(ctx, p, func(ctx context.Context) ([]principal.Principal, error) { return p.svc.People.Principals(ctx, v, ids) })
}

// readPeople reads principals as a request reads the creators of the items of its page.
func readPeople(ctx context.Context, p *process, v *principal.Viewer) ([]shownPrincipal, error) {
	if p.copies.Bytes == 0 {
		return nil, nil
	}
	ids := []principal.ID{ann, bob}
	found, err := people(ctx, p, v, ids...)
	if err != nil {
		return nil, err
	}
	people := make([]shownPrincipal, len(ids))
	for i, id := range ids {
		people[i].id = id
		if found[i] != nil {
			people[i].shown = found[i].Head()
		}
	}
	return people, nil
}

// unbounded reports whether a cursor has no bound.
func (r *reader) unbounded(p *process, bucket library.Bucket, sealed string) bool {
	order := cursor.Ascending
	if r.descending {
		order = cursor.Descending
	}
	position, err := p.svc.Library.Seals.Open(cursor.Binding(cursor.OfLibrary, library.ClassOf(bucket, r.shared), string(r.owner)),
		order, sealed)
	return err == nil && !position.Bounded
}

// items returns what the walk showed, in its order.
func (r *reader) items() []library.ContentID {
	var all []library.ContentID
	for _, p := range r.pages {
		all = append(all, p.items...)
	}
	return all
}

// shown returns what the walk showed of the items.
func (r *reader) shown() []shownItem {
	var all []shownItem
	for _, p := range r.pages {
		all = append(all, p.shown...)
	}
	return all
}

// compareTitles compares two items in the order of titles in which the reader walks.
func (r *reader) compareTitles(a, b shownItem) int {
	if !r.ascending() {
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(collation.Of(a.title), collation.Of(b.title)), cmp.Compare(a.node.ID, b.node.ID))
}

// last returns the step at which the walk ended.
func (r *reader) last() int { return r.pages[len(r.pages)-1].end }

// check compares what a reader was shown with the history.
func (r *reader) check(h *History, report func(kind, format string, args ...any)) {
	for _, p := range r.pages {
		if p.unbounded {
			report(wrongPage, "%v walks on without a bound after %v", p.view, p.items)
		}
		for i, id := range p.items {
			if slices.Contains(p.items[:i], id) {
				report(wrongPage, "%v saw %s twice on one page", p.view, id)
			}
			if !h.mayHaveSeen(&p, id) {
				report(wrongPage, "%v saw %s in steps %d to %d, when it was not allowed to see it", p.view, id, p.start, p.end)
			} else if !h.mayHaveSeenAs(&p, id, p.shown[i].of(p.owner)) {
				report(wrongPage, "%v saw %s in steps %d to %d as it was not then: %+v", p.view, id, p.start, p.end, p.shown[i])
			}
		}
	}
	r.checkPeople(h, report)
	all := r.items()
	for _, id := range r.calm {
		if !slices.Contains(all, id) && h.mustHaveSeen(r, id) {
			report(wrongPage, "%v was not shown %s in steps %d to %d, though nothing of it was under way",
				r.view, id, r.pages[0].start, r.last())
		}
	}
	for i, id := range all {
		if slices.Contains(all[:i], id) && !h.mayComeAgain(r, id) {
			report(wrongPage, "%v saw %v in one walk (by title %v, descending %v, backward %v)", r.view, all, r.byTitle, r.descending, r.backward)
		}
	}
	if r.byTitle && !slices.IsSortedFunc(r.shown(), r.compareTitles) {
		report(wrongPage, "%v saw the titles in another order (descending %v, backward %v): %+v", r.view, r.descending, r.backward, r.shown())
	}
}

// checkPeople checks that each principal was shown as it was at some moment of the request.
func (r *reader) checkPeople(h *History, report func(kind, format string, args ...any)) {
	for _, page := range r.pages {
		for _, p := range page.people {
			states := h.ofPrincipal(p.id).during(page.start, page.end)
			if !slices.ContainsFunc(states, func(s principalState) bool { return p.of(&s) }) {
				report(wrongPage, "%v saw %s in steps %d to %d as it was not then: %+v", page.view, p.id, page.start, page.end, p.shown)
			}
		}
	}
}

// mayComeAgain reports whether one walk may show an item twice. Towards newer entries it may, if the
// item has moved to a position that is not beyond the bound: a clock that is behind, and a change
// that another process plans before the walk and decides during it, can make it do so. Towards older
// entries it may on a store without read repair, if a page has shown a state that a quorum of the
// replicas did not have until a later page began: that page may read the former state, at its
// position. By title it may if the item is renamed meanwhile.
func (h *History) mayComeAgain(r *reader, id library.ContentID) bool {
	states := h.of(id).during(r.pages[0].start, r.last())
	switch {
	case r.byTitle:
		former := orderTitle(&states[0].header)
		return slices.ContainsFunc(states[1:], func(s contentState) bool { return orderTitle(&s.header) != former })
	case !r.towardsNewer():
		return !h.monotonic && h.mayBeReadBackwards(r, id)
	}
	bound := h.newest(r.pages[0].start)
	return slices.ContainsFunc(states[1:], func(s contentState) bool { return s.header.Position <= bound })
}

// mayBeReadBackwards reports whether the first page that shows the item may have read a state of it
// that the last such page need not have read.
func (h *History) mayBeReadBackwards(r *reader, id library.ContentID) bool {
	first, last := -1, -1
	for i, p := range r.pages {
		if slices.Contains(p.items, id) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return slices.ContainsFunc(h.of(id).states, func(s contentState) bool {
		return s.step <= r.pages[first].end && s.seen > r.pages[last].start
	})
}

// newest returns the newest position that any item has had up to a step.
func (h *History) newest(step int) clock.Instant {
	var newest clock.Instant
	for _, c := range h.contents {
		for i := range c.states {
			if c.states[i].step <= step {
				newest = max(newest, c.states[i].header.Position)
			}
		}
	}
	return newest
}
