package input

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/core/fault"
)

// CheckLine checks a field of one line: it needs a visible character and no control characters.
func CheckLine(s, what string, limit int) error {
	if err := CheckText(s, what, limit, ""); err != nil {
		return err
	}
	if strings.TrimFunc(s, invisible) == "" {
		return fault.Invalidf(nil, "%s needs at least one visible character", what)
	}
	return nil
}

// CheckText checks encoding, length and control characters: C0, DEL and C1 are refused except for
// those allowed. Marks of writing direction are allowed.
func CheckText(s, what string, limit int, allowed string) error {
	if !utf8.ValidString(s) {
		return fault.Invalidf(nil, "%s must be valid UTF-8", what)
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return fault.Invalidf(nil, "%s has at most %d characters; this one has %d", what, limit, n)
	}
	for _, r := range s {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			if allowed == "" {
				return fault.Invalidf(nil, "%s is one line without control characters; take out U+%04X", what, r)
			}
			return fault.Invalidf(nil, "%s has no control characters but line breaks and tabs; take out U+%04X", what, r)
		}
	}
	return nil
}

// invisible reports whether r is white space, including characters of no width.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || r >= '\u200b' && r <= '\u200f' || r == '\u2060' || r == '\ufeff'
}
