package cassandra

import (
	"context"
	"slices"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/interchange/archive"
	"carrel/paste"
)

func readPasteRows() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var p paste.Row
		var id string
		if !iter.Scan(&at.Token, &id, &p.Seq, &p.Data) {
			return r, at, false, nil
		}
		p.ID, p.Data = paste.ID(id), slices.Clone(p.Data)
		at.Part, r.Paste = []byte(id), &p
		return r, at, true, nil
	}
}

func readBodyRows() rowReader {
	return func(iter *gocql.Iter) (r archive.Row, at rowPosition, ok bool, err error) {
		var id string
		var key []byte
		b := new(archive.BodyRow)
		if !iter.Scan(&at.Token, &id, &key, &b.Text) {
			return r, at, false, nil
		}
		if copy(b.Body[:], key) != len(b.Body) {
			return r, at, false, session.ErrMalformedCell
		}
		b.Paste = paste.ID(id)
		at.Part, at.Row, r.Body = []byte(id), slices.Clone(key), b
		return r, at, true, nil
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
