package cassandra

import (
	"context"
	"slices"

	"carrel/cassandra/session"
	"carrel/core/commit"
	"carrel/interchange/archive"
)

const (
	selectLease  = `SELECT seq, data FROM lease WHERE lease_id = ?`
	insertLease  = `INSERT INTO lease (lease_id, seq, data) VALUES (?, ?, ?) IF NOT EXISTS`
	replaceLease = `UPDATE lease SET seq = ?, data = ? WHERE lease_id = ? IF seq = ?`
	dropLease    = `DELETE FROM lease WHERE lease_id = ? IF seq = ?`

	scanLeases      = `SELECT lease_id, seq, data FROM lease LIMIT ?`
	scanLeasesAfter = `SELECT lease_id, seq, data FROM lease WHERE token(lease_id) >= token(?) LIMIT ?`

	selectPaste  = `SELECT seq, data FROM paste WHERE paste_id = ?`
	insertPaste  = `INSERT INTO paste (paste_id, seq, data) VALUES (?, ?, ?) IF NOT EXISTS`
	replacePaste = `UPDATE paste SET seq = ?, data = ? WHERE paste_id = ? IF seq = ?`
	dropPaste    = `DELETE FROM paste WHERE paste_id = ? IF seq = ?`

	scanPastes      = `SELECT paste_id, seq, data FROM paste LIMIT ?`
	scanPastesAfter = `SELECT paste_id, seq, data FROM paste WHERE token(paste_id) >= token(?) LIMIT ?`
)

// rowTable is a table of rows: what they are called, and the statements.
type rowTable struct {
	one, many                                              string
	selectRow, insertRow, replaceRow, dropRow, all, onward string
}

func leaseTable() *rowTable {
	return &rowTable{one: "a lease", many: "leases", selectRow: selectLease, insertRow: insertLease, replaceRow: replaceLease,
		dropRow: dropLease, all: scanLeases, onward: scanLeasesAfter}
}

func pasteTable() *rowTable {
	return &rowTable{one: "a paste", many: "pastes", selectRow: selectPaste, insertRow: insertPaste, replaceRow: replacePaste,
		dropRow: dropPaste, all: scanPastes, onward: scanPastesAfter}
}

// rows implements commit.RowStore on a table.
type rows[ID ~string] struct {
	*Store
	table *rowTable
}

// ReadRow implements commit.RowStore.
func (s rows[ID]) ReadRow(ctx context.Context, id ID) (commit.Row[ID], error) {
	return s.read(ctx, id, true)
}

// read reads a row. It returns the zero Row if there is none.
func (s rows[ID]) read(ctx context.Context, id ID, serial bool) (commit.Row[ID], error) {
	row := commit.Row[ID]{ID: id}
	q := session.Query{Operation: "read " + s.table.one, Stmt: s.table.selectRow, PartitionKey: string(id), Args: []any{string(id)},
		Serial: serial}
	found, err := s.session.ReadRow(ctx, q, &row.Seq, &row.Data)
	if err != nil || !found {
		return commit.Row[ID]{}, err
	}
	return row, nil
}

// CommitRow implements commit.RowStore. A refused replacement does not return all columns, so the row
// is read.
func (s rows[ID]) CommitRow(ctx context.Context, r commit.Row[ID]) (commit.Row[ID], error) {
	applied, _, err := s.decide(ctx, "commit "+s.table.one, r, r.Seq-1)
	switch {
	case err != nil:
		return commit.Row[ID]{}, err
	case applied:
		return r, nil
	}
	return s.ReadRow(ctx, r.ID)
}

// decide stores r in place of the row with the Seq base, or if base is 0, where there is none. If that
// is refused, it returns the columns that the condition is about.
func (s rows[ID]) decide(ctx context.Context, doing string, r commit.Row[ID], base int64) (bool, map[string]any, error) {
	stmt, args := s.table.insertRow, []any{string(r.ID), r.Seq, notNull(r.Data)}
	if base > 0 {
		stmt, args = s.table.replaceRow, []any{r.Seq, notNull(r.Data), string(r.ID), base}
	}
	return s.session.DecideOne(ctx, doing, stmt, args...)
}

// DropRow implements commit.RowStore.
func (s rows[ID]) DropRow(ctx context.Context, id ID, seq int64) error {
	_, _, err := s.session.DecideOne(ctx, "drop "+s.table.one, s.table.dropRow, string(id), seq)
	return err
}

// ScanRows implements commit.RowStore, in order of the ids' tokens.
func (s rows[ID]) ScanRows(ctx context.Context, after ID, limit int) ([]commit.Row[ID], error) {
	q := session.Query{Operation: "list " + s.table.many, Stmt: s.table.all, PageSize: archivePage}
	if after != "" {
		q.Stmt, q.Args = s.table.onward, []any{string(after)}
	}
	cells, row := rowCells[ID]()
	return scan(ctx, s.Store, q, limit, cells, row, func(r commit.Row[ID]) bool { return r.ID == after })
}

// rowCells returns the cells of a row, and what makes a Row of them.
func rowCells[ID ~string]() ([]any, func() (commit.Row[ID], error)) {
	var id string
	var seq int64
	var data []byte
	return []any{&id, &seq, &data}, func() (commit.Row[ID], error) {
		return commit.Row[ID]{ID: ID(id), Seq: seq, Data: slices.Clone(data)}, nil
	}
}

// readRows reads the rows of an archive. set puts a row into that of the archive.
func readRows[ID ~string](set func(*archive.Row, *commit.Row[ID])) func() ([]any, rowReader) {
	return func() ([]any, rowReader) {
		cells, row := rowCells[ID]()
		return cells, func() (r archive.Row, at rowPosition, err error) {
			of, err := row()
			set(&r, &of)
			at.Part = []byte(of.ID)
			return r, at, err
		}
	}
}

// restoreRow puts a row in place of any other.
type restoreRow[ID ~string] struct {
	*commit.Row[ID]
	table *rowTable
}

func (w restoreRow[ID]) put(ctx context.Context, s *Store) error {
	doing, base := "put "+w.table.one, int64(0)
	for range restoreTries {
		applied, current, err := rows[ID]{s, w.table}.decide(ctx, doing, *w.Row, base)
		if err != nil || applied {
			return err
		}
		base, _ = current["seq"].(int64)
	}
	return notAlone(doing)
}
