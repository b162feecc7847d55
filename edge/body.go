package edge

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// params are the members of a request body that mean something. They hold
// nothing of the buffer that they were read from.
type params struct {
	query         string
	operationName string
	variables     map[string]any
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// decodeBody reads a request body: one JSON object in UTF-8 and nothing after
// it. Names of members are case-sensitive, unknown members are ignored, of a
// member given twice the last one counts, for everything that looks at it. The
// refusals never quote the body.
func decodeBody(body []byte) (params, *refusal) {
	body = bytes.Trim(body, jsonSpace)
	if !utf8.Valid(body) || !json.Valid(body) {
		return params{}, badRequest("The request body is not valid JSON.")
	}
	switch body[0] {
	case '{':
	case '[':
		return params{}, refuse(http.StatusBadRequest, codeBatchNotSupported, "Several operations in one request are not supported: send them one by one.")
	default:
		return params{}, badRequest("The request body is not a JSON object.")
	}
	var query, name, variables, extensions []byte
	eachMember(body, func(key, value []byte) {
		switch string(key) {
		case "query":
			query = value
		case "operationName":
			name = value
		case "variables":
			variables = value
		case "extensions":
			extensions = value
		}
	})
	return decodeMembers(query, name, variables, extensions)
}

// decodeMembers reads the members by their types; nil is one left out.
func decodeMembers(query, name, variables, extensions []byte) (params, *refusal) {
	var p params
	if query == nil {
		return p, badRequest("The member query is missing.")
	}
	if !decodeString(query, &p.query) {
		return p, badRequest("The member query is not a string.")
	}
	if present(name) && !decodeString(name, &p.operationName) {
		return p, badRequest("The member operationName is neither a string nor null.")
	}
	if present(extensions) && extensions[0] != '{' {
		return p, badRequest("The member extensions is neither an object nor null.")
	}
	if !present(variables) {
		return p, nil
	}
	if variables[0] != '{' {
		return p, badRequest("The member variables is neither an object nor null.")
	}
	// Numbers keep their digits, so that large ones are refused and not rounded.
	d := json.NewDecoder(bytes.NewReader(variables))
	d.UseNumber()
	if err := d.Decode(&p.variables); err != nil {
		return p, badRequest("The member variables cannot be read.")
	}
	return p, nil
}

func badRequest(message string) *refusal {
	return refuse(http.StatusBadRequest, codeBadRequest, message)
}

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
