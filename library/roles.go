package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/principal"
)

// effectiveRole returns the strongest role of the viewer on an item: from its own row, its
// groups' rows, and administration, which counts as a manager's role. It stops at a role that
// is at least enough.
func (s *Service) effectiveRole(ctx context.Context, v *principal.Viewer, id ContentID, own Member, enough ContentRole) (ContentRole, error) {
	if v.Administers(id.Tenant()) {
		return Manages, nil
	}
	if own.Active() && own.Role >= enough {
		return own.Role, nil
	}
	role, err := s.roleThroughGroups(ctx, v, id)
	if err != nil {
		return NoRole, err
	}
	if own.Active() {
		role = max(role, own.Role)
	}
	return role, nil
}

// requireContentManager returns FORBIDDEN for viewers who see the item but do not manage it.
func (s *Service) requireContentManager(ctx context.Context, v *principal.Viewer, t *target, path string) error {
	role, err := s.effectiveRole(ctx, v, t.header.ID, t.own, Manages)
	if err != nil {
		return err
	}
	if role != Manages {
		return fault.Forbiddenf([]string{path}, "only a manager of the item may do this")
	}
	return nil
}

// roleThroughGroups returns the strongest role that v's groups have on the item.
func (s *Service) roleThroughGroups(ctx context.Context, v *principal.Viewer, id ContentID) (ContentRole, error) {
	roles, err := s.rolesThroughGroups(ctx, v, []ContentID{id})
	if err != nil {
		return NoRole, err
	}
	return roles[0], nil
}

// rolesThroughGroups is roleThroughGroups for items, in the order of ids.
func (s *Service) rolesThroughGroups(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]ContentRole, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	closure, err := s.GroupsOf(ctx, v)
	if err != nil {
		return nil, err
	}
	roles := make([]ContentRole, len(ids))
	groups := closure.All()
	for from := 0; from < len(ids); from += input.MaxList {
		some := ids[from:min(from+input.MaxList, len(ids))]
		for list := range slices.Chunk(groups, input.MaxList) {
			rows, err := s.contents.ReadMany(ctx, some, list)
			if err != nil {
				return nil, fmt.Errorf("read roles of groups: %w", err)
			}
			for i := range rows {
				roles[from+i] = max(roles[from+i], strongest(&rows[i]))
			}
		}
	}
	return roles, nil
}

// strongest returns the strongest role of the active members in rows.
func strongest(rows *ContentRows) ContentRole {
	role := NoRole
	if rows.Header.State != commit.Live {
		return role
	}
	for _, m := range rows.Members {
		if m.Active() {
			role = max(role, m.Role)
		}
	}
	return role
}
