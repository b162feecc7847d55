package principal

import (
	"carrel/core/clock"
	"carrel/core/commit"
)

// GroupRole is what a principal is in a group. Ordered by strength; 0 is none.
type GroupRole uint8

// The roles in a group.
const (
	NotInGroup   GroupRole = 0
	GroupMember  GroupRole = 1
	GroupManager GroupRole = 2
)

// String is the contract's name of the role, empty for none.
func (r GroupRole) String() string {
	switch r {
	case GroupMember:
		return "MEMBER"
	case GroupManager:
		return "MANAGER"
	}
	return ""
}

// ParseGroupRole reads the contract's name; ok is false for any other text.
func ParseGroupRole(s string) (r GroupRole, ok bool) {
	switch s {
	case "MEMBER":
		return GroupMember, true
	case "MANAGER":
		return GroupManager, true
	}
	return 0, false
}

// Header is the authoritative row of a user or a group, changed by
// compare-and-set on Seq only.
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

// GroupMemberRow is a member row of a group.
type GroupMemberRow struct {
	Principal ID
	Role      GroupRole
	Leaving   bool
	Seq       int64 // of the compare-and-set that last wrote it; 0: no row
}

// Active tells whether the row makes its principal a member.
func (m GroupMemberRow) Active() bool { return m.Seq != 0 && !m.Leaving }

// Membership is a derived row: the group that a principal is a direct member
// of. Access rests on it only once the group's own row has confirmed it.
type Membership struct {
	Group ID
	Role  GroupRole
}

// Principal is a user or a group as its readers know it: *User or *Group.
type Principal interface {
	PrincipalID() ID
	Tenant() string
	// Head is the header that was read.
	Head() *Header
}

// User is a principal that signs in.
type User struct{ Header }

// Group is a principal with members.
type Group struct{ Header }

// PrincipalID is the user's id.
func (u *User) PrincipalID() ID { return u.ID }

// Head is the header that was read.
func (u *User) Head() *Header { return &u.Header }

// PrincipalID is the group's id.
func (g *Group) PrincipalID() ID { return g.ID }

// Head is the header that was read.
func (g *Group) Head() *Header { return &g.Header }

// Tenant is the principal's tenant.
func (h *Header) Tenant() string { return h.ID.Tenant() }

// Of wraps a header as what it is.
func Of(h Header) Principal {
	if h.ID.IsGroup() {
		return &Group{h}
	}
	return &User{h}
}
