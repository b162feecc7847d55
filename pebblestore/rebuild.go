package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/clock"
	"carrel/principal"
)

// RebuildNote implements library.LibraryStore.
func (s libraries) RebuildNote(ctx context.Context, owner principal.ID) (_ []byte, err error) {
	op, err := s.enter(ctx, "read the note of a rebuild")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	_, note, err := s.rebuildNote(appendSingle(nil, tableRebuild, string(owner)))
	if err != nil {
		return nil, err
	}
	return note, nil
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
	return s.changeRebuildNote(ctx, "keep the note of a rebuild", owner, func(b *pebble.Batch, key []byte, was clock.Instant,
		kept []byte) error {
		if kept != nil && (was > asOf || was == asOf && bytes.Compare(kept, note) >= 0) {
			return nil
		}
		if gone, err := s.isDeleted(owner); err != nil || gone {
			return err
		}
		return b.Set(key, appendRebuild(nil, asOf, note), nil)
	})
}

// DropRebuildNote implements library.LibraryStore.
func (s libraries) DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	return s.changeRebuildNote(ctx, "drop the note of a rebuild", owner, func(b *pebble.Batch, key []byte, was clock.Instant,
		kept []byte) error {
		if kept == nil || was > asOf {
			return nil
		}
		return b.Delete(key, nil)
	})
}

// changeRebuildNote changes a note under the lock of its owner.
func (s libraries) changeRebuildNote(ctx context.Context, doing string, owner principal.ID,
	change func(b *pebble.Batch, key []byte, was clock.Instant, kept []byte) error) error {
	key := appendSingle(nil, tableRebuild, string(owner))
	mu := s.locks.of(appendHeaderKey(nil, tablePrincipal, string(owner)))
	mu.Lock()
	defer mu.Unlock()
	return s.writeLater(ctx, doing, func(b *pebble.Batch) error {
		was, kept, err := s.rebuildNote(key)
		if err != nil {
			return err
		}
		return change(b, key, was, kept)
	})
}

// appendRebuild appends the note of a rebuild that started at asOf.
func appendRebuild(b []byte, asOf clock.Instant, note []byte) []byte {
	return append(binary.AppendVarint(append(b, rowVersion), int64(asOf)), note...)
}

// decodeRebuild reads the note of a rebuild.
func decodeRebuild(value []byte) (asOf clock.Instant, note []byte, err error) {
	d := decode(value)
	asOf = clock.Instant(d.int())
	note = []byte(d.rest())
	return asOf, note, d.end()
}
