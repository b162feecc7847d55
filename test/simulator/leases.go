package simulator

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"carrel/lease"
)

// compareLease orders leases by their ids.
func compareLease(r lease.Row, id lease.ID) int { return cmp.Compare(r.ID, id) }

// leaseGroup is the Paxos group of a lease.
func leaseGroup(id lease.ID) string { return "lease " + string(id) }

// leaseAt returns the row of a lease, or the zero row.
func (st *Store) leaseAt(id lease.ID) lease.Row {
	if i, ok := find(st.leases, id, compareLease); ok {
		return copyLease(st.leases[i])
	}
	return lease.Row{}
}

// copyLease returns a row that shares nothing with r.
func copyLease(r lease.Row) lease.Row {
	r.Data = bytes.Clone(r.Data)
	return r
}

// putLease stores a row unconditionally.
func (st *Store) putLease(r lease.Row) {
	i, found := find(st.leases, r.ID, compareLease)
	if found {
		st.leases[i] = copyLease(r)
		return
	}
	st.leases = slices.Insert(st.leases, i, copyLease(r))
}

// leases implements lease.Store.
type leases struct{ *Client }

// ReadLease reads a lease.
func (c leases) ReadLease(ctx context.Context, id lease.ID) (lease.Row, error) {
	var current lease.Row
	err := c.read(ctx, "ReadLease", func() {
		if c.a != nil {
			c.st.decide(leaseGroup(id))
		}
		current = c.st.leaseAt(id)
	})
	return current, err
}

// CommitLease stores a lease, and replaces the one with the Seq before.
func (c leases) CommitLease(ctx context.Context, r lease.Row) (lease.Row, error) {
	var current lease.Row
	mine, by := copyLease(r), c.running()
	err := c.write(ctx, "CommitLease", leaseGroup(r.ID), func() {
		if c.st.leaseAt(mine.ID).Seq == mine.Seq-1 {
			c.st.putLease(mine)
			c.st.leaseChanged(mine, by)
		}
		current = c.st.leaseAt(mine.ID)
	}, nil)
	return current, err
}

// DropLease removes a lease with this Seq.
func (c leases) DropLease(ctx context.Context, id lease.ID, seq int64) error {
	return c.write(ctx, "DropLease", leaseGroup(id), func() {
		if i, found := find(c.st.leases, id, compareLease); found && c.st.leases[i].Seq == seq {
			c.st.leases = slices.Delete(c.st.leases, i, i+1)
			c.st.leaseChanged(lease.Row{ID: id}, nil)
		}
	}, nil)
}

// ScanLeases lists leases in order of their ids.
func (c leases) ScanLeases(ctx context.Context, after lease.ID, limit int) ([]lease.Row, error) {
	var page []lease.Row
	err := c.read(ctx, "ScanLeases", func() {
		i, found := find(c.st.leases, after, compareLease)
		if found {
			i++
		}
		for _, r := range c.st.leases[i:min(len(c.st.leases), i+max(limit, 0))] {
			page = append(page, copyLease(r))
		}
	})
	return page, err
}
