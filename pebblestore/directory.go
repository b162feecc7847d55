package pebblestore

import (
	"context"
	"fmt"
	"slices"

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
	return s.change(appendHeaderKey(nil, tablePrincipal, string(id)), s.commitLater, func(b *batch) error {
		h, err := s.principal(id)
		if err != nil {
			return err
		}
		h.ID = id
		put, drop := e.Derive(h)
		for _, k := range drop {
			b.delete(appendDirectoryKey(nil, k, id))
		}
		for _, k := range put {
			b.set(appendDirectoryKey(nil, k, id), appendDirectoryRow(nil, h.Visibility, h.MTS))
		}
		return nil
	})
}

// PageDirectory implements principal.DirectoryStore.
func (s directory) PageDirectory(ctx context.Context, p principal.DirectorySlice) ([]principal.DirectoryRow, error) {
	names := appendDirectory(nil, p.Tenant, p.Prefix == "")
	// The escaped form of a prefix is a prefix of the escaped form of every name that starts
	// with it, except for the byte that ends the string, which is cut off.
	start := appendString(slices.Clone(names), p.Prefix)
	rows := under(start[:len(start)-1], p.Limit)
	if p.After != nil {
		rows.from = appendAfter(append(appendString(names, p.After.Name), p.After.Principal...))
	}
	return list(ctx, s.Store, "page the directory", rows, directoryRow)
}

// ReadDirectory implements principal.DirectoryStore. All rows come from one snapshot.
func (s directory) ReadDirectory(ctx context.Context, p principal.ID, keys []principal.DirectoryKey) ([]principal.DirectoryRow, error) {
	return read(ctx, s.Store, "read the directory", func(v *view) ([]principal.DirectoryRow, error) {
		rows := make([]principal.DirectoryRow, len(keys))
		for i, k := range keys {
			r := &rows[i]
			r.DirectoryKey, r.Principal = k, p
			v.key = appendDirectoryKey(v.key[:0], k, p)
			value, found, err := v.get()
			if err == nil && found {
				r.Visibility, r.MTS, err = decodeDirectoryRow(value)
			}
			if err != nil {
				return nil, fmt.Errorf("row of %q: %w", p, err)
			}
		}
		return rows, nil
	})
}

// ScanDirectory implements principal.DirectoryStore. The position is a key.
func (s directory) ScanDirectory(ctx context.Context, after []byte, limit int) (all []principal.DirectoryRow, next []byte, err error) {
	rows := under([]byte{tableDirectory}, limit)
	if after != nil {
		rows.from = appendAfter(slices.Clone(after))
	}
	all, err = list(ctx, s.Store, "scan the directory", rows, directoryRow)
	if len(all) == limit && limit > 0 {
		last := &all[limit-1]
		next = appendDirectoryKey(nil, last.DirectoryKey, last.Principal)
	}
	return all, next, err
}

// directoryRow reads a row of the directory with its key.
func directoryRow(key, value []byte) (r principal.DirectoryRow, err error) {
	if r.DirectoryKey, r.Principal, err = cutDirectoryKey(key); err == nil {
		r.Visibility, r.MTS, err = decodeDirectoryRow(value)
	}
	return r, err
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
	return s.change(appendHeaderKey(nil, tablePrincipal, string(r.Principal)), s.commitLater, func(b *batch) error {
		key := appendDirectoryKey(nil, r.DirectoryKey, r.Principal)
		value, found, err := s.get(key)
		if err != nil || !found {
			return err
		}
		_, mts, err := decodeDirectoryRow(value)
		if mts == r.MTS {
			b.delete(key)
		}
		return err
	})
}
