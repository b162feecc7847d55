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
// nothing, ever: what they find is counted and told. Items whose time has come
// get their hint again, which may have been dropped just before it was needed.
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
	h, wrong, err := s.compare(ctx, id)
	if err != nil {
		return err
	}
	if h.State == Live && h.ExpiresAt != nil && *h.ExpiresAt <= s.now() {
		if err := s.store.PutDue(ctx, Due{At: *h.ExpiresAt, Content: id}); err != nil {
			return err
		}
	}
	if wrong == 0 && len(h.Unsettled) == 0 {
		return nil
	}
	// A change that has begun meanwhile is no mistake: that is what is found
	// twice, of one state, with nothing in flight between.
	busy, err := s.contentsInFlight(ctx)
	if err != nil || busy[id] {
		return err
	}
	seq := h.Seq
	if h, wrong, err = s.compare(ctx, id); err != nil {
		return err
	}
	if h.Seq != seq || wrong == 0 && len(h.Unsettled) == 0 {
		return nil
	}
	r.Mismatches += wrong
	r.Settled++
	return s.finishContent(ctx, InFlight{Content: id, Base: h.Seq - 1, Scope: ScopeAll, Reverse: true}, nil, func() {}, true)
}

// compare counts the first members of an item whose libraries show it otherwise
// than the header has it.
func (s *Service) compare(ctx context.Context, id ContentID) (h *Header, wrong int, err error) {
	page, err := s.store.MembersPage(ctx, id, "", rebuildPage, false)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range page.Members {
		differs, err := s.differs(ctx, &page.Header, m)
		if err != nil {
			return nil, 0, err
		}
		if differs {
			wrong++
		}
	}
	return &page.Header, wrong, nil
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

// restsNow tells of an item that was changed earlier, by whatever process,
// whether every library follows it: a change is on a lane from before it is
// decided until all that it concerns was enforced. Where that cannot be read,
// it is not claimed.
func (s *Service) restsNow(ctx context.Context, id ContentID) bool {
	busy, err := s.contentsInFlight(ctx)
	return err == nil && !busy[id]
}
