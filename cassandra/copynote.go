package cassandra

import (
	"bytes"
	"context"

	"carrel/cassandra/session"
)

// A deleted note stays as an empty one, so that a late write of the first note, whose condition is
// that there is none, is refused.
const (
	selectCopyNote = `SELECT note FROM copying WHERE part = 0`
	putCopyNote    = `UPDATE copying SET note = ? WHERE part = 0 IF note = ?`
)

// CopyNote implements archive.Store.
func (s *Store) CopyNote(ctx context.Context) ([]byte, error) {
	note, err := s.copyNote(ctx)
	if err != nil || len(note) == 0 {
		return nil, err
	}
	return note, nil
}

// copyNote returns the current note. It is nil if there never was one.
func (s *Store) copyNote(ctx context.Context) (note []byte, err error) {
	r := session.Query{Operation: "read the note of a copy", Stmt: selectCopyNote, Serial: true}
	found, err := s.session.ReadRow(ctx, r, &note)
	if err != nil || !found {
		return nil, err
	}
	return notNull(note), nil
}

// PutCopyNote implements archive.Store. It makes one decision, on the condition that the note is
// unchanged.
func (s *Store) PutCopyNote(ctx context.Context, note []byte) error {
	const doing = "write the note of a copy"
	return s.withRetries(ctx, func() error {
		for range restoreTries {
			current, err := s.copyNote(ctx)
			if err != nil || note == nil && current == nil || current != nil && bytes.Equal(current, note) {
				return err
			}
			var base any // null if there never was a note
			if current != nil {
				base = current
			}
			applied, _, err := s.session.DecideOne(ctx, doing, putCopyNote, notNull(note), base)
			if err != nil || applied {
				return err
			}
		}
		return notAlone(doing)
	})
}
