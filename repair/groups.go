package repair

import (
	"context"

	"carrel/core/commit"
	"carrel/principal"
)

// repairMembership updates the record of p's membership in a group from the group's own row.
func (s *Service) repairMembership(ctx context.Context, group, p principal.ID) error {
	rows, err := s.principals.ReadPrincipal(ctx, group, principal.Query{Members: []principal.ID{p}})
	if err != nil || rows.Header.Seq == 0 {
		return err
	}
	return s.engine.Retry(ctx, func() error {
		return s.principals.ApplyGroupIndex(ctx, &principal.GroupIndexUpdate{Header: &rows.Header, Rows: rows.Members})
	})
}

// roleIn returns the role in a group's own row.
func roleIn(h *principal.Header, m principal.GroupMemberRow) principal.GroupRole {
	if h.State == commit.Live && m.Active() {
		return m.Role
	}
	return principal.NotInGroup
}

// recordedRole returns p's role in a group according to the record of p's memberships.
func (s *Service) recordedRole(ctx context.Context, p, group principal.ID) (principal.GroupRole, error) {
	role := principal.NotInGroup
	err := s.eachMembership(ctx, p, func(ms []principal.Membership) error {
		for _, m := range ms {
			if m.Group == group {
				role = m.Role
			}
		}
		return nil
	})
	return role, err
}

// eachMembership calls see with the recorded memberships of p.
func (s *Service) eachMembership(ctx context.Context, p principal.ID, see func([]principal.Membership) error) error {
	var after principal.ID
	for {
		ms, err := s.principals.Memberships(ctx, p, after, rebuildPage)
		if err != nil {
			return err
		}
		if err := see(ms); err != nil || len(ms) < rebuildPage {
			return err
		}
		after = ms[len(ms)-1].Group
	}
}

// repairMemberships repairs the recorded memberships of p that are wrong. It returns their
// number.
func (s *Service) repairMemberships(ctx context.Context, p principal.ID) (repaired int, err error) {
	err = s.eachMembership(ctx, p, func(ms []principal.Membership) error {
		claims := make([]principal.MemberOf, len(ms))
		for i, m := range ms {
			claims[i] = principal.MemberOf{Group: m.Group, Member: p}
		}
		rows, err := s.principals.Confirm(ctx, claims)
		if err != nil {
			return err
		}
		for i, m := range ms {
			if rows[i].Active() && rows[i].Role == m.Role {
				continue
			}
			wrong, err := s.repairIfWrong(ctx, m.Group, p)
			if repaired += wrong; err != nil {
				return err
			}
		}
		return nil
	})
	return repaired, err
}

// repairMembers repairs the recorded memberships of a group's next members after one. It
// returns the last of them, empty if there are no more, their number, and the number repaired.
func (s *Service) repairMembers(ctx context.Context, group, after principal.ID) (last principal.ID, members, repaired int, err error) {
	page, err := s.principals.GroupMembersPage(ctx, group, after, scrubLook, false)
	if err != nil {
		return "", 0, 0, err
	}
	members = len(page.Members)
	for _, m := range page.Members {
		recorded, err := s.recordedRole(ctx, m.Principal, group)
		if err != nil {
			return "", members, repaired, err
		}
		if recorded == roleIn(&page.Header, m) {
			continue
		}
		wrong, err := s.repairIfWrong(ctx, group, m.Principal)
		if repaired += wrong; err != nil {
			return "", members, repaired, err
		}
	}
	var active []principal.ID
	for _, m := range page.Members {
		if m.Active() && page.Header.State == commit.Live {
			active = append(active, m.Principal)
		}
	}
	left, err := s.eachDeleted(ctx, active, func(p principal.ID) error { return s.people.Upkeep.LeaveGroup(ctx, group, p) })
	if repaired += left; err != nil {
		return "", members, repaired, err
	}
	if members == scrubLook {
		last = page.Members[members-1].Principal
	}
	return last, members, repaired, nil
}

// repairIfWrong repairs a membership that is recorded wrongly, if the state of the group is
// unchanged and nothing of the group is in flight. It returns 1 if it was repaired.
func (s *Service) repairIfWrong(ctx context.Context, group, p principal.ID) (int, error) {
	lists, err := s.library.OpenLists(ctx)
	if err != nil || lists.Principals[group] {
		return 0, err
	}
	rows, err := s.principals.ReadPrincipal(ctx, group, principal.Query{Members: []principal.ID{p}, Serial: true})
	if err != nil || lists.MayHide(rows.Header.MTS, s.engine.Now()) {
		return 0, err
	}
	recorded, err := s.recordedRole(ctx, p, group)
	if err != nil || recorded == roleIn(&rows.Header, rows.Members[0]) {
		return 0, err
	}
	return 1, s.repairMembership(ctx, group, p)
}
