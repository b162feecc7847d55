package cassandra

import (
	"context"
	"slices"

	"carrel/cassandra/session"
	"carrel/paste"
)

const (
	selectPaste  = `SELECT seq, data FROM paste WHERE paste_id = ?`
	insertPaste  = `INSERT INTO paste (paste_id, seq, data) VALUES (?, ?, ?) IF NOT EXISTS`
	replacePaste = `UPDATE paste SET seq = ?, data = ? WHERE paste_id = ? IF seq = ?`
	dropPaste    = `DELETE FROM paste WHERE paste_id = ? IF seq = ?`

	scanPastes      = `SELECT paste_id, seq, data FROM paste LIMIT ?`
	scanPastesAfter = `SELECT paste_id, seq, data FROM paste WHERE token(paste_id) >= token(?) LIMIT ?`

	putBody      = `INSERT INTO paste_body (paste_id, body_id, body) VALUES (?, ?, ?)`
	selectBody   = `SELECT body FROM paste_body WHERE paste_id = ? AND body_id = ?`
	selectBodies = `SELECT body_id FROM paste_body WHERE paste_id = ?`
	dropBody     = `DELETE FROM paste_body WHERE paste_id = ? AND body_id = ?`
)

// pastes implements paste.Store.
type pastes struct{ *Store }

// ReadPaste implements paste.Store.
func (s pastes) ReadPaste(ctx context.Context, id paste.ID) (paste.Row, error) {
	return s.readPaste(ctx, id, true)
}

// ReadPastes implements paste.Store with one read for each paste, session.Width of them at a time.
// CreatedAt is not used: the id is the key.
func (s pastes) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	rows := make([]paste.Row, len(refs))
	if len(refs) == 0 {
		return rows, nil
	}
	err := session.ForEach(ctx, len(refs), session.Width, func(ctx context.Context, i int) (err error) {
		rows[i], err = s.readPaste(ctx, refs[i].ID, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// readPaste reads the row of a paste. It returns the zero Row if there is none.
func (s pastes) readPaste(ctx context.Context, id paste.ID, serial bool) (paste.Row, error) {
	row := paste.Row{ID: id}
	q := session.Query{Operation: "read a paste", Stmt: selectPaste, PartitionKey: string(id), Args: []any{string(id)}, Serial: serial}
	found, err := s.session.ReadRow(ctx, q, &row.Seq, &row.Data)
	if err != nil || !found {
		return paste.Row{}, err
	}
	return row, nil
}

// CommitPaste implements paste.Store. A refused replacement does not return all columns, so the row
// is read.
func (s pastes) CommitPaste(ctx context.Context, r paste.Row) (paste.Row, error) {
	stmt, args := insertPaste, []any{string(r.ID), r.Seq, notNull(r.Data)}
	if r.Seq > 1 {
		stmt, args = replacePaste, []any{r.Seq, notNull(r.Data), string(r.ID), r.Seq - 1}
	}
	applied, _, err := s.session.DecideOne(ctx, "commit a paste", stmt, args...)
	switch {
	case err != nil:
		return paste.Row{}, err
	case applied:
		return r, nil
	}
	return s.ReadPaste(ctx, r.ID)
}

// DropPaste implements paste.Store.
func (s pastes) DropPaste(ctx context.Context, id paste.ID, seq int64) error {
	_, _, err := s.session.DecideOne(ctx, "drop a paste", dropPaste, string(id), seq)
	return err
}

// ScanPastes implements paste.Store, in order of the ids' tokens.
func (s pastes) ScanPastes(ctx context.Context, after paste.ID, limit int) ([]paste.Row, error) {
	q := session.Query{Operation: "list pastes", Stmt: scanPastes, PageSize: archivePage}
	if after != "" {
		q.Stmt, q.Args = scanPastesAfter, []any{string(after)}
	}
	var (
		id   string
		seq  int64
		data []byte
	)
	return scan(ctx, s.Store, q, limit, []any{&id, &seq, &data}, func() (paste.Row, error) {
		return paste.Row{ID: paste.ID(id), Seq: seq, Data: slices.Clone(data)}, nil
	}, func(r paste.Row) bool { return r.ID == after })
}

// PutBody implements paste.Store.
func (s pastes) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	return s.session.Write(ctx, "put the body of a paste", putBody, string(ref.Paste), ref.Body[:], body)
}

// ReadBodies implements paste.Store.
func (s pastes) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	bodies := make([]*string, len(refs))
	if len(refs) == 0 {
		return bodies, nil
	}
	err := session.ForEach(ctx, len(refs), session.Width, func(ctx context.Context, i int) error {
		var body string
		q := session.Query{Operation: "read the body of a paste", Stmt: selectBody, Args: []any{string(refs[i].Paste), refs[i].Body[:]}}
		found, err := s.session.ReadRow(ctx, q, &body)
		if found {
			bodies[i] = &body
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return bodies, nil
}

// ListBodies implements paste.Store.
func (s pastes) ListBodies(ctx context.Context, id paste.ID) ([]paste.BodyID, error) {
	var key []byte
	q := session.Query{Operation: "list the bodies of a paste", Stmt: selectBodies, Args: []any{string(id)}}
	return session.List(ctx, s.session, q, []any{&key}, func() (body paste.BodyID, err error) {
		err = fill(body[:], key)
		return body, err
	})
}

// DropBodies implements paste.Store.
func (s pastes) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
	if len(refs) == 0 {
		return nil
	}
	return session.ForEach(ctx, len(refs), session.Width, func(ctx context.Context, i int) error {
		return s.session.Write(ctx, "drop the body of a paste", dropBody, string(refs[i].Paste), refs[i].Body[:])
	})
}
