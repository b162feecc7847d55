package listing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// LibraryCount counts the bucket that the connection reads, before the check
// of each entry.
func (s *Service) LibraryCount(ctx context.Context, c *library.LibraryConnection) (library.Count, error) {
	if c.Owner == "" {
		return library.Count{Exact: true}, nil
	}
	if err := s.requireBuilt(ctx, c.Owner, library.ByChange); err != nil {
		return library.Count{}, err
	}
	n, err := s.libraries.CountLibrary(ctx, c.Owner, c.Bucket, library.MaxCount+1)
	if err != nil {
		return library.Count{}, fmt.Errorf("count library: %w", err)
	}
	if n > library.MaxCount {
		return library.Count{Value: library.MaxCount}, nil
	}
	return library.Count{Value: n, Exact: true}, nil
}

// requireBuilt prevents a lost library from being read as an empty one. It starts the rebuild of
// such a library, and returns UNAVAILABLE if that takes long.
func (s *Service) requireBuilt(ctx context.Context, owner principal.ID, o library.Order) error {
	built, err := s.libraries.Built(ctx, owner, o)
	if err != nil {
		return fmt.Errorf("read library: %w", err)
	}
	if built {
		return nil
	}
	return s.missing(ctx, owner)
}

// RebuildRetryAfter is the number of seconds after which a reader of a library that is being
// rebuilt may retry.
const RebuildRetryAfter = 5

// ErrNotRebuilt is the cause of an UNAVAILABLE error while a library is being rebuilt.
var ErrNotRebuilt = errors.New("the rebuild is not done yet")

// BeingRebuilt returns the error for readers of a library that is missing.
func BeingRebuilt(cause error) *fault.Error {
	return &fault.Error{Code: fault.Unavailable, RetryAfter: RebuildRetryAfter, Err: cause,
		Msg: "this library is being rebuilt; try again in a few seconds"}
}

// page is one page that is being read: which one, who reads it, and how far the reading is.
type page struct {
	s      *Service
	v      *principal.Viewer
	owner  principal.ID
	q      library.LibraryQuery
	args   cursor.Page
	filter *conditions // nil: all that the viewer may see is shown

	// If open is called in the background, opened opens when that call is done. It has returned err,
	// or panicked.
	opened        sched.Latch
	err, panicked error

	// What open sets. from is where the page starts; nil: at the end.
	*library.Reading
	from *library.EntryKey
	// until is the newest position of the walk; nil if it has no bound.
	until *clock.Instant
	// moved is the time since which deferred moves may bring an item that the walk has shown to a
	// position within the bound; 0 if the walk has shown no item whose move was deferred.
	moved clock.Instant
	// w is the scan that fills the page, and built whether the library was complete.
	w     *scan
	built bool
	// unbuilt are the owners of libraries that the page reads and that may be incomplete, unless built is set.
	unbuilt []principal.ID
	// inFlight is the set of changes that were in flight before the first slice was read. If it is
	// nil, the set is unknown and all headers are read.
	inFlight *commit.InFlightSet
	// inFlightRead is the read of inFlight, for which reads of principals wait; nil if none does.
	inFlightRead *commit.InFlightRead
}

// order is the order of the page's cursors.
func (p *page) order() cursor.Order {
	order := cursor.Ascending
	if p.q.Descending {
		order = cursor.Descending
	}
	if p.q.Order == library.ByTitle {
		order += cursor.TitleAscending - cursor.Ascending
	}
	return order
}

// decode decodes the cursor that the page starts from, with its bound.
func (p *page) decode() error {
	if p.args.Cursor == nil {
		return nil
	}
	c, err := p.s.library.Seals.Open(p.Binding, p.order(), *p.args.Cursor)
	if err != nil {
		return err
	}
	if c.Bounded {
		p.until, p.moved = &c.Bound, c.Moved
	}
	p.from = &library.EntryKey{Position: c.At, Title: c.TitleKey, Content: library.ContentID(c.ID)}
	return nil
}

// fill reads the page into conn.
func (p *page) fill(ctx context.Context, conn *library.LibraryConnection) error {
	if err := p.scan(ctx); err != nil {
		return err
	}
	w, size := p.w, p.args.Size
	more := w.end == budget || w.behind() || len(w.found) > size
	shown := w.found[:min(len(w.found), size)]
	p.boundWalk(shown)
	other, err := p.otherSide(ctx, shown)
	if err != nil {
		return err
	}
	edges := p.edges(shown)
	if p.q.WithPermissions {
		if err := p.fillPermissions(ctx, shown, edges); err != nil {
			return err
		}
	}
	first, last := p.ends(edges)
	if p.args.Backward {
		slices.Reverse(edges)
		conn.PageInfo = cursor.PageInfo{HasNextPage: other, HasPreviousPage: more, Start: last, End: first}
	} else {
		conn.PageInfo = cursor.PageInfo{HasNextPage: more, HasPreviousPage: other, Start: first, End: last}
	}
	conn.Edges = make([]*library.LibraryEdge, len(edges))
	for i, e := range edges {
		conn.Edges[i] = &e.LibraryEdge
	}
	w.found, w.moved, w.pending = nil, nil, nil // the cursors keep the page, which needs no more of them
	return nil
}

// boundWalk sets the bound of a walk towards newer entries that starts with this page: the newest
// position that the bucket had when the page was opened. Without a bound, the walk would return an
// item that changes meanwhile a second time. The page itself is read beyond the bound, because a
// move between two reads of the page would hide the item from both. The bound then is the last
// position of the page.
//
// A deferred move goes to the older position of the last change, which may be within the bound. So
// the cursors after an item whose move is deferred also have the time of the reading (see
// dropMoved).
func (p *page) boundWalk(shown []finding) {
	deferred := func(f finding) bool { return f.rows.Header.Position != f.rows.Header.LastModified }
	if p.w.newer && p.moved == 0 && slices.ContainsFunc(shown, deferred) {
		p.moved = p.ReadAt
	}
	if !p.begins() {
		return
	}
	until := p.w.newest
	for i := range shown {
		until = max(until, shown[i].at.Position)
	}
	p.until = &until
}

