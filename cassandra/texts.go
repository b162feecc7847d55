package cassandra

import (
	"context"

	"carrel/cassandra/session"
	"carrel/library"
	"carrel/note"
)

const (
	putText    = `INSERT INTO item_text (text_id, content_id, row_kind, row_key, body) VALUES (?, ?, ?, ?, ?)`
	selectText = `SELECT content_id, row_kind, row_key, body FROM item_text WHERE text_id = ?`
	dropText   = `DELETE FROM item_text WHERE text_id = ?`

	scanTexts      = `SELECT text_id, content_id, row_kind, row_key FROM item_text LIMIT ?`
	scanTextsAfter = `SELECT text_id, content_id, row_kind, row_key FROM item_text WHERE token(text_id) >= token(?) LIMIT ?`
)

// PutText implements note.Store.
func (s texts) PutText(ctx context.Context, t note.Text) error {
	return s.session.Write(ctx, "put a text", putText, t.ID[:], string(t.Item), int8(t.Row.Kind), t.Row.Key, t.Body)
}

// ReadTexts implements note.Store.
func (s texts) ReadTexts(ctx context.Context, ids []note.TextID) ([]note.Text, error) {
	texts := make([]note.Text, len(ids))
	if len(ids) == 0 {
		return texts, nil
	}
	err := session.ForEach(ctx, len(ids), session.Width, func(ctx context.Context, i int) error {
		var row textRow
		q := session.Query{Operation: "read a text", Stmt: selectText, Args: []any{ids[i][:]}}
		found, err := s.session.ReadRow(ctx, q, &row.item, &row.kind, &row.key, &row.body)
		if found {
			texts[i] = row.text(ids[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}

// textRow is a row of item_text without its key.
type textRow struct {
	item, key, body string
	kind            int8
}

func (r *textRow) text(id note.TextID) note.Text {
	return note.Text{ID: id, Item: library.ContentID(r.item), Row: library.RowKey{Kind: library.RowKind(r.kind), Key: r.key}, Body: r.body}
}

// DropTexts implements note.Store.
func (s texts) DropTexts(ctx context.Context, ids []note.TextID) error {
	if len(ids) == 0 {
		return nil
	}
	return session.ForEach(ctx, len(ids), session.Width, func(ctx context.Context, i int) error {
		return s.session.Write(ctx, "drop a text", dropText, ids[i][:])
	})
}

// ScanTexts implements note.Store, in order of the ids' tokens.
func (s texts) ScanTexts(ctx context.Context, after note.TextID, limit int) ([]note.Text, error) {
	q := session.Query{Operation: "list texts", Stmt: scanTexts}
	if after != (note.TextID{}) {
		q.Stmt, q.Args = scanTextsAfter, []any{after[:]}
	}
	var (
		row textRow
		key []byte
	)
	return scan(ctx, s.Store, q, limit, []any{&key, &row.item, &row.kind, &row.key}, func() (note.Text, error) {
		var id note.TextID
		err := fill(id[:], key)
		return row.text(id), err
	}, func(t note.Text) bool { return t.ID == after })
}
