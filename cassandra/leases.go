package cassandra

import (
	"context"
	"slices"

	"github.com/gocql/gocql"

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
	var row lease.Row
	q := session.Query{Operation: "read a lease", Stmt: selectLease, Args: []any{string(id)}, Serial: true}
	err := s.session.Read(ctx, q, func(iter *gocql.Iter) bool {
		if !iter.Scan(&row.Seq, &row.Data) {
			return false
		}
		row.ID, row.Data = id, slices.Clone(row.Data)
		return true
	})
	if err != nil {
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
	if limit <= 0 {
		return nil, nil
	}
	q := session.Query{Operation: "list leases", Stmt: scanLeases, Args: []any{limit + 1}, PageSize: archivePage}
	if after != "" {
		q.Stmt, q.Args = scanLeasesAfter, []any{string(after), limit + 1}
	}
	var all []lease.Row
	err := s.session.Read(ctx, q, func(iter *gocql.Iter) bool {
		var r lease.Row
		var id string
		if !iter.Scan(&id, &r.Seq, &r.Data) {
			return false
		}
		r.ID, r.Data = lease.ID(id), slices.Clone(r.Data)
		all = append(all, r)
		return true
	})
	if err != nil {
		return nil, err
	}
	// The slice starts at the token of the given id, so it returns that id too, and ids with the same
	// token that were returned before it.
	if at := slices.IndexFunc(all, func(r lease.Row) bool { return r.ID == after }); at >= 0 {
		all = all[at+1:]
	}
	return all[:min(len(all), limit)], nil
}
