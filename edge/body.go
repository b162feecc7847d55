package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"carrel/library"
)

// params are the members of a request that mean something. They hold nothing
// of the buffer that they were read from.
type params struct {
	query         string
	hasQuery      bool
	documentID    string
	operationName string
	variables     map[string]any
	// hash is that of Apollo's extension persistedQuery.
	hash string
	// cost asks for extensions.cost in the answer.
	cost bool
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// decodeBody reads a request body: one JSON object in UTF-8 and nothing after
// it. Names of members are case-sensitive, unknown members are ignored, of a
// member given twice the last one counts, for everything that looks at it. The
// refusals never quote the body.
func decodeBody(body []byte, l *Limits) (params, *refusal) {
	body = bytes.Trim(body, jsonSpace)
	if moreValues(body, l.Values) {
		return params{}, refuseDocument(codeBadUserInput, fmt.Sprintf("The request has more than %d values: lists take at most %d.", l.Values, library.MaxList))
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return params{}, badRequest("The request body is not valid JSON.")
	}
	switch body[0] {
	case '{':
	case '[':
		return params{}, refuse(statusMalformed, codeBatchNotSupported, "Several operations in one request are not supported: send them one by one.")
	default:
		return params{}, malformed("The request body is not a JSON object.")
	}
	var m members
	eachMember(body, func(key, value []byte) {
		switch string(key) {
		case "query":
			m.query = value
		case "documentId":
			m.documentID = value
		case "operationName":
			m.name = value
		case "variables":
			m.variables = value
		case "extensions":
			m.extensions = value
		}
	})
	if len(m.query) > escapedChar*l.QueryChars {
		return params{}, tooLong(l)
	}
	return m.decode()
}

// escapedChar is how many bytes a character takes at most: two escapes of six.
const escapedChar = 12

// moreValues tells whether there are more than so many values in JSON, which
// need not be valid: its brackets and commas outside of strings are counted.
// It costs a tenth of reading them.
func moreValues(b []byte, most int) bool {
	n := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := looseStringEnd(b, i)
			if end < 0 {
				return false // not valid, as will be found
			}
			i = end
		case ',', '[', '{':
			if n++; n > most {
				return true
			}
		}
	}
	return false
}

// looseStringEnd is the index of the quote that ends the string at i, -1 where
// there is none.
func looseStringEnd(b []byte, i int) int {
	for {
		next := bytes.IndexByte(b[i+1:], '"')
		if next < 0 {
			return -1
		}
		i += 1 + next
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// members are those of a request as JSON without space around it; nil is one
// left out.
type members struct{ query, documentID, name, variables, extensions []byte }

// decode reads the members by their types.
func (m members) decode() (params, *refusal) {
	var p params
	if m.query != nil {
		if p.hasQuery = decodeString(m.query, &p.query); !p.hasQuery {
			return p, malformed("The member query is not a string.")
		}
	}
	if present(m.documentID) && !decodeString(m.documentID, &p.documentID) {
		return p, malformed("The member documentId is neither a string nor null.")
	}
	if present(m.name) && !decodeString(m.name, &p.operationName) {
		return p, malformed("The member operationName is neither a string nor null.")
	}
	if present(m.extensions) {
		if r := p.decodeExtensions(m.extensions); r != nil {
			return p, r
		}
	}
	if !present(m.variables) {
		return p, nil
	}
	if m.variables[0] != '{' {
		return p, malformed("The member variables is neither an object nor null.")
	}
	// Numbers keep their digits, so that large ones are refused and not rounded.
	d := json.NewDecoder(bytes.NewReader(m.variables))
	d.UseNumber()
	if err := d.Decode(&p.variables); err != nil {
		return p, malformed("The member variables cannot be read.")
	}
	return p, nil
}

// decodeExtensions reads those that are known; the others are ignored.
func (p *params) decodeExtensions(extensions []byte) (r *refusal) {
	if extensions[0] != '{' {
		return malformed("The member extensions is neither an object nor null.")
	}
	eachMember(extensions, func(key, value []byte) {
		switch string(key) {
		case "cost":
			p.cost = value[0] == 't'
		case "persistedQuery":
			p.hash, r = "", nil
			if present(value) {
				r = p.decodePersisted(value)
			}
		}
	})
	return r
}

// decodePersisted reads Apollo's extension, of which there is version 1.
func (p *params) decodePersisted(value []byte) *refusal {
	wrong := malformed(`The extension persistedQuery takes the form {"version": 1, "sha256Hash": "<64 hexadecimal digits>"}.`)
	if value[0] != '{' {
		return wrong
	}
	version, hashed := "", false
	eachMember(value, func(key, value []byte) {
		switch string(key) {
		case "version":
			version = string(value)
		case "sha256Hash":
			hashed = decodeString(value, &p.hash)
		}
	})
	if version != "1" || !hashed || p.hash == "" {
		return wrong
	}
	return nil
}

// badRequest refuses what cannot be read at all, malformed what can be read
// and is no GraphQL request.
func badRequest(message string) *refusal {
	return refuse(http.StatusBadRequest, codeBadRequest, message)
}

func malformed(message string) *refusal { return refuse(statusMalformed, codeBadRequest, message) }

// present tells whether a member was given and is not null.
func present(value []byte) bool { return value != nil && value[0] != 'n' }

// decodeString reads a JSON string that is known to be valid.
func decodeString(value []byte, into *string) bool {
	if value[0] != '"' {
		return false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		*into = string(inner)
		return true
	}
	return json.Unmarshal(value, into) == nil
}

// eachMember calls f for every member of the JSON object in b, which must be
// valid and without space around it: the unescaped key and the value's bytes. A
// map would cost more than the rest of the decoding, and the standard decoder's
// struct fields match names without regard to case.
func eachMember(b []byte, f func(key, value []byte)) {
	i := skipSpace(b, 1)
	for b[i] != '}' {
		end := valueEnd(b, i)
		key := b[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			var s string
			_ = json.Unmarshal(b[i:end], &s) // cannot fail: b is valid
			key = []byte(s)
		}
		i = skipSpace(b, skipSpace(b, end)+1) // over the colon
		end = valueEnd(b, i)
		f(key, b[i:end])
		i = skipSpace(b, end)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r' {
		i++
	}
	return i
}

// valueEnd is the index behind the value that begins at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = stringEnd(b, i) - 1
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
	for {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
}

// stringEnd is the index behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
