package paste

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
)

// updatesFeed is what is left to do after a change that requires an update of the feed.
var updatesFeed = commit.Reach{Scope: commit.ScopeAll}

// finish completes a change that was just decided: it updates the feed, notifies followers of a new
// public paste, and removes the body of a deleted one. Work that fails is passed to the background,
// because the change is made and readers check the row. before is nil for a new paste.
func (s *Service) finish(ctx context.Context, id commit.EntryID, before, after *Paste) {
	firm, cancel := s.rt.Deadline(s.rt.Detach(ctx), commit.PrepareTimeout)
	defer cancel()
	if after.State == commit.Deleted && before.Body.IsLong() {
		if err := s.dropBodies(firm, after); err != nil {
			s.log.WarnContext(ctx, "the body of a deleted paste stays for a day", "paste", string(after.ID), "error", err)
		}
	}
	if !relists(before, after) {
		return
	}
	write := s.applyIndex
	if before == nil {
		write = s.writeEntry // nobody can have changed a new paste: only the answer has its secret
	}
	if err := write(firm, after); err != nil {
		s.log.WarnContext(ctx, "the feed of pastes will be updated in the background", "paste", string(after.ID), "error", err)
		s.journal.FinishLater(commit.Entry{ID: id, Kind: commit.Paste, Key: string(after.ID), Base: after.Seq - 1,
			Decided: true, Reach: updatesFeed})
		return
	}
	s.journal.End(id)
	if before == nil {
		s.arrivals.deliver(after.entry())
	}
}

// relists reports whether a change requires an update of the feed. before is nil for a new paste.
func relists(before, after *Paste) bool {
	return before != nil && before.listed() || after.listed()
}

// applyIndex makes the feed match a state of a paste, or a later one. Concurrent calls, also for
// different states, are safe: the latest state wins.
func (s *Service) applyIndex(ctx context.Context, p *Paste) error {
	if err := s.writeEntry(ctx, p); err != nil || !p.listed() {
		return err
	}
	// The embedded store ignores an entry that is older than the one it has, but it does not remember
	// removals. So the entry of a later state may have been removed before this one was written.
	now, err := s.read(ctx, p.ID)
	if err != nil || now == nil || now.listed() {
		return err
	}
	return s.writeEntry(ctx, now)
}

// writeEntry writes or removes the entry of a state of a paste in the feed.
func (s *Service) writeEntry(ctx context.Context, p *Paste) error {
	return s.engine.Retry(ctx, func() error {
		if p.listed() {
			return s.feeds.Put(ctx, feedName, p.entry(), p.MTS)
		}
		return s.feeds.Drop(ctx, feedName, p.entry(), p.MTS)
	})
}

// resume finishes a change on behalf of its process. It is the Resume function of the
// commit.Handler.
func (s *Service) resume(ctx context.Context, e commit.Entry) (fenced bool, err error) {
	p, fenced, err := s.fence(ctx, e)
	if err != nil {
		return fenced, fmt.Errorf("fencing %s: %w", e.Key, err)
	}
	if p.State == commit.Void {
		return fenced, nil // never created, or removed, so it has no entry
	}
	if err := s.applyIndex(ctx, p); err != nil {
		return fenced, err
	}
	if e.Base == 0 && p.listed() {
		s.arrivals.deliver(p.entry())
	}
	return fenced, nil
}

// fence makes sure that the compare-and-set of an entry can no longer apply, and returns the
// current state of the paste. If the entry is based on the current state, fence replaces that
// with an equal one.
func (s *Service) fence(ctx context.Context, e commit.Entry) (p *Paste, fenced bool, err error) {
	id := ID(e.Key)
	for range commit.MaxTries {
		if p, err = s.read(ctx, id); err != nil {
			return nil, false, err
		}
		if p != nil && p.Seq > e.Base {
			return p, false, nil
		}
		if p == nil && e.Base > 0 {
			// The row is removed a day after the paste ended, with its entry in the feed before it. A
			// change of a row that is gone cannot apply.
			return &Paste{ID: id, State: commit.Void}, false, nil
		}
		a := s.writeVoid(id, nil)
		if p != nil {
			after := *p
			after.Seq, after.MTS = p.Seq+1, s.engine.MTS(p.MTS)
			p, a = &after, s.write(&after, false)
		} else {
			p = &Paste{ID: id, State: commit.Void}
		}
		v, err := a.Commit(ctx, s.engine.NewEntryID())
		if err != nil && !fault.MayHaveCommitted(err) {
			return nil, false, err
		}
		if err == nil && v.Applied {
			return p, true, nil
		}
	}
	return nil, false, sched.ErrQueueFull
}
