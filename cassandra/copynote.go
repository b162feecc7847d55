package cassandra

import (
	"context"
	"slices"

	"github.com/gocql/gocql"
)

const (
	selectCopyNote = `SELECT note FROM copying WHERE part = 0`
	putCopyNote    = `UPDATE copying SET note = ? WHERE part = 0 IF note != ?`
	dropCopyNote   = `DELETE FROM copying WHERE part = 0 IF EXISTS`
)

// CopyNote implements library.Archive.
func (s *Store) CopyNote(ctx context.Context) (note []byte, err error) {
	r := reading{doing: "read the note of a copy", stmt: selectCopyNote, serial: true}
	err = s.read(ctx, r, func(iter *gocql.Iter) bool {
		var cell []byte
		if !iter.Scan(&cell) {
			return false
		}
		note = slices.Clone(notNull(cell))
		return true
	})
	return note, err
}

// PutCopyNote implements library.Archive. A refusal says that the note stands
// already, or that there is none to take away.
func (s *Store) PutCopyNote(ctx context.Context, note []byte) error {
	const doing = "write the note of a copy"
	var ch changes
	if note == nil {
		ch.add(dropCopyNote)
	} else {
		ch.add(putCopyNote, note, note)
	}
	return s.patiently(ctx, func() error {
		_, err := s.decide(ctx, doing, &ch)
		return err
	})
}
