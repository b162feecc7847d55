package principal

import (
	"context"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
)

// CreateGroup creates a group in the viewer's own tenant; global administrators may create one
// in any tenant. Its creator becomes its manager, and must therefore exist.
func (s *Service) CreateGroup(ctx context.Context, v *Viewer, in CreateGroup) (*Group, error) {
	defer v.Forget()
	var faults fault.List
	id := newID(GroupID, in.Tenant, in.Name, &faults)
	faults.Add(checkDisplayName(in.DisplayName), "displayName")
	faults.Add(checkVisibility(in.Visibility), "visibility")
	m, err := s.BeginSignedIn(v, commit.Call{Name: "createGroup", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	h, err := s.create(ctx, m, creation{
		what: "group",
		header: Header{
			ID: id, DisplayName: in.DisplayName, Visibility: in.Visibility, State: commit.Live, Managers: 1, Members: 1,
		},
		rows:    []GroupMemberRow{{Principal: v.User, Role: GroupManager}},
		allowed: func(ctx context.Context) error { return s.mayCreateGroup(ctx, m.Budget, v, id.Tenant()) },
		rules: func(ctx context.Context) error {
			refused, err := s.checkAdditions(ctx, v, id, []ID{v.User})
			if err != nil {
				return err
			}
			return refused[0]
		},
	})
	if err != nil {
		return nil, err
	}
	v.Forget()
	return s.shownGroup(ctx, v, h)
}

// mayCreateGroup returns an error unless the viewer is a stored user of the tenant, or a global
// administrator who is a stored user.
func (s *Service) mayCreateGroup(ctx context.Context, b commit.Budget, v *Viewer, tenant string) error {
	if err := s.requireUser(ctx, b, v); err != nil {
		return err
	}
	if v.GlobalAdmin || v.User.Tenant() == tenant {
		return nil
	}
	return fault.Forbiddenf([]string{"tenant"}, "you create groups in your own tenant, %s", v.User.Tenant())
}

// UpdateGroup changes a group. Its effective managers and the administrators of its tenant may
// call it.
func (s *Service) UpdateGroup(ctx context.Context, v *Viewer, in UpdateGroup) (*Group, error) {
	defer v.Forget()
	id, change, faults := in.check()
	m, err := s.BeginAsActor(v, id.Tenant(), commit.Call{Name: "updateGroup", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	rows, err := s.changePrincipal(ctx, m, id, []ID{v.User}, nil, func(ctx context.Context, rows *Rows) (*changePlan, error) {
		if err := s.requireGroup(ctx, v, id, rows, "id"); err != nil {
			return nil, err
		}
		if err := s.requireGroupManager(ctx, v, rows, "id"); err != nil {
			return nil, err
		}
		return change.plan(rows.Header), nil
	})
	if err != nil {
		return nil, err
	}
	return s.shownGroupOf(ctx, v, rows)
}

// check returns the group that the input names, what it changes, and the errors of the input
// except those of its idempotency key.
func (in *UpdateGroup) check() (group ID, change headerChange, faults fault.List) {
	group, err := parseOf(id.Group, in.ID)
	faults.Add(err, "id")
	change = headerChange{
		displayName: input.Needed(&faults, in.DisplayName, checkDisplayName, "displayName"),
		visibility:  input.Needed(&faults, in.Visibility, checkVisibility, "visibility"),
	}
	if !in.DisplayName.Set && !in.Visibility.Set {
		faults.Add(fault.Emptyf(nil, "there is nothing to change: give at least one of displayName and visibility"))
	}
	return group, change, faults
}

// requireGroup returns NOT_FOUND if the group does not exist or the viewer may not see it.
// rows.Members[0] is the viewer's own row.
func (s *Service) requireGroup(ctx context.Context, v *Viewer, id ID, rows *Rows, path string) error {
	if rows.Header.State == commit.Live && rows.Members[0].Active() {
		return nil
	}
	visible, err := s.Sees(ctx, v, id, &rows.Header)
	if err == nil && !visible {
		return NoSuchPrincipal(path)
	}
	return err
}

// requireGroupManager returns FORBIDDEN unless the viewer is an effective manager of the group
// (directly, or through a group that is MANAGER of it) or an administrator. rows.Members[0] is
// the viewer's own row.
func (s *Service) requireGroupManager(ctx context.Context, v *Viewer, rows *Rows, path string) error {
	own := rows.Members[0]
	if v.Administers(rows.Header.Tenant()) || own.Active() && own.Role == GroupManager {
		return nil
	}
	through, err := s.GroupsOf(ctx, v)
	if err != nil {
		return err
	}
	// The roles of the viewer's groups in this one are read from its own partition, which decides.
	// This one is a level above them.
	groups, err := s.readMembers(ctx, rows.Header.ID, through.within(maxLevels-1), nil)
	if err != nil {
		return err
	}
	for _, row := range groups.Members {
		if row.Active() && row.Role == GroupManager {
			return nil
		}
	}
	return fault.Forbiddenf([]string{path}, "only managers of the group and administrators of its tenant may do this")
}

// shownGroup returns the group for the answer of a mutation: nil if the actor may no longer see
// it.
func (s *Service) shownGroup(ctx context.Context, v *Viewer, h Header) (*Group, error) {
	visible, err := s.Sees(ctx, v, h.ID, &h)
	if err != nil || !visible {
		return nil, err
	}
	return &Group{h}, nil
}
