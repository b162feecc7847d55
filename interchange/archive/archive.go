// Package archive defines the authoritative rows of a whole store, in the types of the domains,
// and copies them from one store to another. It knows which rows are authoritative, but neither
// how they are stored nor any other rule.
package archive

import (
	"context"

	"carrel/core/commit"
	"carrel/lease"
	"carrel/library"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
)

// Chapter is a kind of authoritative rows. Rows are copied in the order of chapters.
type Chapter uint8

// The chapters of a store.
const (
	ChapterSettings   Chapter = 1 + iota // such as the cursor keys
	ChapterBlocks                        // the next free numbers of generated names
	ChapterCreations                     // ids reserved for creations with idempotency keys
	ChapterPrincipals                    // partitions of users and groups
	ChapterContents                      // partitions of items
	ChapterDues                          // reminders that work is due at a time
	ChapterTexts                         // texts of pages
	ChapterDrafts                        // drafts of users
	ChapterLeases                        // leases; their claims are derived
	ChapterPastes                        // pastes; their feed is derived
	ChapterBodies                        // long bodies of pastes
)

// allChapters lists the chapters in the order in which they are copied.
var allChapters = []Chapter{
	ChapterSettings, ChapterBlocks, ChapterCreations, ChapterPrincipals, ChapterContents, ChapterDues, ChapterTexts,
	ChapterDrafts, ChapterLeases, ChapterPastes, ChapterBodies,
}

// String returns the name of the chapter for operators.
func (c Chapter) String() string {
	switch c {
	case ChapterSettings:
		return "settings"
	case ChapterBlocks:
		return "blocks"
	case ChapterCreations:
		return "creations"
	case ChapterPrincipals:
		return "principals"
	case ChapterContents:
		return "contents"
	case ChapterDues:
		return "dues"
	case ChapterTexts:
		return "texts"
	case ChapterDrafts:
		return "drafts"
	case ChapterLeases:
		return "leases"
	case ChapterPastes:
		return "pastes"
	case ChapterBodies:
		return "bodies"
	}
	return "unknown"
}

// SettingRow is a setting that PutSettingIfAbsent has stored.
type SettingRow struct {
	Name  string
	Value []byte
}

// BlockRow is the first number of a host that ReserveBlock has not reserved.
type BlockRow struct {
	Host string
	Next int64
}

// GroupMemberAt is a member row with its group.
type GroupMemberAt struct {
	Group principal.ID
	principal.GroupMemberRow
}

// MemberAt is a member row with its item.
type MemberAt struct {
	Content library.ContentID
	library.Member
}

// RowAt is a further row of an item, with its item.
type RowAt struct {
	Content library.ContentID
	library.Row
}

// RequestAt is an answered request with its partition. Either Content or Principal is set.
type RequestAt struct {
	Content   library.ContentID
	Principal principal.ID
	commit.RequestRow
}

// BodyRow is a long body of a paste.
type BodyRow struct {
	paste.BodyRef
	Text string
}

// Row is one authoritative row. Exactly one of its fields is set.
type Row struct {
	Setting     *SettingRow
	Block       *BlockRow
	Creation    *commit.Creation
	Principal   *principal.Header
	GroupMember *GroupMemberAt
	Content     *library.Header
	Member      *MemberAt
	ContentRow  *RowAt
	Request     *RequestAt
	Due         *commit.Reminder
	Text        *note.Text
	Draft       *note.DraftRow
	Lease       *lease.Row
	Paste       *paste.Row
	Body        *BodyRow
}

// Store reads and writes a whole store as rows, to move it to another one. Every
// "must" below is a subtest of storetest.RunArchive. Nothing else may use the
// store meanwhile.
type Store interface {
	// ReadRows reads at most limit rows of a chapter, after the position where
	// another call has ended; nil is the beginning. It must give each row
	// of the chapter once, exactly as stored, and none that is derived. The
	// header of a partition must come before the other rows of it, with no row of
	// another partition between them. next is where to continue, also from another
	// process; nil at the end of the chapter. Expired rows may be missing. Rows about
	// the format of the store itself are not included.
	ReadRows(ctx context.Context, c Chapter, after []byte, limit int) (rows []Row, next []byte, err error)
	// PutRows must store each row exactly as it is, headers with their Unsettled
	// and Writers, in place of existing ones. The header of a partition is put
	// with its first other rows or before them. Repeating it must be harmless.
	// A conditional write that comes after it must find the row and prevail,
	// whatever the clocks say. Nothing derived is written; expired
	// rows may be omitted.
	PutRows(ctx context.Context, rows []Row) error
	// CopyNote returns the note of the last PutCopyNote, or nil if there is none.
	CopyNote(ctx context.Context) ([]byte, error)
	// PutCopyNote stores a note of the progress of a copy into this store; nil
	// removes it. It must be durable when it returns, with all rows put before
	// it. The note must not be among the rows.
	PutCopyNote(ctx context.Context, note []byte) error
}
