package cassandra

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// unsettledOf returns superseded positions from map<bigint, tinyint>: position -> widest visibility.
func unsettledOf(cell map[int64]int8) []library.Superseded {
	var us []library.Superseded
	for _, at := range slices.Sorted(maps.Keys(cell)) {
		us = append(us, library.Superseded{Position: clock.Instant(at), Widest: principal.Visibility(cell[at])})
	}
	return us
}

// unsettledValue is the reverse of unsettledOf.
func unsettledValue(us []library.Superseded) map[int64]int8 {
	cell := make(map[int64]int8, len(us))
	for _, u := range us {
		cell[int64(u.Position)] = int8(u.Widest)
	}
	return cell
}

// unsettledTitlesOf returns superseded titles from map<bigint, blob>: mts -> widest visibility and key of
// the title, which is not empty.
func unsettledTitlesOf(cell map[int64][]byte) ([]library.SupersededTitle, error) {
	var us []library.SupersededTitle
	for _, at := range slices.Sorted(maps.Keys(cell)) {
		title := cell[at]
		if len(title) < 2 {
			return nil, session.ErrMalformedCell
		}
		us = append(us, library.SupersededTitle{At: clock.Instant(at), Widest: principal.Visibility(title[0]), Title: collation.Key(title[1:])})
	}
	return us, nil
}

// unsettledTitlesValue is the reverse of unsettledTitlesOf.
func unsettledTitlesValue(us []library.SupersededTitle) map[int64][]byte {
	cell := make(map[int64][]byte, len(us))
	for _, u := range us {
		cell[int64(u.At)] = append([]byte{byte(u.Widest)}, u.Title...)
	}
	return cell
}

// slotOf returns the slot of a seq in map<tinyint, uuid>: slot -> entry. Every compare-and-set writes the
// slot of its seq, so a slot holds the entry of the latest seq that maps to it, and no slot ever needs to
// be removed.
func slotOf(seq int64) int8 { return int8(seq % commit.MaxWriters) }

// writersOf returns the writers of the last states up to seq.
func writersOf(cell map[int8]gocql.UUID, seq int64) []commit.Writer {
	var ws []commit.Writer
	for n := max(1, seq-commit.MaxWriters+1); n <= seq; n++ {
		if entry, used := cell[slotOf(n)]; used {
			ws = append(ws, commit.Writer{Seq: n, Entry: commit.EntryID(entry)})
		}
	}
	return ws
}

// writersValue is the reverse of writersOf.
func writersValue(ws []commit.Writer, seq int64) map[int8]gocql.UUID {
	cell := make(map[int8]gocql.UUID, len(ws))
	for _, w := range ws {
		if w.Seq > seq-commit.MaxWriters && w.Seq <= seq {
			cell[slotOf(w.Seq)] = gocql.UUID(w.Entry)
		}
	}
	return cell
}

// rowKeys is list<tuple<tinyint, text>>: the rows of a partition to read. A page encodes it twenty times,
// and the driver would do that by reflection. In the wire format (native protocol v4, section 6) a list is
// a count in 4 bytes, followed by its elements, each preceded by its length in 4 bytes.
type rowKeys []rowKey

type rowKey struct {
	kind int8
	key  string
}

// MarshalCQL implements the driver's Marshaler.
func (ks rowKeys) MarshalCQL(gocql.TypeInfo) ([]byte, error) {
	size := 4
	for _, k := range ks {
		size += 4 + 4 + 1 + 4 + len(k.key)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, size), uint32(len(ks)))
	for _, k := range ks {
		b = binary.BigEndian.AppendUint32(b, uint32(4+1+4+len(k.key)))
		b = append(binary.BigEndian.AppendUint32(b, 1), byte(k.kind))
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(k.key))), k.key...)
	}
	return b, nil
}

// The kinds of rows of a partition of content or of a principal, in their order.
const (
	kindHeader  int8 = 0
	kindMember  int8 = 1
	kindRequest int8 = 2
)

// headerKey is the key of a header. It sorts after every principal, so that one slice reads the
// header and the member rows that follow any of them.
const headerKey = "~"

// memberLeaving is the state of the row of a member that is leaving.
const memberLeaving int8 = 1

// partitionKeys returns the keys of the header, the member rows, the request row and additional
// rows.
func partitionKeys(members []principal.ID, request *commit.RequestKey, rows ...library.RowKey) rowKeys {
	keys := make(rowKeys, 0, len(members)+len(rows)+2)
	keys = append(keys, rowKey{kindHeader, headerKey})
	for _, p := range members {
		keys = append(keys, rowKey{kindMember, string(p)})
	}
	if request != nil {
		keys = append(keys, rowKey{kindRequest, requestKey(request)})
	}
	for _, k := range rows {
		keys = append(keys, rowKey{int8(k.Kind), k.Key})
	}
	return keys
}

// fill copies a cell that has a fixed length.
func fill(to, cell []byte) error {
	if len(cell) != len(to) {
		return session.ErrMalformedCell
	}
	copy(to, cell)
	return nil
}

// requestCells are the columns of an answered request.
type requestCells struct {
	hash, answer []byte
	until        int64
}

// row returns the answered request of a key. It copies the cells, because the driver reuses their
// memory.
func (c *requestCells) row(key commit.RequestKey) (*commit.RequestRow, error) {
	r := &commit.RequestRow{Key: key, Answer: slices.Clone(c.answer), Until: clock.Instant(c.until)}
	return r, fill(r.InputHash[:], c.hash)
}
