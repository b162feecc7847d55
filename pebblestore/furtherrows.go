package pebblestore

import (
	"bytes"
	"context"
	"fmt"

	"carrel/library"
)

// readRows reads further rows of a partition. The value of a missing row is nil.
func (v *view) readRows(id library.ContentID, keys []library.RowKey) ([]library.Row, error) {
	rows := make([]library.Row, len(keys))
	for i, k := range keys {
		rows[i].RowKey = k
		v.key = appendRowKey(v.key[:0], id, k)
		value, found, err := v.get()
		if err == nil && found {
			rows[i].Value, err = decodeRow(value)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d %q of content %q: %w", k.Kind, k.Key, id, err)
		}
	}
	return rows, nil
}

// PageRows implements library.ContentStore.
func (s contents) PageRows(ctx context.Context, q library.RowSlice) ([]library.Row, error) {
	prefix := appendRowKey(nil, q.Content, library.RowKey{Kind: q.Kind})
	rows := under(prefix, q.Limit)
	rows.from = appendRowKey(nil, q.Content, library.RowKey{Kind: q.Kind, Key: q.From})
	rows.backwards = q.Backwards
	if q.To != "" {
		rows.to = appendRowKey(nil, q.Content, library.RowKey{Kind: q.Kind, Key: q.To})
	}
	return list(ctx, s.Store, "read rows of a content", rows, func(key, value []byte) (row library.Row, err error) {
		row.Kind, row.Key = q.Kind, string(key[len(prefix):])
		row.Value, err = decodeRow(value)
		return row, err
	})
}

// putRows adds further rows of a content to a batch, and deletes those whose value is nil.
func putRows(b *batch, id library.ContentID, rows []library.Row) {
	for _, r := range rows {
		if key := appendRowKey(nil, id, r.RowKey); r.Value == nil {
			b.delete(key)
		} else {
			b.set(key, appendBytes(nil, r.Value))
		}
	}
}

// decodeRow reads a further row, which is never empty. The value is a copy.
func decodeRow(value []byte) ([]byte, error) {
	value, err := decodeBytes(value)
	if err == nil && len(value) == 0 {
		err = errRow
	}
	return bytes.Clone(value), err
}
