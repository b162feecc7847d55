package library

import (
	"cmp"
	"context"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/principal"
)

// The Stores have few methods, each of which serves one purpose of the domain. Every "must" below
// is a subtest with the same words in the conformance suite storetest, which runs unchanged
// for every backend.
//
// Every method may fail with any error. The error of a conditional write (Commit, CleanUp,
// CommitPrincipal, CleanUpGroup, PutCreationIfAbsent, PutSettingIfAbsent) that may have been
// applied must satisfy MayHaveCommitted.

// ContentQuery says which rows of a content partition to read with the header.
type ContentQuery struct {
	Members []principal.ID // at most 100
	Request *commit.RequestKey
	// Rows are the keys of further rows, at most 100.
	Rows []RowKey
	// Serial reads the last decided state, and finishes a conditional write in progress. Otherwise
	// it is a quorum read.
	Serial bool
}

// ContentRows is one reading of a content partition.
type ContentRows struct {
	Header Header
	// Members are in the order requested; Seq is 0 if there is no row.
	Members []Member
	Request *commit.RequestRow // nil if there is none
	// Rows are in the order requested; Value is nil if there is no row.
	Rows []Row
}

// RowKind is the kind of further rows in the partition of an item: rows of a domain that adds
// to items. Stores do not know what they contain. A kind is never used for anything else.
type RowKind uint8

// FirstRowKind is the least kind of further rows.
const FirstRowKind RowKind = 3

// RowKey names a further row of an item. Key is ASCII text; rows are in order of kind,
// then of key.
type RowKey struct {
	Kind RowKind
	Key  string
}

// Row is a further row of an item.
type Row struct {
	RowKey
	Value []byte // not empty; nil: no row
}

// RowSlice describes consecutive further rows of one kind.
type RowSlice struct {
	Content ContentID
	Kind    RowKind
	// From is the least key, included, and To the first one after the slice; "": no bound.
	From, To string
	// Backwards walks from the greatest key to the least.
	Backwards bool
	Limit     int
}

// Trim removes what only a change needs, which is most of a header.
func (r *ContentRows) Trim() {
	h := &r.Header
	h.Unsettled, h.UnsettledTitles, h.Writers = nil, nil, nil
	h.Widest, h.MovesSince, h.Moves, h.MovedAt, h.LoggedInUntil, h.PublicUntil, h.Managers, h.Members = 0, 0, 0, 0, 0, 0, 0, 0
	for i := range r.Members {
		r.Members[i].Since, r.Members[i].RemovedFrom = 0, 0
	}
}

// ContentCommit is one conditional write of a content partition.
type ContentCommit struct {
	ID ContentID
	// Base is the Seq that the partition must have; 0: no header must exist.
	Base int64
	// Header is the new one, with Seq == Base+1. Its Writers are not written: Writer is added to
	// those stored. Its Unsettled and UnsettledTitles are those read at Base; they are written only with Supersede and
	// SupersedeTitle.
	Header Header
	// Supersede is added to the unsettled positions; nil: they are not changed. A position that
	// was removed since Base was read may be listed again: removing it once more does no harm.
	Supersede *Superseded
	// SupersedeTitle is the same for the unsettled titles. It replaces others of the same title, and has the MTS of Header.
	SupersedeTitle *SupersededTitle
	Writer         commit.EntryID
	Members        []Member // rows written, Seq == Header.Seq
	Rows           []Row    // further rows written; a nil Value removes one
	Request        *commit.RequestRow
}

// IndexUpdate updates the derived rows of some principals to a snapshot.
type IndexUpdate struct {
	Header *Header
	// Rows are of one snapshot with Header; Seq is 0 for a principal without a row.
	Rows []Member
	// All writes all derived rows: also the entries in the order of titles, and the rows that record what was shared with
	// whom. Otherwise only the entries in the order of the last change are written.
	All bool
	// TitleKey is that of Header in the order of titles; "": it is computed for each row.
	TitleKey collation.Key
	// At is the ChangeKey.At of the changes that are written; 0: none are written.
	At clock.Instant
	// Causes are those of the changes.
	Causes Causes
}

