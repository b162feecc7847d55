package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"

	"carrel/core/clock"
	"carrel/principal"
)

// RebuildNote implements library.LibraryStore.
func (s libraries) RebuildNote(ctx context.Context, owner principal.ID) ([]byte, error) {
	return call(ctx, s.Store, "read the note of a rebuild", func() ([]byte, error) {
		_, note, err := s.rebuildNote(appendSingle(nil, tableRebuild, string(owner)))
		return note, err
	})
}

// rebuildNote reads the note at a key. It returns nil if there is none.
func (s libraries) rebuildNote(key []byte) (asOf clock.Instant, note []byte, err error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return 0, nil, err
	}
	return decodeRebuild(value)
}

// PutRebuildNote implements library.LibraryStore.
func (s libraries) PutRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant, note []byte) error {
	key := appendSingle(nil, tableRebuild, string(owner))
	return s.write(ctx, "keep the note of a rebuild", ownerLock(owner), s.commitLater, func(b *batch) error {
		was, kept, err := s.rebuildNote(key)
		if err != nil || kept != nil && (was > asOf || was == asOf && bytes.Compare(kept, note) >= 0) {
			return err
		}
		if gone, err := s.isDeleted(owner); err != nil || gone {
			return err
		}
		b.set(key, appendRebuild(nil, asOf, note))
		return nil
	})
}

// DropRebuildNote implements library.LibraryStore.
func (s libraries) DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	key := appendSingle(nil, tableRebuild, string(owner))
	return s.write(ctx, "drop the note of a rebuild", ownerLock(owner), s.commitLater, func(b *batch) error {
		was, kept, err := s.rebuildNote(key)
		if kept != nil && was <= asOf {
			b.delete(key)
		}
		return err
	})
}

// appendRebuild appends the note of a rebuild that started at asOf.
func appendRebuild(b []byte, asOf clock.Instant, note []byte) []byte {
	return append(binary.AppendVarint(append(b, rowVersion), int64(asOf)), note...)
}

// decodeRebuild reads the note of a rebuild.
func decodeRebuild(value []byte) (asOf clock.Instant, note []byte, err error) {
	d := decode(value)
	asOf = clock.Instant(d.Int())
	note = []byte(d.Rest())
	return asOf, note, d.end()
}
