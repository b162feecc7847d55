package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/interchange/archive"
	"carrel/paste"
)

// pastes implements paste.Store.
type pastes struct{ *Store }

// ReadRow implements paste.Store.
func (s pastes) ReadRow(ctx context.Context, id paste.ID) (paste.Row, error) {
	rows, err := s.ReadPastes(ctx, []paste.Ref{{ID: id}})
	if err != nil {
		return paste.Row{}, err
	}
	return rows[0], nil
}

// ReadPastes implements paste.Store.
func (s pastes) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	return read(ctx, s.Store, "read pastes", func(v *view) ([]paste.Row, error) { return v.readPastes(refs) })
}

// readPastes reads pastes in the order of their keys, in which the iterator can often stay in the
// same block.
func (v *view) readPastes(refs []paste.Ref) ([]paste.Row, error) {
	rows := make([]paste.Row, len(refs))
	order := make([]int, len(refs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(refs[a].CreatedAt, refs[b].CreatedAt), cmp.Compare(refs[a].ID, refs[b].ID))
	})
	for _, i := range order {
		var err error
		if refs[i].CreatedAt != 0 {
			if rows[i], err = v.pasteRow(refs[i]); err != nil {
				return nil, err
			}
		}
		if rows[i].Seq == 0 {
			if rows[i], _, err = pasteByID(refs[i].ID, v.valueAt); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// pasteRow reads the row of a paste whose time of creation is known. It returns the zero Row if
// there is none.
func (v *view) pasteRow(ref paste.Ref) (paste.Row, error) {
	v.key = appendPasteRowKey(v.key[:0], ref.ID, ref.CreatedAt)
	value, found, err := v.get()
	if err != nil || !found {
		return paste.Row{}, err
	}
	return decodeSeqRow(ref.ID, value)
}

// pasteByID reads the row of a paste with get, and returns it with its key. It returns the zero Row
// if there is none.
func pasteByID(id paste.ID, get func(key []byte) ([]byte, bool, error)) (row paste.Row, key []byte, err error) {
	value, found, err := get(appendPasteKey(nil, id))
	if err != nil || !found {
		return paste.Row{}, nil, err
	}
	created, err := decodePointer(value)
	if err != nil {
		return paste.Row{}, nil, err
	}
	key = appendPasteRowKey(nil, id, created)
	if value, found, err = get(key); err == nil && !found {
		err = fmt.Errorf("%s: %w", id, errLostRow)
	}
	if err == nil {
		row, err = decodeSeqRow(id, value)
	}
	return row, key, err
}

// CommitRow implements paste.Store.
func (s pastes) CommitRow(ctx context.Context, r paste.Row) (paste.Row, error) {
	current := r
	err := s.write(ctx, "commit a paste", appendPasteKey(nil, r.ID), s.commitSynced, func(b *batch) error {
		before, key, err := pasteByID(r.ID, s.get)
		if err != nil {
			return err
		}
		if before.Seq != r.Seq-1 {
			current = before
			return nil
		}
		putPaste(b, &r, key)
		return nil
	})
	if err != nil {
		return paste.Row{}, err
	}
	return current, nil
}

// putPaste adds a paste to a batch, with the pointer to it. before is the key of its current row, or
// nil if there is none. If the new row has another key, the current row is deleted.
func putPaste(b *batch, r *paste.Row, before []byte) {
	key := appendPasteRowKey(nil, r.ID, paste.CreatedAt(*r))
	if !bytes.Equal(key, before) {
		if before != nil {
			b.delete(before)
		}
		b.set(appendPasteKey(nil, r.ID), appendPointer(nil, paste.CreatedAt(*r)))
	}
	b.set(key, appendSeqRow(nil, *r))
}

// DropRow implements paste.Store.
func (s pastes) DropRow(ctx context.Context, id paste.ID, seq int64) error {
	pointer := appendPasteKey(nil, id)
	return s.write(ctx, "drop a paste", pointer, s.commitSynced, func(b *batch) error {
		before, key, err := pasteByID(id, s.get)
		if err == nil && before.Seq != 0 && before.Seq == seq {
			b.delete(key)
			b.delete(pointer)
		}
		return err
	})
}

// ScanRows implements paste.Store, in order of id.
func (s pastes) ScanRows(ctx context.Context, after paste.ID, limit int) ([]paste.Row, error) {
	return read(ctx, s.Store, "list pastes", func(v *view) ([]paste.Row, error) { return v.scanPastes(after, limit) })
}

// scanPastes lists pastes after an id.
func (v *view) scanPastes(after paste.ID, limit int) ([]paste.Row, error) {
	rows := under([]byte{tablePaste}, limit)
	if after != "" {
		rows.from = appendAfter(appendPasteKey(nil, after))
	}
	refs, err := listRows(v, rows, func(key, value []byte) (paste.Ref, error) {
		created, err := decodePointer(value)
		return paste.Ref{ID: paste.ID(key[1:]), CreatedAt: created}, err
	})
	if err != nil {
		return nil, err
	}
	v.it.SetBounds(nil, nil)
	return v.readPastes(refs)
}

// PutBody implements paste.Store. The commit that refers to the body syncs it.
func (s pastes) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	return s.write(ctx, "put the body of a paste", nil, s.commitLater, func(b *batch) error {
		b.set(appendBodyKey(nil, ref), appendBytes(nil, []byte(body)))
		return s.Room()
	})
}

// ReadBodies implements paste.Store.
func (s pastes) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	return call(ctx, s.Store, "read the bodies of pastes", func() ([]*string, error) {
		bodies := make([]*string, len(refs))
		for i, ref := range refs {
			value, found, err := s.get(appendBodyKey(nil, ref))
			if err == nil && found {
				bodies[i], err = decodeBody(value)
			}
			if err != nil {
				return nil, err
			}
		}
		return bodies, nil
	})
}

