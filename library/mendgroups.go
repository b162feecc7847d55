package library

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
)

// mendMembership brings what is recorded of p's membership in a group in line
// with the group's own row, and sees that it shows.
func (s *Service) mendMembership(ctx context.Context, group, p PrincipalID) error {
	return s.raising(ctx, func(late bool) (int64, error) {
		rows, err := s.store.ReadPrincipal(ctx, group, PrincipalQuery{Members: []PrincipalID{p}, Serial: late})
		if err != nil {
			return settled, err
		}
		if rows.Header.Seq != 0 {
			err = s.Insist(ctx, func() error {
				return s.store.EnforceGroup(ctx, &GroupEnforcement{Header: &rows.Header, Rows: rows.Members})
			})
			if err != nil {
				return settled, err
			}
		}
		recorded, err := s.recordedRole(ctx, p, group)
		if err != nil || recorded == roleIn(&rows.Header, rows.Members[0]) {
			return settled, err
		}
		return rows.Header.Seq, nil
	}, func(seq int64) error { return s.restampPrincipal(ctx, group, seq) })
}

// roleIn is the role that a group's own row gives.
func roleIn(h *PrincipalHeader, m GroupMemberRow) GroupRole {
	if h.State == commit.Live && m.Active() {
		return m.Role
	}
	return NotInGroup
}

// recordedRole is p's role in a group by the record of p's memberships.
func (s *Service) recordedRole(ctx context.Context, p, group PrincipalID) (GroupRole, error) {
	role := NotInGroup
	err := s.eachMembership(ctx, p, func(ms []Membership) error {
		for _, m := range ms {
			if m.Group == group {
				role = m.Role
			}
		}
		return nil
	})
	return role, err
}

// eachMembership walks over what is recorded of p's memberships.
func (s *Service) eachMembership(ctx context.Context, p PrincipalID, see func([]Membership) error) error {
	var after PrincipalID
	for {
		ms, err := s.store.Memberships(ctx, p, after, rebuildPage)
		if err != nil {
			return err
		}
		if err := see(ms); err != nil || len(ms) < rebuildPage {
			return err
		}
		after = ms[len(ms)-1].Group
	}
}

// restampPrincipal is restamp for a user or a group.
func (s *Service) restampPrincipal(ctx context.Context, id PrincipalID, seq int64) error {
	_, _, err := s.decide(ctx, s.NewBudget(), string(id), func(ctx context.Context) (*attempt, error) {
		rows, err := s.store.ReadPrincipal(ctx, id, PrincipalQuery{Serial: true})
		if err != nil {
			return nil, err
		}
		h := rows.Header
		if h.Seq != seq {
			return nothingToChange, nil
		}
		if h.State == commit.Absent {
			h = PrincipalHeader{ID: id, State: commit.Void}
		}
		h.Seq, h.MTS = seq+1, s.MTS(h.MTS)
		return &attempt{entry: InFlight{Principal: id, Base: seq}, commit: func(ctx context.Context, by commit.EntryID) (commit.Verdict, error) {
			return s.store.CommitPrincipal(ctx, &PrincipalCommit{ID: id, Base: seq, Header: h, Writer: by})
		}}, nil
	})
	if fault.ReasonOf(err) == fault.ReasonOutcomeUnknown {
		return nil // the next reading tells
	}
	return err
}

// mendMemberships mends what is recorded of p's memberships and is not so. It
// counts what was mended.
func (s *Service) mendMemberships(ctx context.Context, p PrincipalID) (mended int, err error) {
	err = s.eachMembership(ctx, p, func(ms []Membership) error {
		claims := make([]MemberOf, len(ms))
		for i, m := range ms {
			claims[i] = MemberOf{m.Group, p}
		}
		rows, err := s.store.Confirm(ctx, claims)
		if err != nil {
			return err
		}
		for i, m := range ms {
			if rows[i].Active() && rows[i].Role == m.Role {
				continue
			}
			wrong, err := s.mendIfWrong(ctx, m.Group, p)
			if mended += wrong; err != nil {
				return err
			}
		}
		return nil
	})
	return mended, err
}

// mendMembers mends what is recorded of a group's next members after one. It
// gives the last of them, empty where there are no more, and counts them and
// what was mended.
func (s *Service) mendMembers(ctx context.Context, group, after PrincipalID) (last PrincipalID, members, mended int, err error) {
	page, err := s.store.GroupMembersPage(ctx, group, after, scrubLook, false)
	if err != nil {
		return "", 0, 0, err
	}
	members = len(page.Members)
	for _, m := range page.Members {
		recorded, err := s.recordedRole(ctx, m.Principal, group)
		if err != nil {
			return "", members, mended, err
		}
		if recorded == roleIn(&page.Header, m) {
			continue
		}
		wrong, err := s.mendIfWrong(ctx, group, m.Principal)
		if mended += wrong; err != nil {
			return "", members, mended, err
		}
	}
	if members == scrubLook {
		last = page.Members[members-1].Principal
	}
	return last, members, mended, nil
}

// mendIfWrong mends a membership that is recorded wrongly of a state that still
// stands when nothing of the group's is in flight; 1 where it was.
func (s *Service) mendIfWrong(ctx context.Context, group, p PrincipalID) (int, error) {
	lists, err := s.openLists(ctx)
	if err != nil || lists.principals[group] {
		return 0, err
	}
	rows, err := s.store.ReadPrincipal(ctx, group, PrincipalQuery{Members: []PrincipalID{p}, Serial: true})
	if err != nil || lists.mayHide(rows.Header.MTS, s.Now()) {
		return 0, err
	}
	recorded, err := s.recordedRole(ctx, p, group)
	if err != nil || recorded == roleIn(&rows.Header, rows.Members[0]) {
		return 0, err
	}
	return 1, s.mendMembership(ctx, group, p)
}
