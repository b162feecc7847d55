package listing

import (
	"context"
	"fmt"
	"runtime/debug"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Library reads a page of the owner's library, with what v may see of it.
func (s *Service) Library(ctx context.Context, v *principal.Viewer, owner principal.ID,
	q library.LibraryQuery) (*library.LibraryConnection, error) {
	return s.Begin(ctx, v, owner, q)(ctx)
}

// Begin begins a page of the owner's library, and returns the function that returns the page, as
// Library does. It may be called once. If the owner is still to be read and the store is remote,
// Begin reads the first slice in the background: meanwhile its caller, or else that function, reads
// the owner. A page whose function is not called ends with ctx.
func (s *Service) Begin(ctx context.Context, v *principal.Viewer, owner principal.ID,
	q library.LibraryQuery) func(context.Context) (*library.LibraryConnection, error) {
	args, err := q.Resolve()
	var filter *conditions
	if err == nil {
		filter, err = s.conditions(q.Filter)
	}
	if err != nil {
		return func(context.Context) (*library.LibraryConnection, error) { return nil, err }
	}
	p := &page{s: s, v: v, owner: owner, q: q, args: args, filter: filter}
	// A page with shared items reads many libraries. If the viewer may not see the owner, the reads
	// would end at some point, and the viewer would pay for those that were made.
	if s.remote && !q.NoEntries && !q.IncludeShared && !s.engine.Ending() && !s.people.Paging.Shown(v, owner) {
		p.openAhead(ctx)
	}
	return p.read
}

// openAhead calls open in the background.
func (p *page) openAhead(ctx context.Context) {
	p.opened = p.s.rt.Latch()
	if p.s.items.InFlightLists() != nil {
		p.inFlightRead = p.v.BeginInFlight(p.s.rt)
	}
	p.s.rt.Go(func() {
		defer p.opened.Open()
		defer p.inFlightRead.Done(nil)
		defer func() {
			if cause := recover(); cause != nil {
				p.panicked = fmt.Errorf("opening a library panicked: %v at %s", cause, debug.Stack())
			}
		}()
		p.err = p.open(ctx)
	})
}

// await calls open, or waits for the call in the background. It panics if that call has panicked:
// its callers report panics, and the goroutine of that call has no caller.
func (p *page) await(ctx context.Context) error {
	if p.opened == nil {
		if err := p.hideCreator(ctx); err != nil {
			return err
		}
		return p.open(ctx)
	}
	if _, err := p.s.rt.Wait(ctx, p.opened, 0); err != nil {
		return err
	}
	if p.panicked != nil {
		panic(p.panicked)
	}
	if p.err != nil {
		return p.err
	}
	return p.hideCreator(ctx)
}

// open determines which part of the library the viewer reads, and reads the first slice of the page.
func (p *page) open(ctx context.Context) (err error) {
	if p.Reading, err = p.s.library.StartReading(ctx, p.v, p.owner, &p.q); err != nil {
		return err
	}
	if err := p.decode(); err != nil || p.q.NoEntries {
		return err
	}
	return p.openScan(ctx)
}

// read returns the page. It reads the page again if the viewer reads it as a member of the owner, and
// was removed from the group meanwhile: the groups of the viewer were read before the page.
func (p *page) read(ctx context.Context) (*library.LibraryConnection, error) {
	for range commit.MaxTries {
		conn, err := p.readOnce(ctx)
		if err != nil || p.q.NoEntries || !p.AsOwner || p.v.User == p.owner {
			return conn, err
		}
		if still, err := p.s.people.Paging.StillIn(ctx, p.v, p.owner); err != nil || still {
			return conn, err
		}
		p = &page{s: p.s, v: p.v, owner: p.owner, q: p.q, args: p.args, filter: p.filter}
	}
	return nil, sched.ErrQueueFull
}

func (p *page) readOnce(ctx context.Context) (*library.LibraryConnection, error) {
	if _, err := p.s.people.VisiblePrincipal(ctx, p.v, p.owner); err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		return nil, err
	}
	conn := &library.LibraryConnection{Bucket: p.Bucket, Owner: p.owner}
	if p.q.NoEntries {
		return conn, nil
	}
	return conn, p.fill(ctx, conn)
}

// openScan begins the scan that fills the page, with its first slice. The same round trip returns
// whether the library is complete and, for a walk towards newer entries, the newest position of the
// bucket (see boundWalk).
func (p *page) openScan(ctx context.Context) (err error) {
	w := p.newScan()
	p.w, p.inFlight = w, nil
	q, any := p.nextSlice(w)
	p.unbuilt = []principal.ID{p.owner}
	if !any {
		w.end = p.last(w)
		if p.built, err = p.s.libraries.Built(ctx, p.owner, p.q.Order); err != nil {
			return fmt.Errorf("read library: %w", err)
		}
		return nil
	}
	o, err := p.openLibrary(ctx, q, p.begins())
	if err != nil {
		return fmt.Errorf("open library: %w", err)
	}
	p.built = o.Built
	p.took(w, q.Limit, o.Entries)
	if o.Newest != nil {
		w.newest = o.Newest.Position
	}
	return nil
}

// readings is how often a page is read whose items move while it is read.
const readings = 3

// scan runs the scan that fills the page. It reads the page again if items have moved meanwhile and
// do not fit into it: then most are found at their new positions, and follow on the next page.
func (p *page) scan(ctx context.Context) error {
	for n := range readings {
		if n > 0 {
			if err := p.openScan(ctx); err != nil {
				return err
			}
		}
		if !p.built {
			for _, owner := range p.unbuilt {
				if err := p.s.requireBuilt(ctx, owner, p.q.Order); err != nil {
					return err
				}
			}
			if err := p.openScan(ctx); err != nil {
				return err
			}
			if !p.built {
				return BeingRebuilt(ErrNotRebuilt)
			}
		}
		if err := p.run(ctx, p.w); err != nil || !p.w.behind() {
			return err
		}
	}
	return nil
}

// newScan returns the scan that fills the page.
func (p *page) newScan() *scan {
	w := &scan{
		ascending: p.args.Backward == p.q.Descending,
		from:      p.from,
		want:      p.args.Size + 1,
		budget:    readBudget(p.args.Size),
	}
	if p.q.Order == library.ByChange {
		w.newer = w.ascending
		w.fresh = p.from == nil && !w.ascending
	}
	switch {
	case p.filter != nil:
		w.budget, w.texts, w.batch = MaxFilterScan, maxFilterTexts, firstFilterBatch
	case p.merged():
		// The viewer's items may be many, and few of them in the owner's library.
		w.budget, w.texts, w.batch = MaxFilterScan, maxFilterTexts, w.want+sliceSlack
	}
	return w
}

// readBudget returns how many entries a page may scan. Without a limit, a page of a library
// with many entries that the viewer may not see could take any time.
func readBudget(size int) int { return 5*size + 50 }
