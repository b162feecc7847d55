package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"carrel/lease"
)

// leases implements lease.Store.
type leases struct{ *Store }

// ReadLease implements lease.Store.
func (s leases) ReadLease(ctx context.Context, id lease.ID) (_ lease.Row, err error) {
	op, err := s.enter(ctx, "read a lease")
	if err != nil {
		return lease.Row{}, err
	}
	defer op.leave(&err)
	row, err := s.leaseAt(id, appendSingle(nil, tableLease, string(id)))
	if err != nil {
		return lease.Row{}, err
	}
	return row, nil
}

// leaseAt reads the lease at a key. It returns the zero Row if there is none.
func (s leases) leaseAt(id lease.ID, key []byte) (lease.Row, error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return lease.Row{}, err
	}
	return decodeLease(id, value)
}

// CommitLease implements lease.Store.
func (s leases) CommitLease(ctx context.Context, r lease.Row) (lease.Row, error) {
	current := r
	err := s.changeLease(ctx, "commit a lease", r.ID, func(b *pebble.Batch, key []byte, before lease.Row) error {
		if before.Seq != r.Seq-1 {
			current = before
			return nil
		}
		return b.Set(key, appendLease(nil, &r), nil)
	})
	if err != nil {
		return lease.Row{}, err
	}
	return current, nil
}

// DropLease implements lease.Store.
func (s leases) DropLease(ctx context.Context, id lease.ID, seq int64) error {
	return s.changeLease(ctx, "drop a lease", id, func(b *pebble.Batch, key []byte, before lease.Row) error {
		if before.Seq == 0 || before.Seq != seq {
			return nil
		}
		return b.Delete(key, nil)
	})
}

// changeLease changes a lease under the lock of its row. It writes nothing if change leaves the
// batch empty.
func (s leases) changeLease(ctx context.Context, doing string, id lease.ID, change func(b *pebble.Batch, key []byte,
	before lease.Row) error) (err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return err
	}
	defer op.leave(&err)
	key := appendSingle(nil, tableLease, string(id))
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	before, err := s.leaseAt(id, key)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := change(b, key, before); err != nil || b.Empty() {
		return err
	}
	return s.commitSynced(b)
}

// ScanLeases implements lease.Store, in order of id.
func (s leases) ScanLeases(ctx context.Context, after lease.ID, limit int) (_ []lease.Row, err error) {
	op, err := s.enter(ctx, "list leases")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = append(v.key[:0], tableLease)
		v.end = append(v.end[:0], tableLease+1)
		if after != "" {
			v.key = appendAfter(appendSingle(v.key[:0], tableLease, string(after)))
		}
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	var all []lease.Row
	for ok := v.it.First(); ok && len(all) < limit; ok = v.it.Next() {
		var r lease.Row
		if r, err = decodeLease(lease.ID(v.it.Key()[1:]), v.it.Value()); err != nil {
			break
		}
		all = append(all, r)
	}
	if err = errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return all, nil
}

// appendLease appends the row of a lease, without its key.
func appendLease(b []byte, r *lease.Row) []byte {
	return append(binary.AppendVarint(append(b, rowVersion), r.Seq), r.Data...)
}

// decodeLease reads the row of a lease.
func decodeLease(id lease.ID, value []byte) (lease.Row, error) {
	d := decode(value)
	r := lease.Row{ID: id, Seq: d.int()}
	r.Data = []byte(d.rest())
	return r, d.end()
}
