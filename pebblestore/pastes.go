package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/clock"
	"carrel/interchange/archive"
	"carrel/paste"
)

// pastes implements paste.Store.
type pastes struct{ *Store }

// ReadPaste implements paste.Store.
func (s pastes) ReadPaste(ctx context.Context, id paste.ID) (paste.Row, error) {
	rows, err := s.ReadPastes(ctx, []paste.Ref{{ID: id}})
	if err != nil {
		return paste.Row{}, err
	}
	return rows[0], nil
}

// ReadPastes implements paste.Store.
func (s pastes) ReadPastes(ctx context.Context, refs []paste.Ref) (_ []paste.Row, err error) {
	op, err := s.enter(ctx, "read pastes")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	rows, err := v.readPastes(refs)
	if err = errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return rows, nil
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
	return decodePaste(ref.ID, value)
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
		row, err = decodePaste(id, value)
	}
	return row, key, err
}

// CommitPaste implements paste.Store.
func (s pastes) CommitPaste(ctx context.Context, r paste.Row) (paste.Row, error) {
	current := r
	err := s.changePaste(ctx, "commit a paste", r.ID, func(b *pebble.Batch, before paste.Row, key []byte) error {
		if before.Seq != r.Seq-1 {
			current = before
			return nil
		}
		return putPaste(b, &r, key)
	})
	if err != nil {
		return paste.Row{}, err
	}
	return current, nil
}

// putPaste adds a paste to a batch, with the pointer to it. before is the key of its current row, or
// nil if there is none. If the new row has another key, the current row is deleted.
func putPaste(b *pebble.Batch, r *paste.Row, before []byte) error {
	key := appendPasteRowKey(nil, r.ID, r.CreatedAt())
	if !bytes.Equal(key, before) {
		if before != nil {
			if err := b.Delete(before, nil); err != nil {
				return err
			}
		}
		if err := b.Set(appendPasteKey(nil, r.ID), appendPointer(nil, r.CreatedAt()), nil); err != nil {
			return err
		}
	}
	return b.Set(key, appendPaste(nil, r), nil)
}

// DropPaste implements paste.Store.
func (s pastes) DropPaste(ctx context.Context, id paste.ID, seq int64) error {
	return s.changePaste(ctx, "drop a paste", id, func(b *pebble.Batch, before paste.Row, key []byte) error {
		if before.Seq == 0 || before.Seq != seq {
			return nil
		}
		return errors.Join(b.Delete(key, nil), b.Delete(appendPasteKey(nil, id), nil))
	})
}

// pasteChange adds a change of a paste to a batch, given its current row and the key of that; key
// is nil if there is none.
type pasteChange func(b *pebble.Batch, before paste.Row, key []byte) error

// changePaste changes a paste under the lock of its id. It writes nothing if change leaves the
// batch empty.
func (s pastes) changePaste(ctx context.Context, doing string, id paste.ID, change pasteChange) (err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return err
	}
	defer op.leave(&err)
	mu := s.locks.of(appendPasteKey(nil, id))
	mu.Lock()
	defer mu.Unlock()
	before, key, err := pasteByID(id, s.get)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := change(b, before, key); err != nil || b.Empty() {
		return err
	}
	return s.commitSynced(b)
}

// ScanPastes implements paste.Store, in order of id.
func (s pastes) ScanPastes(ctx context.Context, after paste.ID, limit int) (_ []paste.Row, err error) {
	op, err := s.enter(ctx, "list pastes")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	rows, err := s.scanPastes(after, limit)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// scanPastes lists pastes after an id.
func (s *Store) scanPastes(after paste.ID, limit int) ([]paste.Row, error) {
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	rows, err := v.scanPastes(after, limit)
	return rows, errors.Join(err, s.done(v))
}

// scanPastes lists pastes after an id.
func (v *view) scanPastes(after paste.ID, limit int) ([]paste.Row, error) {
	v.key = appendPasteKey(v.key[:0], after)
	if after != "" {
		v.key = appendAfter(v.key)
	}
	var refs []paste.Ref
	for ok := v.it.SeekGE(v.key); ok && v.it.Key()[0] == tablePaste && len(refs) < limit; ok = v.it.Next() {
		ref := paste.Ref{ID: paste.ID(v.it.Key()[1:])}
		value, err := v.it.ValueAndErr()
		if err == nil {
			ref.CreatedAt, err = decodePointer(value)
		}
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	if err := v.it.Error(); err != nil {
		return nil, err
	}
	return v.readPastes(refs)
}

// PutBody implements paste.Store. The commit that refers to the body syncs it.
func (s pastes) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	if err := s.space.CheckFree(s.now()); err != nil {
		return err
	}
	return s.writeLater(ctx, "put the body of a paste", func(b *pebble.Batch) error {
		return b.Set(appendBodyKey(nil, ref), append([]byte{rowVersion}, body...), nil)
	})
}

// ReadBodies implements paste.Store.
func (s pastes) ReadBodies(ctx context.Context, refs []paste.BodyRef) (_ []*string, err error) {
	op, err := s.enter(ctx, "read the bodies of pastes")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
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
}

// ListBodies implements paste.Store.
func (s pastes) ListBodies(ctx context.Context, id paste.ID) (_ []paste.BodyID, err error) {
	op, err := s.enter(ctx, "list the bodies of a paste")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = appendPartition(v.key[:0], tableBody, string(id))
		v.end = prefixEnd(append(v.end[:0], v.key...))
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	var all []paste.BodyID
	for ok := v.it.First(); ok; ok = v.it.Next() {
		var ref paste.BodyRef
		if ref, err = cutBodyKey(v.it.Key()); err != nil {
			break
		}
		all = append(all, ref.Body)
	}
	if err = errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	return all, nil
}

// DropBodies implements paste.Store.
func (s pastes) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
	return s.writeLater(ctx, "drop the bodies of pastes", func(b *pebble.Batch) error {
		for _, ref := range refs {
			if err := b.Delete(appendBodyKey(nil, ref), nil); err != nil {
				return err
			}
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
	if len(value) == 0 || value[0] != rowVersion {
		return nil, errRow
	}
	body := string(value[1:])
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
	created := clock.Instant(d.int())
	return created, d.end()
}

// appendPaste appends the row of a paste, without its key.
func appendPaste(b []byte, r *paste.Row) []byte {
	return append(binary.AppendVarint(append(b, rowVersion), r.Seq), r.Data...)
}

// decodePaste reads the row of a paste.
func decodePaste(id paste.ID, value []byte) (paste.Row, error) {
	if len(value) == 0 || value[0] != rowVersion {
		return paste.Row{}, errRow
	}
	seq, n := binary.Varint(value[1:])
	if n <= 0 {
		return paste.Row{}, errRow
	}
	return paste.Row{ID: id, Seq: seq, Data: bytes.Clone(value[1+n:])}, nil
}
