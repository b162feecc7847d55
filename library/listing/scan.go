package listing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
)

// Sizes of the reads of a scan. A slice requests a few more entries than are wanted, because an
// entry costs little, but one more slice costs much. At first no more headers are read than are
// wanted.
const (
	sliceSlack = 4
	// scanBatch is the least number of headers read at once after the first time.
	scanBatch = 8
)

// scan walks through a bucket from one position in one direction, until it has found enough
// that the viewer may see, the bucket ends or the budget is used up.
type scan struct {
	ascending bool
	// newer: an ascending scan in the order of the last change. Items that change meanwhile move ahead of it. In the order
	// of titles an item stays where it is, unless it is renamed.
	newer bool
	from  *library.EntryKey
	// fresh: the page has no cursor and starts at the newest end. An item that has moved since its
	// entry was read is shown once, at its present position.
	fresh bool
	// skipTo: entries before it, in the direction of the walk, are skipped.
	skipTo *library.EntryKey
	want   int
	budget int // entries that may still be scanned
	// Of a filtered page: how many entries are read at once next, and how many bytes of texts
	// may still be compared. batch is 0 for other pages.
	batch, texts int

	found []finding
	// moved are the items that, by their headers, have moved since their entries were read. A fresh
	// page has found them too; of a scan towards newer entries, see atTheEnd.
	moved   []finding
	pending []library.Entry // read and not yet scanned
	slices  int             // read so far
	// verified: items were read before.
	verified bool
	// newest is the newest position of the bucket when the page was opened, if a walk towards
	// newer entries starts with this page.
	newest clock.Instant
	// first and last are the entries scanned first and last; first is nil if none was.
	first *library.EntryKey
	last  library.EntryKey
	end   end
}

// end is why a scan has found less than it wanted, or will read no further slice.
type end uint8

const (
	none   end = iota
	budget     // it is used up
	bucket     // it has no more entries
	bound      // of the walk
)

// behind reports whether items that have moved do not fit into the page, and follow on the next one.
func (w *scan) behind() bool { return w.newer && w.end == bucket && len(w.moved) > 0 }

// finding is an item that the viewer may see, with its position in the library.
type finding struct {
	rows *library.ContentRows
	at   library.EntryKey
	// elsewhere: the item has moved, and at is the position of the entry that led to it.
	elsewhere bool
}

// run runs the scan.
func (p *page) run(ctx context.Context, w *scan) error {
	w.found = make([]finding, 0, w.want)
	for minimum := 1; len(w.found) < w.want; minimum = scanBatch {
		if len(w.pending) == 0 {
			if w.end != none {
				break
			}
			if err := p.readOn(ctx, w); err != nil {
				return err
			}
			continue
		}
		n := min(len(w.pending), w.budget)
		if w.batch == 0 {
			n = min(n, max(w.want-len(w.found), minimum))
		}
		if n == 0 {
			w.end = budget
			break
		}
		scanned, err := p.verify(ctx, w, w.pending[:n])
		if err != nil {
			return err
		}
		w.pending = w.pending[scanned:]
	}
	if len(w.found) >= w.want {
		w.end = none
	}
	if w.fresh && len(w.moved) > 0 {
		slices.SortFunc(w.found, func(a, b finding) int {
			if b.at.Less(a.at) {
				return -1
			}
			return 1
		})
	}
	if w.newer && w.end == bucket {
		w.atTheEnd()
	}
	w.found = w.found[:min(len(w.found), w.want)]
	return nil
}

// atTheEnd adds the items that have moved since their entries were read to the page that begins a
// walk and ends it. They come last, in the order of their new positions, so that no item is missing
// that was in the library all the time.
//
// If not all of them fit into the page, it shows none of them and is not the last page of its walk.
// Pages with a bound omit them: an earlier page may have shown them at another position.
func (w *scan) atTheEnd() {
	all := w.found
	slices.SortStableFunc(w.moved, func(a, b finding) int {
		return cmp.Compare(a.rows.Header.Position, b.rows.Header.Position)
	})
	for i, f := range w.moved {
		same := func(g finding) bool { return g.at.Content == f.at.Content }
		// The latest reading of an item counts, and one at its present position most of all.
		if !slices.ContainsFunc(all, same) && !slices.ContainsFunc(w.moved[i+1:], same) {
			all = append(all, f)
		}
	}
	if len(all) < w.want || len(all) == len(w.found) {
		w.found, w.moved = all, nil
	}
}

