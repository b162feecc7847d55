package pebblestore

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"carrel/paste"
)

// StoreFormerPaste stores the row of a paste as formats before 6 did: by its id only.
func (s *Store) StoreFormerPaste(r paste.Row) error {
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	value := append(binary.AppendVarint([]byte{1}, r.Seq), r.Data...)
	created := paste.Ref{ID: r.ID, CreatedAt: r.CreatedAt()}
	err := errors.Join(b.Delete(appendPasteRowKey(nil, created), nil), b.Set([]byte("o"+r.ID), value, nil))
	if err != nil {
		return err
	}
	return s.commitSynced(b)
}

// CountPastes counts the rows that are stored by their ids, the pointers, and the rows that are
// stored by their creation.
func (s *Store) CountPastes() (former, pointers, rows int, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tablePasteRow}, UpperBound: []byte{tablePaste + 1}})
	if err != nil {
		return 0, 0, 0, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		switch {
		case it.Key()[0] == tablePasteRow:
			rows++
		case it.Key()[0] == tablePaste && it.Value()[0] == 1:
			former++
		case it.Key()[0] == tablePaste:
			pointers++
		}
	}
	return former, pointers, rows, it.Close()
}
