package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/auth"
	"carrel/core/fault"
	"carrel/graph"
	"carrel/principal"
)

const graphqlJSON = "Accept: application/graphql-response+json"

func TestHandler_EveryResponseIsObserved(t *testing.T) {
	type observed struct{ Operation, Code string }
	var got []observed
	e := newEdge(t, func(c *Config) {
		c.Observe = func(operation, code string, took time.Duration) {
			if took <= 0 || took > time.Minute {
				t.Errorf("the observed time is %s", took)
			}
			got = append(got, observed{operation, code})
		}
	})
	e.onUser = func(_ context.Context, id string) (*principal.User, error) {
		switch id {
		case "down":
			return nil, fault.Unavailablef(nil, "down")
		case "panic":
			panic("at the disco")
		}
		return user("u:acme:ann"), nil
	}
	e.query(t, `{viewer{id}}`, nil)
	e.query(t, `mutation{createUser(input:{tenant:"acme",name:"a",displayName:"A",email:"a@b.example"}){user{id}}}`, nil)
	e.query(t, `{user(id:"down"){id}}`, nil)
	e.query(t, `{a:user(id:"down"){id} viewer{id}}`, nil)
	e.query(t, `{user(id:"panic"){id}}`, nil)
	e.query(t, `{`, nil)
	e.send(t, `{`)
	e.query(t, `{viewer{id}}`, nil, "Authorization: Bearer bad")
	e.query(t, `{viewer{id}}`, nil, "Accept: text/html")
	want := []observed{
		{"query", codeOK}, {"mutation", codeOK}, {"query", codeUnavailable}, {"query", codeUnavailable}, {"query", codeInternal},
		{"", codeParseFailed}, {"", codeBadRequest}, {"", codeUnauthenticated}, {"", codeNotAcceptable},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHandler_EachRequestGetsItsStatusAndCode(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		code   string
		data   string
		media  string
	}{
		"a query": {body: `{"query":"{user(id:\"u:a:b\"){id}}"}`, status: 200, data: `{"user":{"id":"u:a:b"}}`,
			media: "application/json"},
		"with a media type": {body: `{"query":"{user(id:\"u:a:b\"){id}}"}`, header: []string{graphqlJSON}, status: 200,
			data: `{"user":{"id":"u:a:b"}}`, media: "application/graphql-response+json"},
		"variables": {body: `{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":"u:a:b"}}`, status: 200,
			data: `{"user":{"id":"u:a:b"}}`},
		"null members": {body: `{"query":"{viewer{id}}","variables":null,"operationName":null,"extensions":null}`,
			status: 200, data: `{"viewer":null}`},
		"a mutation": {body: `{"query":"mutation{createUser(input:{tenant:\"a\",name:\"b\",displayName:\"B\",email:\"b@example.org\"}){user{id}}}"}`, status: 200, data: `{"createUser":{"user":{"id":"u:a:b"}}}`},
		"the viewer": {body: `{"query":"{viewer{id}}"}`, header: []string{"Authorization: Bearer ann"}, status: 200,
			data: `{"viewer":{"id":"u:acme:ann"}}`},
		"one of operations": {body: `{"query":"query A{viewer{id}} query B{__typename}","operationName":"B"}`, status: 200,
			data: `{"__typename":"Query"}`},
		"space around":        {body: " \n{\"query\":\"{__typename}\"}\r\n", status: 200, data: `{"__typename":"Query"}`},
		"an escaped key":      {body: `{"\u0071uery":"{__typename}"}`, status: 200, data: `{"__typename":"Query"}`},
		"unknown members":     {body: `{"query":"{__typename}","x":{"query":1}}`, status: 200, data: `{"__typename":"Query"}`},
		"names in other case": {body: `{"QUERY":"{viewer{id}}","query":"{__typename}","Query":7}`, status: 200, data: `{"__typename":"Query"}`},
		"a key twice":         {body: `{"query":7,"query":"{__typename}"}`, status: 200, data: `{"__typename":"Query"}`},
		"charset": {body: `{"query":"{__typename}"}`, header: []string{"Content-Type: application/json;charset=UTF-8"},
			status: 200, data: `{"__typename":"Query"}`},
		"a number as id": {body: `{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":7}}`, status: 200,
			data: `{"user":{"id":"7"}}`},
		"empty body":           {body: ``, status: 400, code: "BAD_REQUEST"},
		"no JSON":              {body: `{"query":`, status: 400, code: "BAD_REQUEST"},
		"something after it":   {body: `{"query":"{__typename}"} {}`, status: 400, code: "BAD_REQUEST"},
		"a string":             {body: `"query"`, status: 400, code: "BAD_REQUEST"},
		"null":                 {body: `null`, status: 400, code: "BAD_REQUEST"},
		"no query":             {body: `{"variables":{}}`, status: 400, code: "BAD_REQUEST"},
		"a query in capitals":  {body: `{"QUERY":"{__typename}"}`, status: 400, code: "BAD_REQUEST"},
		"query is a number":    {body: `{"query":7}`, status: 400, code: "BAD_REQUEST"},
		"query is null":        {body: `{"query":null}`, status: 400, code: "BAD_REQUEST"},
		"variables are a list": {body: `{"query":"{__typename}","variables":[]}`, status: 400, code: "BAD_REQUEST"},
		"variables are false":  {body: `{"query":"{__typename}","variables":false}`, status: 400, code: "BAD_REQUEST"},
		"name is a number":     {body: `{"query":"{__typename}","operationName":7}`, status: 400, code: "BAD_REQUEST"},
		"extensions a string":  {body: `{"query":"{__typename}","extensions":""}`, status: 400, code: "BAD_REQUEST"},
		"bad UTF-8":            {body: "{\"query\":\"{__typename}\",\"x\":\"\xff\"}", status: 400, code: "BAD_REQUEST"},
		"a batch":              {body: `[{"query":"{__typename}"}]`, status: 400, code: "BATCH_NOT_SUPPORTED"},
		"an empty batch":       {body: `[]`, status: 400, code: "BATCH_NOT_SUPPORTED"},
		"bad JSON, typed": {body: `{`, header: []string{graphqlJSON}, status: 400, code: "BAD_REQUEST",
			media: "application/graphql-response+json"},
		"no syntax":        {body: `{"query":"{"}`, status: 200, code: "GRAPHQL_PARSE_FAILED"},
		"no syntax, typed": {body: `{"query":"{"}`, header: []string{graphqlJSON}, status: 400, code: "GRAPHQL_PARSE_FAILED"},
		"an empty query":   {body: `{"query":""}`, header: []string{graphqlJSON}, status: 400, code: "GRAPHQL_PARSE_FAILED"},
		"not valid":        {body: `{"query":"{nothing}"}`, status: 200, code: "GRAPHQL_VALIDATION_FAILED"},
		"not valid, typed": {body: `{"query":"{nothing}"}`, header: []string{graphqlJSON}, status: 400, code: "GRAPHQL_VALIDATION_FAILED"},
		"only a fragment":  {body: `{"query":"fragment F on User{id}"}`, status: 200, code: "OPERATION_RESOLUTION_FAILURE"},
		"which operation":  {body: `{"query":"query A{viewer{id}} query B{viewer{id}}"}`, status: 200, code: "OPERATION_RESOLUTION_FAILURE"},
		"no such operation": {body: `{"query":"query A{viewer{id}}","operationName":"B"}`, header: []string{graphqlJSON},
			status: 400, code: "OPERATION_RESOLUTION_FAILURE"},
		"no such, unnamed":  {body: `{"query":"{viewer{id}}","operationName":"B"}`, status: 200, code: "OPERATION_RESOLUTION_FAILURE"},
		"variable left out": {body: `{"query":"query($i:ID!){user(id:$i){id}}"}`, status: 200, code: "BAD_USER_INPUT"},
		"variable, wrong kind": {body: `{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":{}}}`,
			header: []string{graphqlJSON}, status: 400, code: "BAD_USER_INPUT"},
		"@defer":         {body: `{"query":"{... @defer{viewer{id}}}"}`, status: 200, code: "GRAPHQL_VALIDATION_FAILED"},
		"a subscription": {body: `{"query":"subscription{x}"}`, status: 200, code: "GRAPHQL_VALIDATION_FAILED"},
		"text": {body: `{"query":"{__typename}"}`, header: []string{"Content-Type: text/plain"}, status: 415,
			code: "UNSUPPORTED_MEDIA_TYPE"},
		"a form": {body: `query={__typename}`, header: []string{"Content-Type: application/x-www-form-urlencoded"},
			status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		"multipart": {body: `--x`, header: []string{"Content-Type: multipart/form-data; boundary=x"}, status: 415,
			code: "UNSUPPORTED_MEDIA_TYPE"},
		"Latin-1": {body: `{"query":"{__typename}"}`, header: []string{"Content-Type: application/json; charset=iso-8859-1"},
			status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		"no type": {body: `{"query":"{__typename}"}`, header: []string{"Content-Type: "}, status: 415,
			code: "UNSUPPORTED_MEDIA_TYPE"},
		"gzip":      {body: "\x1f\x8b", header: []string{"Content-Encoding: gzip"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		"only HTML": {body: `{"query":"{__typename}"}`, header: []string{"Accept: text/html"}, status: 406, code: "NOT_ACCEPTABLE"},
		"a bad token": {body: `{"query":"{__typename}"}`, header: []string{"Authorization: Bearer x"}, status: 401,
			code: "UNAUTHENTICATED"},
		"no keys": {body: `{"query":"{__typename}"}`, header: []string{"Authorization: Bearer later"}, status: 503,
			code: "UNAVAILABLE"},
		"a defect": {body: `{"query":"{__typename}"}`, header: []string{"Authorization: Bearer broken"},
			status: 500, code: "INTERNAL_SERVER_ERROR"},
		"bad token, bad JSON": {body: `{`, header: []string{"Authorization: Bearer x"}, status: 401, code: "UNAUTHENTICATED"},
		"too large":           {body: `{"query":"` + strings.Repeat(" ", 1<<20) + `"}`, status: 413, code: "PAYLOAD_TOO_LARGE"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			a := e.send(t, c.body, c.header...)
			if a.Code != c.status || a.code() != c.code || string(a.Data) != c.data {
				t.Errorf("got %d %s %s, want %d %s %s: %s", a.Code, a.code(), a.Data, c.status, c.code, c.data, a.Body)
			}
			if _, has := a.keys["data"]; has != (c.code == "") {
				t.Errorf("has the member data: %t", has)
			}
			if c.code != "" && e.calls.Load() > 0 {
				t.Errorf("%d resolvers ran", e.calls.Load())
			}
			media := c.media
			if media == "" {
				media = "application/json"
			}
			got := [...]string{a.Header().Get("Content-Type"), a.Header().Get("Cache-Control"), a.Header().Get("X-Content-Type-Options")}
			if want := [...]string{media + "; charset=utf-8", "private, no-store", "nosniff"}; got != want && len(c.header) == 0 {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

func TestOtherMethods_GetAllowHeader(t *testing.T) {
	e := newEdge(t, nil)
	for _, method := range []string{"HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"} {
		a := e.do(t, httptest.NewRequest(method, "/graphql?query={viewer{id}}", nil))
		if a.Code != 405 || a.Header().Get("Allow") != "GET, POST" || a.code() != "METHOD_NOT_ALLOWED" {
			t.Errorf("%s: %d, Allow %q, %s", method, a.Code, a.Header().Get("Allow"), a.code())
		}
	}
}

func TestHandler_InvalidTokenIsChallenged(t *testing.T) {
	a := newEdge(t, nil).send(t, `{"query":"{viewer{id}}"}`, "Authorization: Bearer x")
	if got := a.Header().Get("WWW-Authenticate"); got != `Bearer realm="carrel", error="invalid_token"` {
		t.Errorf("WWW-Authenticate: %q", got)
	}
	a = newEdge(t, nil).send(t, `{"query":"{viewer{id}}"}`, "Authorization: Bearer later")
	if got := a.Header().Get("Retry-After"); got != "30" {
		t.Errorf("Retry-After: %q", got)
	}
}

func TestHandler_InvalidBodyIsNotEchoed(t *testing.T) {
	e := newEdge(t, nil)
	for _, body := range []string{`{"canary`, `["canary"]`, `{"query":["canary"]}`, `{"query":"{__typename}","variables":"canary"}`,
		"canary\xff", strings.Repeat("[", 10_000) + "canary"} {
		if a := e.send(t, body); strings.Contains(a.Body.String(), "canary") {
			t.Errorf("%.20s: %s", body, a.Body)
		}
	}
}

func TestHandler_PanicIsOneInternalError(t *testing.T) {
	e := newEdge(t, nil)
	e.onUser = func(context.Context, string) (*principal.User, error) { panic("SELECT secret") }
	a := e.query(t, `{user(id:"x"){id}}`, nil)
	if a.Code != 200 || len(a.Errors) != 1 || a.code() != "INTERNAL_SERVER_ERROR" || string(a.Data) != `{"user":null}` {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
	if strings.Contains(a.Body.String(), "SELECT") {
		t.Errorf("the panic is shown: %s", a.Body)
	}
	if log := e.log.String(); !strings.Contains(log, "SELECT secret") || !strings.Contains(log, "handler_test.go") ||
		!strings.Contains(log, a.Errors[0].Extensions["errorId"].(string)) {
		t.Errorf("the log does not report it: %s", log)
	}
	// The authenticator runs outside the executor.
	e = newEdge(t, func(c *Config) {
		c.Authenticate = func(context.Context, []string) (auth.Caller, error) { panic("SELECT secret") }
	})
	if a := e.query(t, `{viewer{id}}`, nil); a.Code != 500 || a.code() != "INTERNAL_SERVER_ERROR" ||
		strings.Contains(a.Body.String(), "SELECT") {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

func TestErrors_HaveThePathOfTheirField(t *testing.T) {
	e := newEdge(t, nil)
	e.onUser = func(_ context.Context, id string) (*principal.User, error) {
		if id == "bad" {
			return nil, fault.BadInputf("not an id")
		}
		return user(id), nil
	}
	a := e.query(t, `{good:user(id:"g"){id} bad:user(id:"bad"){id}}`, nil)
	if string(a.Data) != `{"good":{"id":"g"},"bad":null}` || a.Code != 200 {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	if diff := cmp.Diff([]any{"bad"}, a.Errors[0].Path); diff != "" {
		t.Error(diff)
	}
}

func TestHandler_ReturnsAtMostTenErrors(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.RootFields = 30 })
	e.onUser = func(context.Context, string) (*principal.User, error) { return nil, fault.BadInputf("no") }
	var q strings.Builder
	for i := range 30 {
		fmt.Fprintf(&q, `a%d:user(id:"x"){id} `, i)
	}
	a := e.query(t, "{"+q.String()+"}", nil)
	if len(a.Errors) != 10 {
		t.Errorf("%d errors: %s", len(a.Errors), a.Body)
	}
}

func TestHandler_OperationsHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, nil)
		e.onUser = func(ctx context.Context, _ string) (*principal.User, error) { <-ctx.Done(); return nil, ctx.Err() }
		e.onMake = func(ctx context.Context, _ graph.CreateUserInput) (*graph.CreateUserPayload, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		for query, want := range map[string]time.Duration{
			`{user(id:"x"){id}}`: 10 * time.Second,
			`mutation{createUser(input:{tenant:"a",name:"b",displayName:"B",email:"b@example.org"}){user{id}}}`: 15 * time.Second,
		} {
			start := time.Now()
			a := e.query(t, query, nil)
			if took := time.Since(start); took != want || a.code() != "TIMEOUT" {
				t.Errorf("after %s: %d %s", took, a.Code, a.Body)
			}
		}
	})
}

func TestHandler_OverloadIsRefused(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.Concurrent = 1 })
	entered, leave := make(chan struct{}), make(chan struct{})
	e.onUser = func(context.Context, string) (*principal.User, error) {
		close(entered)
		<-leave
		return nil, nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { e.query(t, `{user(id:"x"){id}}`, nil) })
	<-entered
	a := e.query(t, `{viewer{id}}`, nil)
	if a.Code != 503 || a.code() != "UNAVAILABLE" || a.Header().Get("Retry-After") != "1" || a.Errors[0].Extensions["retryAfter"] != 1.0 {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
	close(leave)
	wg.Wait()
	if a := e.query(t, `{viewer{id}}`, nil); a.Code != 200 || a.code() != "" {
		t.Errorf("afterwards: %d %s", a.Code, a.Body)
	}
}

func TestResolvers_GetTheViewer(t *testing.T) {
	e := newEdge(t, nil)
	var got principal.ID
	e.onUser = func(ctx context.Context, _ string) (*principal.User, error) {
		got = graph.ExecutionOf(ctx).Viewer.User
		return nil, nil
	}
	e.query(t, `{user(id:"x"){id}}`, nil, "Authorization: Bearer ann")
	if got != "u:acme:ann" {
		t.Errorf("the viewer is %q", got)
	}
}

// brokenBody fails like a broken connection.
type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }
func (b brokenBody) Close() error             { return nil }

func TestHandler_BrokenBodiesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"too late": {os.ErrDeadlineExceeded, 408, "TIMEOUT"},
		"cut off":  {io.ErrUnexpectedEOF, 400, "BAD_REQUEST"},
		"other":    {errors.New("SELECT secret"), 400, "BAD_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/graphql", brokenBody{c.err})
			r.Header.Set("Content-Type", "application/json")
			a := newEdge(t, nil).do(t, r)
			if a.Code != c.status || a.code() != c.code || strings.Contains(a.Body.String(), "SELECT") {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
}

func TestHandler_LargeBodyOfUnknownLengthIsRefused(t *testing.T) {
	endless := io.LimitReader(zeros{}, 1<<30)
	r := httptest.NewRequest(http.MethodPost, "/graphql", endless)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = -1
	a := newEdge(t, nil).do(t, r)
	if a.Code != 413 {
		t.Errorf("got %d", a.Code)
	}
	if left := endless.(*io.LimitedReader).N; left < 1<<30-2<<20 {
		t.Errorf("%d bytes were read", 1<<30-left)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestHandler_BuffersAreNotShared(t *testing.T) {
	e := newEdge(t, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		id := "u:acme:" + strings.Repeat(string(rune('a'+i)), 1+100*i)
		wg.Go(func() {
			for range 50 {
				a := e.query(t, `query($i:ID!){user(id:$i){id}}`, map[string]any{"i": id})
				if want := `{"user":{"id":"` + id + `"}}`; string(a.Data) != want {
					t.Errorf("got %s", a.Data)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestNew_RefusesInvalidConfig(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no error")
	}
}

func TestHandler_DisconnectEndsTheQuery(t *testing.T) {
	e := newEdge(t, nil)
	entered := make(chan struct{})
	e.onUser = func(ctx context.Context, _ string) (*principal.User, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, leave := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(`{"query":"{user(id:\"x\"){id}}"}`))
	r.Header.Set("Content-Type", "application/json")
	var wg sync.WaitGroup
	wg.Go(func() { e.handler.ServeHTTP(httptest.NewRecorder(), r) })
	<-entered
	leave()
	wg.Wait()
	if e.log.Len() > 0 {
		t.Errorf("it is logged as an internal error: %s", e.log.String())
	}
}
