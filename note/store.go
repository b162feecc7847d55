package note

import (
	"bytes"
	"context"

	"carrel/library"
	"carrel/principal"
)

// Text is the body of a suggestion, or a long body of a revision or a draft. It is never changed.
type Text struct {
	ID   TextID
	Item library.ContentID
	// Row is the row of the item that refers to the text. For a draft, its Kind is 0 and its Key
	// names the user and the draft.
	Row  library.RowKey
	Body string
}

// MaxTexts is how many texts one call of a Store may name.
const MaxTexts = 100

// DraftRow is a draft of a user.
type DraftRow struct {
	User principal.ID
	// Name identifies the draft among those of its user. It consists of an item, a branch and a
	// locale.
	Name string
	// Token is new for every version of the draft, and greater than the one before. It is also
	// the id of the text with a long body.
	Token TextID
	Value []byte
}

// NewestDraftFirst compares drafts by their tokens, greatest first.
func NewestDraftFirst(a, b DraftRow) int { return bytes.Compare(b.Token[:], a.Token[:]) }

// MaxDraftRows is how many drafts one call of a Store may name.
const MaxDraftRows = 100

// Store keeps the rows of pages that are not in the partitions of items.
type Store interface {
	// PutText stores a text before the commit that refers to it. It must be durable when
	// a Commit that follows it is.
	PutText(ctx context.Context, t Text) error
	// ReadTexts must return the texts in the order of ids, at most MaxTexts, the zero Text
	// where there is none.
	ReadTexts(ctx context.Context, ids []TextID) ([]Text, error)
	// DropTexts removes texts, at most MaxTexts. It must be harmless when repeated.
	DropTexts(ctx context.Context, ids []TextID) error
	// ScanTexts lists at most limit texts after one, without their bodies, each once, in
	// a stable order of the store's choice. The zero TextID comes before all others.
	ScanTexts(ctx context.Context, after TextID, limit int) ([]Text, error)

	// ListDrafts must return the drafts of a user without their values, the greatest token
	// first.
	ListDrafts(ctx context.Context, user principal.ID) ([]DraftRow, error)
	// ReadDrafts must return the drafts of a user in the order of names, at most
	// MaxDraftRows, the zero DraftRow where there is none. A serial read finishes a PutDraft or a
	// DropDraft in progress, as ContentQuery.Serial does.
	ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]DraftRow, error)
	// PutDraft stores d if there is no draft of its name and over is nil, or if the draft of
	// its name has the token over. It must return the draft that there is then, the zero
	// DraftRow where there is none. So it also returns d if d was stored before.
	// The error of a write that may have been applied satisfies fault.MayHaveCommitted.
	PutDraft(ctx context.Context, d DraftRow, over *TextID) (DraftRow, error)
	// DropDraft must remove the draft of a name iff it has the token. It must be durable when
	// it returns, and so must PutDraft.
	DropDraft(ctx context.Context, user principal.ID, name string, token TextID) error
}
