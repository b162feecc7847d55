package principal

import (
	"carrel/core/clock"
	"carrel/core/commit"
)

// GroupRole is the role of a principal in a group. Roles are ordered by strength; 0 is none.
type GroupRole uint8

// The roles in a group.
const (
	NotInGroup   GroupRole = 0
	GroupMember  GroupRole = 1
	GroupManager GroupRole = 2
)

// String returns the name of the role in the API, "" for none.
func (r GroupRole) String() string {
	switch r {
	case GroupMember:
		return "MEMBER"
	case GroupManager:
		return "MANAGER"
	}
	return ""
}

// ParseGroupRole parses the name in the API; ok is false for any other text.
func ParseGroupRole(s string) (r GroupRole, ok bool) {
	switch s {
	case "MEMBER":
		return GroupMember, true
	case "MANAGER":
		return GroupManager, true
	}
	return 0, false
}

// Header is the authoritative row of a user or a group. Only a compare-and-set on Seq changes
// it.
type Header struct {
	ID          ID
	DisplayName string
	Visibility  Visibility
	Email       string // users only; trimmed, lower-cased, domain in IDNA form
	CreatedAt   clock.Instant
	State       commit.State
	Seq         int64
	MTS         clock.Instant
	Writers     []commit.Writer
	Managers    int // active managers of a group
	Members     int // active members of a group
}

// LooksLike reports whether pages show two states of a principal in the same way and to the same
// viewers. A principal that does not exist yet is shown to nobody, and nothing is copied of it.
func (h *Header) LooksLike(other *Header) bool {
	if !h.State.Used() || h.State == commit.Deleted && other.State == commit.Deleted {
		return true
	}
	return h.State == other.State && h.DisplayName == other.DisplayName && h.Visibility == other.Visibility &&
		h.Email == other.Email && h.CreatedAt == other.CreatedAt
}

// GroupMemberRow is a member row of a group.
type GroupMemberRow struct {
	Principal ID
	Role      GroupRole
	Leaving   bool  // the principal was removed; the row remains until the derived rows are updated
	Seq       int64 // of the compare-and-set that last wrote it; 0: no row
	// Since is when the principal became a member, whatever its role was since. Nobody can choose it.
	Since clock.Instant
}

// Active reports whether the row makes its principal a member.
func (m GroupMemberRow) Active() bool { return m.Seq != 0 && !m.Leaving }

// Membership is a derived row: a group of which a principal is a direct member. It gives access
// only after the group's own row has confirmed it.
type Membership struct {
	Group ID
	Role  GroupRole
	Since clock.Instant // of the group's row
}

// Principal is a user or a group as readers see it: *User or *Group.
type Principal interface {
	PrincipalID() ID
	Tenant() string
	// Head returns the header that was read.
	Head() *Header
}

// User is a principal that signs in.
type User struct{ Header }

// Group is a principal with members.
type Group struct{ Header }

// PrincipalID returns the user's id.
func (u *User) PrincipalID() ID { return u.ID }

// Head returns the header that was read.
func (u *User) Head() *Header { return &u.Header }

// PrincipalID returns the group's id.
func (g *Group) PrincipalID() ID { return g.ID }

// Head returns the header that was read.
func (g *Group) Head() *Header { return &g.Header }

// Tenant returns the principal's tenant.
func (h *Header) Tenant() string { return h.ID.Tenant() }

// Of returns a header as a user or a group.
func Of(h Header) Principal {
	if h.ID.IsGroup() {
		return &Group{h}
	}
	return &User{h}
}
