package input

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/core/fault"
)

// CheckLine checks a field of one line: it needs a visible character and no control characters.
// Bidirectional controls and characters that show nothing are accepted beside a visible one.
func CheckLine(s, what string, limit int) error {
	if err := CheckText(s, what, limit, ""); err != nil {
		return err
	}
	if strings.TrimFunc(s, invisible) == "" {
		return fault.Emptyf(nil, "%s needs at least one visible character", what)
	}
	return nil
}

// CheckText checks encoding, length and control characters: C0, DEL and C1 are refused except for
// those allowed. Marks of writing direction are allowed.
func CheckText(s, what string, limit int, allowed string) error {
	if TooLong(s, limit) {
		return fault.TooLongf(nil, "%s has at most %d characters; this one has %d", what, limit, utf8.RuneCountInString(s))
	}
	if !utf8.ValidString(s) {
		return fault.Invalidf(nil, "%s must be valid UTF-8", what)
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

// TooLong reports whether a text has more characters than limit. Every check of a text begins with
// it, so that the work for a text depends on its limit and not on the size of a request.
func TooLong(s string, limit int) bool {
	return len(s) > limit*utf8.UTFMax || len(s) > limit && utf8.RuneCountInString(s) > limit
}

// invisible reports whether r shows nothing by itself: white space, what is ignorable, marks that need
// another character, noncharacters, and four symbols that are blank, for which Unicode has no property.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || r == '\u2800' || r == '\U0001d159' || r == '\U00013441' || r == '\U00013442' ||
		Ignorable(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Noncharacter_Code_Point)
}

// Ignorable reports whether r is a format character, such as a bidirectional control, or what Unicode
// calls default ignorable.
func Ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
