package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"carrel/library"
	"carrel/note"
)

// PutText implements page.Store. The commit that refers to the text syncs it.
func (s texts) PutText(ctx context.Context, t note.Text) (err error) {
	op, err := s.enter(ctx, "put a text")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	if err := s.space.CheckFree(s.now()); err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(appendTextKey(nil, t.ID), appendPageText(nil, &t), nil); err != nil {
		return err
	}
	return s.commitLater(b)
}

// ReadTexts implements page.Store.
func (s texts) ReadTexts(ctx context.Context, ids []note.TextID) (_ []note.Text, err error) {
	op, err := s.enter(ctx, "read texts")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
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
}

// DropTexts implements page.Store.
func (s texts) DropTexts(ctx context.Context, ids []note.TextID) (err error) {
	op, err := s.enter(ctx, "drop texts")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	for _, id := range ids {
		if err := b.Delete(appendTextKey(nil, id), nil); err != nil {
			return err
		}
	}
	return s.commitLater(b)
}

// ScanTexts implements page.Store, in order of ids.
func (s texts) ScanTexts(ctx context.Context, after note.TextID, limit int) (_ []note.Text, err error) {
	op, err := s.enter(ctx, "list texts")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = append(v.key[:0], tableText)
		v.end = append(v.end[:0], tableText+1)
		if after != (note.TextID{}) {
			v.key = appendAfter(appendTextKey(v.key[:0], after))
		}
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	var texts []note.Text
	for ok := v.it.First(); ok && len(texts) < limit; ok = v.it.Next() {
		var value []byte
		var t note.Text
		if value, err = v.it.ValueAndErr(); err == nil {
			t, err = textOf(v.it.Key(), value)
		}
		if err != nil {
			break
		}
		t.Body = ""
		texts = append(texts, t)
	}
	if err = errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	return texts, nil
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
	b = appendText(append(b, rowVersion), string(t.Item))
	return append(appendText(append(b, byte(t.Row.Kind)), t.Row.Key), t.Body...)
}

// decodePageText reads the row of a text.
func decodePageText(id note.TextID, value []byte) (note.Text, error) {
	d := decode(value)
	t := note.Text{ID: id, Item: library.ContentID(d.text())}
	t.Row = library.RowKey{Kind: library.RowKind(d.byte()), Key: d.text()}
	t.Body = d.rest()
	return t, d.end()
}
