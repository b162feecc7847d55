package cassandra

import (
	"encoding/binary"
	"fmt"
	"math"

	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/library"
)

// A row of a lane is a version, then entries one after the other, so that each
// row can be read by itself. Numbers are varints, texts have their length in
// front.
const laneVersion = 1

// maxLaneRow is how many bytes a row holds at most: a mutation of a few such
// rows is well below the 16 MiB that a node takes at most.
const maxLaneRow = 512 << 10

// The facts of an entry, as bits of one byte.
const (
	entryReverse = 1 << iota
	entryDecided
)

// laneRowsOf are the rows of a list. One that no rows could hold is refused.
func laneRowsOf(entries []library.InFlight) ([][]byte, error) {
	var rows [][]byte
	row := []byte{laneVersion}
	for i := range entries {
		begin := len(row)
		row = appendEntry(row, &entries[i])
		if len(row) <= maxLaneRow {
			continue
		}
		if begin == 1 {
			return nil, fault.Unavailablef(nil, "a change under way of %d bytes is too large to be recorded", len(row))
		}
		rows = append(rows, row[:begin:begin])
		row = append([]byte{laneVersion}, row[begin:]...)
	}
	if rows = append(rows, row); len(rows) > math.MaxInt16 {
		return nil, fault.Unavailablef(nil, "too many changes are under way")
	}
	return rows, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendEntry(b []byte, e *library.InFlight) []byte {
	var facts byte
	if e.Reverse {
		facts |= entryReverse
	}
	if e.Decided {
		facts |= entryDecided
	}
	b = append(append(b, e.ID[:]...), byte(e.Scope), facts)
	// An entry of a principal has no content. What it was called stands in that
	// place, where gateways of the version before, which take lanes over too, pass
	// over it.
	b = appendText(b, string(e.Content)+e.Former)
	b = appendText(b, string(e.Principal))
	b = binary.AppendVarint(b, e.Base)
	b = binary.AppendVarint(b, int64(e.Due))
	b = binary.AppendUvarint(b, uint64(len(e.Principals)))
	for _, p := range e.Principals {
		b = appendText(b, string(p))
	}
	return b
}

// decoder reads what was appended; after a fault everything it gives is zero.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) raw(n int) []byte {
	if d.bad || n < 0 || n > len(d.rest) {
		d.bad = true
		return nil
	}
	part := d.rest[:n]
	d.rest = d.rest[n:]
	return part
}

func (d *decoder) byte() byte {
	if part := d.raw(1); part != nil {
		return part[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.raw(n)
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.raw(n)
	return v
}

func (d *decoder) text() string { return string(d.raw(int(min(d.uint(), math.MaxInt32)))) }

// decodeEntries reads a row of a lane.
func decodeEntries(row []byte) ([]library.InFlight, error) {
	if len(row) == 0 || row[0] != laneVersion {
		return nil, fmt.Errorf("in-flight list: %w", errCell)
	}
	d := decoder{rest: row[1:]}
	var entries []library.InFlight
	for len(d.rest) > 0 && !d.bad {
		var e library.InFlight
		copy(e.ID[:], d.raw(len(e.ID)))
		e.Scope = library.Scope(d.byte())
		facts := d.byte()
		e.Reverse, e.Decided = facts&entryReverse != 0, facts&entryDecided != 0
		first := d.text()
		if e.Principal = library.PrincipalID(d.text()); e.Principal != "" {
			e.Former = first
		} else {
			e.Content = library.ContentID(first)
		}
		e.Base = d.int()
		e.Due = clock.Instant(d.int())
		// Each principal has at least its length.
		n := d.uint()
		if d.bad || n > uint64(len(d.rest)) {
			d.bad = true
			break
		}
		for range n {
			e.Principals = append(e.Principals, library.PrincipalID(d.text()))
		}
		entries = append(entries, e)
	}
	if d.bad {
		return nil, fmt.Errorf("in-flight list: %w", errCell)
	}
	return entries, nil
}
