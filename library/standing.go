package library

import (
	"context"

	"carrel/principal"
)

// Standings tells what v may do with items, in the order of ids; nil for those
// that it may not see.
func (s *Service) Standings(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Standing, error) {
	items, err := s.Items(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	standings := make([]*Standing, len(ids))
	for i, it := range items {
		if it != nil {
			standings[i] = &it.Standing
		}
	}
	return standings, nil
}

// standingOf asks for the viewer's standing with an item that it sees; own is
// its own member row.
type standingOf struct {
	header *Header
	own    Member
}

// standings answers in the order of the items.
func (s *Service) standings(ctx context.Context, v *principal.Viewer, items []standingOf) ([]Standing, error) {
	found := make([]Standing, len(items))
	if len(items) == 0 || !v.SignedIn() && !v.GlobalAdmin {
		return found, nil
	}
	var open []int
	var ids []ContentID
	for i, it := range items {
		if it.own.Active() {
			found[i].Role = it.own.Role
		}
		if found[i].Role != Manages && v.SignedIn() {
			open, ids = append(open, i), append(ids, it.header.ID)
		}
	}
	roles, err := s.rolesThroughGroups(ctx, v, ids)
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
	for i, it := range items {
		found[i].grant(v, stored, it.header)
	}
	return found, nil
}

// grant fills in what the role allows. Administrators need no stored user;
// everybody else does.
func (t *Standing) grant(v *principal.Viewer, stored bool, h *Header) {
	t.CanManage = v.Administers(h.Tenant()) || stored && t.Role == Manages
	t.CanEdit = t.CanManage || stored && t.Role >= Editing
	t.CanShare = t.CanManage || stored && h.Visibility != principal.Private
}

// isStored tells whether the viewer's user exists.
func (s *Service) isStored(ctx context.Context, v *principal.Viewer) (bool, error) {
	u, err := s.ViewerUser(ctx, v)
	return u != nil, err
}
