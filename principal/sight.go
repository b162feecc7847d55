package principal

import (
	"context"

	"carrel/core/commit"
)

// Sight is what one reading of a principal or an item says of whether a viewer
// sees it.
type Sight uint8

const (
	Unseen        Sight = iota
	Seen                // whatever the viewer's groups are
	SeenByMembers       // if the viewer is in the group, or has a role through its groups
	// UnseenByAll is of what does not exist, where a hidden one would be
	// seenByMembers. The viewer's groups are resolved for it all the same, so that
	// nobody can tell the two apart by the time that the answer takes.
	UnseenByAll
)

// sightOfPrincipal decides from the header of id alone. Whoever a PRIVATE one lets
// in sees a wider one too: a member from another tenant sees its LOGGEDIN group.
func sightOfPrincipal(v *Viewer, id ID, h *Header) Sight {
	exists := h.State == commit.Live
	switch {
	case exists && (h.Visibility == Public || v.User == id || v.Administers(id.Tenant())):
		return Seen
	case exists && h.Visibility == LoggedIn && v.SignedIn() && v.User.Tenant() == id.Tenant():
		return Seen
	case !v.SignedIn() || !id.IsGroup() || v.Administers(id.Tenant()):
		return Unseen
	case exists:
		return SeenByMembers
	}
	return UnseenByAll
}

// Sees tells whether v may see the principal of that id.
func (s *Service) Sees(ctx context.Context, v *Viewer, id ID, h *Header) (bool, error) {
	switch sightOfPrincipal(v, id, h) {
	case Unseen:
		return false, nil
	case Seen:
		return true, nil
	}
	groups, err := s.GroupsOf(ctx, v)
	return h.State == commit.Live && groups.Role(id) != NotInGroup, err
}
