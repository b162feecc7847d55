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

// escape returns s in ASCII, with every character escaped in one way: unreserved and literal ones
// are plain, the others are in Unicode's NFC form and percent-encoded. Escapes of characters that
// have a meaning of their own stay escapes, because a plain %2F would mean something else.
func escape(s string, plain func(c byte) bool) (string, error) {
	var b strings.Builder
	var run []byte // decoded characters between two escapes that stay
	flush := func() error {
		if err := checkText(string(run), "the percent escapes of a URL are UTF-8"); err != nil {
			return err
		}
		for _, c := range norm.NFC.Bytes(run) {
			if plain(c) {
				b.WriteByte(c)
			} else {
				writeEscape(&b, c)
			}
		}
		run = run[:0]
		return nil
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			var err error
			if c, err = unescape(s[i:]); err != nil {
				return "", err
			}
			i += 2
			if c == '%' || plain(c) && !isUnreserved(c) {
				if err := flush(); err != nil {
					return "", err
				}
				writeEscape(&b, c)
				continue
			}
		}
		run = append(run, c)
	}
	if err := flush(); err != nil {
		return "", err
	}
	return b.String(), nil
}

// decode decodes all escapes of s.
func decode(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			var err error
			if c, err = unescape(s[i:]); err != nil {
				return "", err
			}
			i += 2
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

// unescape decodes the escape at the start of s.
func unescape(s string) (byte, error) {
	if len(s) >= 3 {
		high, low := strings.IndexByte(hexDigits, upper(s[1])), strings.IndexByte(hexDigits, upper(s[2]))
		if high >= 0 && low >= 0 {
			return byte(high<<4 | low), nil
		}
	}
	return 0, malformed("a percent sign is followed by two hexadecimal digits, such as %%2F; a percent sign itself is %%25")
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