// readOn reads entries from the position that the scan has reached.
func (p *page) readOn(ctx context.Context, w *scan) error {
	q, any := p.nextSlice(w)
	if !any {
		w.end = p.last(w)
		return nil
	}
	o, err := p.slice(ctx, q, false, false)
	if err != nil {
		return fmt.Errorf("read library: %w", err)
	}
	p.took(w, q.Limit, o.Entries)
	return nil
}

// nextSlice returns the slice to read next. It has at most one entry more than the budget, which
// shows whether the budget ends the page early. There is none if the scan has reached its
// bound, or if nothing can match the filter.
func (p *page) nextSlice(w *scan) (q library.Slice, any bool) {
	if p.filter != nil && p.filter.nothing {
		return q, false
	}
	bucket := p.Source
	if p.merged() {
		bucket = p.Bucket
	}
	q = library.Slice{
		Owner: p.Owner, Bucket: bucket, Order: p.q.Order, Ascending: w.ascending, From: w.from,
		Limit: min(w.want-len(w.found)+sliceSlack, w.budget+1),
	}
	if w.batch > 0 {
		q.Limit = min(w.batch, w.budget+1)
	}
	if w.newer && p.until != nil {
		q.Bound = boundAt(*p.until)
		if w.from != nil && !w.from.Less(*q.Bound) {
			return q, false
		}
	}
	return q, true
}

// boundAt returns a key that follows all entries at the position and at older ones, and precedes
// all others, because no id is empty.
func boundAt(p clock.Instant) *library.EntryKey { return &library.EntryKey{Position: p + 1} }

// last returns why there is no further slice.
func (p *page) last(w *scan) end {
	if w.newer && p.until != nil {
		return bound
	}
	return bucket
}

// took adds the entries of a slice, which was limited to limit, to the pending ones.
func (p *page) took(w *scan, limit int, es []library.Entry) {
	w.slices++
	w.batch = min(2*w.batch, maxFilterBatch)
	if len(es) < limit {
		w.end = p.last(w)
	}
	if len(es) > 0 {
		end := es[len(es)-1]
		w.from = &end.EntryKey
	}
	if w.skipTo != nil {
		es = slices.DeleteFunc(es, func(e library.Entry) bool { return w.skips(e.EntryKey) })
	}
	w.pending = es
}

func (w *scan) skips(k library.EntryKey) bool {
	if w.ascending {
		return k.Less(*w.skipTo)
	}
	return w.skipTo.Less(k)
}

// verify reads the items of entries and adds those that the viewer may see, and that match the
// filter, to the findings. It returns how many entries it has scanned: all, unless their texts
// are too long to be compared.
func (p *page) verify(ctx context.Context, w *scan, es []library.Entry) (scanned int, err error) {
	if w.newer {
		// Otherwise the page could show an item that is about to move to a position before the bound.
		if err := p.s.library.AwaitDecided(ctx, es, p.bound(w)); err != nil {
			return 0, err
		}
	}
	rows, err := p.s.items.ReadItems(ctx, p.Reading, es, p.inFlight)
	if err != nil {
		return 0, fmt.Errorf("read the items of a library: %w", err)
	}
	sees, err := p.authorize(ctx, es, rows)
	if err != nil {
		return 0, err
	}
	if w.newer && p.moved != 0 {
		if err := p.dropMoved(ctx, rows, sees); err != nil {
			return 0, err
		}
	}
	for scanned < len(es) && (w.batch == 0 || w.texts > 0) {
		if p.filter != nil && ctx.Err() != nil { // comparing long texts takes long
			return 0, ctx.Err()
		}
		if sees[scanned] {
			p.show(w, &es[scanned], rows[scanned])
		}
		scanned++
	}
	w.verified = true
	if w.first == nil {
		w.first = &es[0].EntryKey
	}
	w.last = es[scanned-1].EntryKey
	if w.budget -= scanned; w.batch > 0 && w.texts <= 0 {
		w.budget = 0
	}
	return scanned, nil
}

