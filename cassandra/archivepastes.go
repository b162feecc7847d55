package cassandra

import (
	"context"

	"carrel/interchange/archive"
	"carrel/paste"
)

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

type restoreBody archive.BodyRow

func (w *restoreBody) put(ctx context.Context, s *Store) error {
	return s.Pastes.PutBody(ctx, w.BodyRef, w.Text)
}
