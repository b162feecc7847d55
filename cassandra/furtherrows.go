package cassandra

import (
	"bytes"
	"context"

	"carrel/cassandra/session"
	"carrel/library"
)

const (
	putRowStmt  = `INSERT INTO content (content_id, kind, key, data) VALUES (?, ?, ?, ?)`
	dropRowStmt = `DELETE FROM content WHERE content_id = ? AND kind = ? AND key = ?`

	// A slice without an upper bound ends before all non-ASCII keys.
	pageRows     = `SELECT kind, key, data FROM content WHERE content_id = ? AND kind = ? AND key >= ? AND key < ? LIMIT ?`
	pageRowsBack = `SELECT kind, key, data FROM content WHERE content_id = ? AND kind = ? AND key >= ? AND key < ? ORDER BY kind DESC, key DESC LIMIT ?`
)

// beyondKeys sorts after the key of every further row, which is ASCII.
const beyondKeys = "\u0080"

// further returns the row as a further row: one that another domain has added to the item
// (library.RowKind).
func (r *contentRow) further() library.Row {
	return library.Row{RowKey: library.RowKey{Kind: library.RowKind(r.kind), Key: r.key}, Value: bytes.Clone(r.data)}
}

// noRows returns rows with these keys and without values.
func noRows(keys []library.RowKey) []library.Row {
	if len(keys) == 0 {
		return nil
	}
	rows := make([]library.Row, len(keys))
	for i, k := range keys {
		rows[i].RowKey = k
	}
	return rows
}

// putRow stores a row in rows at the positions of its key.
func putRow(rows []library.Row, row library.Row) {
	for i := range rows {
		if rows[i].RowKey == row.RowKey {
			rows[i].Value = row.Value
		}
	}
}

// appendRows adds the writes of further rows to a batch.
func appendRows(b *session.Batch, id library.ContentID, rows []library.Row) {
	for _, r := range rows {
		if r.Value == nil {
			b.Append(dropRowStmt, string(id), int8(r.Kind), r.Key)
		} else {
			b.Append(putRowStmt, string(id), int8(r.Kind), r.Key, r.Value)
		}
	}
}

// PageRows implements library.ContentStore.
func (s contents) PageRows(ctx context.Context, q library.RowSlice) ([]library.Row, error) {
	if q.Limit <= 0 {
		return nil, nil
	}
	to := q.To
	if to == "" {
		to = beyondKeys
	}
	r := session.Query{Operation: "read rows of a content", Stmt: pageRows, PartitionKey: string(q.Content),
		Args: []any{string(q.Content), int8(q.Kind), q.From, to, q.Limit}}
	if q.Backwards {
		r.Stmt = pageRowsBack
	}
	var row contentRow
	return session.List(ctx, s.session, r, []any{&row.kind, &row.key, &row.data}, func() (library.Row, error) { return row.further(), nil })
}
