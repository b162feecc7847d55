package edge

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestEachMember(t *testing.T) {
	for body, want := range map[string]map[string]string{
		`{}`:                       {},
		`{ }`:                      {},
		`{"a":1}`:                  {"a": "1"},
		`{"a":1,"b":"x","c":null}`: {"a": "1", "b": `"x"`, "c": "null"},
		"{ \"a\" :\n[1,\"]\"] , \"b\": {\"c\":\"}\\\"\"} }": {"a": `[1,"]"]`, "b": `{"c":"}\""}`},
		`{"a\\":"\\","\"":"\\\""}`:                          {`a\`: `"\\"`, `"`: `"\\\""`},
		`{"a":1,"a":2}`:                                     {"a": "2"},
		`{"\u0061":-1.5e+7,"B":true}`:                       {"a": "-1.5e+7", "B": "true"},
	} {
		if !json.Valid([]byte(body)) {
			t.Fatalf("not valid: %s", body)
		}
		got := map[string]string{}
		eachMember([]byte(body), func(key, value []byte) { got[string(key)] = string(value) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestVariablesKeepTheirNumbers(t *testing.T) {
	limits := DefaultLimits()
	p, r := decodeBody([]byte(`{"query":"q","variables":{"a":9007199254740993,"b":1e400,"c":[{"d":1.0}]}}`), &limits)
	if r != nil {
		t.Fatal(r.errs)
	}
	want := map[string]any{"a": json.Number("9007199254740993"), "b": json.Number("1e400"), "c": []any{map[string]any{"d": json.Number("1.0")}}}
	if diff := cmp.Diff(want, p.variables); diff != "" {
		t.Error(diff)
	}
}

func TestMoreValues(t *testing.T) {
	for body, want := range map[string]int{
		``: 0, `{}`: 1, `{"a":1}`: 1, `{"a":1,"b":[2,3]}`: 4, `[[[`: 3, `"[,{"`: 0, `["\\",1]`: 2, `["\"[[[[",1]`: 2, `["\\\"[[[["]`: 1, `["[[[`: 1, `\"[`: 0, `"`: 0,
	} {
		if moreValues([]byte(body), want) || want > 0 && !moreValues([]byte(body), want-1) {
			t.Errorf("%s has not %d values", body, want)
		}
	}
}

// FuzzDecodeBody compares the decoder with the standard one, which reads the
// object into a map: what is accepted, and what is taken of it.
func FuzzDecodeBody(f *testing.F) {
	for _, seed := range []string{
		`{"query":"{a}"}`, `{"query":"{a}","variables":{"b":[1,2,{"c":null}]},"operationName":"X","extensions":{}}`,
		`{"QUERY":1,"query":"x","query":"\u0041\n\ud83d\ude00"}`, `[]`, `null`, ``, ` {"query" : "" } x`, `{"query":"a","x":"\"}"}`,
		`{"documentId":"sha256:00","extensions":{"cost":true,"persistedQuery":{"version":1,"sha256Hash":"00"}}}`, `{"\u0071uery":"a"}`, "{\"query\":\"\xff\"}", `{"query":"\ud800"}`, `{"query":"a","variables":{"a":1e999}}`, `{"":{}}`,
		strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50),
	} {
		f.Add([]byte(seed))
	}
	limits := DefaultLimits()
	f.Fuzz(func(t *testing.T, body []byte) {
		p, refused := decodeBody(body, &limits)
		var members map[string]json.RawMessage
		err := json.Unmarshal(body, &members)
		if err != nil || members == nil || !utf8.Valid(body) {
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
			p.cost != (want.other["cost"] == true) || want.name != nil && p.operationName != *want.name || len(p.variables) != len(want.variables) {
			t.Fatalf("got %+v of %q", p, body)
		}
	})
}

// outOfRange tells whether the variables hold a number that a float cannot:
// the standard decoder refuses it at once, ours when it meets its type.
func outOfRange(raw json.RawMessage) bool {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v map[string]any
	return d.Decode(&v) == nil
}
