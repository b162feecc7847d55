package listing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Library reads a page of the owner's library, with what v may see of it.
func (s *Service) Library(ctx context.Context, v *principal.Viewer, owner principal.ID,
	q library.LibraryQuery) (*library.LibraryConnection, error) {
	args, err := q.Resolve()
	if err != nil {
		return nil, err
	}
	filter, err := s.conditions(q.Filter)
	if err != nil {
		return nil, err
	}
	if s.items.InFlightLists() != nil && !s.people.Paging.Shown(v, owner) {
		// Prefetch reads the in-flight lists before the slice. Once they are read, the owner may be
		// served from a copy.
		s.Prefetch(ctx, v, owner, q)
	}
	for range commit.MaxTries {
		conn, asMember, err := s.libraryPage(ctx, v, owner, args, filter, &q)
		if err != nil || !asMember {
			return conn, err
		}
		// The page was chosen by the viewer's groups, which were read before it.
		if still, err := s.people.Paging.StillIn(ctx, v, owner); err != nil || still {
			return conn, err
		}
	}
	return nil, sched.ErrQueueFull
}

// libraryPage is one try of Library. asMember reports that the viewer reads the library as a member of the
// owner.
func (s *Service) libraryPage(ctx context.Context, v *principal.Viewer, owner principal.ID, args cursor.Page,
	filter *conditions, q *library.LibraryQuery) (conn *library.LibraryConnection, asMember bool, err error) {
	h, err := s.people.VisiblePrincipal(ctx, v, owner)
	if err != nil {
		return nil, false, err
	}
	r, err := s.start(ctx, v, h.ID, q)
	if err != nil {
		return nil, false, err
	}
	if s.remote && !q.NoEntries {
		r.ahead = prefetchesOf(v).take(pageKeyOf(owner, args, q, filter))
	}
	from, err := r.decode(args.Cursor)
	if err != nil {
		return nil, false, err
	}
	conn = &library.LibraryConnection{Bucket: r.Bucket, Owner: owner}
	if q.NoEntries {
		return conn, false, nil
	}
	if err := r.applyFilter(ctx, filter); err != nil {
		return nil, false, err
	}
	return conn, r.AsOwner && v.User != owner, r.page(ctx, conn, args, from, q)
}

