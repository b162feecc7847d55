package edge

import (
	"bytes"
	"fmt"
	"net/http"

	"carrel/core/input"
	"carrel/edge/jsontext"
)

// params are the known members of a request.
type params struct {
	query         string
	hasQuery      bool
	documentID    string
	operationName string
	// variables is a JSON object in the buffer of the request, or nil. It is decoded when the types
	// of the variables are known.
	variables []byte
	// hash is the digest of Apollo's extension persistedQuery.
	hash string
	// cost reports that the client requests extensions.cost in the answer.
	cost bool
	// size is the length of the body or message.
	size int
	// language is the Accept-Language header of the request.
	language []string
}

// decodeBody reads a request body: one JSON object in UTF-8 and nothing after it. Member names are
// case-sensitive, unknown members are ignored, and of duplicate members the last one counts, in
// every check. The refusals never quote the body.
func decodeBody(body []byte, l *Limits) (params, *refusal) {
	size := len(body)
	body = bytes.Trim(body, jsontext.Space)
	if refused := checkJSON(body, "The request body", l); refused != nil {
		return params{}, refused
	}
	switch body[0] {
	case '{':
	case '[':
		return params{}, refuse(statusMalformed, codeBatchNotSupported,
			"Several operations in one request are not supported: send them one by one.")
	default:
		return params{}, malformed("The request body is not a JSON object.")
	}
	var m members
	jsontext.EachMember(body, func(key, value []byte) {
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
	p, refused := m.decode()
	p.size = size
	return p, refused
}

// checkJSON refuses what is not JSON in UTF-8, or has too many values. where says what it is.
func checkJSON(text []byte, where string, l *Limits) *refusal {
	switch jsontext.Check(text, l.Values) {
	case jsontext.TooMuch:
		return refuseDocument(codeBadUserInput, fmt.Sprintf("The request has more than %d values: lists take at most %d.",
			l.Values, input.MaxList))
	case jsontext.Invalid:
		return badRequest(where + " is not valid JSON.")
	case jsontext.HalfPair:
		return badRequest(where + ` has half of a surrogate pair, such as \ud800 alone, which is no character.`)
	}
	return nil
}

// escapedChar is the maximal length of an escaped character in bytes: two escapes of six.
const escapedChar = 12

// members are the members of a request as JSON without surrounding white space. A missing member is
// nil.
type members struct{ query, documentID, name, variables, extensions []byte }

// decode decodes the members.
func (m members) decode() (params, *refusal) {
	var p params
	if m.query != nil {
		if p.hasQuery = jsontext.DecodeString(m.query, &p.query); !p.hasQuery {
			return p, malformed("The member query is not a string.")
		}
	}
	if jsontext.Present(m.documentID) && !jsontext.DecodeString(m.documentID, &p.documentID) {
		return p, malformed("The member documentId is neither a string nor null.")
	}
	if jsontext.Present(m.name) && !jsontext.DecodeString(m.name, &p.operationName) {
		return p, malformed("The member operationName is neither a string nor null.")
	}
	if jsontext.Present(m.extensions) {
		if r := p.decodeExtensions(m.extensions); r != nil {
			return p, r
		}
	}
	if !jsontext.Present(m.variables) {
		return p, nil
	}
	if m.variables[0] != '{' {
		return p, malformed("The member variables is neither an object nor null.")
	}
	p.variables = m.variables
	return p, nil
}

// decodeExtensions decodes the known extensions. It ignores others.
func (p *params) decodeExtensions(extensions []byte) (r *refusal) {
	if extensions[0] != '{' {
		return malformed("The member extensions is neither an object nor null.")
	}
	jsontext.EachMember(extensions, func(key, value []byte) {
		switch string(key) {
		case "cost":
			p.cost = value[0] == 't'
		case "persistedQuery":
			p.hash, r = "", nil
			if jsontext.Present(value) {
				r = p.decodePersisted(value)
			}
		}
	})
	return r
}

// decodePersisted decodes Apollo's extension persistedQuery, version 1.
func (p *params) decodePersisted(value []byte) *refusal {
	wrong := malformed(`The extension persistedQuery takes the form {"version": 1, "sha256Hash": "<64 hexadecimal digits>"}.`)
	if value[0] != '{' {
		return wrong
	}
	version, hashed := "", false
	jsontext.EachMember(value, func(key, value []byte) {
		switch string(key) {
		case "version":
			version = string(value)
		case "sha256Hash":
			hashed = jsontext.DecodeString(value, &p.hash)
		}
	})
	if version != "1" || !hashed || p.hash == "" {
		return wrong
	}
	return nil
}

// badRequest refuses a request that cannot be read. malformed refuses one that can be read but is
// not a GraphQL request.
func badRequest(message string) *refusal {
	return refuse(http.StatusBadRequest, codeBadRequest, message)
}

func malformed(message string) *refusal { return refuse(statusMalformed, codeBadRequest, message) }
