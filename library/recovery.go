package library

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
)

// resume finishes a change that its process is perhaps unable to finish: one of a dead process, one
// of unknown outcome, or one whose fan-out failed. It may run concurrently with the owner of the
// change and with other processes that recover. If it succeeds, the entry is obsolete; if it fails,
// it must be called again.
func (s *Service) resume(ctx context.Context, e commit.Entry) (fenced bool, err error) {
	if !e.Decided {
		if fenced, err = s.fence(ctx, e); err != nil {
			return fenced, fmt.Errorf("fencing %s: %w", e.Key, err)
		}
	}
	if e.Due != 0 {
		moved, err := s.Move(ctx, ContentID(e.Key), e.All)
		if err != nil || moved {
			return fenced, err
		}
	}
	w := &walk{s: s, entry: inFlight{Entry: e}, serial: true}
	return fenced, w.run(ctx)
}

// fence makes sure that a compare-and-set with e.Base can no longer apply: if the base is still
// current, it replaces that state with an equal one.
func (s *Service) fence(ctx context.Context, e commit.Entry) (bool, error) {
	if err := s.engine.RequireClock(); err != nil {
		return false, err
	}
	for n := 0; n < commit.MaxTries; n++ {
		rows, err := s.contents.Read(ctx, ContentID(e.Key), ContentQuery{Serial: true})
		if err != nil {
			return false, err
		}
		h := rows.Header
		if h.Seq > e.Base {
			return false, nil
		}
		if h.Seq < e.Base {
			return false, fmt.Errorf("the store forgot a state: seq %d, entry of base %d", h.Seq, e.Base)
		}
		c := s.fenceOf(ContentID(e.Key), &h)
		c.Writer = s.engine.NewEntryID()
		v, err := s.contents.Commit(ctx, c)
		if err != nil && !fault.MayHaveCommitted(err) {
			return false, err
		}
		if err == nil && v.Applied {
			return true, nil
		}
	}
	return false, sched.ErrQueueFull
}

// fenceOf returns the commit of a state that equals h, after which every compare-and-set on h
// fails. An item that is absent gets a void state.
func (s *Service) fenceOf(id ContentID, h *Header) *ContentCommit {
	after := *h
	if h.State == commit.Absent {
		after = Header{Content: Content{ID: id}, State: commit.Void}
	}
	after.Seq, after.MTS = h.Seq+1, s.engine.MTS(h.MTS)
	return &ContentCommit{ID: id, Base: h.Seq, Header: after}
}
