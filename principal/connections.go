package principal

import (
	"context"
	"fmt"

	"carrel/core/cursor"
	"carrel/core/fault"
)

// How many rows are scanned, whether the viewer may see them or not. A page that scans them all is short.
const (
	pageBudget      = 250   // for a page of members or groups, whose headers are read
	directoryBudget = 1_000 // for a page of a directory, whose rows show which are hidden
	totalBudget     = 1_000 // for a total
)

// GroupMembers lists the direct members of a group that v may see. Managers get all of them:
// otherwise they could not remove a member that they do not see.
func (s *Service) GroupMembers(ctx context.Context, v *Viewer, group ID, args cursor.PageArgs) (*GroupMemberConnection, error) {
	p, err := args.Forwards()
	if err != nil {
		return nil, err
	}
	if err := s.requireListed(ctx, v, group, group.IsGroup()); err != nil {
		return nil, err
	}
	role, err := s.GroupRoleOf(ctx, v, group)
	if err != nil {
		return nil, err
	}
	l := s.NewList(v, cursor.OfGroupMembers, string(group), func(ctx context.Context, after ListPosition, limit int) ([]Listed, bool, error) {
		rows, err := s.store.GroupMembersPage(ctx, group, ID(after), limit, false)
		if err != nil {
			return nil, false, fmt.Errorf("read members of a group: %w", err)
		}
		return groupRows(rows.Members, func(m GroupMemberRow) ID { return m.Principal }), len(rows.Members) < limit, nil
	})
	l.All = role == GroupManager || v.Administers(group.Tenant())
	return ReadRoles[Principal, GroupRole](ctx, l, p, Of)
}

// Groups lists the groups that a user is a direct member of and v may see.
func (s *Service) Groups(ctx context.Context, v *Viewer, user ID, args cursor.PageArgs) (*GroupConnection, error) {
	p, err := args.Forwards()
	if err != nil {
		return nil, err
	}
	if err := s.requireListed(ctx, v, user, user.IsUser()); err != nil {
		return nil, err
	}
	l := s.NewList(v, cursor.OfGroups, string(user), func(ctx context.Context, after ListPosition, limit int) ([]Listed, bool, error) {
		return s.confirmedGroups(ctx, user, ID(after), limit)
	})
	return ReadRoles[*Group, GroupRole](ctx, l, p, func(h Header) *Group { return &Group{h} })
}

// requireListed returns NOT_FOUND unless v may see the principal and it is of the kind that has
// the list.
func (s *Service) requireListed(ctx context.Context, v *Viewer, id ID, hasList bool) error {
	if !hasList {
		return fault.NotFoundf(nil, "there is no such user or group, or it may not be seen")
	}
	_, err := s.VisiblePrincipal(ctx, v, id)
	return err
}

// confirmedGroups returns the direct groups of a principal from the reverse index, each with
// the role in the group's own row.
func (s *Service) confirmedGroups(ctx context.Context, p, after ID, limit int) ([]Listed, bool, error) {
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
		ls[i].ID = claims[i].Group
		ls[i].At = ListPosition(claims[i].Group)
	}
	return ls, len(ms) < limit, nil
}

func groupRows(rows []GroupMemberRow, id func(GroupMemberRow) ID) []Listed {
	ls := make([]Listed, len(rows))
	for i, m := range rows {
		ls[i] = Listed{Active: m.Active(), Role: uint8(m.Role)}
		if id != nil {
			ls[i].ID = id(m)
			ls[i].At = ListPosition(ls[i].ID)
		}
	}
	return ls
}
