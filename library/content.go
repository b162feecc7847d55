package library

import (
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// ContentKind says what an item is: a LINK to something, or a NOTE with text.
type ContentKind uint8

// The kinds of content.
const (
	Link ContentKind = 1
	Note ContentKind = 2
)

// String is the contract's name of the kind.
func (k ContentKind) String() string {
	switch k {
	case Link:
		return "LINK"
	case Note:
		return "NOTE"
	}
	return ""
}

// ParseContentKind reads the contract's name; ok is false for any other text.
func ParseContentKind(s string) (k ContentKind, ok bool) {
	switch s {
	case "LINK":
		return Link, true
	case "NOTE":
		return Note, true
	}
	return 0, false
}

// ContentRole is what a principal may do with an item. Ordered by strength; 0
// is no role.
type ContentRole uint8

// The roles on an item.
const (
	NoRole  ContentRole = 0
	Viewing ContentRole = 1 // may look, and keeps sight of it when it turns PRIVATE
	Editing ContentRole = 2 // may change title, description and link
	Manages ContentRole = 3 // may also change visibility, expiry and members, share and delete it
)

// String is the contract's name of the role, empty for none.
func (r ContentRole) String() string {
	switch r {
	case Viewing:
		return "VIEWER"
	case Editing:
		return "EDITOR"
	case Manages:
		return "MANAGER"
	}
	return ""
}

// ParseContentRole reads the contract's name; ok is false for any other text.
func ParseContentRole(s string) (r ContentRole, ok bool) {
	for _, r := range []ContentRole{Viewing, Editing, Manages} {
		if r.String() == s {
			return r, true
		}
	}
	return 0, false
}

// Content is an item as its readers know it.
type Content struct {
	ID          ContentID
	Kind        ContentKind
	Title       string
	Description *string
	Link        *string // only of a Link
	// CanonicalURL names the item in its tenant; "" where it has no URL. The item holds the
	// name while the claim of the URL points to it (docs/unique-names.md).
	CanonicalURL string
	Visibility   principal.Visibility
	Creator      principal.ID
	CreatedAt    clock.Instant
	// LastModified moves with title, description, link and visibility.
	LastModified clock.Instant
	Version      int            // from 1, up by one whenever LastModified moves
	ExpiresAt    *clock.Instant // after it the item is seen by nobody
	// Page is what package page keeps with the header; nil where there is nothing. It is
	// not changed in place.
	Page []byte
}

// Tenant is the item's tenant.
func (c *Content) Tenant() string { return c.ID.Tenant() }

// description returns the description, "" where there is none.
func (c *Content) description() string {
	if c.Description == nil {
		return ""
	}
	return *c.Description
}

// URL returns the canonical URL that names the item, nil where it has none.
func (c *Content) URL() *string {
	if c.CanonicalURL == "" {
		return nil
	}
	return &c.CanonicalURL
}

// Superseded is a position that an item has left and that may still stand in
// libraries, with the widest visibility it has had: no bucket beyond it can
// hold an entry there.
type Superseded struct {
	Position clock.Instant
	Widest   principal.Visibility
}

// Header is the authoritative row of an item, changed by compare-and-set on
// Seq only. The rest of the package calls one reading of it, with member rows
// of the same reading, a snapshot.
type Header struct {
	Content
	State commit.State
	// Seq is 0 where there is no header and goes up by one with each
	// compare-and-set.
	Seq int64
	// MTS is max(now, previous+1) in microseconds: the write timestamp of
	// everything derived from this state. No two states share one.
	MTS clock.Instant
	// Position is where the item stands in libraries. It equals LastModified,
	// except for hot items, whose moves are deferred.
	Position clock.Instant
	// Widest is the widest visibility the item has had at Position.
	Widest principal.Visibility
	// Unsettled are superseded positions, ascending, that may still stand
	// somewhere.
	Unsettled []Superseded
	// Writers are the makers of the last MaxWriters states, ascending.
	Writers []commit.Writer
	// Moves counts moves in the hour that began at MovesSince.
	MovesSince clock.Instant
	Moves      int
	// MovedAt is when the item last moved, by the store's clock as the process
	// that decided the move knew it. Processes compare it with their own time, so
	// it is neither the MTS, which may run ahead of all clocks, nor the position,
	// which is older than a deferred move. 0: unknown, because the item has not
	// moved since its creation or the header is from before this field.
	MovedAt clock.Instant
	// LoggedInUntil and PublicUntil are when the item has last ceased to be seen
	// by all of its tenant, and by everyone: the MTS of that state; 0: never.
	LoggedInUntil, PublicUntil clock.Instant
	// Managers and Members count active member rows.
	Managers int
	Members  int
}

// Exists tells whether the header stands for an item that readers could meet
// at now: live, and not expired.
func (h *Header) Exists(now clock.Instant) bool {
	return h.State == commit.Live && (h.ExpiresAt == nil || *h.ExpiresAt > now)
}

// Member is a member row of an item: a principal's role on it.
type Member struct {
	Principal principal.ID
	Role      ContentRole
	// Leaving rows are not members any more; they stay until their principal's
	// library is known to be clean, so that every fan-out reaches it.
	Leaving bool
	// Seq is that of the compare-and-set that last wrote the row; 0 means that
	// there is no row.
	Seq int64
	// Since is the MTS of the state in which it became a member; 0: so long ago
	// that it is not known.
	Since clock.Instant
	// Left are the buckets in which the item stood while the principal was a
	// member before: of a leaving row up to now, of one that has come back before
	// it was dropped up to then.
	Left Buckets
}

// Active tells whether the row makes its principal a member.
func (m Member) Active() bool { return m.Seq != 0 && !m.Leaving }

// Entry is a row of a library: derived, and never believed without its header.
type Entry struct {
	Position clock.Instant
	Content  ContentID
	// MTS is that of the state which wrote the row; Role is the owner's in it.
	MTS  clock.Instant
	Role ContentRole
}
