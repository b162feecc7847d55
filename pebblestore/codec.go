package pebblestore

import (
	"errors"

	"carrel/core/commit"
)

// errRow reports that a stored value has a form that this version cannot read.
var errRow = errors.New("a value of an unknown format")

// rowVersion is the first byte of the values, except for the format of the store and the empty
// values of tableExpiry. It lets a later version distinguish its values from these.
const rowVersion = 1

// decoder reads a value from its front.
type decoder struct{ commit.Reader }

// decode starts reading a value and checks its version. The strings of a value that is a string share its
// memory.
func decode[T ~string | ~[]byte](value T) decoder {
	d := decoder{commit.NewReader(value)}
	if d.Byte() != rowVersion {
		d.Fail()
	}
	return d
}

// end checks that the whole value was read without an error.
func (d *decoder) end() error {
	if !d.End() {
		return errRow
	}
	return nil
}
