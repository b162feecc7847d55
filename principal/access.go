package principal

import (
	"context"

	"carrel/core/commit"
)

// Access is the decision whether a viewer sees a principal or an item, as far as a single read of
// it decides that.
type Access uint8

// The decisions.
const (
	Denied   Access = iota
	Granted         // whatever groups the viewer is in
	IfMember        // granted if the viewer is in the group, or has a role through its groups
	// DeniedAfterGroups is denied. It is the decision for something that does not exist, where the
	// decision for something hidden would be IfMember. The viewer's groups are resolved
	// nevertheless, so the response time does not reveal which of the two it is.
	DeniedAfterGroups
	// UnlessDeleted is granted unless the viewer's user was deleted, which ends its roles on items
	// before its member rows are removed.
	UnlessDeleted
)

// Depends reports whether more must be read to decide.
func (a Access) Depends() bool { return a == IfMember || a == DeniedAfterGroups || a == UnlessDeleted }

// accessTo decides who sees a user or a group, from its header alone. Viewers who see it while
// it is PRIVATE also see it while it is LOGGEDIN, even members from another tenant.
func accessTo(v *Viewer, id ID, h *Header) Access {
	exists := h.State == commit.Live
	switch {
	case exists && (h.Visibility == Public || v.User == id || v.Administers(id.Tenant())):
		return Granted
	case exists && h.Visibility == LoggedIn && v.SignedIn() && v.User.Tenant() == id.Tenant():
		return Granted
	case !v.SignedIn() || !id.IsGroup() || v.Administers(id.Tenant()):
		return Denied
	case exists:
		return IfMember
	}
	return DeniedAfterGroups
}

// Sees reports whether v sees a principal. h is the principal's header.
func (s *Service) Sees(ctx context.Context, v *Viewer, id ID, h *Header) (bool, error) {
	if access := accessTo(v, id, h); !access.Depends() {
		return access == Granted, nil
	}
	sees, err := s.seesEach(ctx, v, []ID{id}, []*Header{h})
	return err == nil && sees[0], err
}

// seesEach is Sees for several principals.
func (s *Service) seesEach(ctx context.Context, v *Viewer, ids []ID, hs []*Header) ([]bool, error) {
	sees := make([]bool, len(ids))
	var open []int // those that depend on the viewer's groups
	for i, id := range ids {
		access := accessTo(v, id, hs[i])
		if sees[i] = access == Granted; access.Depends() {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return sees, nil
	}
	return sees, s.ByGroups(ctx, v, func(c *Closure) (through []ID, err error) {
		for _, i := range open {
			sees[i] = hs[i].State == commit.Live && c.Role(ids[i]) != NotInGroup
			if sees[i] {
				through = append(through, ids[i])
			}
		}
		return through, nil
	})
}
