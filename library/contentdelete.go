package library

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// DeleteContent deletes an item for ever. Its header is kept as a tombstone that refuses late
// writers.
func (s *Service) DeleteContent(ctx context.Context, v *principal.Viewer, in DeleteContent) (*ContentOutcome, error) {
	defer v.Forget()
	var faults fault.List
	id, err := ParseContentID(in.ID)
	faults.Add(err, "id")
	m, err := s.people.BeginAsActor(v, id.Tenant(), commit.Call{Name: "deleteContent", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	return s.changeContent(ctx, contentChange{Mutation: m, v: v, id: id, path: "id"},
		func(ctx context.Context, t *target) (*attempt, int, error) {
			if err := s.requireContentManager(ctx, v, t, "id"); err != nil {
				return nil, 0, err
			}
			if err := requireVersion(&t.header, in.ExpectedVersion); err != nil {
				return nil, 0, err
			}
			libraries := t.header.Members
			a, after := s.planDelete(&t.header, m.Request.Row(s.engine.Now(), keptAnswer{Libraries: libraries, Seq: t.header.Seq + 1}.encode()))
			a.stale = staleReminder(&t.header, after)
			a.entry.Causes = reasonForAll(ReasonDeleted)
			return a, libraries, nil
		})
}

// planDelete keeps the item's last positions in the header: the fan-out reads from it what to
// clean, and reduces it afterwards.
func (s *Service) planDelete(h *Header, request *commit.RequestRow) (*attempt, *Header) {
	after := *h
	after.Seq, after.MTS, after.State = h.Seq+1, s.engine.MTS(h.MTS), commit.Deleted
	after.Managers, after.Members = 0, 0
	a := s.contentAttempt(
		inFlight{Entry: commit.Entry{Reach: commit.Reach{Scope: commit.ScopeAll, All: true}}},
		&ContentCommit{ID: h.ID, Base: h.Seq, Header: after, Request: request})
	a.former = formerURL(h)
	return a, &after
}
