package cassandra

import (
	"context"
	"slices"

	"carrel/cassandra/session"
	"carrel/note"
	"carrel/principal"
)

const (
	listDrafts   = `SELECT name, draft_token FROM draft WHERE user_id = ?`
	selectDraft  = `SELECT draft_token, data FROM draft WHERE user_id = ? AND name = ?`
	insertDraft  = `INSERT INTO draft (user_id, name, draft_token, data) VALUES (?, ?, ?, ?) IF NOT EXISTS`
	replaceDraft = `UPDATE draft SET draft_token = ?, data = ? WHERE user_id = ? AND name = ? IF draft_token = ?`
	dropDraft    = `DELETE FROM draft WHERE user_id = ? AND name = ? IF draft_token = ?`
)

// texts implements note.Store.
type texts struct{ *Store }

// ListDrafts implements note.Store.
func (s texts) ListDrafts(ctx context.Context, user principal.ID) ([]note.DraftRow, error) {
	var (
		name  string
		token []byte
	)
	q := session.Query{Operation: "list drafts", Stmt: listDrafts, Args: []any{string(user)}}
	drafts, err := session.List(ctx, s.session, q, []any{&name, &token}, func() (note.DraftRow, error) {
		d := note.DraftRow{User: user, Name: name}
		err := fill(d.Token[:], token)
		return d, err
	})
	slices.SortFunc(drafts, note.NewestDraftFirst)
	return drafts, err
}

// ReadDrafts implements note.Store.
func (s texts) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]note.DraftRow, error) {
	drafts := make([]note.DraftRow, len(names))
	if len(names) == 0 {
		return drafts, nil
	}
	err := session.ForEach(ctx, len(names), session.Width, func(ctx context.Context, i int) (err error) {
		drafts[i], err = s.readDraft(ctx, user, names[i], serial)
		return err
	})
	if err != nil {
		return nil, err
	}
	return drafts, nil
}

// readDraft reads a draft. It returns a zero row if there is none. A serial read completes a write
// in progress.
func (s texts) readDraft(ctx context.Context, user principal.ID, name string, serial bool) (note.DraftRow, error) {
	const doing = "read a draft"
	d := note.DraftRow{User: user, Name: name}
	var token []byte
	q := session.Query{Operation: doing, Stmt: selectDraft, Args: []any{string(user), name}, Serial: serial}
	found, err := s.session.ReadRow(ctx, q, &token, &d.Value)
	if err == nil && found {
		err = session.WrapError(doing, fill(d.Token[:], token))
	}
	if err != nil || !found {
		return note.DraftRow{}, err
	}
	return d, nil
}

// PutDraft implements note.Store. If the statement is refused, it reads the current row.
func (s texts) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	stmt, args := insertDraft, []any{string(d.User), d.Name, d.Token[:], notNull(d.Value)}
	if over != nil {
		stmt, args = replaceDraft, []any{d.Token[:], notNull(d.Value), string(d.User), d.Name, over[:]}
	}
	applied, _, err := s.session.DecideOne(ctx, "put a draft", stmt, args...)
	switch {
	case err != nil:
		return note.DraftRow{}, err
	case applied:
		return d, nil
	}
	return s.readDraft(ctx, d.User, d.Name, true)
}

// DropDraft implements note.Store.
func (s texts) DropDraft(ctx context.Context, user principal.ID, name string, token note.TextID) error {
	_, _, err := s.session.DecideOne(ctx, "drop a draft", dropDraft, string(user), name, token[:])
	return err
}
