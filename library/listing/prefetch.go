package listing

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Prefetch starts to read the entries that a call of Library with the same arguments reads
// first, while its caller reads what it needs before that call: a page then takes one round
// trip to the store less. Library itself checks whether the viewer may see the owner and the
// entries.
//
// It is for callers that are about to call Library, in the same operation of v: a prefetch that is
// not used ends with ctx. It does nothing if the store is in this process, if Library will read no
// entries or refuse, and in a process that is shutting down.
func (s *Service) Prefetch(ctx context.Context, v *principal.Viewer, owner principal.ID, q library.LibraryQuery) {
	if !s.Prefetches() || q.NoEntries || s.engine.Ending() {
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
	var reading *commit.InFlightRead
	if s.items.InFlightLists() != nil {
		reading = v.BeginInFlight(s.rt)
	}
	s.rt.Go(func() {
		defer p.done.Open()
		defer reading.Done(nil)
		defer func() {
			if cause := recover(); cause != nil {
				p.panicked = fmt.Errorf("the prefetch of a page panicked: %v at %s", cause, debug.Stack())
			}
		}()
		ctx, end := s.rt.Deadline(ctx, sched.QueryTimeout)
		defer end()
		p.opened = s.openAhead(ctx, v, owner, args, &q, filter, reading)
	})
}

// Prefetches reports whether Prefetch does anything. It does not if the store is in this
// process.
func (s *Service) Prefetches() bool { return s.remote }

// openAhead reads the first slice as Library does, but does not check whether the viewer may see
// the owner. It returns nil if it is not known which slice that is.
func (s *Service) openAhead(ctx context.Context, v *principal.Viewer, owner principal.ID, args cursor.Page,
	q *library.LibraryQuery, filter *conditions, reading *commit.InFlightRead) *opened {
	r, err := s.start(ctx, v, owner, q)
	if err != nil {
		return nil
	}
	from, err := r.decode(args.Cursor)
	if err != nil {
		return nil
	}
	r.filter, r.inFlightRead = filter, reading
	w := r.walk(args, from, q)
	slice, any := r.sliceOf(w)
	if !any {
		return nil
	}
	o := &opened{source: r.Source, readAt: r.ReadAt}
	o.opening, o.err = r.openLibrary(ctx, slice, r.begins(w))
	o.inFlight = r.inFlight
	return o
}

// prefetchesOf returns the prefetched pages of a viewer.
func prefetchesOf(v *principal.Viewer) *prefetches {
	return v.Keep(prefetchesKey{}, func() principal.Forgetter { return &prefetches{} }).(*prefetches)
}

type prefetchesKey struct{}

// prefetches are the prefetched pages of one operation.
type prefetches struct {
	mu    sync.Mutex
	pages map[pageKey]*prefetch
}

// prefetch is one prefetched page.
type prefetch struct {
	done sched.Latch
	// After done:
	opened   *opened // nil: there is no result
	panicked error
}

// result returns what was read, once done is open. It panics if the prefetch has panicked: its
// callers report panics, and the task of the prefetch has no caller.
func (p *prefetch) result() *opened {
	if p.panicked != nil {
		panic(p.panicked)
	}
	return p.opened
}

// opened is a prefetched slice.
type opened struct {
	source library.Bucket
	readAt clock.Instant // when its reading began
	// inFlight is the set of changes that were in flight before the slice was read; nil: unknown.
	inFlight *commit.InFlightSet
	opening  *library.Opening
	err      error
}

// pageKey identifies the first slice of a page, for one viewer.
type pageKey struct {
	owner                                         principal.ID
	size                                          int
	cursor                                        string
	begins, backward, descending, includingShared bool
	filtered                                      bool
}

func pageKeyOf(owner principal.ID, args cursor.Page, q *library.LibraryQuery, filter *conditions) pageKey {
	k := pageKey{
		owner: owner, size: args.Size, begins: args.Cursor == nil, backward: args.Backward,
		descending: q.Descending, includingShared: q.IncludeShared, filtered: filter != nil,
	}
	if args.Cursor != nil {
		k.cursor = *args.Cursor
	}
	return k
}

// begin adds a page. It returns false if the page was added before.
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

// take removes and returns a page; nil if there is none. Only the first caller gets it.
func (ps *prefetches) take(k pageKey) *prefetch {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.pages[k]
	delete(ps.pages, k)
	return p
}

// Forget drops the pages that were not taken.
func (ps *prefetches) Forget() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.pages = nil
}
