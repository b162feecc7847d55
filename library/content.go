package library

import (
	"slices"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/principal"
)

// ContentKind is the kind of an item: a LINK to something, or a NOTE with text.
type ContentKind uint8

// The kinds of content.
const (
	Link ContentKind = 1
	Note ContentKind = 2
)

// String returns the name of the kind in the API.
func (k ContentKind) String() string {
	switch k {
	case Link:
		return "LINK"
	case Note:
		return "NOTE"
	}
	return ""
}

// ParseContentKind parses the name in the API; ok is false for any other text.
func ParseContentKind(s string) (k ContentKind, ok bool) {
	switch s {
	case "LINK":
		return Link, true
	case "NOTE":
		return Note, true
	}
	return 0, false
}

// ContentRole is the role of a principal on an item. Roles are ordered by strength; 0 is no
// role.
type ContentRole uint8

// The roles on an item.
const (
	NoRole  ContentRole = 0
	Viewing ContentRole = 1 // may view the item, even after it has become PRIVATE
	Editing ContentRole = 2 // may change title, description and link
	Manages ContentRole = 3 // may also change visibility, expiry and members, share and delete it
)

// String returns the name of the role in the API, "" for none.
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

// ParseContentRole parses the name in the API; ok is false for any other text.
func ParseContentRole(s string) (r ContentRole, ok bool) {
	for _, r := range []ContentRole{Viewing, Editing, Manages} {
		if r.String() == s {
			return r, true
		}
	}
	return 0, false
}

// Content is an item as readers see it.
type Content struct {
	ID          ContentID
	Kind        ContentKind
	Title       string
	Description *string
	Link        *string // LINK only
	// CanonicalURL names the item in its tenant; "" if it has no URL. The item owns the name
	// while the claim of the URL points to it (docs/unique-names.md).
	CanonicalURL string
	Visibility   principal.Visibility
	Creator      principal.ID
	CreatedAt    clock.Instant
	// LastModified changes with title, description, link and visibility, and when readers see another
	// text.
	LastModified clock.Instant
	Version      int            // from 1; incremented with each change of LastModified
	ExpiresAt    *clock.Instant // nobody sees the item after it
	// Page is the data that package note keeps in the header; nil if there is none. It is never
	// modified in place.
	Page []byte
}

// Tenant returns the item's tenant.
func (c *Content) Tenant() string { return c.ID.Tenant() }

// Bytes returns the length of its texts, and so about the memory that it takes.
func (c *Content) Bytes() int {
	n := len(c.Title) + len(c.CanonicalURL) + len(c.Page)
	if c.Description != nil {
		n += len(*c.Description)
	}
	if c.Link != nil {
		n += len(*c.Link)
	}
	return n
}

// expired reports whether the item has expired at now. Then nobody sees it.
func (c *Content) expired(now clock.Instant) bool { return c.ExpiresAt != nil && *c.ExpiresAt <= now }

// URL returns the canonical URL that names the item, nil if it has none.
func (c *Content) URL() *string {
	if c.CanonicalURL == "" {
		return nil
	}
	return &c.CanonicalURL
}

// Superseded is a position from which an item has moved, and at which libraries may still have
// entries of it. Widest is the widest visibility that the item had there: no wider bucket can have
// an entry.
type Superseded struct {
	Position clock.Instant
	Widest   principal.Visibility
}

// SupersededTitle is a title that an item had, or under which more readers saw it, and under which libraries may still
// have entries of it. Widest is the widest visibility that the item had with it.
type SupersededTitle struct {
	// At is the MTS of the state that superseded it. A title may come back and be superseded again: At tells these
	// apart, so that the end of the first fan-out does not end the second.
	At     clock.Instant
	Title  collation.Key
	Widest principal.Visibility
}

// WithSupersededTitle returns the list with one more title, in place of earlier ones of the same.
func WithSupersededTitle(list []SupersededTitle, one SupersededTitle) []SupersededTitle {
	kept := slices.DeleteFunc(slices.Clone(list), func(u SupersededTitle) bool { return u.Title == one.Title })
	return append(kept, one)
}

