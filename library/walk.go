package library

import (
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// walk brings the libraries that a change concerns in line with its item: it reads
// snapshots of the item, enforces them, and settles what became needless (steps 4 to 6 of
// docs/write-protocol.md). It may be done again, and beside other walks.
type walk struct {
	s     *Service
	entry InFlight
	// first are principals whose libraries are done before all others; firstDone is called
	// when they are, unless it is nil.
	first     []principal.ID
	firstDone func()
	// serial: whoever resumes a change reads serially, because it has seen no
	// acknowledgement of the compare-and-set.
	serial bool
	// quiet: followers are not notified, because the walk brings about nothing new.
	quiet bool

	done []principal.ID // enforced already
	// oldest is the header of the oldest snapshot used: only what it had
	// superseded is known to be gone from all libraries.
	oldest  *Header
	leaving []Member // rows seen leaving
	newest  *Header
	rows    []Member // all rows seen, when the item is deleted
}

// run does the whole walk. If there is an error it must be done again, from the start.
func (w *walk) run(ctx context.Context) error {
	e := w.entry
	if e.Scope == commit.ScopeNone {
		w.endFirst()
		return nil
	}
	if e.Scope == commit.ScopeListed {
		err := w.listed(ctx, e.Principals)
		w.endFirst()
		if err != nil {
			return err
		}
		return w.settle(ctx)
	}
	if err := w.listed(ctx, w.first); err != nil {
		return err
	}
	w.endFirst()
	listed := slices.DeleteFunc(slices.Clone(e.Principals), func(p principal.ID) bool { return slices.Contains(w.first, p) })
	if err := w.listed(ctx, listed); err != nil {
		return err
	}
	w.done = append(listed, w.first...)
	if err := w.everyone(ctx); err != nil {
		return err
	}
	return w.settle(ctx)
}

func (w *walk) endFirst() {
	if w.firstDone != nil {
		w.firstDone()
	}
}

// listed enforces some principals, with or without a member row.
func (w *walk) listed(ctx context.Context, ps []principal.ID) error {
	for part := range slices.Chunk(ps, input.MaxList) {
		rows, err := w.s.contents.Read(ctx, w.entry.Content, ContentQuery{Members: part, Serial: w.serial})
		if err != nil {
			return err
		}
		if err := w.applyIndex(ctx, &rows.Header, rows.Members); err != nil {
			return err
		}
	}
	return nil
}

// everyone enforces all member rows, page by page. Each page is a snapshot of
// its own, so the walk goes on with what is newest from the member reached.
func (w *walk) everyone(ctx context.Context) error {
	var after principal.ID
	for {
		page, err := w.s.contents.MembersPage(ctx, w.entry.Content, after, w.s.tune.SnapshotPage, w.serial)
		if err != nil {
			return err
		}
		rows := slices.DeleteFunc(slices.Clone(page.Members), func(m Member) bool {
			return slices.Contains(w.done, m.Principal)
		})
		if err := w.applyIndex(ctx, &page.Header, rows); err != nil {
			return err
		}
		if len(page.Members) < w.s.tune.SnapshotPage {
			return nil
		}
		after = page.Members[len(page.Members)-1].Principal
	}
}

// enforce writes the derived rows of one snapshot, several store calls at once, and what
// the feed of the tenant has of it.
func (w *walk) applyIndex(ctx context.Context, h *Header, rows []Member) error {
	w.saw(h, rows)
	if err := w.s.feedPublic(ctx, h); err != nil {
		return err
	}
	if h.State == commit.Absent || h.State == commit.Void || len(rows) == 0 {
		return nil
	}
	// Rows of a deleted item are buried by whoever has enforced them, so what was
	// shared with whom must be cleared with them, whatever brought the walk here.
	reverse := w.entry.Reverse || h.State == commit.Deleted
	batches := slices.Collect(slices.Chunk(rows, w.s.contents.ApplyIndexBatch()))
	return sched.ForEach(ctx, w.s.rt, len(batches), w.s.tune.FanOutWidth, func(i int) error {
		if w.s.Over() {
			return commit.ErrEnding
		}
		e := &IndexUpdate{Header: h, Rows: batches[i], Reverse: reverse}
		if w.quiet {
			return w.s.ApplyIndexQuietly(ctx, e)
		}
		return w.s.applyIndex(ctx, e)
	})
}

// saw keeps what settle needs of a snapshot.
func (w *walk) saw(h *Header, rows []Member) {
	if w.oldest == nil || h.Seq < w.oldest.Seq {
		w.oldest = h
	}
	if w.newest == nil || h.Seq >= w.newest.Seq {
		w.newest = h
	}
	for _, m := range rows {
		switch {
		case m.Seq == 0:
		case h.State == commit.Deleted:
			w.rows = append(w.rows, m)
		case m.Leaving:
			w.leaving = append(w.leaving, m)
		}
	}
}

// finish does the walk of a decided change that nobody waits for. If it fails, the
// background does it again.
func (s *Service) finish(ctx context.Context, e InFlight) {
	w := &walk{s: s, entry: e}
	if err := w.run(ctx); err != nil {
		s.journal.Leave(e.Entry())
		return
	}
	s.journal.End(e.ID)
}

// Resettle does the walk of an item again, in place of the process that left it unsettled
// or wrong after the state of base.
func (s *Service) Resettle(ctx context.Context, id ContentID, base int64) error {
	w := &walk{s: s, entry: InFlight{Content: id, Base: base, Scope: commit.ScopeAll, Reverse: true}, serial: true}
	return w.run(ctx)
}

// RestoreItem enforces an item in a library as it is now. It does not notify followers:
// the process that made the state does, or has done so.
func (s *Service) RestoreItem(ctx context.Context, p principal.ID, id ContentID) error {
	w := &walk{s: s, entry: InFlight{Content: id, Reverse: true}, quiet: true}
	return w.listed(ctx, []principal.ID{p})
}

// DeriveContent enforces an item in all libraries that hold it, and settles it. It does not
// notify followers: nobody follows libraries that are not complete.
func (s *Service) DeriveContent(ctx context.Context, id ContentID) error {
	w := &walk{s: s, entry: InFlight{Content: id, Scope: commit.ScopeAll, Reverse: true}, quiet: true}
	return w.run(ctx)
}
