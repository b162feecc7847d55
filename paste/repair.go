package paste

import (
	"context"
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/core/sched"
)

// missedAfter is how late the tidying of a paste may be before its reminder counts as lost.
const missedAfter = time.Minute

// ScanPage is how many pastes a repair reads at once.
const ScanPage = 100

// Each calls see for all pastes in any state, a page at a time.
func (s *Service) Each(ctx context.Context, see func(p *Paste) error) error {
	return sched.Pages(ctx, ScanPage, s.Scan, func(p *Paste) ID { return p.ID }, func(ps []*Paste) error {
		for _, p := range ps {
			if err := see(p); err != nil {
				return fmt.Errorf("%s: %w", p.ID, err)
			}
		}
		return nil
	})
}

// Scan lists at most limit pastes after an id, in a stable order. The empty id comes before all
// others.
func (s *Service) Scan(ctx context.Context, after ID, limit int) ([]*Paste, error) {
	rows, err := s.store.ScanRows(ctx, after, limit)
	if err != nil {
		return nil, fmt.Errorf("listing pastes: %w", err)
	}
	ps := make([]*Paste, len(rows))
	for i, row := range rows {
		if ps[i], err = pasteOf(row); err != nil {
			return nil, err
		}
	}
	return ps, nil
}

// Repair corrects the entry of a paste in the feed, and tidies the paste if its reminder was lost. It
// reports whether the feed was wrong, and whether the reminder was lost.
func (s *Service) Repair(ctx context.Context, p *Paste) (wrong, missed bool, err error) {
	if at := p.reminder(); at != 0 && at.Add(missedAfter) <= s.engine.Now() {
		_, err := s.tidy(ctx, p, at)
		return false, true, err
	}
	if wrong, err = s.feedIsWrong(ctx, p); err != nil || !wrong {
		return false, false, err
	}
	// The state may have changed since it was scanned.
	if p, err = s.read(ctx, p.ID); err != nil || p == nil || p.State == commit.Void {
		return false, false, err
	}
	return true, false, s.applyIndex(ctx, p)
}

// feedIsWrong reports whether the entry of a paste differs from its row.
func (s *Service) feedIsWrong(ctx context.Context, p *Paste) (bool, error) {
	if p.State == commit.Void || p.expired(s.engine.Now()) {
		return false, nil
	}
	found, exists, err := s.feeds.Find(ctx, feedName, p.entry())
	if err != nil {
		return false, fmt.Errorf("reading the feed of pastes: %w", err)
	}
	return exists != p.listed() || exists && found.Until != p.entry().Until, nil
}

// Audit calls wrong for each inconsistency of a paste, and reports whether the paste is live.
func (s *Service) Audit(ctx context.Context, p *Paste, wrong func(format string, args ...any)) (lives bool, err error) {
	differs, err := s.feedIsWrong(ctx, p)
	if err != nil {
		return false, err
	}
	if differs {
		wrong("the feed differs from the paste")
	}
	if !p.readable(s.engine.Now()) {
		return false, nil
	}
	bodies, err := s.readBodies(ctx, []*Paste{p})
	if err != nil {
		return true, err
	}
	if bodies[0] == nil || len(*bodies[0]) != p.Body.Size {
		wrong("the body is missing, or has another length")
	}
	return true, nil
}

// AuditFeed calls wrong for each entry of the feed without a public paste, and returns the number
// of entries that have not expired.
func (s *Service) AuditFeed(ctx context.Context, wrong func(format string, args ...any)) (entries int, err error) {
	position := feed.Entry{Created: clock.Min}
	for {
		es, err := s.feeds.Since(ctx, feedName, position, ScanPage)
		if err != nil {
			return entries, err
		}
		ps, err := s.readPastes(ctx, refsOf(es))
		if err != nil {
			return entries, err
		}
		for i, e := range es {
			if p := ps[i]; p == nil || !p.listed() || p.CreatedAt != e.Created {
				wrong("the feed of pastes has an entry of %s that no public paste justifies", e.ID)
			}
		}
		if entries += len(es); len(es) < ScanPage {
			return entries, nil
		}
		position = es[len(es)-1]
	}
}
