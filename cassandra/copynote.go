package cassandra

import (
	"bytes"
	"context"
	"slices"

	"carrel/cassandra/session"
)

// A note that was taken away stays as an empty one: a write of the first note
// that comes late, and rests on there being none, is refused then.
const (
	selectCopyNote = `SELECT note FROM copying WHERE part = 0`
	putCopyNote    = `UPDATE copying SET note = ? WHERE part = 0 IF note = ?`
)

// CopyNote implements library.Archive.
func (s *Store) CopyNote(ctx context.Context) ([]byte, error) {
	note, err := s.copyNote(ctx)
	if err != nil || len(note) == 0 {
		return nil, err
	}
	return note, nil
}

// copyNote is the note as it stands: nil where there never was one.
func (s *Store) copyNote(ctx context.Context) (note []byte, err error) {
	r := session.Query{Operation: "read the note of a copy", Stmt: selectCopyNote, Serial: true}
	var cell []byte
	err = s.session.ScanRows(ctx, r, []any{&cell}, func() { note = notNull(slices.Clone(cell)) })
	return note, err
}

// PutCopyNote implements library.Archive: one decision on the note that stands.
func (s *Store) PutCopyNote(ctx context.Context, note []byte) error {
	const doing = "write the note of a copy"
	return s.withRetries(ctx, func() error {
		for range restoreTries {
			stands, err := s.copyNote(ctx)
			if err != nil || note == nil && stands == nil || stands != nil && bytes.Equal(stands, note) {
				return err
			}
			var base any // null where there never was a note
			if stands != nil {
				base = stands
			}
			applied, _, err := s.session.DecideOne(ctx, doing, putCopyNote, notNull(note), base)
			if err != nil || applied {
				return err
			}
		}
		return notAlone(doing)
	})
}
