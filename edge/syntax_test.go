package edge

import (
	"strings"
	"testing"
)

// halves are escapes of half of a surrogate pair.
var halves = []string{`\ud800`, `\uD83Dx`, `\udbff\n`, `\udc00`, `\uDFFF`, `\ude00\ud83d`, `\ud83d\ud83d\ude00`,
	`\ud83d\u0041`, `\ud83d\\ude00`, `\ud83d \ude00`, `😀\ud83d`}

// wholes are escapes that look like halves of a pair.
var wholes = []string{`\ud83d\ude00`, `\uD83D\uDE00\uDBFF\uDFFF`, `\ud7ff\ue000`, `\\ud800`, `\\\\udc00`, `\u00e9`, `ud800`}

// TestHalfPairs_AreRefused: half of a surrogate pair would become U+FFFD, so that two keys could
// become one. It is refused in JSON and in literals, in names too, on every transport.
func TestHalfPairs_AreRefused(t *testing.T) {
	e := newEdge(t, nil)
	address := start(t, e.handler, DefaultLimits())
	const query = `query($i:ID!){user(id:$i){id}}`
	refused := func(where, got, code string) {
		t.Helper()
		if !strings.Contains(got, code) || !strings.Contains(got, "half of a surrogate pair") || strings.Contains(got, `"data"`) {
			t.Errorf("%s: got %s", where, got)
		}
	}
	for _, half := range halves {
		for _, body := range []string{
			`{"query":"` + query + `","variables":{"i":"u:a:` + half + `"}}`, `{"query":"` + query + `","variables":{"i":"u:a:b","` + half + `":1}}`,
			`{"query":"{viewer{id}}` + half + `"}`, `{"query":"{viewer{id}}","extensions":{"a":["` + half + `"]}}`,
			`{"query":"{viewer{id}}","operationName":"` + half + `"}`,
		} {
			refused("a body", e.send(t, body).Body.String(), "BAD_REQUEST")
			s := opened(t, address, "")
			s.send(`{"id":"1","type":"subscribe","payload":` + body + `}`)
			got := s.next()
			refused("a websocket", got, "BAD_REQUEST")
			s.send(`{"id":"1","type":"subscribe","payload":{"query":"{__typename}"}}`) // it is still open
			if next := s.next(); !strings.Contains(got, `"type":"error"`) || !strings.Contains(next, `"Query"`) {
				t.Errorf("%s, then %s", got, next)
			}
		}
		refused("variables of a URL", e.get(t, []string{"query", query, "variables", `{"i":"` + half + `"}`}).Body.String(), "BAD_REQUEST")
		refused("extensions of a URL", e.get(t, []string{"query", query, "extensions", `{"i":"` + half + `"}`}).Body.String(), "BAD_REQUEST")
		literal := `{a:user(id:"é")
			{id} user(id:"` + half + `"){id}}`
		refused("a literal", e.query(t, literal, nil).Body.String(), "GRAPHQL_PARSE_FAILED")
		refused("a literal of a URL", e.get(t, []string{"query", literal}).Body.String(), "GRAPHQL_PARSE_FAILED")
		refused("a literal after another escape", e.query(t, `{user(id:"\u{0}`+half+`"){id}}`, nil).Body.String(), "GRAPHQL_PARSE_FAILED")
		for _, message := range []string{
			`{"id":"` + half + `","type":"subscribe","payload":{"query":"{viewer{id}}"}}`, `{"type":"ping","payload":{"a":"` + half + `"}}`,
			`{"id":"1","type":"subscribe","` + half + `":1,"payload":{"query":"{viewer{id}}"}}`,
		} {
			s := opened(t, address, "")
			s.send(message)
			if got := s.next(); got != "closed 4400" {
				t.Errorf("%s: %s", message, got)
			}
		}
	}
	if e.calls.Load() > 0 {
		t.Errorf("%d calls", e.calls.Load())
	}
	for _, whole := range wholes {
		for where, a := range map[string]*answerUnderTest{
			"a variable":          e.send(t, `{"query":"`+query+`","variables":{"i":"`+whole+`"}}`),
			"a variable of a URL": e.get(t, []string{"query", query, "variables", `{"i":"` + whole + `"}`}),
			"another escape":      e.query(t, `{user(id:"\u{1F600}`+whole+`\u{0}"){id}}`, nil),
			"a literal":           e.query(t, `{user(id:"`+whole+`"){id}}`, nil),
			"a block string":      e.query(t, `{user(id:"""`+halves[0]+`"""){id}} #`+halves[0], nil),
		} {
			if a.code() != "" {
				t.Errorf("%s %s: %s", where, whole, a.Body)
			}
		}
	}
}

// TestSyntaxErrors_NameTheFault: the error of a query text whose characters form no token says what
// is wrong, and where.
func TestSyntaxErrors_NameTheFault(t *testing.T) {
	for query, want := range map[string]string{
		`{viewer{id ; }}`:                     `1:12 Cannot parse the unexpected character ";".`,
		`{viewer{id ü }}`:                     `1:12 Cannot parse the unexpected character "ü".`,
		`{viewer{id 世 }}`:                     `1:12 Cannot parse the unexpected character "世".`,
		"{viewer{id \u200b}}":                 `1:12 Cannot parse the unexpected character "U+200B".`,
		`é`:                                   `1:1 Cannot parse the unexpected character "é".`,
		"{viewer{id \x00}}":                   `1:12 Cannot contain the invalid character "\u0000"`,
		`{user(id:'a'){id}}`:                  `1:10 Unexpected single quote character ('), did you mean to use a double quote (")?`,
		"{user(id:\"a\n\"){id}}":              `1:12 Unterminated string.`,
		"{\n  user(id:\"\"\"a){id}}":          `2:21 Unterminated string.`,
		`{user(id:"\x"){id}}`:                 `1:12 Invalid character escape sequence: \x.`,
		`{user(id:"\u12"){id}}`:               `1:12 Invalid character escape sequence: \u12").`,
		`{user(id:"\u{d800}"){id}}`:           `1:12 Invalid character escape sequence: \u{d800}.`,
		`{user(id:01){id}}`:                   `1:11 Invalid number, unexpected digit after 0: "1".`,
		`{user(id:1.é){id}}`:                  `1:12 Invalid number, expected digit but got: "é".`,
		`{user(id:-){id}}`:                    `1:11 Invalid number, expected digit but got: ")".`,
		`query Q($a:Int=1e+){viewer{id}}`:     `1:19 Invalid number, expected digit but got: ")".`,
		`{viewer{id}} } ;`:                    `1:14 Unexpected }`,
		`{viewer(a:"<Invalid>" "b"){id}} ; '`: `1:24 Expected Name, found String`,
		`{viewer{id`:                          `1:11 Expected Name, found <EOF>`,
	} {
		a := newEdge(t, nil).query(t, query, nil)
		var got string
		if len(a.Errors) == 1 && len(a.Errors[0].Locations) == 1 {
			got = a.Errors[0].at() + " " + a.Errors[0].Message
		}
		if got != want || a.code() != "GRAPHQL_PARSE_FAILED" {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}
