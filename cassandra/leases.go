package cassandra

import (
	"context"
	"slices"

	"carrel/cassandra/session"
	"carrel/lease"
)

const (
	selectLease  = `SELECT seq, data FROM lease WHERE lease_id = ?`
	insertLease  = `INSERT INTO lease (lease_id, seq, data) VALUES (?, ?, ?) IF NOT EXISTS`
	replaceLease = `UPDATE lease SET seq = ?, data = ? WHERE lease_id = ? IF seq = ?`
	dropLease    = `DELETE FROM lease WHERE lease_id = ? IF seq = ?`

	scanLeases      = `SELECT lease_id, seq, data FROM lease LIMIT ?`
	scanLeasesAfter = `SELECT lease_id, seq, data FROM lease WHERE token(lease_id) >= token(?) LIMIT ?`
)

// leases implements lease.Store.
type leases struct{ *Store }

// ReadLease implements lease.Store.
func (s leases) ReadLease(ctx context.Context, id lease.ID) (lease.Row, error) {
	row := lease.Row{ID: id}
	q := session.Query{Operation: "read a lease", Stmt: selectLease, Args: []any{string(id)}, Serial: true}
	found, err := s.session.ReadRow(ctx, q, &row.Seq, &row.Data)
	if err != nil || !found {
		return lease.Row{}, err
	}
	return row, nil
}

// CommitLease implements lease.Store. A refused replacement does not return all columns, so the row
// is read.
func (s leases) CommitLease(ctx context.Context, r lease.Row) (lease.Row, error) {
	stmt, args := insertLease, []any{string(r.ID), r.Seq, notNull(r.Data)}
	if r.Seq > 1 {
		stmt, args = replaceLease, []any{r.Seq, notNull(r.Data), string(r.ID), r.Seq - 1}
	}
	applied, _, err := s.session.DecideOne(ctx, "commit a lease", stmt, args...)
	switch {
	case err != nil:
		return lease.Row{}, err
	case applied:
		return r, nil
	}
	return s.ReadLease(ctx, r.ID)
}

// DropLease implements lease.Store.
func (s leases) DropLease(ctx context.Context, id lease.ID, seq int64) error {
	_, _, err := s.session.DecideOne(ctx, "drop a lease", dropLease, string(id), seq)
	return err
}

// ScanLeases implements lease.Store, in order of the ids' tokens.
func (s leases) ScanLeases(ctx context.Context, after lease.ID, limit int) ([]lease.Row, error) {
	q := session.Query{Operation: "list leases", Stmt: scanLeases, PageSize: archivePage}
	if after != "" {
		q.Stmt, q.Args = scanLeasesAfter, []any{string(after)}
	}
	var (
		id   string
		seq  int64
		data []byte
	)
	return scan(ctx, s.Store, q, limit, []any{&id, &seq, &data}, func() (lease.Row, error) {
		return lease.Row{ID: lease.ID(id), Seq: seq, Data: slices.Clone(data)}, nil
	}, func(r lease.Row) bool { return r.ID == after })
}
