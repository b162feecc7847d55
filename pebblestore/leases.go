package pebblestore

import (
	"context"

	"carrel/lease"
)

// leases implements lease.Store.
type leases struct{ *Store }

// ReadRow implements lease.Store.
func (s leases) ReadRow(ctx context.Context, id lease.ID) (lease.Row, error) {
	return call(ctx, s.Store, "read a lease", func() (lease.Row, error) { return s.leaseAt(id, appendSingle(nil, tableLease, string(id))) })
}

// leaseAt reads the lease at a key. It returns the zero Row if there is none.
func (s leases) leaseAt(id lease.ID, key []byte) (lease.Row, error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return lease.Row{}, err
	}
	return decodeSeqRow(id, value)
}

// CommitRow implements lease.Store.
func (s leases) CommitRow(ctx context.Context, r lease.Row) (lease.Row, error) {
	current := r
	key := appendSingle(nil, tableLease, string(r.ID))
	err := s.write(ctx, "commit a lease", key, s.commitSynced, func(b *batch) error {
		before, err := s.leaseAt(r.ID, key)
		if err != nil {
			return err
		}
		if before.Seq != r.Seq-1 {
			current = before
			return nil
		}
		b.set(key, appendSeqRow(nil, r))
		return nil
	})
	if err != nil {
		return lease.Row{}, err
	}
	return current, nil
}

// DropRow implements lease.Store.
func (s leases) DropRow(ctx context.Context, id lease.ID, seq int64) error {
	key := appendSingle(nil, tableLease, string(id))
	return s.write(ctx, "drop a lease", key, s.commitSynced, func(b *batch) error {
		before, err := s.leaseAt(id, key)
		if before.Seq != 0 && before.Seq == seq {
			b.delete(key)
		}
		return err
	})
}

// ScanRows implements lease.Store, in order of id.
func (s leases) ScanRows(ctx context.Context, after lease.ID, limit int) ([]lease.Row, error) {
	rows := under([]byte{tableLease}, limit)
	if after != "" {
		rows.from = appendAfter(appendSingle(nil, tableLease, string(after)))
	}
	return list(ctx, s.Store, "list leases", rows, leaseOf)
}

// leaseOf reads the row of a lease with its key.
func leaseOf(key, value []byte) (lease.Row, error) { return decodeSeqRow(lease.ID(key[1:]), value) }
