package pebblestore

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/library"
	"carrel/note"
)

// PutText implements note.Store. The commit that refers to the text syncs it.
func (s texts) PutText(ctx context.Context, t note.Text) error {
	return s.write(ctx, "put a text", nil, s.commitLater, func(b *batch) error {
		b.set(appendTextKey(nil, t.ID), appendPageText(nil, &t))
		return s.Room()
	})
}

// ReadTexts implements note.Store.
func (s texts) ReadTexts(ctx context.Context, ids []note.TextID) ([]note.Text, error) {
	return call(ctx, s.Store, "read texts", func() ([]note.Text, error) {
		texts := make([]note.Text, len(ids))
		for i, id := range ids {
			value, found, err := s.get(appendTextKey(nil, id))
			if err == nil && found {
				texts[i], err = decodePageText(id, value)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", id, err)
			}
		}
		return texts, nil
	})
}

// DropTexts implements note.Store.
func (s texts) DropTexts(ctx context.Context, ids []note.TextID) error {
	return s.write(ctx, "drop texts", nil, s.commitLater, func(b *batch) error {
		for _, id := range ids {
			b.delete(appendTextKey(nil, id))
		}
		return nil
	})
}

// ScanTexts implements note.Store, in order of ids.
func (s texts) ScanTexts(ctx context.Context, after note.TextID, limit int) ([]note.Text, error) {
	rows := under([]byte{tableText}, limit)
	if after != (note.TextID{}) {
		rows.from = appendAfter(appendTextKey(nil, after))
	}
	return list(ctx, s.Store, "list texts", rows, func(key, value []byte) (note.Text, error) {
		t, err := textOf(key, value)
		t.Body = ""
		return t, err
	})
}

// textOf reads the row of a text.
func textOf(key, value []byte) (note.Text, error) {
	var id note.TextID
	if len(key) != 1+len(id) {
		return note.Text{}, errKey
	}
	copy(id[:], key[1:])
	return decodePageText(id, value)
}

// appendTextKey appends the key of a text.
func appendTextKey(b []byte, id note.TextID) []byte { return append(append(b, tableText), id[:]...) }

// appendPageText appends the row of a text, without its key.
func appendPageText(b []byte, t *note.Text) []byte {
	b = commit.AppendText(append(b, rowVersion), string(t.Item))
	return append(commit.AppendText(append(b, byte(t.Row.Kind)), t.Row.Key), t.Body...)
}

// decodePageText reads the row of a text.
func decodePageText(id note.TextID, value []byte) (note.Text, error) {
	d := decode(value)
	t := note.Text{ID: id, Item: library.ContentID(d.Text())}
	t.Row = library.RowKey{Kind: library.RowKind(d.Byte()), Key: d.Text()}
	t.Body = d.Rest()
	return t, d.end()
}
