package simulator

import (
	"bytes"
	"cmp"
	"context"

	"carrel/core/commit"
	"carrel/lease"
	"carrel/paste"
)

// rows implements commit.RowStore.
type rows[ID ~string] struct {
	*Client
	kind    string
	list    *[]commit.Row[ID]
	changed func(r commit.Row[ID], by *Operation) // records a new state
}

func leasesOf(c *Client) rows[lease.ID] {
	return rows[lease.ID]{c, "lease", &c.st.leases, c.st.leaseChanged}
}

func pastesOf(c *Client) pastes {
	return pastes{rows[paste.ID]{c, "paste", &c.st.pastes, c.st.pasteChanged}}
}

// compareSeqRow orders rows by their ids.
func compareSeqRow[ID ~string](r commit.Row[ID], id ID) int { return cmp.Compare(r.ID, id) }

// copySeqRow returns a row that shares nothing with r.
func copySeqRow[ID ~string](r commit.Row[ID]) commit.Row[ID] {
	r.Data = bytes.Clone(r.Data)
	return r
}

// putSeqRow stores a row unconditionally.
func putSeqRow[ID ~string](list []commit.Row[ID], r commit.Row[ID]) []commit.Row[ID] {
	return put(list, r.ID, compareSeqRow, copySeqRow(r))
}

// group is the Paxos group of a row.
func (c rows[ID]) group(id ID) string { return c.kind + " " + string(id) }

// at returns the row of an id, or the zero row.
func (c rows[ID]) at(id ID) commit.Row[ID] { return copySeqRow(at(*c.list, id, compareSeqRow)) }

// ReadRow reads a row serially.
func (c rows[ID]) ReadRow(ctx context.Context, id ID) (commit.Row[ID], error) {
	return look(ctx, c.Client, "ReadRow of a "+c.kind, func() commit.Row[ID] {
		c.decide(c.group(id))
		return c.at(id)
	})
}

// CommitRow stores a row, and replaces the one with the Seq before.
func (c rows[ID]) CommitRow(ctx context.Context, r commit.Row[ID]) (commit.Row[ID], error) {
	mine, by := copySeqRow(r), c.running()
	return change(ctx, c.Client, "CommitRow of a "+c.kind, c.group(r.ID), func() commit.Row[ID] {
		if c.at(mine.ID).Seq == mine.Seq-1 {
			*c.list = putSeqRow(*c.list, mine)
			c.changed(mine, by)
		}
		return c.at(mine.ID)
	})
}

// DropRow removes a row with this Seq.
func (c rows[ID]) DropRow(ctx context.Context, id ID, seq int64) error {
	return c.write(ctx, "DropRow of a "+c.kind, c.group(id), func() {
		if c.at(id).Seq == seq && seq != 0 {
			*c.list = drop(*c.list, id, compareSeqRow)
			c.changed(commit.Row[ID]{ID: id}, nil)
		}
	}, nil)
}

// ScanRows lists rows in order of their ids.
func (c rows[ID]) ScanRows(ctx context.Context, from ID, limit int) ([]commit.Row[ID], error) {
	return look(ctx, c.Client, "ScanRows of a "+c.kind, func() []commit.Row[ID] {
		page := after(*c.list, from, compareSeqRow, limit)
		for i := range page {
			page[i] = copySeqRow(page[i])
		}
		return page
	})
}
