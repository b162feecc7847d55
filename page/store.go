package page

import (
	"context"

	"carrel/library"
)

// Text is the body of a revision or of a suggestion. It is never changed.
type Text struct {
	ID   TextID
	Item library.ContentID
	// Row is the row of the item that refers to the text.
	Row  library.RowKey
	Body string
}

// MaxTexts is the most texts that one call of a Store names.
const MaxTexts = 100

// Store keeps what belongs to pages and is not in the partitions of items.
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
	// an order of the store's own that lasts. The zero TextID comes before all others.
	ScanTexts(ctx context.Context, after TextID, limit int) ([]Text, error)
}