// LibraryCount counts the bucket that the connection reads, before the check
// of each entry.
func (s *Service) LibraryCount(ctx context.Context, c *library.LibraryConnection) (library.Count, error) {
	if err := s.requireBuilt(ctx, c.Owner); err != nil {
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
func (s *Service) requireBuilt(ctx context.Context, owner principal.ID) error {
	built, err := s.libraries.Built(ctx, owner)
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

// A reading reads one page: who reads which library, and how.
type reading struct {
	*library.Reading
	s      *Service
	v      *principal.Viewer
	order  cursor.Order
	filter *conditions // nil: all that the viewer may see is shown
	// until is the newest position of the walk; nil if it has no bound.
	until *clock.Instant
	// moved is the time since which deferred moves may bring an item that the walk has shown to a
	// position within the bound; 0 if the walk has shown no item whose move was deferred.
	moved clock.Instant
	// ahead is the prefetch of the first slice; nil: there is none.
	ahead *prefetch
	// inFlight is the set of changes that were in flight before the first slice was read. If it is
	// nil, the set is unknown and all headers are read.
	inFlight *commit.InFlightSet
	// inFlightRead is the read of inFlight, for which reads of principals wait; nil if none does.
	inFlightRead *commit.InFlightRead
}

// start determines which part of owner's library the viewer reads, and in which order. It reads no
// entries.
func (s *Service) start(ctx context.Context, v *principal.Viewer, owner principal.ID, q *library.LibraryQuery) (*reading, error) {
	r, err := s.library.StartReading(ctx, v, owner, q)
	if err != nil {
		return nil, err
	}
	order := cursor.Ascending
	if q.Descending {
		order = cursor.Descending
	}
	return &reading{Reading: r, s: s, v: v, order: order}, nil
}

// decode decodes the cursor that the page starts from, with its bound; nil without one.
func (r *reading) decode(cursor *string) (*library.EntryKey, error) {
	if cursor == nil {
		return nil, nil
	}
	p, err := r.s.library.Seals.Open(r.Binding, r.order, *cursor)
	if err != nil {
		return nil, err
	}
	if p.Bounded {
		r.until, r.moved = &p.Bound, p.Moved
	}
	return &library.EntryKey{Position: p.At, Content: library.ContentID(p.ID)}, nil
}

// page reads the page into conn.
func (r *reading) page(ctx context.Context, conn *library.LibraryConnection, args cursor.Page, from *library.EntryKey,
	q *library.LibraryQuery) error {
	w, err := r.read(ctx, args, from, q)
	if err != nil {
		return err
	}
	more := w.end == budget || w.behind() || len(w.found) > args.Size
	shown := w.found[:min(len(w.found), args.Size)]
	r.boundWalk(w, shown)
	other := false
	if q.OtherSide && from != nil {
		if other, err = r.otherSide(ctx, w, *from, shown, args.Size); err != nil {
			return err
		}
	}
	edges := r.edges(w, shown)
	if q.WithPermissions {
		if err := r.fillPermissions(ctx, shown, edges); err != nil {
			return err
		}
	}
	first, last := r.ends(w, from, edges)
	if args.Backward {
		slices.Reverse(edges)
		conn.PageInfo = cursor.PageInfo{HasNextPage: other, HasPreviousPage: more, Start: last, End: first}
	} else {
		conn.PageInfo = cursor.PageInfo{HasNextPage: more, HasPreviousPage: other, Start: first, End: last}
	}
	conn.Edges = make([]*library.LibraryEdge, len(edges))
	for i, e := range edges {
		conn.Edges[i] = &e.LibraryEdge
	}
	return nil
}

// readings is how often a page is read whose items move while it is read.
const readings = 3

// read runs the scan that fills the page. It reads the page again if items have moved meanwhile and
// do not fit into it: then most are found at their new positions, and follow on the next page.
func (r *reading) read(ctx context.Context, args cursor.Page, from *library.EntryKey, q *library.LibraryQuery) (w *scan, err error) {
	for n := range readings {
		if n > 0 {
			r.ahead, r.inFlight = nil, nil
		}
		w = r.walk(args, from, q)
		if err = r.open(ctx, w); err == nil {
			err = r.run(ctx, w)
		}
		if err != nil || !w.behind() {
			break
		}
	}
	return w, err
}

// walk returns the scan that fills the page.
func (r *reading) walk(args cursor.Page, from *library.EntryKey, q *library.LibraryQuery) *scan {
	w := &scan{
		newer:  args.Backward == q.Descending,
		from:   from,
		want:   args.Size + 1,
		budget: readBudget(args.Size),
	}
	w.fresh = from == nil && !w.newer
	switch {
	case r.filter != nil:
		w.budget, w.texts, w.batch = MaxFilterScan, maxFilterTexts, firstFilterBatch
	case r.merged():
		// The viewer's items may be many, and few of them in the owner's library.
		w.budget, w.texts, w.batch = MaxFilterScan, maxFilterTexts, w.want+sliceSlack
	}
	return w
}

// readBudget returns how many entries a page may scan. Without a limit, a page of a library
// with many entries that the viewer may not see could take any time.
func readBudget(size int) int { return 5*size + 50 }

// open reads the first slice of the page. The same round trip returns whether the library is
// complete and, for a walk towards newer entries, the newest position of the bucket (see
// boundWalk).
func (r *reading) open(ctx context.Context, w *scan) error {
	q, any := r.sliceOf(w)
	if !any {
		w.end = r.last(w)
		return r.s.requireBuilt(ctx, r.Owner)
	}
	begins := r.begins(w)
	o, err := r.opening(ctx, q, begins)
	if err == nil && !o.Built {
		if err := r.s.missing(ctx, r.Owner); err != nil {
			return err
		}
		// This reads the bound after the in-flight lists, so copies must not be used (see openLibrary).
		r.inFlight = nil
		if o, err = r.openFirst(ctx, q, begins); err == nil && !o.Built {
			return BeingRebuilt(ErrNotRebuilt)
		}
	}
	if err != nil {
		return fmt.Errorf("open library: %w", err)
	}
	r.took(w, q.Limit, o.Entries)
	if begins && o.Newest != nil {
		w.newest = o.Newest.Position
	}
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
func (r *reading) boundWalk(w *scan, shown []finding) {
	deferred := func(f finding) bool { return f.rows.Header.Position != f.rows.Header.LastModified }
	if w.newer && r.moved == 0 && slices.ContainsFunc(shown, deferred) {
		r.moved = r.ReadAt
	}
	if !r.begins(w) {
		return
	}
	until := w.newest
	for i := range shown {
		until = max(until, shown[i].at.Position)
	}
	r.until = &until
}

// begins reports whether the walk gets its bound with its first slice.
func (r *reading) begins(w *scan) bool { return w.newer && r.until == nil }

// opening returns what the store returns for a library together with its first slice, which may
// have been prefetched. A library that was not complete then may be complete by now: the result
// must be current.
func (r *reading) opening(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	if r.ahead != nil {
		if _, err := r.s.rt.Wait(ctx, r.ahead.done, 0); err != nil {
			return nil, err
		}
		if o := r.ahead.result(); o != nil && o.source == r.Source && (o.err != nil || o.opening.Built) {
			r.ReadAt, r.inFlight = o.readAt, o.inFlight
			return o.opening, o.err
		}
	}
	return r.openLibrary(ctx, q, newest)
}

// otherSide reports whether there is anything to see on the side from which the walk came.
//
// A filtered page has scanned everything between the cursor and its first edge, and has one
// budget for both sides.
func (r *reading) otherSide(ctx context.Context, w *scan, from library.EntryKey, shown []finding, size int) (bool, error) {
	back := &scan{newer: !w.newer, want: 1, budget: readBudget(size)}
	if r.filter != nil || r.merged() {
		back.budget, back.texts, back.batch = w.budget, w.texts, firstFilterBatch
	}
	if len(shown) > 0 && r.filter == nil {
		back.from = &shown[0].at
	} else {
		// The entry of the cursor itself is on the other side of an empty page.
		back.from, back.skipTo = outermost(&from, back.newer), &from
	}
	err := r.run(ctx, back)
	return back.end == budget || back.behind() || len(back.found) > 0, err
}

// outermost returns a key from which a walk reads every entry of k's position.
func outermost(k *library.EntryKey, newer bool) *library.EntryKey {
	if newer {
		return &library.EntryKey{Position: k.Position}
	}
	return &library.EntryKey{Position: k.Position + 1}
}

// pageEdge is an edge with the data of its cursor, which is sealed when it is requested.
type pageEdge struct {
	library.LibraryEdge
	r         *reading
	at        library.EntryKey
	unbounded bool
}

// AppendCursor implements cursor.Cursor.
func (e *pageEdge) AppendCursor(b []byte) []byte { return e.r.appendCursor(b, e.at, e.unbounded) }

// cursor seals a position of this reading.
func (r *reading) cursor(at library.EntryKey, unbounded bool) string {
	return string(r.appendCursor(nil, at, unbounded))
}

func (r *reading) appendCursor(b []byte, at library.EntryKey, unbounded bool) []byte {
	p := cursor.Position{Order: r.order, At: at.Position, ID: string(at.Content), Read: r.ReadAt}
	if r.until != nil && !unbounded {
		p.Bounded, p.Bound, p.Moved = true, *r.until, r.moved
	}
	return r.s.library.Seals.AppendSeal(b, r.Binding, p)
}

// edges returns the edges of the findings shown, in the order of the walk.
//
// If the walk has reached its end, the last cursor contains no bound: with such a cursor a client
// gets what has moved since. If the last edge is an item that was found at another position, that
// cursor is the last entry scanned. A cursor of its new position would skip items that have moved
// to positions before it.
func (r *reading) edges(w *scan, shown []finding) []*pageEdge {
	slab := make([]pageEdge, len(shown))
	edges := make([]*pageEdge, len(shown))
	for i := range shown {
		e := &slab[i]
		e.Node = &shown[i].rows.Header.Content
		e.Role = shown[i].rows.Members[0].Role
		e.r, e.at = r, shown[i].at
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
func (r *reading) ends(w *scan, from *library.EntryKey, edges []*pageEdge) (first, last func() string) {
	switch {
	case len(edges) > 0:
		first, last = edges[0].Cursor, edges[len(edges)-1].Cursor
	case w.end == budget:
		first = func() string { return r.cursor(*w.first, false) }
	case w.behind() && w.want > 1:
		first = func() string { return r.cursor(w.last, false) }
		last = first
	case from != nil:
		first = func() string { return r.cursor(*from, true) }
		last = first
	}
	if w.end == budget {
		last = func() string { return r.cursor(w.last, false) }
	}
	return first, last
}

// fillPermissions sets the viewer's permissions on each edge, from the rows that the page has
// read.
func (r *reading) fillPermissions(ctx context.Context, shown []finding, edges []*pageEdge) error {
	rows := make([]*library.ContentRows, len(shown))
	for i, f := range shown {
		rows[i] = f.rows
	}
	found, err := r.Permissions(ctx, rows)
	if err != nil {
		return err
	}
	for i := range found {
		edges[i].Permissions = &found[i]
	}
	return nil
}
