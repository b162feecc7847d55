package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Space is the white space of JSON.
const Space = " \t\r\n"

// Verdict is the result of Check.
type Verdict uint8

const (
	Valid   Verdict = iota // one JSON value in UTF-8, and nothing else
	Invalid                // anything else
	TooMuch                // too many values, or nested too deeply; valid or not
	// HalfPair is for JSON that would be valid, but escapes half of a surrogate pair, which is no
	// character. Decoders replace it by U+FFFD, so that different texts become equal.
	HalfPair
)

// maxDepth is the deepest nesting of objects and lists, the same as in the standard decoder.
const maxDepth = 10_000

// Check checks whether b is one JSON value in UTF-8, without surrounding white space, and with
// no more members and items, at all depths, than most.
func Check(b []byte, limit int) Verdict {
	s := scanner{b: b, limit: limit}
	for {
		if !s.begin() {
			return s.verdict()
		}
		for s.ended {
			if len(s.open) == 0 {
				switch {
				case s.at < len(b) || !utf8.Valid(b):
					return Invalid
				case s.half:
					return HalfPair
				}
				return Valid
			}
			if !s.proceed() {
				return s.verdict()
			}
		}
	}
}

// scanner scans bytes that may be JSON.
type scanner struct {
	b    []byte
	at   int
	open []byte // the brackets that are open at this position
	// ended reports that a value has ended at this position. Otherwise one starts.
	ended bool
	// half reports that half of a surrogate pair was escaped.
	half          bool
	values, limit int
}

func (s *scanner) verdict() Verdict {
	if s.values > s.limit || len(s.open) > maxDepth {
		return TooMuch
	}
	return Invalid
}

// next returns the next byte that is not white space, or 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// begin scans a value that contains no other one, or the start of a value up to the first one that
// it contains.
func (s *scanner) begin() bool {
	c := s.next()
	s.ended = true
	switch c {
	case '"':
		return s.text()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	case '{', '[':
		s.at++
		s.values++
		s.open = append(s.open, c)
		if s.values > s.limit || len(s.open) > maxDepth {
			return false
		}
		if s.next() == c+2 { // an empty object or list: in ASCII, closing brackets are two after opening ones
			return true
		}
		s.ended = false
		return c == '[' || s.key()
	}
	return s.number()
}

// proceed continues after a value inside another one: up to the next value, or past the end of the
// enclosing one.
func (s *scanner) proceed() bool {
	around := s.open[len(s.open)-1]
	switch s.next() {
	case around + 2:
		s.at++
		s.open = s.open[:len(s.open)-1]
		return true
	case ',':
		s.at++
		s.values++
		s.ended = false
		return s.values <= s.limit && (around == '[' || s.key())
	}
	return false
}

// key scans the name of a member and its colon.
func (s *scanner) key() bool {
	if s.next() != '"' || !s.text() || s.next() != ':' {
		return false
	}
	s.at++
	return true
}

func (s *scanner) word(w string) bool {
	found := bytes.HasPrefix(s.b[s.at:], []byte(w))
	s.at += len(w)
	return found
}

// number scans a number: a sign, digits without leading zeros, a fraction, an exponent.
func (s *scanner) number() bool {
	s.one("-")
	if !s.one("0") && !s.digits() || s.one(".") && !s.digits() {
		return false
	}
	if s.one("eE") {
		s.one("+-")
		return s.digits()
	}
	return true
}

// one skips a byte of a set, if there is one.
func (s *scanner) one(set string) bool {
	if s.at == len(s.b) || strings.IndexByte(set, s.b[s.at]) < 0 {
		return false
	}
	s.at++
	return true
}

func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

// text scans a string.
func (s *scanner) text() bool {
	b := s.b
	for i := s.at + 1; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			s.at = i + 1
			return true
		case c == '\\':
			n := escapeLength(b[i:])
			if n == 0 {
				return false
			}
			if n == unicodeEscape {
				var whole bool
				n, whole = CharacterLength(b[i:])
				s.half = s.half || !whole
			}
			i += n
		case c < ' ':
			return false
		default:
			i++
		}
	}
	return false
}

