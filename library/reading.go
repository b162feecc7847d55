package library

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/principal"
)

// Library reads a page of the owner's library, with what v may see of it.
func (s *Service) Library(ctx context.Context, v *principal.Viewer, owner principal.ID, q LibraryQuery) (*LibraryConnection, error) {
	args, err := q.Resolve()
	if err != nil {
		return nil, err
	}
	filter, err := s.conditions(q.Filter)
	if err != nil {
		return nil, err
	}
	if s.usesCopies() && !s.Shown(v, owner) {
		// The owner may be a copy once it is known what is in flight, before the slice is read.
		s.Prefetch(ctx, v, owner, q)
	}
	h, err := s.VisiblePrincipal(ctx, v, owner)
	if err != nil {
		return nil, err
	}
	r, err := s.StartReading(ctx, v, h.ID, &q)
	if err != nil {
		return nil, err
	}
	if s.remote && !q.NoEntries {
		r.ahead = prefetchesOf(v).take(pageKeyOf(owner, args, &q, filter))
	}
	from, err := r.begin(args.Cursor)
	if err != nil {
		return nil, err
	}
	conn := &LibraryConnection{Bucket: r.Bucket, Owner: owner}
	if q.NoEntries {
		return conn, nil
	}
	if err := r.applyFilter(ctx, filter); err != nil {
		return nil, err
	}
	return conn, r.page(ctx, conn, args, from, &q)
}

// LibraryCount counts the bucket that the connection reads, before the check
// of each entry.
func (s *Service) LibraryCount(ctx context.Context, c *LibraryConnection) (Count, error) {
	if err := s.requireBuilt(ctx, c.Owner); err != nil {
		return Count{}, err
	}
	n, err := s.libraries.CountLibrary(ctx, c.Owner, c.Bucket, MaxCount+1)
	if err != nil {
		return Count{}, fmt.Errorf("count library: %w", err)
	}
	if n > MaxCount {
		return Count{Value: MaxCount}, nil
	}
	return Count{Value: n, Exact: true}, nil
}

// requireBuilt refuses to read a library that was lost as if it were empty. It starts its
// rebuild, and returns UNAVAILABLE if that takes long.
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

var ErrNotRebuilt = errors.New("the rebuild is not done yet")

// BeingRebuilt returns the error for readers of a library that is missing.
func BeingRebuilt(cause error) *fault.Error {
	return &fault.Error{Code: fault.Unavailable, RetryAfter: RebuildRetryAfter, Err: cause,
		Msg: "this library is being rebuilt; try again in a few seconds"}
}

// Reading is what all reads of one page have in common: who reads which library.
type Reading struct {
	s     *Service
	v     *principal.Viewer
	owner principal.ID
	// Bucket is the part of the library that the viewer may read. source is the bucket whose
	// entries are read; it differs from Bucket with includeShared.
	Bucket, source Bucket
	// AsOwner reports that the owner's role on an item is the viewer's too.
	AsOwner bool
	// Members are the principals whose rows are read with each header: the owner, and the viewer
	// if it is signed in, not the owner, and its role matters.
	Members []principal.ID
	order   cursor.Order
	Bound   []byte      // what cursors are bound to
	filter  *conditions // nil: all that the viewer may see is shown
	// until is the newest position of the walk; nil if it has no bound.
	until *clock.Instant
	// ReadAt is when the reading started; it goes into the cursors.
	ReadAt clock.Instant
	// ahead is the prefetch of the first slice; nil: there is none.
	ahead *prefetch
	// inFlight is what was in flight before the first slice was read; nil: unknown, so that all
	// headers are read.
	inFlight *commit.InFlightSet
	// reading is the reading of inFlight, which reads of principals wait for; nil if none does.
	reading *principal.InFlightReading
}

// StartReading determines which part of owner's library the viewer reads, and what is read with
// each item. It reads no entries.
func (s *Service) StartReading(ctx context.Context, v *principal.Viewer, owner principal.ID, q *LibraryQuery) (*Reading, error) {
	bucket, asOwner, err := s.bucketAndWhy(ctx, v, owner)
	if err != nil {
		return nil, err
	}
	r := &Reading{
		s: s, v: v, owner: owner, Bucket: bucket, source: bucket, AsOwner: asOwner,
		order: cursor.Ascending, ReadAt: s.StoreNow(),
		Bound: cursor.Binding(cursor.OfLibrary, ClassOf(bucket, q.IncludeShared), string(owner)),
	}
	if q.Descending {
		r.order = cursor.Descending
	}
	if q.IncludeShared && v.SignedIn() {
		r.source = principal.Private
	}
	r.Members = append(make([]principal.ID, 0, 2), owner)
	if v.SignedIn() && v.User != owner && (q.WithPermissions || r.source == principal.Private && !asOwner) {
		r.Members = append(r.Members, v.User)
	}
	return r, nil
}

