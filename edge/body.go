package edge

import (
	"bytes"
	"fmt"
	"net/http"

	"carrel/core/input"
)

// params are the members of a request that mean something.
type params struct {
	query         string
	hasQuery      bool
	documentID    string
	operationName string
	// variables are a JSON object, in the buffer that they were read from; nil:
	// none. They are read when it is known of which types they should be.
	variables []byte
	// hash is that of Apollo's extension persistedQuery.
	hash string
	// cost asks for extensions.cost in the answer.
	cost bool
	// language is the Accept-Language header of the request.
	language []string
}

// decodeBody reads a request body: one JSON object in UTF-8 and nothing after
// it. Names of members are case-sensitive, unknown members are ignored, of a
// member given twice the last one counts, for everything that looks at it. The
// refusals never quote the body.
func decodeBody(body []byte, l *Limits) (params, *refusal) {
	body = bytes.Trim(body, jsonSpace)
	switch judgeJSON(body, l.Values) {
	case jsonTooMuch:
		return params{}, tooManyValues(l)
	case jsonBad:
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

func tooManyValues(l *Limits) *refusal {
	return refuseDocument(codeBadUserInput, fmt.Sprintf("The request has more than %d values: lists take at most %d.", l.Values, input.MaxList))
}

// escapedChar is how many bytes a character takes at most: two escapes of six.
const escapedChar = 12

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
	p.variables = m.variables
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
