package library

import (
	"context"
	"slices"

	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// walk updates the libraries that a change concerns to the state of its item: it reads
// snapshots of the item, applies them, and removes what became obsolete (steps 4 to 6 of
// docs/write-protocol.md). It may be repeated, and run concurrently with other walks.
type walk struct {
	s     *Service
	entry inFlight
	// first are principals whose libraries are done before all others. firstDone, unless it is
	// nil, is called when they are.
	first     []principal.ID
	firstDone func()
	// serial: a process that resumes a change reads serially, because it has seen no
	// acknowledgement of the compare-and-set.
	serial bool
	// quiet: followers are not notified, because the walk changes nothing for them.
	quiet bool

	done []principal.ID // index updates of these were applied
	// oldest is the header of the oldest snapshot used: only what it had superseded is known to be
	// removed from all libraries.
	oldest  *Header
	leaving []Member // rows seen leaving
	newest  *Header
	rows    []Member       // all rows seen, when the item is deleted
	joined  []principal.ID // members that the change has named
}

// run does the whole walk. After an error it must be repeated from the start.
func (w *walk) run(ctx context.Context) error {
	e := w.entry
	if e.Scope == commit.ScopeNone {
		w.endFirst()
		return nil
	}
	if e.Scope == commit.ScopeListed {
		err := w.listed(ctx, principal.IDs(e.Principals))
		w.endFirst()
		if err != nil {
			return err
		}
		return w.end(ctx)
	}
	if err := w.listed(ctx, w.first); err != nil {
		return err
	}
	w.endFirst()
	listed := slices.DeleteFunc(principal.IDs(e.Principals), func(p principal.ID) bool { return slices.Contains(w.first, p) })
	if err := w.listed(ctx, listed); err != nil {
		return err
	}
	w.done = append(listed, w.first...)
	if err := w.everyone(ctx); err != nil {
		return err
	}
	return w.end(ctx)
}

// end does what follows after the rows derived from the snapshots were written.
func (w *walk) end(ctx context.Context) error {
	if err := w.takeOutDeleted(ctx); err != nil {
		return err
	}
	return w.cleanUp(ctx)
}

func (w *walk) endFirst() {
	if w.firstDone != nil {
		w.firstDone()
	}
}

// listed updates the libraries of some principals, with or without a member row.
func (w *walk) listed(ctx context.Context, ps []principal.ID) error {
	for part := range slices.Chunk(ps, input.MaxList) {
		rows, err := w.s.contents.Read(ctx, w.entry.content(), ContentQuery{Members: part, Serial: w.serial})
		if err != nil {
			return err
		}
		if err := w.applyIndex(ctx, &rows.Header, rows.Members); err != nil {
			return err
		}
		for _, m := range rows.Members {
			if w.entry.All && slices.Contains(w.entry.Principals, string(m.Principal)) && rows.Header.State == commit.Live && m.Active() {
				w.joined = append(w.joined, m.Principal)
			}
		}
	}
	return nil
}

// everyone updates the libraries of all members, page by page. Each page is a snapshot of its own,
// so a page may be of a newer state than the one before it.
func (w *walk) everyone(ctx context.Context) error {
	var after principal.ID
	for {
		page, err := w.s.contents.MembersPage(ctx, w.entry.content(), after, w.s.tune.SnapshotPage, w.serial)
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

// applyIndex writes the derived rows of one snapshot, with several concurrent store calls, and
// the entry of the item in the feed of its tenant.
func (w *walk) applyIndex(ctx context.Context, h *Header, rows []Member) error {
	w.saw(h, rows)
	if err := w.s.feedPublic(ctx, h); err != nil {
		return err
	}
	if h.State == commit.Absent || h.State == commit.Void || len(rows) == 0 {
		return nil
	}
	// The walk that has updated the libraries of a deleted item also purges its rows. So what was
	// shared with whom must be cleared at the same time, whatever started the walk.
	all := w.entry.All || h.State == commit.Deleted
	var title collation.Key
	if all {
		title = h.Key(ByTitle).Title
	}
	batches := slices.Collect(slices.Chunk(rows, w.s.contents.ApplyIndexBatch()))
	return sched.ForEach(ctx, w.s.rt, len(batches), w.s.tune.FanOutWidth, func(i int) error {
		if w.s.engine.Over() {
			return commit.ErrEnding
		}
		e := &IndexUpdate{Header: h, Rows: batches[i], All: all, TitleKey: title, Causes: w.entry.Causes}
		if w.quiet {
			return w.s.Upkeep.ApplyIndexQuietly(ctx, e)
		}
		return w.s.applyIndex(ctx, e)
	})
}

// saw records what cleanUp needs from a snapshot.
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
		case m.Leaving && w.entry.All: // otherwise the entry in the order of titles is still there
			w.leaving = append(w.leaving, m)
		}
	}
}

// finish does the walk of a decided change for which no caller waits. If it fails, the
// background does it again.
func (s *Service) finish(ctx context.Context, e inFlight) error {
	w := &walk{s: s, entry: e}
	if err := w.run(ctx); err != nil {
		s.journal.FinishLater(e.Entry)
		return err
	}
	s.journal.End(e.ID)
	return nil
}

// walkAll returns a walk that writes all derived rows of an item, of the members in a scope.
func (s *Service) walkAll(id ContentID, scope commit.Scope) *walk {
	e := commit.Entry{Kind: commit.Content, Key: string(id), Reach: commit.Reach{Scope: scope, All: true}}
	return &walk{s: s, entry: inFlight{Entry: e}}
}

// RepeatWalk does the walk of an item again, for a process that left it unsettled or wrong after
// the state of base.
func (u Upkeep) RepeatWalk(ctx context.Context, id ContentID, base int64) error {
	w := u.s.walkAll(id, commit.ScopeAll)
	w.entry.Base, w.serial = base, true
	return w.run(ctx)
}

// RestoreItem updates one library to the current state of an item. It does not notify followers:
// the process that made the state does so.
func (u Upkeep) RestoreItem(ctx context.Context, p principal.ID, id ContentID) error {
	w := u.s.walkAll(id, commit.ScopeNone)
	w.quiet = true
	return w.listed(ctx, []principal.ID{p})
}

// DeriveContent updates all libraries that have an item, and removes what became obsolete. It does not notify
// followers: incomplete libraries have none.
func (u Upkeep) DeriveContent(ctx context.Context, id ContentID) error {
	w := u.s.walkAll(id, commit.ScopeAll)
	w.quiet = true
	return w.run(ctx)
}