// Cleanup removes what is obsolete after a fan-out.
type Cleanup struct {
	ID        ContentID
	Positions []clock.Instant // removed from Unsettled
	Titles    []clock.Instant // the At of those removed from UnsettledTitles
	// Leaving rows are removed iff they are leaving and have the Seq given.
	Leaving []Member
	// Rows are further rows that Purge removes too.
	Rows []RowKey
	// Purge removes the rows of Leaving whatever their state, iff the header is Deleted; Final
	// then reduces it to Seq, MTS, Writers and the state.
	Purge, Final bool
}

// ContentStore keeps the authoritative rows of content.
type ContentStore interface {
	// Read must return a zero Header (Seq 0, State Absent) for an unknown id, without an error,
	// and one atomic reading of all rows requested.
	Read(ctx context.Context, id ContentID, q ContentQuery) (*ContentRows, error)
	// ReadMany reads the headers of ids with the rows of members, in the order of ids. It must see
	// everything acknowledged before it was called. It must leave out what only a change needs, as
	// Trim does.
	ReadMany(ctx context.Context, ids []ContentID, members []principal.ID) ([]ContentRows, error)
	// MembersPage reads at most limit member rows, leaving ones too, after a
	// principal in order of id, with the header of the same reading.
	MembersPage(ctx context.Context, id ContentID, after principal.ID, limit int, serial bool) (*ContentRows, error)
	// PageRows must return the further rows of a slice in order of their keys, or in the
	// opposite order.
	PageRows(ctx context.Context, s RowSlice) ([]Row, error)
	// Commit must apply whole or not at all, iff Seq is Base. It must be durable
	// when it returns, with everything this process wrote before it.
	Commit(ctx context.Context, c *ContentCommit) (commit.Verdict, error)
	// ApplyIndex writes the derived rows that e.Derive returns, atomically for each principal. An
	// older snapshot must never undo what a newer one wrote. If e.At is set, the change of a
	// principal with a row must be written with what is derived of it, or not at all. Until
	// ApplyIndex returns, a reader may see a part of what it writes.
	ApplyIndex(ctx context.Context, e *IndexUpdate) error
	// ApplyIndexBatch returns the number of rows that one ApplyIndex call accepts at most.
	ApplyIndexBatch() int
	// CleanUp must not change Seq, and must be harmless when repeated.
	CleanUp(ctx context.Context, s *Cleanup) error
	// ScanContents lists ids after one, each once, in a permanent order of the store's own;
	// deleted ones too.
	ScanContents(ctx context.Context, after ContentID, limit int) ([]ContentID, error)
}

// Order is an order of a library. A library has an entry of an item in each order.
type Order uint8

// The orders: by the last change (the position of the item), and by title.
const (
	ByChange Order = 0
	ByTitle  Order = 1
)

// String returns the order as a message names it.
func (o Order) String() string {
	if o == ByTitle {
		return "by title"
	}
	return "by last change"
}

// AllOrders are all orders.
var AllOrders = [...]Order{ByChange, ByTitle}

// EntryKey is the place of an entry in an order: by Position or by Title, then by id.
type EntryKey struct {
	Position clock.Instant // 0 in the order of titles
	Title    collation.Key // "" in the order of the last change
	Content  ContentID
}

// Order returns the order that the key is of.
func (k EntryKey) Order() Order {
	if k.Title != "" {
		return ByTitle
	}
	return ByChange
}

// Compare compares two keys of one order.
func (k EntryKey) Compare(l EntryKey) int {
	return cmp.Or(cmp.Compare(k.Position, l.Position), cmp.Compare(k.Title, l.Title), cmp.Compare(k.Content, l.Content))
}

// Less reports whether k comes before l in ascending order.
func (k EntryKey) Less(l EntryKey) bool { return k.Compare(l) < 0 }

