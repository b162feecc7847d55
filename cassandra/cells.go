package cassandra

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// The driver would decode some cells by reflection, row by row. This file decodes them from their
// wire format (native protocol v4, section 6): a collection is a count in 4 bytes, followed by its
// elements, each preceded by its length in 4 bytes.

// cutPart splits a length-prefixed element off data.
func cutPart(data []byte) (part, rest []byte, err error) {
	if len(data) < 4 {
		return nil, nil, session.ErrMalformedCell
	}
	n := int(int32(binary.BigEndian.Uint32(data)))
	if n < 0 || len(data)-4 < n {
		return nil, nil, session.ErrMalformedCell
	}
	return data[4 : 4+n], data[4+n:], nil
}

// cutPair splits a key and a value of these lengths off data.
func cutPair(data []byte, keyLen, valueLen int) (key, value, rest []byte, err error) {
	if key, data, err = cutPart(data); err != nil {
		return nil, nil, nil, err
	}
	if value, data, err = cutPart(data); err != nil {
		return nil, nil, nil, err
	}
	if len(key) != keyLen || len(value) != valueLen {
		return nil, nil, nil, session.ErrMalformedCell
	}
	return key, value, data, nil
}

// countOf splits the number of elements off data.
func countOf(data []byte) (n int, rest []byte, err error) {
	if len(data) < 4 {
		return 0, nil, session.ErrMalformedCell
	}
	return int(int32(binary.BigEndian.Uint32(data))), data[4:], nil
}

// unsettledCell is map<bigint, tinyint>: position -> widest visibility.
type unsettledCell []library.Superseded

// UnmarshalCQL implements the driver's Unmarshaler.
func (u *unsettledCell) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	*u = nil
	err := eachSuperseded(data, func(at clock.Instant, widest principal.Visibility, rest []byte) bool {
		*u = append(*u, library.Superseded{Position: at, Widest: widest})
		return len(rest) == 0
	})
	slices.SortFunc(*u, func(a, b library.Superseded) int { return cmp.Compare(a.Position, b.Position) })
	return err
}

// eachSuperseded calls see with the elements of a map from instants to values that begin with a visibility, and with the
// rest of the value. see returns false for a malformed one.
func eachSuperseded(data []byte, see func(at clock.Instant, widest principal.Visibility, rest []byte) bool) error {
	if len(data) == 0 {
		return nil
	}
	n, data, err := countOf(data)
	if err != nil {
		return err
	}
	for range n {
		var key, value []byte
		if key, data, err = cutPart(data); err != nil {
			return err
		}
		if value, data, err = cutPart(data); err != nil {
			return err
		}
		if len(key) != 8 || len(value) == 0 ||
			!see(clock.Instant(binary.BigEndian.Uint64(key)), principal.Visibility(value[0]), value[1:]) {
			return session.ErrMalformedCell
		}
	}
	return nil
}

// unsettledTitlesCell is map<bigint, blob>: mts -> widest visibility and key of a superseded title.
type unsettledTitlesCell []library.SupersededTitle

// UnmarshalCQL implements the driver's Unmarshaler.
func (u *unsettledTitlesCell) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	*u = nil
	err := eachSuperseded(data, func(at clock.Instant, widest principal.Visibility, title []byte) bool {
		*u = append(*u, library.SupersededTitle{At: at, Widest: widest, Title: collation.Key(title)})
		return len(title) > 0
	})
	slices.SortFunc(*u, func(a, b library.SupersededTitle) int { return cmp.Compare(a.At, b.At) })
	return err
}

// unsettledTitlesMap returns the value of the column unsettled_titles.
func unsettledTitlesMap(list []library.SupersededTitle) map[int64][]byte {
	m := make(map[int64][]byte, len(list))
	for _, u := range list {
		m[int64(u.At)] = append([]byte{byte(u.Widest)}, u.Title...)
	}
	return m
}

// unsettledMap returns the value of the column unsettled: the positions of a header and one more.
func unsettledMap(list []library.Superseded, one library.Superseded) map[int64]int8 {
	m := make(map[int64]int8, len(list)+1)
	for _, u := range list {
		m[int64(u.Position)] = int8(u.Widest)
	}
	m[int64(one.Position)] = int8(one.Widest)
	return m
}

// writersCell is map<tinyint, uuid>: slot -> entry. Every compare-and-set writes the slot of its
// seq, so a slot holds the entry of the latest seq that maps to it, and no slot ever needs to be
// removed.
type writersCell struct {
	entries [commit.MaxWriters]commit.EntryID
	used    [commit.MaxWriters]bool
}

// slotOf returns the slot of a seq.
func slotOf(seq int64) int8 { return int8(seq % commit.MaxWriters) }

// UnmarshalCQL implements the driver's Unmarshaler.
func (w *writersCell) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	*w = writersCell{}
	if len(data) == 0 {
		return nil
	}
	n, data, err := countOf(data)
	if err != nil {
		return err
	}
	for range n {
		var key, value []byte
		if key, value, data, err = cutPair(data, 1, 16); err != nil {
			return err
		}
		if key[0] >= commit.MaxWriters {
			return session.ErrMalformedCell
		}
		copy(w.entries[key[0]][:], value)
		w.used[key[0]] = true
	}
	return nil
}

// upTo returns the writers of the last states up to seq.
func (w *writersCell) upTo(seq int64) []commit.Writer {
	var ws []commit.Writer
	for n := max(1, seq-commit.MaxWriters+1); n <= seq; n++ {
		if slot := slotOf(n); w.used[slot] {
			if ws == nil {
				ws = make([]commit.Writer, 0, seq-n+1)
			}
			ws = append(ws, commit.Writer{Seq: n, Entry: w.entries[slot]})
		}
	}
	return ws
}

// rowKeys is list<tuple<tinyint, text>>: the rows of a partition to read.
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
