package interchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxNesting is the depth of the deepest line: object, members, member.
const maxNesting = 3

// object is a JSON object without duplicate keys. A value is
// nil, a bool, a json.Number, a string, a []any or an *object.
type object struct {
	keys   []string
	values map[string]any
}

// decodeObject decodes a line that consists of one JSON object. It is stricter than encoding/json,
// which uses the last of several equal keys, and silently replaces invalid UTF-8 and lone
// surrogates. So an ambiguous or damaged file is refused, and not partly read.
func decodeObject(line []byte) (*object, error) {
	if err := checkEncoding(line); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*object)
	if !ok {
		return nil, fmt.Errorf("a line is a JSON object; this one is %s", kindOf(v))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object; a line holds one object")
	}
	return o, nil
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, syntaxError(err)
	}
	d, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth == maxNesting {
		return nil, fmt.Errorf("nested more than %d levels deep", maxNesting)
	}
	if d == '[' {
		return decodeArray(dec, depth+1)
	}
	return decodeMembers(dec, depth+1)
}

func decodeArray(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := decodeValue(dec, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if _, err := dec.Token(); err != nil {
		return nil, syntaxError(err)
	}
	return list, nil
}

func decodeMembers(dec *json.Decoder, depth int) (any, error) {
	o := &object{values: map[string]any{}}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, syntaxError(err)
		}
		key, _ := t.(string) // the decoder accepts only strings as keys
		if _, twice := o.values[key]; twice {
			return nil, fmt.Errorf("%q is given twice", shortened(key))
		}
		v, err := decodeValue(dec, depth)
		if err != nil {
			return nil, err
		}
		o.keys = append(o.keys, key)
		o.values[key] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, syntaxError(err)
	}
	return o, nil
}

// syntaxError describes an error of the decoder in terms of the file: the end of the input is
// the end of the line.
func syntaxError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: the line ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON: %s, at byte %d", syntax.Error(), syntax.Offset)
	}
	return fmt.Errorf("not JSON: %w", err)
}

// checkEncoding returns an error for text that the decoder would replace by U+FFFD.
func checkEncoding(line []byte) error {
	if !utf8.Valid(line) {
		for at := 0; at < len(line); {
			r, size := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && size == 1 {
				return fmt.Errorf("not UTF-8 at byte %d", at+1)
			}
			at += size
		}
	}
	for at := 0; at < len(line); at++ {
		if line[at] != '\\' {
			continue
		}
		first, ok := escapedUnit(line[at:])
		if !ok {
			at++ // skip the escaped character: if it is a backslash, it does not begin an escape
			continue
		}
		at += 5
		if first < 0xD800 || first > 0xDFFF {
			continue
		}
		second, ok := escapedUnit(line[at+1:])
		if first > 0xDBFF || !ok || second < 0xDC00 || second > 0xDFFF {
			return fmt.Errorf("half of a surrogate pair at byte %d", at-4)
		}
		at += 6
	}
	return nil
}

// escapedUnit decodes the \uXXXX at the start of b.
func escapedUnit(b []byte) (unit uint16, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | uint16(c-'0')
		case c >= 'a' && c <= 'f':
			unit = unit<<4 | uint16(c-'a'+10)
		case c >= 'A' && c <= 'F':
			unit = unit<<4 | uint16(c-'A'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// kindOf returns the JSON name of a value's type, with an article.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

// shortened limits the length of a text from the file in a message.
func shortened(s string) string {
	const limit = 60
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}