// Slice describes consecutive entries of one bucket.
type Slice struct {
	Owner  principal.ID
	Bucket Bucket
	Order  Order
	// Ascending walks towards newer entries, or greater titles; otherwise it walks the other way.
	Ascending bool
	// From is where the walk starts, not included; nil: at the end of the bucket.
	From *EntryKey
	// Bound is where an ascending walk stops, included; nil: it has no bound.
	Bound *EntryKey
	Limit int
}

// BucketEntry is an entry with its bucket.
type BucketEntry struct {
	Bucket Bucket
	Entry
}

// Shared is a row of the record of what was shared with a principal: an item on which it has a
// role.
type Shared struct {
	Content ContentID
	Role    ContentRole
}

// Opening is what a page reads of a bucket at its start.
type Opening struct {
	Entries []Entry
	// Built reports whether the library is complete in the order of the slice; false for one that is missing.
	Built bool
	// Newest is the key of the newest entry of the bucket; nil if there is none, and if it was not
	// requested.
	Newest *EntryKey
}

// LibraryStore stores the derived rows: libraries, and what was shared with whom.
type LibraryStore interface {
	// PageLibrary must return the entries of the slice in the order of the walk.
	PageLibrary(ctx context.Context, s Slice) ([]Entry, error)
	// OpenLibrary is PageLibrary for the first slice of a page, in one round trip with the rest of
	// Opening. newest is only set in the order of the last change. It must read Newest and Built in this call, before or after the slice.
	OpenLibrary(ctx context.Context, s Slice, newest bool) (*Opening, error)
	// EntriesAt must return the entries of a bucket with keys of one order, in their order; a zero Entry where there is
	// none. There are at most 100 keys.
	EntriesAt(ctx context.Context, owner principal.ID, b Bucket, keys []EntryKey) ([]Entry, error)
	// CountLibrary counts the entries of a bucket in the order of the last change, at most limit.
	CountLibrary(ctx context.Context, owner principal.ID, b Bucket, limit int) (int, error)
	// Built reports whether the library is complete in an order; false for one that is missing, and in the order of titles
	// for one that was built for other keys than those of collation.Version.
	Built(ctx context.Context, owner principal.ID, o Order) (bool, error)
	// Recorded reports whether the record of what is shared with owner is complete; false for a
	// record that is missing.
	Recorded(ctx context.Context, owner principal.ID) (bool, error)
	// SetBuilt records that library, in all orders, and record were complete at asOf. If either can be deleted by
	// hand, a later deletion removes the mark too.
	SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error
	// RebuildNote returns the note of the progress of a rebuild of owner's library; nil if there
	// is none.
	RebuildNote(ctx context.Context, owner principal.ID) ([]byte, error)
	// PutRebuildNote stores a note of a rebuild that started at asOf. The note of the later rebuild
	// must stay, and of two notes of one rebuild the one whose bytes compare greater. If a library
	// can be deleted by hand, a deletion after asOf removes the note too.
	PutRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant, note []byte) error
	// DropRebuildNote must remove the note iff its rebuild started at asOf or before.
	DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error
	// DropLibrary removes the library of a deleted owner. It must remove the marks, the note, the
	// entries and the record of what was shared, except what is newer than asOf, and afterwards
	// SetBuilt and PutRebuildNote as of an earlier time must not bring them back.
	DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error
	// DropEntries must remove an entry iff its MTS is the one given.
	DropEntries(ctx context.Context, owner principal.ID, es []BucketEntry) error
	// Changes lists the changes of owner's library after one, in their order. It
	// must list every change for ChangesKept after its At.
	Changes(ctx context.Context, owner principal.ID, after ChangeKey, limit int) ([]Change, error)
	// SharedWith lists the items on which owner has a role, after an item, in order of id.
	SharedWith(ctx context.Context, owner principal.ID, after ContentID, limit int) ([]Shared, error)
	// Roles returns the roles on the items of ids, in their order, according to the record of what
	// was shared with owner.
	Roles(ctx context.Context, owner principal.ID, ids []ContentID) ([]ContentRole, error)
}
