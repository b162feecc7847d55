package urlname

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// inPath reports whether a character is literal in a path.
func inPath(c byte) bool { return isUnreserved(c) || strings.IndexByte("!$&'()*+,;=:@/", c) >= 0 }

// inQuery reports whether a character is literal in a query. Browsers do not escape
// brackets there, so they stay.
func inQuery(c byte) bool { return inPath(c) || c == '?' || c == '[' || c == ']' }

// isUnreserved reports whether a character never needs an escape (RFC 3986, 2.3).
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// escape returns s in ASCII, with every character escaped in one way:
// unreserved and literal ones are plain, the others are
// in Unicode's NFC form and percent-encoded. Escapes of reserved characters stay
// escapes, because a plain %2F would mean something else.
func escape(s string, plain func(c byte) bool) (string, error) {
	var b strings.Builder
	for len(s) > 0 {
		// NFC is applied between two escapes: the digits of an escape must not be
		// combined with a mark that follows.
		run, rest, err := decodeUntil(s, func(c byte) bool { return !isUnreserved(c) })
		if err != nil {
			return "", err
		}
		for _, c := range []byte(norm.NFC.String(run)) {
			if plain(c) {
				b.WriteByte(c)
			} else {
				writeEscape(&b, c)
			}
		}
		if s = rest; s != "" {
			c, _ := unescape(s)
			writeEscape(&b, c)
			s = s[3:]
		}
	}
	return b.String(), nil
}

// decodeUntil decodes the escapes of s up to the first one of a character that
// must stay escaped. rest begins with that escape.
func decodeUntil(s string, stay func(c byte) bool) (run, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		c, ok := unescape(s[i:])
		if !ok {
			return "", "", malformed("a percent sign is followed by two hexadecimal digits, such as %%2F; a percent sign itself is %%25")
		}
		if stay(c) {
			return b.String(), s[i:], nil
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), "", nil
}

// unescape decodes the escape at the start of s.
func unescape(s string) (c byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigits, upper(s[1])), strings.IndexByte(hexDigits, upper(s[2]))
	return byte(high<<4 | low), high >= 0 && low >= 0
}

const hexDigits = "0123456789ABCDEF"

func upper(c byte) byte {
	if c >= 'a' && c <= 'f' {
		return c - 'a' + 'A'
	}
	return c
}

func writeEscape(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(hexDigits[c>>4])
	b.WriteByte(hexDigits[c&15])
}
