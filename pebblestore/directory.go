package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"carrel/principal"
)

// directory implements principal.DirectoryStore.
type directory struct{ *Store }

// ApplyDirectory implements principal.DirectoryStore. Like ApplyIndex for content, it writes rows
// from the stored header under the principal's lock.
func (s directory) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) (err error) {
	op, err := s.enter(ctx, "update the directory")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	id := e.Header.ID
	mu := s.locks.of(appendHeaderKey(nil, tablePrincipal, string(id)))
	mu.Lock()
	defer mu.Unlock()
	h, err := s.principal(id)
	if err != nil {
		return err
	}
	h.ID = id
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	put, drop := e.Derive(h)
	var key, row []byte
	for _, k := range drop {
		key = appendDirectoryKey(key[:0], k, id)
		err = errors.Join(err, b.Delete(key, nil))
	}
	for _, k := range put {
		key = appendDirectoryKey(key[:0], k, id)
		row = appendDirectoryRow(row[:0], h.Visibility, h.MTS)
		err = errors.Join(err, b.Set(key, row, nil))
	}
	if err != nil {
		return err
	}
	return s.commitLater(b)
}

// PageDirectory implements principal.DirectoryStore.
func (s directory) PageDirectory(ctx context.Context, p principal.DirectorySlice) (_ []principal.DirectoryRow, err error) {
	op, err := s.enter(ctx, "page the directory")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	rows, err := s.directoryRows(p.Limit, func(v *view) {
		// The escaped form of a prefix is a prefix of the escaped form of every name that starts
		// with it, except for the byte that ends the string, which is cut off.
		start := appendString(appendDirectory(v.key[:0], p.Tenant, p.Prefix == ""), p.Prefix)
		v.key = start[:len(start)-1]
		v.end = prefixEnd(append(v.end[:0], v.key...))
		if p.After != nil {
			k := principal.DirectoryKey{Whole: p.Prefix == "", Name: p.After.Name}
			v.key = appendAfter(append(appendString(appendDirectory(v.key[:0], p.Tenant, k.Whole), k.Name), p.After.Principal...))
		}
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// ReadDirectory implements principal.DirectoryStore. All rows come from one snapshot.
func (s directory) ReadDirectory(ctx context.Context, p principal.ID, keys []principal.DirectoryKey) (_ []principal.DirectoryRow,
	err error) {
	op, err := s.enter(ctx, "read the directory")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	rows := make([]principal.DirectoryRow, len(keys))
	for i, k := range keys {
		r := &rows[i]
		r.DirectoryKey, r.Principal = k, p
		v.key = appendDirectoryKey(v.key[:0], k, p)
		value, found, bad := v.get()
		if bad == nil && found {
			r.Visibility, r.MTS, bad = decodeDirectoryRow(value)
		}
		if bad != nil {
			err = fmt.Errorf("row of %q: %w", p, bad)
			break
		}
	}
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
}

// ScanDirectory implements principal.DirectoryStore. The position is a key.
func (s directory) ScanDirectory(ctx context.Context, after []byte, limit int) (rows []principal.DirectoryRow, next []byte, err error) {
	op, err := s.enter(ctx, "scan the directory")
	if err != nil {
		return nil, nil, err
	}
	defer op.leave(&err)
	rows, err = s.directoryRows(limit, func(v *view) {
		v.key = append(v.key[:0], tableDirectory)
		v.end = prefixEnd(append(v.end[:0], tableDirectory))
		if after != nil {
			v.key = appendAfter(append(v.key[:0], after...))
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if len(rows) == limit && limit > 0 {
		last := &rows[limit-1]
		next = appendDirectoryKey(nil, last.DirectoryKey, last.Principal)
	}
	return rows, next, nil
}

// directoryRows reads rows of the directory in key order.
func (s directory) directoryRows(limit int, bounds func(v *view)) ([]principal.DirectoryRow, error) {
	if limit <= 0 {
		return nil, nil
	}
	v, err := s.openRange(bounds)
	if err != nil || v == nil {
		return nil, err
	}
	rows := make([]principal.DirectoryRow, 0, min(limit, 128))
	for ok := v.it.First(); ok && len(rows) < limit; ok = v.it.Next() {
		r, bad := directoryRow(v.it)
		if bad != nil {
			err = bad
			break
		}
		rows = append(rows, r)
	}
	if err := errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
}

// directoryRow reads the row at the iterator's position.
func directoryRow(it *pebble.Iterator) (r principal.DirectoryRow, err error) {
	if r.DirectoryKey, r.Principal, err = cutDirectoryKey(it.Key()); err != nil {
		return r, fmt.Errorf("row %q of the directory: %w", it.Key(), err)
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return r, err
	}
	if r.Visibility, r.MTS, err = decodeDirectoryRow(value); err != nil {
		return r, fmt.Errorf("row of %q in the directory: %w", r.Principal, err)
	}
	return r, nil
}

// DropDirectory implements principal.DirectoryStore. It compares each row under the lock of its
// principal, which ApplyDirectory holds when it writes rows.
func (s directory) DropDirectory(ctx context.Context, rows []principal.DirectoryRow) (err error) {
	op, err := s.enter(ctx, "drop a row of the directory")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	for i := range rows {
		if err := s.dropDirectoryRow(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s directory) dropDirectoryRow(r *principal.DirectoryRow) error {
	mu := s.locks.of(appendHeaderKey(nil, tablePrincipal, string(r.Principal)))
	mu.Lock()
	defer mu.Unlock()
	key := appendDirectoryKey(nil, r.DirectoryKey, r.Principal)
	value, found, err := s.get(key)
	if err != nil || !found {
		return err
	}
	_, mts, err := decodeDirectoryRow(value)
	if err != nil || mts != r.MTS {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Delete(key, nil); err != nil {
		return err
	}
	return s.commitLater(b)
}
