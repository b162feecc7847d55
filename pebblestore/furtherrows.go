package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

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
func (s contents) PageRows(ctx context.Context, q library.RowSlice) (_ []library.Row, err error) {
	op, err := s.enter(ctx, "read rows of a content")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = appendRowKey(v.key[:0], q.Content, library.RowKey{Kind: q.Kind, Key: q.From})
		if q.To != "" {
			v.end = appendRowKey(v.end[:0], q.Content, library.RowKey{Kind: q.Kind, Key: q.To})
		} else {
			v.end = prefixEnd(appendRowKey(v.end[:0], q.Content, library.RowKey{Kind: q.Kind}))
		}
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	rows, err := v.pageRows(&q)
	if err = errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
}

// pageRows reads a slice whose bounds are set.
func (v *view) pageRows(q *library.RowSlice) ([]library.Row, error) {
	prefix := len(appendRowKey(nil, q.Content, library.RowKey{Kind: q.Kind}))
	first, next := v.it.First, v.it.Next
	if q.Backwards {
		first, next = v.it.Last, v.it.Prev
	}
	var rows []library.Row
	for ok := first(); ok && len(rows) < q.Limit; ok = next() {
		value, err := v.it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		row := library.Row{RowKey: library.RowKey{Kind: q.Kind, Key: string(v.it.Key()[prefix:])}}
		if row.Value, err = decodeRow(value); err != nil {
			return nil, fmt.Errorf("row %q: %w", v.it.Key(), err)
		}
		rows = append(rows, row)
	}
	return rows, v.it.Error()
}

// putRows adds further rows of a content to a batch, and deletes those whose value is nil.
func putRows(b *pebble.Batch, id library.ContentID, rows []library.Row) error {
	for _, r := range rows {
		key := appendRowKey(nil, id, r.RowKey)
		var err error
		if r.Value == nil {
			err = b.Delete(key, nil)
		} else {
			err = b.Set(key, appendRow(nil, r.Value), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendRow appends a further row, without its key.
func appendRow(b, value []byte) []byte { return append(append(b, rowVersion), value...) }

// decodeRow reads a further row. The value is a copy.
func decodeRow(value []byte) ([]byte, error) {
	if len(value) < 2 || value[0] != rowVersion {
		return nil, errRow
	}
	return append([]byte(nil), value[1:]...), nil
}