// escapeLength returns the length in bytes of the escape at the start of b, or 0 if it is invalid.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= unicodeEscape && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return unicodeEscape
		}
	}
	return 0
}

// unicodeEscape is the length of an escape of four hexadecimal digits, in bytes.
const unicodeEscape = 6

// CharacterLength returns the length in bytes of the character at the start of b, which is valid
// and begins with an escape of four hexadecimal digits. It has two such escapes if it is a
// surrogate pair. whole is false if it is half of one.
func CharacterLength(b []byte) (n int, whole bool) {
	switch {
	case !isSurrogate(b, '8', 'b') && !isSurrogate(b, 'c', 'f'):
		return unicodeEscape, true
	case isSurrogate(b, '8', 'b') && escapeLength(b[unicodeEscape:]) == unicodeEscape && isSurrogate(b[unicodeEscape:], 'c', 'f'):
		return 2 * unicodeEscape, true
	}
	return unicodeEscape, false
}

// isSurrogate reports whether b begins with the escape of a surrogate whose second digit lies
// between two.
func isSurrogate(b []byte, from, to byte) bool {
	second := b[3] | 0x20 // in lower case, and digits unchanged
	return b[2]|0x20 == 'd' && second >= from && second <= to
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// The functions below take valid JSON.

// Present reports whether a member was given and is not null.
func Present(value []byte) bool { return value != nil && value[0] != 'n' }

// DecodeString decodes a JSON string. The standard decoder takes ten times as long for a query of
// some lines.
func DecodeString(value []byte, into *string) bool {
	if value[0] != '"' {
		return false
	}
	var text strings.Builder
	text.Grow(len(value))
	before, after, escaped := bytes.Cut(value[1:len(value)-1], backslash)
	for escaped {
		c := shortEscapes[after[0]]
		if c == 0 { // four hexadecimal digits, which queries hardly ever contain
			return json.Unmarshal(value, into) == nil
		}
		text.Write(before)
		text.WriteByte(c)
		before, after, escaped = bytes.Cut(after[1:], backslash)
	}
	text.Write(before)
	*into = text.String()
	return true
}

var backslash = []byte{'\\'}

// shortEscapes maps the letter after a backslash to its character.
var shortEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// EachMember calls f for every member of the JSON object in b, which has no surrounding white
// space, with the unescaped key and the bytes of the value. A map would cost more than the rest of
// the decoding, and the standard decoder matches struct fields case-insensitively.
func EachMember(b []byte, f func(key, value []byte)) {
	i := SkipSpace(b, 1)
	for b[i] != '}' {
		end := StringEnd(b, i)
		key := MemberName(b[i:end])
		i = SkipSpace(b, SkipSpace(b, end)+1) // skip the colon
		end = ValueEnd(b, i)
		f(key, b[i:end])
		i = SkipSpace(b, end)
		if b[i] == ',' {
			i = SkipSpace(b, i+1)
		}
	}
}

// MemberName returns the unescaped name of a member.
func MemberName(key []byte) []byte {
	var s string
	if bytes.IndexByte(key, '\\') < 0 {
		return key[1 : len(key)-1]
	}
	_ = json.Unmarshal(key, &s) // it is valid
	return []byte(s)
}

// SkipSpace returns the index of the first byte from i on that is not white space.
func SkipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r' {
		i++
	}
	return i
}

// ValueEnd returns the index after the value that starts at i.
func ValueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return StringEnd(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = StringEnd(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
	}
	return PlainEnd(b, i)
}

// PlainEnd returns the index after the number or the word that starts at i.
func PlainEnd(b []byte, i int) int {
	for i < len(b) && b[i] > ' ' && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	return i
}

// StringEnd returns the index after the string that starts at i, which ends at the first quote that
// an even number of backslashes precedes.
func StringEnd(b []byte, i int) int {
	for {
		i += 1 + bytes.IndexByte(b[i+1:], '"')
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}