// begins reports whether the walk gets its bound with its first slice.
func (p *page) begins() bool { return p.w.newer && p.until == nil }

// otherSide reports whether there is anything to see on the side from which the walk came, if that
// was asked.
//
// A filtered page has scanned everything between the cursor and its first edge, and has one
// budget for both sides.
func (p *page) otherSide(ctx context.Context, shown []finding) (bool, error) {
	if !p.q.OtherSide || p.from == nil {
		return false, nil
	}
	w := p.w
	back := &scan{ascending: !w.ascending, want: 1, budget: readBudget(p.args.Size)}
	back.newer = back.ascending && p.q.Order == library.ByChange
	if p.filter != nil || p.merged() {
		back.budget, back.texts, back.batch = w.budget, w.texts, firstFilterBatch
	}
	if len(shown) > 0 && p.filter == nil {
		back.from = &shown[0].at
	} else {
		// The entry of the cursor itself is on the other side of an empty page.
		back.from, back.skipTo = outermost(p.from, back.ascending), p.from
	}
	err := p.run(ctx, back)
	return back.end == budget || back.behind() || len(back.found) > 0, err
}

// outermost returns a key from which a walk reads every entry of k's position or title.
func outermost(k *library.EntryKey, ascending bool) *library.EntryKey {
	o := &library.EntryKey{Position: k.Position, Title: k.Title}
	switch {
	case ascending:
	case k.Title != "":
		o.Title += "\x01" // no other key is between them
	default:
		o.Position++
	}
	return o
}

// pageEdge is an edge with the data of its cursor, which is sealed when it is requested.
type pageEdge struct {
	library.LibraryEdge
	page      *page
	at        library.EntryKey
	unbounded bool
}

// AppendCursor implements cursor.Cursor. The cursor of an item that the viewer sees has its title, which is shorter than
// its key.
func (e *pageEdge) AppendCursor(b []byte) []byte {
	return e.page.appendCursor(b, e.at, collation.Beginning(e.OrderTitle), e.unbounded)
}

// cursor seals a position of the library.
func (p *page) cursor(at library.EntryKey, unbounded bool) string {
	return string(p.appendCursor(nil, at, "", unbounded))
}

func (p *page) appendCursor(b []byte, at library.EntryKey, title string, unbounded bool) []byte {
	c := cursor.Position{Order: p.order(), At: at.Position, ID: string(at.Content), Read: p.ReadAt}
	switch {
	case at.Title == "":
	case title != "":
		c.Title = title
	default:
		c.TitleKey = at.Title
	}
	if p.until != nil && !unbounded {
		c.Bounded, c.Bound, c.Moved = true, *p.until, p.moved
	}
	return p.s.library.Seals.AppendSeal(b, p.Binding, c)
}

// edges returns the edges of the findings shown, in the order of the walk.
//
// If the walk has reached its end, the last cursor contains no bound: with such a cursor a client
// gets what has moved since. If the last edge is an item that was found at another position, that
// cursor is the last entry scanned. A cursor of its new position would skip items that have moved
// to positions before it.
func (p *page) edges(shown []finding) []*pageEdge {
	w := p.w
	slab := make([]pageEdge, len(shown))
	edges := make([]*pageEdge, len(shown))
	for i := range shown {
		e := &slab[i]
		e.Node = &shown[i].rows.Header.Content
		e.Role = shown[i].rows.Members[0].Role
		e.Position, e.OrderTitle = shown[i].rows.Header.Position, shown[i].rows.Header.OrderTitle()
		e.page, e.at, e.TitleKey = p, shown[i].at, shown[i].at.Title
		e.SealedCursor = e
		edges[i] = e
	}
	if n := len(shown); n > 0 && w.newer && w.end > budget && !w.behind() {
		slab[n-1].unbounded = true
		if shown[n-1].elsewhere {
			slab[n-1].at = w.last
		}
	}
	return edges
}

// ends returns the cursors of both ends of the page, in the order of the walk.
//
// An empty page returns the position from which it was requested, without a bound, so that a
// client can continue from there; nil if it was requested without a cursor. If the budget ended
// the page early, the last cursor is the last entry scanned, even if the page shows nothing.
// The same applies if all items that follow have moved: from an earlier cursor, a client would
// scan their former entries again and again.
func (p *page) ends(edges []*pageEdge) (first, last func() string) {
	w := p.w
	switch {
	case len(edges) > 0:
		first, last = edges[0].Cursor, edges[len(edges)-1].Cursor
	case w.end == budget:
		first = func() string { return p.cursor(*w.first, false) }
	case w.behind() && w.want > 1:
		first = func() string { return p.cursor(w.last, false) }
		last = first
	case p.from != nil:
		first = func() string { return p.cursor(*p.from, true) }
		last = first
	}
	if w.end == budget {
		last = func() string { return p.cursor(w.last, false) }
	}
	return first, last
}

// fillPermissions sets the viewer's permissions on each edge, from the rows that the page has
// read.
func (p *page) fillPermissions(ctx context.Context, shown []finding, edges []*pageEdge) error {
	rows := make([]*library.ContentRows, len(shown))
	for i, f := range shown {
		rows[i] = f.rows
	}
	found, err := p.Permissions(ctx, rows)
	if err != nil {
		return err
	}
	for i := range found {
		edges[i].Permissions = &found[i]
	}
	return nil
}
