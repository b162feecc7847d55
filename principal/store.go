package principal

import (
	"context"

	"carrel/core/commit"
)

// Query says which rows of a principal's partition to read.
type Query struct {
	Members []ID // of a group; at most 100
	Request *commit.RequestKey
	Serial  bool
}

// Rows is one reading of a principal's partition.
type Rows struct {
	Header  Header
	Members []GroupMemberRow // in the order requested; Seq is 0 if there is no row
	Request *commit.RequestRow
}

// Commit is one conditional write of a principal's partition.
type Commit struct {
	ID      ID
	Base    int64
	Header  Header // Header.Seq == Base+1; Writers are not written
	Writer  commit.EntryID
	Members []GroupMemberRow
	Request *commit.RequestRow
}

// GroupIndexUpdate updates the derived memberships of some principals to a snapshot of the
// group.
type GroupIndexUpdate struct {
	Header *Header
	Rows   []GroupMemberRow
}

// GroupCleanup removes leaving rows, iff they are leaving and have the Seq given.
type GroupCleanup struct {
	ID      ID
	Leaving []GroupMemberRow
	// Purge removes the rows of Leaving whatever their state, iff the header is Deleted.
	Purge bool
}

// MemberOf names a membership to confirm: is Member a direct member of Group?
type MemberOf struct{ Group, Member ID }

// MembershipsQuery says whose memberships to read, and how many.
type MembershipsQuery struct {
	Principals []ID
	// Own and Others are the limits for each principal: of memberships in groups
	// of its own tenant, and of those in groups of other tenants.
	Own, Others int
	// Rows is the limit for all of them together; the answer may exceed it by the
	// memberships of one principal.
	Rows int
}

// Store stores users, groups, and their memberships.
type Store interface {
	// ReadPrincipal reads a header and the rows that q names, all of one state. It must return a
	// zero Header for an unknown id, without an error.
	ReadPrincipal(ctx context.Context, id ID, q Query) (*Rows, error)
	// ReadPrincipals reads headers in the order of ids, zero ones for unknown
	// ids. It must leave out Writers.
	ReadPrincipals(ctx context.Context, ids []ID) ([]Header, error)
	// GroupMembersPage reads at most limit member rows, leaving ones too, after
	// a principal in order of id, with the header of the same reading.
	GroupMembersPage(ctx context.Context, group, after ID, limit int, serial bool) (*Rows, error)
	// Confirm reads the groups' own rows, in the order requested. Confirm must show no row of a
	// group that is deleted.
	Confirm(ctx context.Context, memberships []MemberOf) ([]GroupMemberRow, error)
	// CommitPrincipal writes c by compare-and-set. It must apply whole or not at all, iff Seq is
	// Base, and be durable when it returns.
	CommitPrincipal(ctx context.Context, c *Commit) (commit.Verdict, error)
	// ApplyGroupIndex writes the derived memberships. An older snapshot must never
	// undo what a newer one wrote.
	ApplyGroupIndex(ctx context.Context, e *GroupIndexUpdate) error
	// CleanUpGroup removes member rows. It must not change Seq, and must be harmless when repeated.
	CleanUpGroup(ctx context.Context, s *GroupCleanup) error
	// Memberships lists the derived memberships of a principal, after a group in
	// order of id.
	Memberships(ctx context.Context, p, after ID, limit int) ([]Membership, error)
	// MembershipsOf reads the memberships of several principals at once: for each
	// of them, in the order of q.Principals, the first q.Own in groups of its own
	// tenant and the first q.Others in groups of other tenants, all in order of id.
	// It must end the answer after the principal with which it has q.Rows rows.
	MembershipsOf(ctx context.Context, q MembershipsQuery) ([][]Membership, error)
	// ScanPrincipals lists ids after one, each once, in a permanent order of the store's own.
	ScanPrincipals(ctx context.Context, after ID, limit int) ([]ID, error)
}

// Headers reads the headers that requests show.
type Headers interface {
	// ReadHeaders is ReadPrincipals. It may serve headers that were read before, if they are current or lists, the
	// read of the in-flight lists for the request, shows that they were when the request arrived; lists may be nil.
	// Nobody may change what it returns.
	ReadHeaders(ctx context.Context, ids []ID, lists *commit.InFlightRead) ([]*Header, error)
}

// DirectoryStore stores the derived rows by which users and groups are found.
type DirectoryStore interface {
	// ApplyDirectory writes the rows that e.Derive returns, each with the visibility and the mts
	// of the state. An older snapshot must never undo what a newer one wrote.
	ApplyDirectory(ctx context.Context, e *DirectoryUpdate) error
	// PageDirectory must return the rows of the slice in order of name and then
	// of id.
	PageDirectory(ctx context.Context, s DirectorySlice) ([]DirectoryRow, error)
	// ReadDirectory reads p's rows of keys, in their order; MTS is 0 if there is none.
	ReadDirectory(ctx context.Context, p ID, keys []DirectoryKey) ([]DirectoryRow, error)
	// ScanDirectory reads rows of all tenants, starting where another call has ended, each once,
	// in a permanent order of the store's own. A nil after is the beginning, and a nil next the
	// end.
	ScanDirectory(ctx context.Context, after []byte, limit int) (rows []DirectoryRow, next []byte, err error)
	// DropDirectory must remove a row iff its MTS is the one given.
	DropDirectory(ctx context.Context, rows []DirectoryRow) error
}
