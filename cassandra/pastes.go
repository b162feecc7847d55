package cassandra

import (
	"context"

	"carrel/cassandra/session"
	"carrel/paste"
)

const (
	putBody      = `INSERT INTO paste_body (paste_id, body_id, body) VALUES (?, ?, ?)`
	selectBody   = `SELECT body FROM paste_body WHERE paste_id = ? AND body_id = ?`
	selectBodies = `SELECT body_id FROM paste_body WHERE paste_id = ?`
	dropBody     = `DELETE FROM paste_body WHERE paste_id = ? AND body_id = ?`
)

// pastes implements paste.Store.
type pastes struct{ rows[paste.ID] }

// ReadPastes implements paste.Store with one read for each paste, session.Width of them at a time.
// CreatedAt is not used: the id is the key.
func (s pastes) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	rows := make([]paste.Row, len(refs))
	if len(refs) == 0 {
		return rows, nil
	}
	err := session.ForEach(ctx, len(refs), session.Width, func(ctx context.Context, i int) (err error) {
		rows[i], err = s.read(ctx, refs[i].ID, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
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
