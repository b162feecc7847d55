package library

import "context"

// ScrubReport is what a step of the scrubber found.
type ScrubReport struct {
	Next       ContentID // where the next step begins; empty at the end
	Settled    int       // items whose positions were left unsettled by nobody in flight
	Mismatches int       // library rows that differed from their headers
}

// Scrub is one step of the scrubber: it looks at the items after one, finishes
// those that have unsettled positions though no change of theirs is in flight,
// and compares what some of their members' libraries show. Both should find
// nothing, ever: what they find is counted and told.
func (s *Service) Scrub(ctx context.Context, after ContentID, limit int) (ScrubReport, error) {
	var r ScrubReport
	ids, err := s.store.ScanContents(ctx, after, limit)
	if err != nil || len(ids) == 0 {
		return r, err
	}
	busy, err := s.contentsInFlight(ctx)
	if err != nil {
		return r, err
	}
	for _, id := range ids {
		if busy[id] {
			continue
		}
		if err := s.scrubContent(ctx, id, &r); err != nil {
			return r, err
		}
	}
	if len(ids) == limit {
		r.Next = ids[len(ids)-1]
	}
	return r, nil
}

func (s *Service) scrubContent(ctx context.Context, id ContentID, r *ScrubReport) error {
	page, err := s.store.MembersPage(ctx, id, "", rebuildPage, false)
	if err != nil {
		return err
	}
	h := &page.Header
	unsettled := len(h.Unsettled) > 0
	for _, m := range page.Members {
		wrong, err := s.differs(ctx, h, m)
		if err != nil {
			return err
		}
		if wrong {
			r.Mismatches++
			unsettled = true
		}
	}
	if !unsettled {
		return nil
	}
	r.Settled++
	return s.finishContent(ctx, InFlight{Content: id, Base: h.Seq - 1, Scope: ScopeAll, Reverse: true}, nil, func() {}, true)
}

// differs tells whether a member's library shows the item otherwise than its
// header has it, at the item's position.
func (s *Service) differs(ctx context.Context, h *Header, m Member) (bool, error) {
	for _, b := range allBuckets {
		at := EntryKey{h.Position, h.ID}
		// The slice that ends with the place itself has the place as its last
		// entry, if anything stands there: one row, read from the newer side.
		next := EntryKey{h.Position, h.ID + "\x00"}
		entries, err := s.store.PageLibrary(ctx, Slice{Owner: m.Principal, Bucket: b, From: &next, Limit: 1})
		if err != nil {
			return false, err
		}
		stands := len(entries) == 1 && entries[0].Position == at.Position && entries[0].Content == at.Content
		if stands != (h.State == Live && m.Active() && StandsIn(b, h.Visibility, h.ID, m.Principal)) {
			return true, nil
		}
	}
	return false, nil
}

// contentsInFlight are the items that some process has on its list.
func (s *Service) contentsInFlight(ctx context.Context) (map[ContentID]bool, error) {
	lanes, err := s.store.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	busy := map[ContentID]bool{}
	for _, l := range lanes {
		for _, e := range l.Entries {
			busy[e.Content] = true
		}
	}
	return busy, nil
}
