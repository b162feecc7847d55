package library

import (
	"context"

	"carrel/principal"
)

// PermissionsOf returns what v may do with items, in the order of ids; nil for those that it
// may not see.
func (s *Service) PermissionsOf(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Permissions, error) {
	items, err := s.Items(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	permissions := make([]*Permissions, len(ids))
	for i, it := range items {
		if it != nil {
			permissions[i] = &it.Permissions
		}
	}
	return permissions, nil
}

// permissionsItem is an item that the viewer sees, of which the permissions are needed. own is
// the viewer's own member row.
type permissionsItem struct {
	header *Header
	own    Member
}

// permissions returns the permissions in the order of the items.
func (s *Service) permissions(ctx context.Context, v *principal.Viewer, items []permissionsItem) ([]Permissions, error) {
	found := make([]Permissions, len(items))
	if len(items) == 0 || !v.SignedIn() && !v.GlobalAdmin {
		return found, nil
	}
	var open []int
	var states []state
	for i, it := range items {
		if it.own.Active() {
			found[i].Role = it.own.Role
		}
		if found[i].Role != Manages && v.SignedIn() {
			open, states = append(open, i), append(states, stateOf(it.header.ID, it.header))
		}
	}
	roles, err := s.rolesThroughGroups(ctx, v, states)
	if err != nil {
		return nil, err
	}
	for n, role := range roles {
		found[open[n]].Role = max(found[open[n]].Role, role)
	}
	stored, err := s.isStored(ctx, v)
	if err != nil {
		return nil, err
	}
	if !stored {
		deleted, err := s.people.IsDeleted(ctx, v)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if deleted {
				found[i].Role = NoRole
			}
		}
	}
	for i, it := range items {
		found[i].grant(v, stored, it.header)
	}
	return found, nil
}

// grant sets what the role allows. Administrators need no stored user; all other viewers do.
func (t *Permissions) grant(v *principal.Viewer, stored bool, h *Header) {
	t.CanManage = v.Administers(h.Tenant()) || stored && t.Role == Manages
	t.CanEdit = t.CanManage || stored && t.Role >= Editing
	t.CanShare = t.CanManage || stored && h.Visibility != principal.Private
}

// isStored reports whether the viewer's user exists.
func (s *Service) isStored(ctx context.Context, v *principal.Viewer) (bool, error) {
	u, err := s.people.ViewerUser(ctx, v)
	return u != nil, err
}
