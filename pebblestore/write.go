package pebblestore

import (
	"context"

	"github.com/cockroachdb/pebble/v2"
)

// batch collects the rows of one write. The first error is kept, and the write then fails with it.
type batch struct {
	rows *pebble.Batch
	err  error
}

func (b *batch) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *batch) set(key, value []byte)       { b.keep(b.rows.Set(key, value, nil)) }
func (b *batch) delete(key []byte)           { b.keep(b.rows.Delete(key, nil)) }
func (b *batch) deleteRange(from, to []byte) { b.keep(b.rows.DeleteRange(from, to, nil)) }

// write makes a write as a call of the store. doing, lock, commit and fill are as for enter and
// change.
func (s *Store) write(ctx context.Context, doing string, lock []byte, commit func(*pebble.Batch) error,
	fill func(b *batch) error) (err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return err
	}
	defer op.leave(&err)
	return s.change(lock, commit, fill)
}

// change holds the lock of a key, unless the key is nil, while fill reads what it needs and fills a
// batch, and while commit, which is commitSynced or commitLater, writes that. An empty batch is not
// written.
func (s *Store) change(lock []byte, commit func(*pebble.Batch) error, fill func(b *batch) error) error {
	if lock != nil {
		mu := s.locks.of(lock)
		mu.Lock()
		defer mu.Unlock()
	}
	b := batch{rows: s.db.NewBatch()}
	defer func() { _ = b.rows.Close() }()
	if err := fill(&b); err != nil {
		return err
	}
	if b.err != nil || b.rows.Empty() {
		return b.err
	}
	return commit(b.rows)
}
