package cassandra

import (
	"context"
	"slices"

	"github.com/gocql/gocql"

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

// PutText implements page.Store.
func (s texts) PutText(ctx context.Context, t note.Text) error {
	return s.session.Write(ctx, "put a text", putText, t.ID[:], string(t.Item), int8(t.Row.Kind), t.Row.Key, t.Body)
}

// ReadTexts implements page.Store.
func (s texts) ReadTexts(ctx context.Context, ids []note.TextID) ([]note.Text, error) {
	texts := make([]note.Text, len(ids))
	if len(ids) == 0 {
		return texts, nil
	}
	err := session.ForEach(ctx, len(ids), session.Width, func(ctx context.Context, i int) error {
		q := session.Query{Operation: "read a text", Stmt: selectText, Args: []any{ids[i][:]}}
		return s.session.Read(ctx, q, func(iter *gocql.Iter) bool {
			var row textRow
			if !iter.Scan(&row.item, &row.kind, &row.key, &row.body) {
				return false
			}
			texts[i] = row.text(ids[i])
			return true
		})
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

// DropTexts implements page.Store.
func (s texts) DropTexts(ctx context.Context, ids []note.TextID) error {
	if len(ids) == 0 {
		return nil
	}
	return session.ForEach(ctx, len(ids), session.Width, func(ctx context.Context, i int) error {
		return s.session.Write(ctx, "drop a text", dropText, ids[i][:])
	})
}

// ScanTexts implements page.Store, in order of the ids' tokens.
func (s texts) ScanTexts(ctx context.Context, after note.TextID, limit int) ([]note.Text, error) {
	const doing = "list texts"
	if limit <= 0 {
		return nil, nil
	}
	q := session.Query{Operation: doing, Stmt: scanTexts, Args: []any{limit + 1}}
	if after != (note.TextID{}) {
		q.Stmt, q.Args = scanTextsAfter, []any{after[:], limit + 1}
	}
	var (
		texts     []note.Text
		malformed bool
	)
	err := s.session.Read(ctx, q, func(iter *gocql.Iter) bool {
		var row textRow
		var key []byte
		if !iter.Scan(&key, &row.item, &row.kind, &row.key) {
			return false
		}
		var id note.TextID
		malformed = malformed || copy(id[:], key) != len(id)
		texts = append(texts, row.text(id))
		return true
	})
	if err == nil && malformed {
		err = session.WrapError(doing, session.ErrMalformedCell)
	}
	if err != nil {
		return nil, err
	}
	// The slice starts at the token of the given id, so it returns that id too, and ids with the same
	// token that were returned before it.
	if at := slices.IndexFunc(texts, func(t note.Text) bool { return t.ID == after }); at >= 0 {
		texts = texts[at+1:]
	}
	return texts[:min(len(texts), limit)], nil
}
