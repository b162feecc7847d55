package graph

import (
	"strconv"

	"carrel/core/clock"
)

// These functions write values byte for byte like the marshalers that the generated code uses.

// appendRows appends all rows. It stops early if the answer has failed, because it will not be
// sent.
func appendRows(b []byte, p *Page, each plan[*Row]) []byte {
	b = append(b, '[')
	for i := range p.Rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.part.Cut(each.append(b, &p.Rows[i]))
		if p.part.Body.Err() != nil {
			break
		}
	}
	return append(b, ']')
}

func appendNull(b []byte) []byte { return append(b, "null"...) }

func appendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

// appendName writes the name of an enum value, which needs no escaping.
func appendName(b []byte, name string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"')
}

func appendInstant(b []byte, i clock.Instant) []byte {
	b = append(b, '"')
	b, _ = i.AppendText(b) // it never fails
	return append(b, '"')
}

func appendStringOrNull(b []byte, s *string) []byte {
	if s == nil {
		return appendNull(b)
	}
	return appendString(b, *s)
}

// appendString escapes only what JSON requires.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '\n':
			b = append(b, `\n`...)
		case '"', '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		start = i + 1
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
