package library

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/principal"
)

// Prefetch begins to read the entries with which Library will begin that is
// asked the same, beside what its caller has to read before: a page is one
// round trip to the store less. Whether the owner may be seen, and what of the
// entries, Library finds out by itself.
//
// It is for callers that are about to ask, in one operation of v: what nobody
// asks for ends with ctx. It does nothing where the store is in this process,
// where Library will read no entries or refuse, and in a process that ends.
func (s *Service) Prefetch(ctx context.Context, v *principal.Viewer, owner principal.ID, q LibraryQuery) {
	if !s.Prefetches() || q.NoEntries || s.Ending() {
		return
	}
	args, err := q.Resolve()
	if err != nil {
		return
	}
	filter, err := s.conditions(q.Filter)
	if err != nil {
		return
	}
	key := pageKeyOf(owner, args, &q, filter)
	p := &prefetch{done: s.rt.Latch()}
	if !prefetchesOf(v).begin(key, p) {
		return
	}
	s.rt.Go(func() {
		defer p.done.Open()
		defer func() {
			if cause := recover(); cause != nil {
				p.panicked = fmt.Errorf("a page that was begun has panicked: %v at %s", cause, debug.Stack())
			}
		}()
		ctx, end := s.rt.Deadline(ctx, sched.QueryWithin)
		defer end()
		p.opened = s.openAhead(ctx, v, owner, args, &q, filter)
	})
}

// Prefetches reports whether Prefetch does anything: not if the store is in this
// process.
func (s *Service) Prefetches() bool { return s.remote }

// openAhead is what Library does until it has the first slice, but for the
// visibility of the owner; nil where it is not known which slice that is.
func (s *Service) openAhead(ctx context.Context, v *principal.Viewer, owner principal.ID, args cursor.Page, q *LibraryQuery, filter *conditions) *opened {
	r, err := s.StartReading(ctx, v, owner, q)
	if err != nil {
		return nil
	}
	from, err := r.begin(args.Cursor)
	if err != nil {
		return nil
	}
	r.filter = filter
	w := r.walk(args, from, q)
	slice, any := r.sliceOf(w)
	if !any {
		return nil
	}
	o := &opened{source: r.source, readAt: r.ReadAt}
	o.opening, o.err = r.openLibrary(ctx, slice, r.begins(w))
	o.inFlight = r.inFlight
	return o
}

// prefetchesOf returns the pages that are read ahead for a viewer.
func prefetchesOf(v *principal.Viewer) *prefetches {
	return v.Keep(prefetchesKey{}, func() principal.Forgetter { return &prefetches{} }).(*prefetches)
}

type prefetchesKey struct{}

// prefetches are the pages of one operation that are read ahead.
type prefetches struct {
	mu    sync.Mutex
	pages map[pageKey]*prefetch
}

// prefetch is one of them.
type prefetch struct {
	done sched.Latch
	// After done:
	opened   *opened // nil: it has come to nothing
	panicked error
}

// result is what was read. A panic goes on at whoever asks, above whom is who
// tells of it; no request is above the task that has met it.
func (p *prefetch) result() *opened {
	if p.panicked != nil {
		panic(p.panicked)
	}
	return p.opened
}

// opened is a slice that was read ahead.
type opened struct {
	source Bucket
	readAt clock.Instant // when its reading began
	// inFlight is what was in flight before the slice was read; nil: it is not known.
	inFlight *commit.InFlightSet
	opening  *Opening
	err      error
}

// pageKey is what the first slice of a page depends on, for one viewer.
type pageKey struct {
	owner                                         principal.ID
	size                                          int
	cursor                                        string
	begins, backward, descending, includingShared bool
	filtered                                      bool
}

func pageKeyOf(owner principal.ID, args cursor.Page, q *LibraryQuery, filter *conditions) pageKey {
	k := pageKey{
		owner: owner, size: args.Size, begins: args.Cursor == nil, backward: args.Backward,
		descending: q.Descending, includingShared: q.IncludeShared, filtered: filter != nil,
	}
	if args.Cursor != nil {
		k.cursor = *args.Cursor
	}
	return k
}

// begin adds a page; false where it is among them already.
func (ps *prefetches) begin(k pageKey, p *prefetch) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.pages[k] != nil {
		return false
	}
	if ps.pages == nil {
		ps.pages = map[pageKey]*prefetch{}
	}
	ps.pages[k] = p
	return true
}

// take gives a page to who asks first; nil where there is none.
func (ps *prefetches) take(k pageKey) *prefetch {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.pages[k]
	delete(ps.pages, k)
	return p
}

// Forget drops what nobody has asked for.
func (ps *prefetches) Forget() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.pages = nil
}
