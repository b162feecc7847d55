package paste

import (
	"carrel/core/fault"
	"carrel/core/id"
)

// ID is the global id of a paste: "p:" and 32 hexadecimal digits.
type ID string

// ParseID checks the id of a paste. Its error has code Invalid.
func ParseID(s string) (ID, error) {
	if id.KindOf(s) != id.Paste {
		return "", fault.Invalidf(nil, "not the id of a paste: it has the form p:<%d digits of 0-9 and a-f>", id.RandomDigits)
	}
	return ID(s), nil
}
