package simulator

import (
	"bytes"
	"cmp"
	"context"

	"carrel/lease"
)

// compareLease orders leases by their ids.
func compareLease(r lease.Row, id lease.ID) int { return cmp.Compare(r.ID, id) }

// leaseGroup is the Paxos group of a lease.
func leaseGroup(id lease.ID) string { return "lease " + string(id) }

// leaseAt returns the row of a lease, or the zero row.
func (st *Store) leaseAt(id lease.ID) lease.Row {
	return copyLease(at(st.leases, id, compareLease))
}

// copyLease returns a row that shares nothing with r.
func copyLease(r lease.Row) lease.Row {
	r.Data = bytes.Clone(r.Data)
	return r
}

// putLease stores a row unconditionally.
func (st *Store) putLease(r lease.Row) {
	st.leases = put(st.leases, r.ID, compareLease, copyLease(r))
}

// leases implements lease.Store.
type leases struct{ *Client }

// ReadLease reads a lease.
func (c leases) ReadLease(ctx context.Context, id lease.ID) (lease.Row, error) {
	return look(ctx, c.Client, "ReadLease", func() lease.Row {
		c.decide(leaseGroup(id))
		return c.st.leaseAt(id)
	})
}

// CommitLease stores a lease, and replaces the one with the Seq before.
func (c leases) CommitLease(ctx context.Context, r lease.Row) (lease.Row, error) {
	mine, by := copyLease(r), c.running()
	return change(ctx, c.Client, "CommitLease", leaseGroup(r.ID), func() lease.Row {
		if c.st.leaseAt(mine.ID).Seq == mine.Seq-1 {
			c.st.putLease(mine)
			c.st.leaseChanged(mine, by)
		}
		return c.st.leaseAt(mine.ID)
	})
}

// DropLease removes a lease with this Seq.
func (c leases) DropLease(ctx context.Context, id lease.ID, seq int64) error {
	return c.write(ctx, "DropLease", leaseGroup(id), func() {
		if now := c.st.leaseAt(id); now.Seq == seq && seq != 0 {
			c.st.leases = drop(c.st.leases, id, compareLease)
			c.st.leaseChanged(lease.Row{ID: id}, nil)
		}
	}, nil)
}

// ScanLeases lists leases in order of their ids.
func (c leases) ScanLeases(ctx context.Context, from lease.ID, limit int) ([]lease.Row, error) {
	return look(ctx, c.Client, "ScanLeases", func() []lease.Row {
		page := after(c.st.leases, from, compareLease, limit)
		for i := range page {
			page[i] = copyLease(page[i])
		}
		return page
	})
}
