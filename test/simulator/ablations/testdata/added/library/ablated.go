package library

import (
	"context"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// ablatedFinish cleans up before a fan-out instead of after it.
func (s *Service) ablatedFinish(ctx context.Context, e inFlight) error {
	if !commit.Ablated("cleanup-before-index") {
		return nil
	}
	rows, err := s.contents.Read(ctx, e.content(), ContentQuery{})
	if err != nil {
		return err
	}
	return s.cleanUpAll(ctx, &Cleanup{ID: e.content(), Positions: positionsOf(rows.Header.Unsettled)})
}

// ablatedComplete removes the rows of former members before their libraries are updated.
func (s *Service) ablatedComplete(ctx context.Context, e inFlight) {
	if !commit.Ablated("member-dropped-at-once") || e.Scope != commit.ScopeListed {
		return
	}
	rows, err := s.contents.Read(ctx, e.content(), ContentQuery{Members: principal.IDs(e.Principals)})
	if err != nil {
		return
	}
	all := Cleanup{ID: e.content()}
	for _, m := range rows.Members {
		if m.Seq != 0 && m.Leaving {
			all.Leaving = append(all.Leaving, m)
		}
	}
	_ = s.cleanUpAll(ctx, &all)
}

// ablatedBefore returns the state that a share reads first.
func (s *Service) ablatedBefore(ctx context.Context, id ContentID, before **Header) {
	if !commit.Ablated("plain-share") || *before != nil {
		return
	}
	if rows, err := s.contents.Read(ctx, id, ContentQuery{}); err == nil {
		*before = &rows.Header
	}
}

// ablatedShare writes the libraries from the state that was read first, as if nothing
// could have come between. It reports whether it has.
func (s *Service) ablatedShare(ctx context.Context, e inFlight, decided bool, before *Header) bool {
	if !decided || before == nil || !commit.Ablated("plain-share") {
		return false
	}
	rows, err := s.contents.Read(ctx, e.content(), ContentQuery{Members: principal.IDs(e.Principals)})
	if err == nil {
		stale := *before
		_ = s.applyIndex(ctx, &IndexUpdate{Header: &stale, Rows: rows.Members, All: true})
	}
	s.journal.End(e.ID)
	return true
}

// ablatedRunTogether ends the entries of fan-outs before they are done.
func (s *Service) ablatedRunTogether(batch []*fanOut) {
	if commit.Ablated("entry-ends-before-index") {
		for _, f := range batch {
			s.journal.End(f.entry.ID)
		}
	}
}

// ablatedHeader takes the rows of all pages for those of the first page's header.
func (w *walk) ablatedHeader(page *Header) *Header {
	if commit.Ablated("later-leaving-dropped") && w.oldest != nil {
		return w.oldest
	}
	return page
}

// ablatedUnsettled returns the positions from which entries are deleted.
func ablatedUnsettled(unsettled []Superseded) []Superseded {
	if commit.Ablated("only-last-position") && len(unsettled) > 1 {
		return unsettled[len(unsettled)-1:]
	}
	return unsettled
}

// ablatedTitles takes the present states that superseded titles for those that a walk has seen.
func (s *Service) ablatedTitles(ctx context.Context, id ContentID, titles []SupersededTitle) []clock.Instant {
	rows, err := s.contents.Read(ctx, id, ContentQuery{Serial: true})
	if err != nil || !commit.Ablated("titles-by-title") {
		return titlesOf(titles)
	}
	return titlesOf(slices.DeleteFunc(slices.Clone(rows.Header.UnsettledTitles), func(u SupersededTitle) bool {
		return !slices.ContainsFunc(titles, func(t SupersededTitle) bool { return t.Title == u.Title })
	}))
}

// ablatedRemovedFrom takes the buckets that entries are deleted from for those that an item was
// removed from.
func (h *Header) ablatedRemovedFrom(m Member) (Buckets, bool) {
	if m.Seq == 0 || !commit.Ablated("change-names-all-buckets") {
		return 0, false
	}
	removed := h.possibleBuckets(m.Principal)
	if m.Active() && h.State == commit.Live {
		removed &^= h.currentBuckets(m.Principal)
	}
	return removed, true
}
