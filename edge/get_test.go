package edge

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// get sends a GET request with members as pairs of name and value.
func (e *edgeUnderTest) get(t testing.TB, members []string, header ...string) *answerUnderTest {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(members); i += 2 {
		values.Add(members[i], members[i+1])
	}
	r := httptest.NewRequest(http.MethodGet, "/graphql?"+values.Encode(), nil)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return e.do(t, r)
}

func TestGET_AnswersQueriesAndRefusesMutations(t *testing.T) {
	const mutation = `mutation{createUser(input:{tenant:"a",name:"b",displayName:"B",email:"b@example.org"}){user{id}}}`
	for name, c := range map[string]struct {
		members []string
		header  []string
		status  int
		code    string
		data    string
	}{
		"a query": {members: []string{"query", `{user(id:"x"){id}}`}, status: 200, data: `{"user":{"id":"x"}}`},
		"variables": {members: []string{"query", `query($i:ID!){user(id:$i){id}}`, "variables", `{"i":"x"}`},
			status: 200, data: `{"user":{"id":"x"}}`},
		"empty members": {members: []string{"query", "{__typename}", "variables", "", "extensions", " ", "operationName", ""},
			status: 200, data: `{"__typename":"Query"}`},
		"null members": {members: []string{"query", "{__typename}", "variables", "null", "extensions", "null"},
			status: 200, data: `{"__typename":"Query"}`},
		"a member twice": {members: []string{"query", "{nothing}", "query", "{__typename}"}, status: 200, data: `{"__typename":"Query"}`},
		"one of operations": {members: []string{"query", "query A{viewer{id}} query B{__typename}", "operationName", "B"},
			status: 200, data: `{"__typename":"Query"}`},
		"a query of two kinds": {members: []string{"query", "query A{__typename} " + mutation[:8] + " B" + mutation[8:],
			"operationName", "A"}, status: 200, data: `{"__typename":"Query"}`},
		"a mutation":             {members: []string{"query", mutation}, status: 405, code: "METHOD_NOT_ALLOWED"},
		"a mutation, typed":      {members: []string{"query", mutation}, header: []string{graphqlJSON}, status: 405, code: "METHOD_NOT_ALLOWED"},
		"no query":               {members: []string{"variables", "{}"}, status: 400, code: "BAD_REQUEST"},
		"an empty query":         {members: []string{"query", ""}, status: 200, code: "GRAPHQL_PARSE_FAILED"},
		"variables are no JSON":  {members: []string{"query", "{__typename}", "variables", "{"}, status: 400, code: "BAD_REQUEST"},
		"variables are a list":   {members: []string{"query", "{__typename}", "variables", "[]"}, status: 400, code: "BAD_REQUEST"},
		"extensions are no JSON": {members: []string{"query", "{__typename}", "extensions", "x"}, status: 400, code: "BAD_REQUEST"},
		"bad UTF-8":              {members: []string{"query", "{__typename}#\xff"}, status: 400, code: "BAD_REQUEST"},
		"bad UTF-8 in variables": {members: []string{"query", "{__typename}", "variables", "{\"a\":\"\xff\"}"}, status: 400, code: "BAD_REQUEST"},
		"not valid": {members: []string{"query", "{nothing}"}, header: []string{graphqlJSON}, status: 400,
			code: "GRAPHQL_VALIDATION_FAILED"},
		"only HTML": {members: []string{"query", "{__typename}"}, header: []string{"Accept: text/html"},
			status: 406, code: "NOT_ACCEPTABLE"},
		"a bad token": {members: []string{"query", "{__typename}"}, header: []string{"Authorization: Bearer x"},
			status: 401, code: "UNAUTHENTICATED"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.get(t, c.members, c.header...)
			if a.Code != c.status || a.code() != c.code || string(a.Data) != c.data {
				t.Errorf("got %d %s %s, want %d %s %s: %s", a.Code, a.code(), a.Data, c.status, c.code, c.data, a.Body)
			}
			if allow := a.Header().Get("Allow"); c.status == 405 && allow != "POST" {
				t.Errorf("Allow: %q", allow)
			}
			if c.code != "" && e.calls.Load() > 0 {
				t.Errorf("%d resolvers ran", e.calls.Load())
			}
		})
	}
	r := httptest.NewRequest(http.MethodGet, "/graphql", nil)
	r.URL.RawQuery = "query=%zz;&&="
	if a := newEdge(t, nil).do(t, r); a.Code != 400 || a.code() != "BAD_REQUEST" {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

func TestGET_FromOtherSitesNeedsAHeader(t *testing.T) {
	const cookie, cross = "Cookie: a=b", "Sec-Fetch-Site: cross-site"
	for name, c := range map[string]struct {
		header  []string
		allowed bool
	}{
		"no browser":                {nil, true},
		"own page":                  {[]string{"Sec-Fetch-Site: same-origin"}, true},
		"typed in":                  {[]string{"Sec-Fetch-Site: none"}, true},
		"own page with a cookie":    {[]string{"Sec-Fetch-Site: same-origin", cookie}, false},
		"a cookie":                  {[]string{cookie}, false},
		"other site":                {[]string{cross}, false},
		"a sibling":                 {[]string{"Sec-Fetch-Site: same-site"}, false},
		"old browser, other origin": {[]string{"Origin: https://evil.com"}, false},
		"old browser, own origin":   {[]string{"Origin: http://example.com"}, true},
		"null origin":               {[]string{"Origin: null"}, false},
		"with Apollo's header":      {[]string{cookie, cross, "Apollo-Require-Preflight: true"}, true},
		"with the operation's name": {[]string{cookie, cross, "X-Apollo-Operation-Name: Page"}, true},
		"with JSON":                 {[]string{cookie, cross, "Content-Type: application/json"}, true},
		"with a form":               {[]string{cookie, cross, "Content-Type: application/x-www-form-urlencoded"}, false},
		"an empty header":           {[]string{cookie, cross, "Apollo-Require-Preflight: "}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.get(t, []string{"query", "{viewer{id}}"}, c.header...)
			if c.allowed != (a.Code == 200) || !c.allowed && (a.Code != 400 || a.code() != "CSRF_BLOCKED" || e.calls.Load() > 0) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
}
