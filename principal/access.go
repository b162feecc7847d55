package principal

import (
	"context"

	"carrel/core/commit"
)

// Access is what one reading of a principal or an item says of whether a viewer sees it.
type Access uint8

// The decisions.
const (
	Denied   Access = iota
	Granted         // whatever groups the viewer is in
	IfMember        // granted if the viewer is in the group, or has a role through its groups
	// DeniedAfterGroups is of what does not exist, where a hidden one would be IfMember. The
	// viewer's groups are resolved all the same, so that the time of the answer does not tell
	// the two apart.
	DeniedAfterGroups
	// UnlessDeleted is granted unless the viewer's user was deleted: its role on an item ends
	// then, before its row is removed.
	UnlessDeleted
)

// Depends reports whether more must be read before the answer.
func (a Access) Depends() bool { return a == IfMember || a == DeniedAfterGroups || a == UnlessDeleted }

// accessTo decides who sees a user or a group, from its header alone. Whoever sees it while
// it is PRIVATE sees it while it is LOGGEDIN too, also a member from another tenant.
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

// Sees reports whether v sees the principal of an id, of which h was read.
func (s *Service) Sees(ctx context.Context, v *Viewer, id ID, h *Header) (bool, error) {
	access := accessTo(v, id, h)
	if !access.Depends() {
		return access == Granted, nil
	}
	groups, err := s.GroupsOf(ctx, v)
	return access == IfMember && groups.Role(id) != NotInGroup, err
}