// ClassOf returns the class of viewers that share the cursors of a library: the
// bucket that they read, and whether with includeShared.
func ClassOf(b Bucket, includeShared bool) cursor.Class {
	c := cursor.Class(b)
	if includeShared {
		c |= 0x80
	}
	return c
}

// begin decodes the cursor that the page starts from; nil without one.
func (r *Reading) begin(cursor *string) (*EntryKey, error) {
	if cursor == nil {
		return nil, nil
	}
	p, err := r.s.Seals.Open(r.Bound, r.order, *cursor)
	if err != nil {
		return nil, err
	}
	if p.Bounded {
		r.until = &p.Bound
	}
	return &EntryKey{p.At, ContentID(p.ID)}, nil
}

// page reads the page into conn.
func (r *Reading) page(ctx context.Context, conn *LibraryConnection, args cursor.Page, from *EntryKey, q *LibraryQuery) error {
	w := r.walk(args, from, q)
	if err := r.open(ctx, w); err != nil {
		return err
	}
	if err := r.run(ctx, w); err != nil {
		return err
	}
	more := w.cut || w.behind || len(w.found) > args.Size
	shown := w.found[:min(len(w.found), args.Size)]
	r.boundWalk(w, shown)
	other := false
	if q.OtherSide && from != nil {
		var err error
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
	conn.Edges = make([]*LibraryEdge, len(edges))
	for i, e := range edges {
		conn.Edges[i] = &e.LibraryEdge
	}
	return nil
}

// walk returns the scan that fills the page.
func (r *Reading) walk(args cursor.Page, from *EntryKey, q *LibraryQuery) *scan {
	w := &scan{
		newer:  args.Backward == q.Descending,
		from:   from,
		want:   args.Size + 1,
		budget: readBudget(args.Size),
	}
	w.fresh = from == nil && !w.newer
	if r.filter != nil {
		w.budget, w.texts, w.batch = MaxFilterScan, maxFilterTexts, firstFilterBatch
	}
	return w
}

// readBudget returns how many entries a page may scan. Without a limit, a page of a library
// with many entries that the viewer may not see could take any time.
func readBudget(size int) int { return 5*size + 50 }

// open reads the first slice of the page. The same round trip returns whether the library is
// complete and, for a walk towards newer entries, the newest position of the bucket (see
// boundWalk).
func (r *Reading) open(ctx context.Context, w *scan) error {
	q, any := r.sliceOf(w)
	if !any {
		w.ended = true
		return r.s.requireBuilt(ctx, r.owner)
	}
	begins := r.begins(w)
	o, err := r.opening(ctx, q, begins)
	if err == nil && !o.Built {
		if err := r.s.missing(ctx, r.owner); err != nil {
			return err
		}
		if o, err = r.s.libraries.OpenLibrary(ctx, q, begins); err == nil && !o.Built {
			return BeingRebuilt(ErrNotRebuilt)
		}
	}
	if err != nil {
		return fmt.Errorf("open library: %w", err)
	}
	w.took(q.Limit, o.Entries)
	if begins && o.Newest != nil {
		w.newest = o.Newest.Position
	}
	return nil
}

// boundWalk sets the bound of a walk towards newer entries that starts with this page: the
// newest position that the bucket had when the page was opened. Without a bound, the walk would
// return an item again that changes meanwhile. The page itself is read beyond the bound,
// because a move between two reads of the page would hide the item from both. The bound then is
// the last position of the page.
func (r *Reading) boundWalk(w *scan, shown []finding) {
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
func (r *Reading) begins(w *scan) bool { return w.newer && r.until == nil }

// opening returns what the store returns for a library together with its first slice, which may
// have been prefetched. A library that was not complete then may be complete by now: the result
// must be current.
func (r *Reading) opening(ctx context.Context, q Slice, newest bool) (*Opening, error) {
	if r.ahead != nil {
		if _, err := r.s.rt.Wait(ctx, r.ahead.done, 0); err != nil {
			return nil, err
		}
		if o := r.ahead.result(); o != nil && o.source == r.source && (o.err != nil || o.opening.Built) {
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
func (r *Reading) otherSide(ctx context.Context, w *scan, from EntryKey, shown []finding, size int) (bool, error) {
	back := &scan{newer: !w.newer, want: 1, budget: readBudget(size)}
	if r.filter != nil {
		back.budget, back.texts, back.batch = w.budget, w.texts, firstFilterBatch
	}
	if len(shown) > 0 && r.filter == nil {
		back.from = &shown[0].at
	} else {
		// The entry of the cursor itself is on the other side of an empty page.
		back.from, back.skipTo = from.outermost(back.newer), &from
	}
	err := r.run(ctx, back)
	return back.cut || back.behind || len(back.found) > 0, err
}

// outermost returns a key from which a walk reads every entry of k's position.
func (k EntryKey) outermost(newer bool) *EntryKey {
	if newer {
		return &EntryKey{Position: k.Position}
	}
	return &EntryKey{Position: k.Position + 1}
}

// pageEdge is an edge with the data of its cursor, which is sealed when it is requested.
type pageEdge struct {
	LibraryEdge
	r         *Reading
	at        EntryKey
	unbounded bool
}

// AppendCursor implements cursor.Cursor.
func (e *pageEdge) AppendCursor(b []byte) []byte { return e.r.appendCursor(b, e.at, e.unbounded) }

// cursor seals a position of this reading.
func (r *Reading) cursor(at EntryKey, unbounded bool) string {
	return string(r.appendCursor(nil, at, unbounded))
}

func (r *Reading) appendCursor(b []byte, at EntryKey, unbounded bool) []byte {
	p := cursor.Position{Order: r.order, At: at.Position, ID: string(at.Content), Read: r.ReadAt}
	if r.until != nil && !unbounded {
		p.Bounded, p.Bound = true, *r.until
	}
	return r.s.Seals.AppendSeal(b, r.Bound, p)
}

// edges returns the edges of the findings shown, in the order of the walk.
//
// If the walk has reached its end, the last cursor contains no bound: with it a client gets
// what has moved since. If the last edge is an item that was found at another position, that
// cursor is the last entry scanned. Its new position would be too far: other items may have
// moved to positions before it.
func (r *Reading) edges(w *scan, shown []finding) []*pageEdge {
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
	if n := len(shown); n > 0 && w.over {
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
// The same applies if the items that follow have all moved on: what was scanned would lead to
// them again and again.
func (r *Reading) ends(w *scan, from *EntryKey, edges []*pageEdge) (first, last func() string) {
	switch {
	case len(edges) > 0:
		first, last = edges[0].Cursor, edges[len(edges)-1].Cursor
	case w.cut:
		first = func() string { return r.cursor(w.first, false) }
	case w.behind && w.want > 1:
		first = func() string { return r.cursor(w.last, true) }
		last = first
	case from != nil:
		first = func() string { return r.cursor(*from, true) }
		last = first
	}
	if w.cut {
		last = func() string { return r.cursor(w.last, false) }
	}
	return first, last
}

// fillPermissions sets the viewer's permissions on each edge, from the rows that the page has
// read.
func (r *Reading) fillPermissions(ctx context.Context, shown []finding, edges []*pageEdge) error {
	items := make([]permissionsItem, len(shown))
	for i, f := range shown {
		items[i] = permissionsItem{&f.rows.Header, r.ownRow(f.rows)}
	}
	found, err := r.s.permissions(ctx, r.v, items)
	if err != nil {
		return err
	}
	for i := range found {
		edges[i].Permissions = &found[i]
	}
	return nil
}

// ownRow returns the viewer's own member row, if it was read.
func (r *Reading) ownRow(rows *ContentRows) Member {
	switch {
	case r.v.User == r.owner:
		return rows.Members[0]
	case len(r.Members) > 1:
		return rows.Members[1]
	}
	return Member{}
}

// edgeFor returns the edge of an item in owner's library for the answer of a mutation. Its
// cursor works in both orders, for viewers that read the bucket. It contains no time of
// reading: a client that followed the library from it would miss changes by others, which the
// mutation does not return.
func (s *Service) edgeFor(owner principal.ID, bucket Bucket, c *Content, role ContentRole, at EntryKey) *LibraryEdge {
	return &LibraryEdge{Node: c, Role: role, SealedCursor: &cursor.Sealed{
		Sealer: s.Seals, Bound: cursor.Binding(cursor.OfLibrary, ClassOf(bucket, false), string(owner)),
		Position: cursor.Position{Order: cursor.AnyOrder, At: at.Position, ID: string(at.Content)},
	}}
}
