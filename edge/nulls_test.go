package edge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNulls_ExplicitNullInANonNullPlaceIsRefused: a variable with a default may be used where no
// null is taken, and may still be null. The operation is refused before anything is executed, and
// the error names the place.
func TestNulls_ExplicitNullInANonNullPlaceIsRefused(t *testing.T) {
	const create = `tenant:"a",name:"b",displayName:"B"`
	const input = `{` + create + `,email:"b@example.org"}`
	for name, c := range map[string]struct{ query, variables, place string }{
		"an include": {`query($s:Boolean=true){viewer @include(if:$s){id}}`, `{"s":null}`, "the argument if of @include"},
		"a skip":     {`query($s:Boolean=false){viewer @skip(if:$s){id}}`, `{"s":null}`, "the argument if of @skip"},
		"below the root": {`query($s:Boolean=true){user(id:"u:a:b"){id displayName @include(if:$s)}}`, `{"s":null}`,
			"the argument if of @include"},
		"on an inline fragment": {`query($s:Boolean=true){viewer{... @include(if:$s){id}}}`, `{"s":null}`, "the argument if of @include"},
		"on a spread": {`query($s:Boolean=true){viewer{...F @include(if:$s)}} fragment F on User{id}`, `{"s":null}`,
			"the argument if of @include"},
		"in a fragment": {`query($s:Boolean=true){viewer{...F}} fragment F on User{...G} fragment G on User{id @skip(if:$s)}`, `{"s":null}`,
			"the argument if of @skip"},
		"beside one that skips": {`query($s:Boolean=true){viewer @skip(if:true) @include(if:$s){id}}`, `{"s":null}`,
			"the argument if of @include"},
		"after another variable": {`query($n:Int,$s:Boolean=true){viewer{id library(first:$n){bucket} createdAt @include(if:$s)}}`,
			`{"n":null,"s":null}`, "the argument if of @include"},
		"an argument":          {`query($i:ID="u:a:b"){user(id:$i){id}}`, `{"i":null}`, "the argument id of user"},
		"a list":               {`query($i:[ID!]=["u:a:b"]){nodes(ids:$i){id}}`, `{"i":null}`, "the argument ids of nodes"},
		"an element of a list": {`query($i:ID="u:a:b"){nodes(ids:["u:a:a",$i]){id}}`, `{"i":null}`, "an element of the argument ids of nodes"},
		"representations": {`query($r:[_Any!]=[]){_entities(representations:$r){__typename}}`, `{"r":null}`,
			"the argument representations of _entities"},
		"an input": {`mutation($in:CreateUserInput=` + input + `){createUser(input:$in){user{id}}}`,
			`{"in":null}`, "the argument input of createUser"},
		"a field of an input": {`mutation($e:String="e"){createUser(input:{` + create + `,email:$e}){user{id}}}`,
			`{"e":null}`, "the field email of CreateUserInput"},
		"a field in a list": {`mutation($r:ID="u:a:b"){setGroupMembers(input:{groupId:"g:a:b",members:[{principalId:$r,role:MEMBER}]}){userErrors{code}}}`, `{"r":null}`,
			"the field principalId of GroupMemberChange"},
		"one operation of two": {`query A($i:ID="u:a:b"){user(id:$i){...F}} query B($s:Boolean!,$i:ID!){user(id:$i){...F @include(if:$s)}} fragment F on User{id}`,
			`{"i":null}`, "the argument id of user"},
	} {
		t.Run(name, func(t *testing.T) {
			operation := operationIn(c.query)
			body := `{"query":` + string(quoted(c.query)) + `,"variables":` + c.variables + `,"operationName":` + operation + `}`
			e := newEdge(t, nil)
			variable := c.variables[strings.LastIndex(c.variables, `,`)+1:]
			variable = variable[strings.Index(variable, `"`)+1 : strings.LastIndex(variable, `"`)]
			want := "The variable $" + variable + " is null, but " + c.place + " may not be null."
			check := func(transport, got string) {
				t.Helper()
				if !strings.Contains(got, want) || !strings.Contains(got, `"BAD_USER_INPUT"`) || strings.Contains(got, `"data":{`) ||
					strings.Contains(got, `"data":null`) {
					t.Errorf("%s: got %s, want %s", transport, got, want)
				}
			}
			for accept, status := range map[string]int{"application/graphql-response+json": 400, "application/json": 200} {
				a := e.send(t, body, "Accept: "+accept)
				check(accept, a.Body.String())
				if a.Code != status || a.keys["data"] != nil {
					t.Errorf("%s: %d %s", accept, a.Code, a.Body)
				}
			}
			if !strings.HasPrefix(c.query, "mutation") {
				check("GET", e.get(t, []string{"query", c.query, "variables", c.variables, "operationName",
					strings.Trim(operation, `"nul`)}).Body.String())
			}
			r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "text/event-stream")
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, r)
			check("events", w.Body.String())
			s := opened(t, start(t, e.handler, DefaultLimits()), "")
			s.send(`{"id":"1","type":"subscribe","payload":` + body + `}`)
			got := s.next()
			if check("websocket", got); !strings.Contains(got, `"type":"error"`) {
				t.Errorf("websocket: %s", got)
			}
			if e.calls.Load() > 0 || e.log.Len() > 0 {
				t.Errorf("%d calls, log %s", e.calls.Load(), e.log.String())
			}
		})
	}
}

// TestNulls_OtherNullsAreAccepted: nulls where the schema takes them, in parts that are skipped, and
// defaults.
func TestNulls_OtherNullsAreAccepted(t *testing.T) {
	for name, c := range map[string]struct{ query, variables string }{
		"a default":        {`query($i:ID="u:a:b"){user(id:$i){id}}`, `{}`},
		"a value":          {`query($i:ID="u:a:b"){user(id:$i){id}}`, `{"i":"u:a:c"}`},
		"a nullable place": {`query($n:Int=3){user(id:"u:a:b"){id library(first:$n){bucket}}}`, `{"n":null}`},
		"a skipped field": {`query($i:ID="u:a:b",$s:Boolean!){user(id:"u:a:b"){id} other:user(id:$i) @include(if:$s){id}}`,
			`{"i":null,"s":false}`},
		"below a skipped one": {`query($n:Boolean=true,$s:Boolean!){user(id:"u:a:b"){id ... @skip(if:$s){displayName @include(if:$n)}}}`,
			`{"n":null,"s":true}`},
		"in a skipped spread": {`query($n:Boolean=true,$s:Boolean!){user(id:"u:a:b"){id ...F @skip(if:$s)}} fragment F on User{displayName @include(if:$n)}`, `{"n":null,"s":true}`},
		"of another operation": {`query B($i:ID="u:a:b"){user(id:$i){id}} query A($i:Cursor){user(id:"u:a:b"){id library(after:$i){bucket}}}`,
			`{"i":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newEdge(t, nil).send(t, `{"query":`+string(quoted(c.query))+`,"variables":`+c.variables+`,"operationName":`+
				operationIn(c.query)+`}`)
			if a.code() != "" || !strings.HasPrefix(string(a.Data), `{"user":{"id":"u:a:`) {
				t.Errorf("got %s", a.Body)
			}
		})
	}
}

// operationIn returns the JSON of the name of the operation to run: A, if there is one.
func operationIn(query string) string {
	if strings.Contains(query, "query A") {
		return `"A"`
	}
	return "null"
}
