package simulator

import (
	"bytes"
	"context"

	"carrel/note"
)

// compareText orders texts by their ids.
func compareText(t note.Text, id note.TextID) int { return bytes.Compare(t.ID[:], id[:]) }

// putText stores a text, and replaces one with its id.
func (st *Store) putText(t note.Text) {
	st.texts = put(st.texts, t.ID, compareText, t)
}

// PutText stores a text.
func (c texts) PutText(ctx context.Context, t note.Text) error {
	return c.write(ctx, "PutText", "", func() { c.st.putText(t) }, nil)
}

// ReadTexts reads texts.
func (c texts) ReadTexts(ctx context.Context, ids []note.TextID) ([]note.Text, error) {
	return look(ctx, c.Client, "ReadTexts", func() []note.Text {
		texts := make([]note.Text, len(ids))
		for n, id := range ids {
			texts[n] = at(c.st.texts, id, compareText)
		}
		return texts
	})
}

// DropTexts removes texts, the second half of them perhaps late or never.
func (c texts) DropTexts(ctx context.Context, ids []note.TextID) error {
	return halves(ctx, c.Client, "DropTexts", ids, func(id note.TextID) { c.st.texts = drop(c.st.texts, id, compareText) })
}

// ScanTexts lists texts in order of their ids.
func (c texts) ScanTexts(ctx context.Context, from note.TextID, limit int) ([]note.Text, error) {
	return look(ctx, c.Client, "ScanTexts", func() []note.Text {
		texts := after(c.st.texts, from, compareText, limit)
		for n := range texts {
			texts[n].Body = ""
		}
		return texts
	})
}