// Header is the authoritative row of an item. Only a compare-and-set on Seq changes it. A
// header and member rows of the same reading are called a snapshot.
type Header struct {
	Content
	State commit.State
	// Seq is 0 if there is no header, and increases by one with each compare-and-set.
	Seq int64
	// MTS is max(now, previous+1) in microseconds: the write timestamp of
	// everything derived from this state. No two states share one.
	MTS clock.Instant
	// Position is the item's position in libraries. It equals LastModified, except while a move of
	// the item is deferred (see deferUntil).
	Position clock.Instant
	// FormerTitle is the title by which the item is ordered while a move is deferred that changes its place in the order of
	// titles; otherwise "".
	FormerTitle string
	// Widest is the widest visibility the item has had at Position.
	Widest principal.Visibility
	// Unsettled are superseded positions, ascending, at which libraries may still have entries.
	Unsettled []Superseded
	// UnsettledTitles are superseded titles under which libraries may still have entries, ascending by At.
	UnsettledTitles []SupersededTitle
	// Writers are the writers of the last MaxWriters states, ascending.
	Writers []commit.Writer
	// Moves counts moves in the hour that started at MovesSince.
	MovesSince clock.Instant
	Moves      int
	// MovedAt is when the item last moved, by the store's clock, as far as the process that decided
	// the move knew it. Processes compare it with their own time. The MTS would not do, because it
	// may be ahead of all clocks, nor the position, because it is older than a deferred move. 0:
	// the item has not moved since its creation.
	MovedAt clock.Instant
	// LoggedInUntil and PublicUntil are when the item last ceased to be visible to all of its
	// tenant, and to everyone: the MTS of that state; 0: never.
	LoggedInUntil, PublicUntil clock.Instant
	// Managers and Members count active member rows.
	Managers int
	Members  int
}

// Settled reports whether no library may have an entry at a superseded position or under a superseded title.
func (h *Header) Settled() bool { return len(h.Unsettled) == 0 && len(h.UnsettledTitles) == 0 }

// OrderTitle returns the title by which the item is ordered. It is the item's title, except while a move of the item is
// deferred.
func (h *Header) OrderTitle() string {
	if h.FormerTitle != "" && h.Position != h.LastModified { // a program that knows no titles may have made the move
		return h.FormerTitle
	}
	return h.Title
}

// Key returns the place of the item in an order of libraries.
func (h *Header) Key(o Order) EntryKey {
	if o == ByTitle {
		return EntryKey{Title: collation.Of(h.OrderTitle()), Content: h.ID}
	}
	return EntryKey{Position: h.Position, Content: h.ID}
}

// Exists reports whether the item can be seen at now: it is live and has not expired.
func (h *Header) Exists(now clock.Instant) bool {
	return h.State == commit.Live && !h.expired(now)
}

// Member is a member row of an item: a principal's role on it.
type Member struct {
	Principal principal.ID
	Role      ContentRole
	// Leaving rows are not members any more. They are kept until the principal's library is known
	// to have no entry of the item, so that every fan-out reaches that library.
	Leaving bool
	// Seq is the Seq of the compare-and-set that last wrote the row; 0: there is no row.
	Seq int64
	// Since is the MTS of the state in which the principal became a member.
	Since clock.Instant
	// RemovedFrom are the buckets that had the item when the membership ended. In the row of a
	// member that was added again before its leaving row was dropped, they are those of its former
	// membership.
	RemovedFrom Buckets
}

// Active reports whether the row makes its principal a member.
func (m Member) Active() bool { return m.Seq != 0 && !m.Leaving }

// Entry is a row of a library. It is derived, and must be checked against its header.
type Entry struct {
	EntryKey
	// MTS is the MTS of the state that wrote the row; Role is the owner's role in it.
	MTS  clock.Instant
	Role ContentRole
	// TitleHash is the collation.Hash of the item's OrderTitle, in the order of titles; otherwise 0.
	TitleHash uint64
}

// PlacedBy reports whether the entry is where the item is in the order of the entry.
func (e *Entry) PlacedBy(h *Header) bool {
	if e.Title != "" {
		return e.TitleHash == collation.Hash(h.OrderTitle())
	}
	return e.Position == h.Position
}
