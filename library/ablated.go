package library

import (
	"context"

	"carrel/core/commit"
)

// What stands here breaks a rule of the protocol on purpose, for the
// simulator. Nothing of it runs under WholeProtocol.

// settleEarly is SettleBeforeEnforce.
func (s *Service) settleEarly(ctx context.Context, e InFlight) error {
	rows, err := s.contents.Read(ctx, e.Content, ContentQuery{})
	if err != nil {
		return err
	}
	return s.settleAll(ctx, &Settlement{ID: e.Content, Positions: positionsOf(rows.Header.Unsettled)})
}

// dropEarly is MemberDroppedAtOnce: the rows that leave are gone before their
// libraries are clean.
func (s *Service) dropEarly(ctx context.Context, e InFlight) error {
	rows, err := s.contents.Read(ctx, e.Content, ContentQuery{Members: e.Principals})
	if err != nil {
		return err
	}
	all := Settlement{ID: e.Content}
	for _, m := range rows.Members {
		if m.Seq != 0 && m.Leaving {
			all.Leaving = append(all.Leaving, m)
		}
	}
	return s.settleAll(ctx, &all)
}

// plainShare is PlainShare: the libraries are written from the state that was
// read first, as if nothing could have come between.
func (s *Service) plainShare(ctx context.Context, e InFlight, before *Header) {
	rows, err := s.contents.Read(ctx, e.Content, ContentQuery{Members: e.Principals})
	if err == nil {
		stale := *before
		_ = s.enforceOnce(ctx, &Enforcement{Header: &stale, Rows: rows.Members, Reverse: true})
	}
	s.journal.End(e.ID)
}

// headerFor is LaterLeavingDropped: the rows of all pages are taken for those
// of the first page's header. Otherwise a page's own header goes with its rows,
// and a row of a later page is enforced by a state that knows it.
func (w *walk) headerFor(page *Header) *Header {
	if w.s.tune.Without == commit.LaterLeavingDropped && w.oldest != nil {
		return w.oldest
	}
	return page
}
