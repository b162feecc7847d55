package repair

import (
	"context"

	"carrel/core/commit"
	"carrel/core/sched"
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
	read := func(ctx context.Context, after principal.ID, limit int) ([]principal.Membership, error) {
		return s.principals.Memberships(ctx, p, after, limit)
	}
	return sched.Pages(ctx, rebuildPage, read, func(m principal.Membership) principal.ID { return m.Group }, see)
}

// eachConfirmed calls see with the recorded memberships of p, and p's own rows in the groups.
func (s *Service) eachConfirmed(ctx context.Context, p principal.ID,
	see func(m principal.Membership, row principal.GroupMemberRow) error) error {
	return s.eachMembership(ctx, p, func(ms []principal.Membership) error {
		claims := make([]principal.MemberOf, len(ms))
		for i, m := range ms {
			claims[i] = principal.MemberOf{Group: m.Group, Member: p}
		}
		rows, err := s.principals.Confirm(ctx, claims)
		for i := 0; err == nil && i < len(ms); i++ {
			err = see(ms[i], rows[i])
		}
		return err
	})
}

// repairMemberships repairs the recorded memberships of p that are wrong. It returns their
// number.
func (s *Service) repairMemberships(ctx context.Context, p principal.ID) (repaired int, err error) {
	err = s.eachConfirmed(ctx, p, func(m principal.Membership, row principal.GroupMemberRow) error {
		if row.Active() && row.Role == m.Role {
			return nil
		}
		wrong, err := s.repairIfWrong(ctx, m.Group, p)
		repaired += wrong
		return err
	})
	return repaired, err
}

// eachGroupPage calls see with the rows of a group's members, a page at a time.
func (s *Service) eachGroupPage(ctx context.Context, group principal.ID, see func(*principal.Rows) error) error {
	var page *principal.Rows
	read := func(ctx context.Context, after principal.ID, limit int) (_ []principal.GroupMemberRow, err error) {
		if page, err = s.principals.GroupMembersPage(ctx, group, after, limit, false); err != nil {
			return nil, err
		}
		return page.Members, nil
	}
	key := func(m principal.GroupMemberRow) principal.ID { return m.Principal }
	return sched.Pages(ctx, rebuildPage, read, key, func([]principal.GroupMemberRow) error { return see(page) })
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
