package pebblestore

import (
	"encoding/binary"
	"errors"
)

// errRow reports that a stored value has a form that this version cannot read.
var errRow = errors.New("a value of an unknown format")

// rowVersion is the first byte of the values, except for the format of the store and the empty
// values of tableExpiry. It lets a later version distinguish its values from these.
const rowVersion = 1

// appendText appends a string with its length in front.
func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads a value from its front. The first error is kept: later reads return zero values,
// and end returns the error. All strings share the memory of row, so a row costs one copy however
// many strings it has.
type decoder struct {
	row string
	bad bool
}

// decode starts reading a value and checks its version.
func decode(value []byte) decoder { return decodeText(string(value)) }

// decodeText is decode for a value whose memory is shared.
func decodeText(value string) decoder {
	if len(value) == 0 || value[0] != rowVersion {
		return decoder{bad: true}
	}
	return decoder{row: value[1:]}
}

func (d *decoder) fail() {
	d.bad = true
	d.row = ""
}

func (d *decoder) byte() byte {
	if len(d.row) == 0 {
		d.fail()
		return 0
	}
	c := d.row[0]
	d.row = d.row[1:]
	return c
}

func (d *decoder) uint() uint64 {
	var v uint64
	for i := 0; i < len(d.row); i++ {
		c := d.row[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.row = d.row[i+1:]
			return v
		}
	}
	d.fail()
	return 0
}

func (d *decoder) int() int64 {
	u := d.uint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads the length of a list whose elements take at least size bytes each, so that a damaged
// length cannot allocate more memory than the row has.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.row)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) raw(n int) string {
	if n > len(d.row) {
		d.fail()
		return ""
	}
	s := d.row[:n]
	d.row = d.row[n:]
	return s
}

func (d *decoder) text() string { return d.raw(d.count(1)) }

// rest reads the remaining bytes.
func (d *decoder) rest() string { return d.raw(len(d.row)) }

// end checks that the whole value was read without an error.
func (d *decoder) end() error {
	if d.bad || d.row != "" {
		return errRow
	}
	return nil
}