// ListBodies implements paste.Store.
func (s pastes) ListBodies(ctx context.Context, id paste.ID) ([]paste.BodyID, error) {
	rows := under(appendPartition(nil, tableBody, string(id)), unlimited)
	return list(ctx, s.Store, "list the bodies of a paste", rows, func(key, _ []byte) (paste.BodyID, error) {
		ref, err := cutBodyKey(key)
		return ref.Body, err
	})
}

// DropBodies implements paste.Store.
func (s pastes) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
	return s.write(ctx, "drop the bodies of pastes", nil, s.commitLater, func(b *batch) error {
		for _, ref := range refs {
			b.delete(appendBodyKey(nil, ref))
		}
		return nil
	})
}

// appendBodyKey appends the key of a long body.
func appendBodyKey(b []byte, ref paste.BodyRef) []byte {
	return append(appendPartition(b, tableBody, string(ref.Paste)), ref.Body[:]...)
}

// cutBodyKey reads the key of a long body.
func cutBodyKey(k []byte) (paste.BodyRef, error) {
	id, rest, err := cutString(k[1:])
	ref := paste.BodyRef{Paste: paste.ID(id)}
	if err != nil || len(rest) != len(ref.Body) {
		return paste.BodyRef{}, errKey
	}
	copy(ref.Body[:], rest)
	return ref, nil
}

// decodeBody reads the row of a long body.
func decodeBody(value []byte) (*string, error) {
	text, err := decodeBytes(value)
	if err != nil {
		return nil, err
	}
	body := string(text)
	return &body, nil
}

// bodyOf reads a long body with its key.
func bodyOf(key, value []byte) (*archive.BodyRow, error) {
	ref, err := cutBodyKey(key)
	if err != nil {
		return nil, err
	}
	text, err := decodeBody(value)
	if err != nil {
		return nil, err
	}
	return &archive.BodyRow{BodyRef: ref, Text: *text}, nil
}

// errLostRow reports that a pointer leads to no row. Both are always written together.
var errLostRow = errors.New("the row of a paste is missing")

// appendPointer appends the pointer to the row of a paste: the time of its creation.
func appendPointer(b []byte, created clock.Instant) []byte {
	return binary.AppendVarint(append(b, rowVersion), int64(created))
}

// decodePointer reads the time of creation in a pointer.
func decodePointer(value []byte) (clock.Instant, error) {
	d := decode(value)
	created := clock.Instant(d.Int())
	return created, d.end()
}
