package library

import (
	"context"
	"fmt"

	"carrel/core/cursor"
	"carrel/principal"
)

// Members lists the direct members of an item that v may see. Managers get all of them:
// otherwise they could not remove a member that they do not see. If v may not see the item, as when it was
// deleted since v has read it, the list is empty.
func (s *Service) Members(ctx context.Context, v *principal.Viewer, id ContentID, args cursor.PageArgs) (*ContentMemberConnection, error) {
	p, err := args.Forwards()
	if err != nil {
		return nil, err
	}
	permissions, err := s.PermissionsOf(ctx, v, []ContentID{id})
	if err != nil {
		return nil, err
	}
	l := s.people.NewList(v, cursor.OfMembers, string(id), func(ctx context.Context, after principal.ListPosition,
		limit int) ([]principal.Listed, bool, error) {
		if permissions[0] == nil {
			return nil, true, nil
		}
		rows, err := s.contents.MembersPage(ctx, id, principal.ID(after), limit, false)
		if err != nil {
			return nil, false, fmt.Errorf("read members: %w", err)
		}
		ls := make([]principal.Listed, len(rows.Members))
		for i, m := range rows.Members {
			ls[i] = principal.Listed{At: principal.ListPosition(m.Principal), ID: m.Principal, Active: m.Active(), Role: uint8(m.Role)}
		}
		return ls, len(ls) < limit, nil
	})
	l.All = permissions[0] != nil && permissions[0].CanManage
	return principal.ReadRoles[principal.Principal, ContentRole](ctx, l, p, principal.Of)
}
