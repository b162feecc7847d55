package library

import (
	"context"
	"fmt"

	"carrel/core/fault"
)

// listBudget is how many rows a page of principals scans at most. Their
// headers cost less than items do, and a list that hides some of them is still
// filled up to the size asked for.
const listBudget = 1000

// Members lists the direct members of an item that v may see; all of them to
// its managers, who could not take away a role from somebody unseen otherwise.
func (s *Service) Members(ctx context.Context, v *Viewer, id ContentID, args PageArgs) (*ContentMemberConnection, error) {
	p, err := args.forwards()
	if err != nil {
		return nil, err
	}
	cs, err := s.Contents(ctx, v, []ContentID{id})
	if err != nil {
		return nil, err
	}
	if cs[0] == nil {
		return nil, fault.NotFoundf(nil, "there is no such content, or it may not be seen")
	}
	l := s.newList(v, cursorOfMembers, string(id), func(ctx context.Context, after listPlace, limit int) ([]listed, bool, error) {
		rows, err := s.store.MembersPage(ctx, id, PrincipalID(after), limit, false)
		if err != nil {
			return nil, false, fmt.Errorf("read members: %w", err)
		}
		ls := make([]listed, len(rows.Members))
		for i, m := range rows.Members {
			ls[i] = listed{at: listPlace(m.Principal), id: m.Principal, active: m.Active(), role: uint8(m.Role)}
		}
		return ls, len(ls) < limit, nil
	})
	standing, err := s.Standings(ctx, v, []ContentID{id})
	if err != nil {
		return nil, err
	}
	l.all = standing[0] != nil && standing[0].CanManage
	shown, info, err := l.page(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &ContentMemberConnection{PageInfo: info, Edges: make([]*ContentMemberEdge, len(shown))}
	for i, it := range shown {
		c.Edges[i] = &ContentMemberEdge{Node: principalOf(*it.header), Role: ContentRole(it.role), seal: l.cursor(it.at)}
	}
	return c, nil
}

// GroupMembers lists the direct members of a group that v may see.
func (s *Service) GroupMembers(ctx context.Context, v *Viewer, group PrincipalID, args PageArgs) (*GroupMemberConnection, error) {
	p, err := args.forwards()
	if err != nil {
		return nil, err
	}
	if err := s.requireListed(ctx, v, group, group.IsGroup()); err != nil {
		return nil, err
	}
	l := s.newList(v, cursorOfGroupMembers, string(group), func(ctx context.Context, after listPlace, limit int) ([]listed, bool, error) {
		rows, err := s.store.GroupMembersPage(ctx, group, PrincipalID(after), limit, false)
		if err != nil {
			return nil, false, fmt.Errorf("read members of a group: %w", err)
		}
		return groupRows(rows.Members, func(m GroupMemberRow) PrincipalID { return m.Principal }), len(rows.Members) < limit, nil
	})
	shown, info, err := l.page(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &GroupMemberConnection{PageInfo: info, Edges: make([]*GroupMemberEdge, len(shown))}
	for i, it := range shown {
		c.Edges[i] = &GroupMemberEdge{Node: principalOf(*it.header), Role: GroupRole(it.role), seal: l.cursor(it.at)}
	}
	return c, nil
}

// Groups lists the groups that a user is a direct member of and v may see.
func (s *Service) Groups(ctx context.Context, v *Viewer, user PrincipalID, args PageArgs) (*GroupConnection, error) {
	p, err := args.forwards()
	if err != nil {
		return nil, err
	}
	if err := s.requireListed(ctx, v, user, user.IsUser()); err != nil {
		return nil, err
	}
	l := s.newList(v, cursorOfGroups, string(user), func(ctx context.Context, after listPlace, limit int) ([]listed, bool, error) {
		return s.confirmedGroups(ctx, user, PrincipalID(after), limit)
	})
	shown, info, err := l.page(ctx, p)
	if err != nil {
		return nil, err
	}
	c := &GroupConnection{PageInfo: info, Edges: make([]*GroupEdge, len(shown))}
	for i, it := range shown {
		c.Edges[i] = &GroupEdge{Node: &Group{*it.header}, Role: GroupRole(it.role), seal: l.cursor(it.at)}
	}
	return c, nil
}

// requireListed answers NOT_FOUND unless v may see the principal and it is of
// the kind that has the list.
func (s *Service) requireListed(ctx context.Context, v *Viewer, id PrincipalID, hasList bool) error {
	if !hasList {
		return fault.NotFoundf(nil, "there is no such user or group, or it may not be seen")
	}
	_, err := s.visiblePrincipal(ctx, v, id)
	return err
}

// confirmedGroups are the direct groups of a principal from the reverse index,
// each as its own row in the group has it.
func (s *Service) confirmedGroups(ctx context.Context, p, after PrincipalID, limit int) ([]listed, bool, error) {
	ms, err := s.store.Memberships(ctx, p, after, limit)
	if err != nil {
		return nil, false, fmt.Errorf("read memberships: %w", err)
	}
	if len(ms) == 0 {
		return nil, true, nil
	}
	claims := make([]MemberOf, len(ms))
	for i, m := range ms {
		claims[i] = MemberOf{Group: m.Group, Member: p}
	}
	rows, err := s.store.Confirm(ctx, claims)
	if err != nil {
		return nil, false, fmt.Errorf("confirm memberships: %w", err)
	}
	ls := groupRows(rows, nil)
	for i := range ls {
		ls[i].id = claims[i].Group
		ls[i].at = listPlace(claims[i].Group)
	}
	return ls, len(ms) < limit, nil
}

func groupRows(rows []GroupMemberRow, id func(GroupMemberRow) PrincipalID) []listed {
	ls := make([]listed, len(rows))
	for i, m := range rows {
		ls[i] = listed{active: m.Active(), role: uint8(m.Role)}
		if id != nil {
			ls[i].id = id(m)
			ls[i].at = listPlace(ls[i].id)
		}
	}
	return ls
}