// bound returns the newest position of the walk.
func (p *page) bound(w *scan) clock.Instant {
	if p.until != nil {
		return *p.until
	}
	return w.newest
}

// dropMoved clears sees for the items that have moved since p.moved: the walk may have shown them
// at their former positions. Pages read no times of moves, but few items have changed since.
func (p *page) dropMoved(ctx context.Context, rows []*library.ContentRows, sees []bool) error {
	for i := range rows {
		// Timestamps are by the clocks of the processes, and times of moves by the store's.
		if h := &rows[i].Header; sees[i] && h.MTS.Add(commit.AheadAtMost) > p.moved {
			read, err := p.s.contents.Read(ctx, h.ID, library.ContentQuery{})
			if err != nil {
				return fmt.Errorf("read when an item of a library has moved: %w", err)
			}
			sees[i] = read.Header.MovedAt <= p.moved
		}
	}
	return nil
}

// show adds an item that the viewer may see, unless the page is filtered and the item
// does not match. A filtered page does not keep the rows of the other items it has read.
func (p *page) show(w *scan, e *library.Entry, rows *library.ContentRows) {
	if p.filter == nil {
		w.add(e, rows)
		return
	}
	h := &rows.Header
	w.texts -= len(h.Title) + len(descriptionOf(h))
	if !p.filter.match(rows) {
		w.drop(h.ID)
		return
	}
	w.add(e, rows)
}

// drop removes the earlier readings of an item that no longer matches. A scan towards newer entries
// meets an item again if the item has moved, and the latest reading counts.
func (w *scan) drop(id library.ContentID) {
	if !w.newer {
		return
	}
	same := func(f finding) bool { return f.at.Content == id }
	w.found = slices.DeleteFunc(w.found, same)
	w.moved = slices.DeleteFunc(w.moved, same)
}

// authorize decides which items the viewer sees in this library. It starts the repair of
// entries that should not exist.
func (p *page) authorize(ctx context.Context, es []library.Entry, rows []*library.ContentRows) (sees []bool, err error) {
	stale, gone := 0, 0
	for i := range es {
		if p.merged() {
			break // most entries are of other libraries
		}
		holds := p.Holds(rows[i])
		if !holds || !es[i].PlacedBy(&rows[i].Header) {
			p.s.journal.Repair(commit.Repair{Kind: commit.Content, Key: string(p.Owner), Row: library.BucketEntry{Bucket: p.Source, Entry: es[i]}})
			stale++
		}
		if !holds {
			gone++
		}
	}
	sees, err = p.SeesEach(ctx, rows)
	if err != nil {
		return nil, err
	}
	unseen := -gone
	for _, seen := range sees {
		if !seen {
			unseen++
		}
	}
	if stale+unseen > 0 {
		p.s.watch.Hid(stale, unseen)
	}
	return sees, nil
}

// add adds an item to the page if its entry is where the item is. A fresh page also shows items that have moved, each
// once.
func (w *scan) add(e *library.Entry, rows *library.ContentRows) {
	h := &rows.Header
	at := e.EntryKey
	same := func(f finding) bool { return f.at.Content == h.ID }
	switch {
	case e.PlacedBy(h):
	case w.fresh:
		at = h.Key(library.ByChange)
		w.moved = append(w.moved, finding{rows, at, false})
	case w.newer:
		w.moved = append(w.moved, finding{rows, at, true})
		return
	default:
		return
	}
	switch {
	case w.fresh && len(w.moved) > 0 && slices.ContainsFunc(w.found, same):
		return
	case w.newer && w.slices > 1, e.Title != "" && w.verified:
		// An item that moves between two slices is read in both, and one that is renamed between two reads of items may be
		// found under both titles.
		w.found = slices.DeleteFunc(w.found, same)
	}
	w.found = append(w.found, finding{rows: rows, at: at})
}
