package pebblestore

import (
	"encoding/binary"

	"carrel/core/commit"
)

// listVersion is the version of the row of an in-flight list: its stamp, the number of its blocks,
// and each block with its length in front. In a row of version 1 the stamp is followed by the
// number of entries and the entries.
const listVersion = 2

// appendInFlightList appends the in-flight list of a process.
func appendInFlightList(b []byte, l *commit.InFlightList) []byte {
	b = binary.AppendVarint(append(b, listVersion), l.Stamp)
	b = binary.AppendUvarint(b, uint64(len(l.Blocks)))
	for _, block := range l.Blocks {
		b = append(binary.AppendUvarint(b, uint64(len(block))), block...)
	}
	return b
}

// decodeInFlightList reads the in-flight list of a process.
func decodeInFlightList(id commit.ListID, value []byte) (commit.InFlightList, error) {
	if len(value) == 0 || value[0] != rowVersion && value[0] != listVersion {
		return commit.InFlightList{ID: id}, errRow
	}
	d := decoder{row: string(value[1:])}
	l := commit.InFlightList{ID: id, Stamp: d.int()}
	if value[0] == rowVersion {
		// In version 1 the entries are one block of version 1.
		d.uint()
		l.Blocks = [][]byte{append([]byte{1}, d.rest()...)}
		return l, d.end()
	}
	for range d.count(1) {
		l.Blocks = append(l.Blocks, []byte(d.text()))
	}
	return l, d.end()
}
