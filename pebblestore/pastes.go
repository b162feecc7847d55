package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"carrel/interchange/archive"
	"carrel/paste"
)

// ReadPaste implements paste.Store.
func (s *Store) ReadPaste(ctx context.Context, id paste.ID) (paste.Row, error) {
	rows, err := s.ReadPastes(ctx, []paste.Ref{{ID: id}})
	if err != nil {
		return paste.Row{}, err
	}
	return rows[0], nil
}

// ReadPastes implements paste.Store.
func (s *Store) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := s.open()
	if err != nil {
		return nil, wrapError("read pastes", err)
	}
	rows := make([]paste.Row, len(refs))
	// In key order the iterator can often stay in the same file.
	order := make([]int, len(refs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(refs[a].ID, refs[b].ID) })
	for _, i := range order {
		id := refs[i].ID
		v.key = appendSingle(v.key[:0], tablePaste, string(id))
		value, found, failed := v.get()
		if failed == nil && found {
			rows[i], failed = decodePaste(id, value)
		}
		if err = failed; err != nil {
			break
		}
	}
	if err = errors.Join(err, s.done(v)); err != nil {
		return nil, wrapError("read pastes", err)
	}
	return rows, nil
}

// pasteAt reads the paste at a key. It returns the zero Row if there is none.
func (s *Store) pasteAt(id paste.ID, key []byte) (paste.Row, error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return paste.Row{}, err
	}
	return decodePaste(id, value)
}

// CommitPaste implements paste.Store.
func (s *Store) CommitPaste(ctx context.Context, r paste.Row) (paste.Row, error) {
	current := r
	err := s.changePaste(ctx, "commit a paste", r.ID, func(b *pebble.Batch, key []byte, before paste.Row) error {
		if before.Seq != r.Seq-1 {
			current = before
			return nil
		}
		if err := s.space.checkFree(s.now()); err != nil {
			return err
		}
		return b.Set(key, appendPaste(nil, &r), nil)
	})
	if err != nil {
		return paste.Row{}, err
	}
	return current, nil
}

// DropPaste implements paste.Store.
func (s *Store) DropPaste(ctx context.Context, id paste.ID, seq int64) error {
	return s.changePaste(ctx, "drop a paste", id, func(b *pebble.Batch, key []byte, before paste.Row) error {
		if before.Seq == 0 || before.Seq != seq {
			return nil
		}
		return b.Delete(key, nil)
	})
}

// changePaste changes a paste under the lock of its row. It writes nothing if change leaves the
// batch empty.
func (s *Store) changePaste(ctx context.Context, doing string, id paste.ID, change func(b *pebble.Batch, key []byte, before paste.Row) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	key := appendSingle(nil, tablePaste, string(id))
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	before, err := s.pasteAt(id, key)
	if err != nil {
		return wrapError(doing, err)
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := change(b, key, before); err != nil || b.Empty() {
		return err
	}
	return s.commitSynced(b)
}

// ScanPastes implements paste.Store, in order of id.
func (s *Store) ScanPastes(ctx context.Context, after paste.ID, limit int) ([]paste.Row, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := s.openRange(func(v *view) {
		v.key = append(v.key[:0], tablePaste)
		v.end = append(v.end[:0], tablePaste+1)
		if after != "" {
			v.key = appendAfter(appendSingle(v.key[:0], tablePaste, string(after)))
		}
	})
	if err != nil {
		return nil, wrapError("list pastes", err)
	}
	if v == nil {
		return nil, nil
	}
	var all []paste.Row
	for ok := v.it.First(); ok && len(all) < limit; ok = v.it.Next() {
		var r paste.Row
		if r, err = decodePaste(paste.ID(v.it.Key()[1:]), v.it.Value()); err != nil {
			break
		}
		all = append(all, r)
	}
	if err = errors.Join(err, s.done(v)); err != nil {
		return nil, wrapError("list pastes", err)
	}
	return all, nil
}

// PutBody implements paste.Store. The commit that refers to the body syncs it.
func (s *Store) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	if err := s.space.checkFree(s.now()); err != nil {
		return err
	}
	return s.writeLater(ctx, "put the body of a paste", func(b *pebble.Batch) error {
		return b.Set(appendBodyKey(nil, ref), append([]byte{rowVersion}, body...), nil)
	})
}

// ReadBodies implements paste.Store.
func (s *Store) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	bodies := make([]*string, len(refs))
	for i, ref := range refs {
		value, found, err := s.get(appendBodyKey(nil, ref))
		if err == nil && found {
			bodies[i], err = decodeBody(value)
		}
		if err != nil {
			return nil, wrapError("read the bodies of pastes", err)
		}
	}
	return bodies, nil
}

// ListBodies implements paste.Store.
func (s *Store) ListBodies(ctx context.Context, id paste.ID) ([]paste.BodyID, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := s.openRange(func(v *view) {
		v.key = appendPartition(v.key[:0], tableBody, string(id))
		v.end = prefixEnd(append(v.end[:0], v.key...))
	})
	if err != nil {
		return nil, wrapError("list the bodies of a paste", err)
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
		return nil, wrapError("list the bodies of a paste", err)
	}
	return all, nil
}

// DropBodies implements paste.Store.
func (s *Store) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
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
