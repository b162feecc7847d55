package edge

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/edge/jsontext"
	"carrel/edge/validation"
)

// FuzzDecodeBody compares the decoder with encoding/json decoding into a map: which bodies are
// accepted, and the values of their members.
func FuzzDecodeBody(f *testing.F) {
	for _, seed := range []string{
		`{"query":"{a}"}`, `{"query":"{a}","variables":{"b":[1,2,{"c":null}]},"operationName":"X","extensions":{}}`,
		`{"QUERY":1,"query":"x","query":"\u0041\n\ud83d\ude00"}`, `[]`, `null`, ``, ` {"query" : "" } x`, `{"query":"a","x":"\"}"}`,
		`{"documentId":"sha256:00","extensions":{"cost":true,"persistedQuery":{"version":1,"sha256Hash":"00"}}}`,
		`{"\u0071uery":"a"}`, "{\"query\":\"\xff\"}", `{"query":"\ud800"}`, `{"query":"a","variables":{"a":1e999}}`, `{"":{}}`,
		strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50),
	} {
		f.Add([]byte(seed))
	}
	limits := DefaultLimits()
	f.Fuzz(func(t *testing.T, body []byte) {
		p, refused := decodeBody(body, &limits)
		var members map[string]json.RawMessage
		err := json.Unmarshal(body, &members)
		if err != nil || members == nil || !utf8.Valid(body) || validation.HasHalfPair(string(body)) {
			if refused == nil {
				t.Fatalf("accepted: %q", body)
			}
			return
		}
		var want struct {
			query     *string
			document  *string
			name      *string
			variables map[string]any
			other     map[string]any
		}
		bad := false
		take := func(name string, into any) {
			if raw, ok := members[name]; ok && json.Unmarshal(raw, into) != nil {
				bad = true
			}
		}
		take("query", &want.query)
		take("documentId", &want.document)
		take("operationName", &want.name)
		take("variables", &want.variables)
		take("extensions", &want.other)
		_, named := members["query"]
		if bad || named && want.query == nil {
			if refused == nil && !outOfRange(members["variables"]) {
				t.Fatalf("accepted: %q", body)
			}
			return
		}
		if refused != nil {
			if want.other["persistedQuery"] == nil {
				t.Fatalf("refused: %q: %v", body, refused.errs)
			}
			return
		}
		if p.hasQuery != named || named && p.query != *want.query || want.document != nil && p.documentID != *want.document ||
			p.cost != (want.other["cost"] == true) || want.name != nil && p.operationName != *want.name {
			t.Fatalf("decoded %+v from %q", p, body)
		}
		if p.variables != nil != (want.variables != nil) || p.variables != nil &&
			!bytes.Equal(p.variables, bytes.Trim(members["variables"], jsontext.Space)) {
			t.Fatalf("decoded the variables %q from %q", p.variables, body)
		}
	})
}

// outOfRange reports whether the variables contain a number beyond a float64: encoding/json refuses
// it at once, our decoder only when it checks its type.
func outOfRange(raw json.RawMessage) bool {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v map[string]any
	return d.Decode(&v) == nil
}
