package simulator

import (
	"bytes"
	"context"
	"slices"

	"carrel/note"
)

// compareText orders texts by their ids.
func compareText(t note.Text, id note.TextID) int { return bytes.Compare(t.ID[:], id[:]) }

// putText stores a text, and replaces one with its id.
func (st *Store) putText(t note.Text) {
	i, found := find(st.texts, t.ID, compareText)
	if found {
		st.texts[i] = t
		return
	}
	st.texts = slices.Insert(st.texts, i, t)
}

// PutText stores a text.
func (c texts) PutText(ctx context.Context, t note.Text) error {
	return c.write(ctx, "PutText", "", func() { c.st.putText(t) }, nil)
}

// ReadTexts reads texts.
func (c texts) ReadTexts(ctx context.Context, ids []note.TextID) ([]note.Text, error) {
	texts := make([]note.Text, len(ids))
	err := c.read(ctx, "ReadTexts", func() {
		for n, id := range ids {
			if i, found := find(c.st.texts, id, compareText); found {
				texts[n] = c.st.texts[i]
			}
		}
	})
	return texts, err
}

// DropTexts removes texts, the second half of them perhaps late or never.
func (c texts) DropTexts(ctx context.Context, ids []note.TextID) error {
	mine := slices.Clone(ids)
	drop := func(ids []note.TextID) func() {
		return func() {
			for _, id := range ids {
				if i, found := find(c.st.texts, id, compareText); found {
					c.st.texts = slices.Delete(c.st.texts, i, i+1)
				}
			}
		}
	}
	half := len(mine) / 2
	return c.write(ctx, "DropTexts", "", drop(mine[:half]), drop(mine[half:]))
}

// ScanTexts lists texts in order of their ids.
func (c texts) ScanTexts(ctx context.Context, after note.TextID, limit int) ([]note.Text, error) {
	var texts []note.Text
	err := c.read(ctx, "ScanTexts", func() {
		i, found := find(c.st.texts, after, compareText)
		if found {
			i++
		}
		texts = slices.Clone(c.st.texts[i:min(len(c.st.texts), i+max(limit, 0))])
		for n := range texts {
			texts[n].Body = ""
		}
	})
	return texts, err
}
