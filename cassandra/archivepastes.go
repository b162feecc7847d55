package cassandra

import (
	"context"
	"slices"

	"carrel/interchange/archive"
	"carrel/paste"
)

func readPasteRows() ([]any, rowReader) {
	var id string
	var seq int64
	var data []byte
	return []any{&id, &seq, &data}, func() (r archive.Row, at rowPosition, err error) {
		r.Paste = &paste.Row{ID: paste.ID(id), Seq: seq, Data: slices.Clone(data)}
		at.Part = []byte(id)
		return r, at, nil
	}
}

func readBodyRows() ([]any, rowReader) {
	var id string
	var key []byte
	var text string
	return []any{&id, &key, &text}, func() (r archive.Row, at rowPosition, err error) {
		b := archive.BodyRow{BodyRef: paste.BodyRef{Paste: paste.ID(id)}, Text: text}
		err = fill(b.Body[:], key)
		at.Part, at.Row, r.Body = []byte(id), b.Body[:], &b
		return r, at, err
	}
}

type (
	restorePaste paste.Row
	restoreBody  archive.BodyRow
)

func (w *restorePaste) put(ctx context.Context, s *Store) error {
	const doing = "put a paste"
	p := paste.Row(*w)
	stmt, args := insertPaste, []any{string(p.ID), p.Seq, notNull(p.Data)}
	for range restoreTries {
		applied, current, err := s.session.DecideOne(ctx, doing, stmt, args...)
		if err != nil || applied {
			return err
		}
		seq, _ := current["seq"].(int64)
		stmt, args = replacePaste, []any{p.Seq, notNull(p.Data), string(p.ID), seq}
	}
	return notAlone(doing)
}

func (w *restoreBody) put(ctx context.Context, s *Store) error {
	return s.Pastes.PutBody(ctx, w.BodyRef, w.Text)
}
