package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"carrel/config"
	"carrel/edge/certificate/certificatetest"
	"carrel/web"
)

const createAnn = `mutation{createUser(input:{tenant:"demo",name:"ann",displayName:"Ann",email:"ann@demo.example"}){user{id} userErrors{code message}}}`

func TestServe_UserSurvivesARestart(t *testing.T) {
	cfg := testConfig(t)
	ann := tokenFor(t, cfg.AuthHS256File, "u:demo:ann")
	s := serve(t, cfg)
	if got := s.graphql(ann, createAnn); got != `{"data":{"createUser":{"user":{"id":"u:demo:ann"},"userErrors":[]}}}` {
		t.Fatal(got)
	}
	made := s.graphql(ann, `mutation{createContent(input:{kind:LINK,title:"T",link:"https://example.org/"}){content{id} fanOut{state}}}`)
	if made != `{"data":{"createContent":{"content":{"id":"c:demo:test/1"},"fanOut":{"state":"COMPLETE"}}}}` {
		t.Fatal(made)
	}
	const mine = `{viewer{library{nodes{id title}}}}`
	const want = `{"data":{"viewer":{"library":{"nodes":[{"id":"c:demo:test/1","title":"T"}]}}}}`
	if got := s.graphql(ann, mine); got != want {
		t.Error(got)
	}
	if got := s.graphql("", mine); got != `{"data":{"viewer":null}}` {
		t.Error(got)
	}
	s.end()
	again := serve(t, cfg)
	if got := again.graphql(ann, mine); got != want {
		t.Errorf("after the restart: %s", got)
	}
	again.end()
	if code, out, errs := command(t, "audit", "--store", cfg.Store); code != 0 || !strings.Contains(out, `"mismatches": 0`) {
		t.Errorf("audit: exit %d: %s %s", code, out, errs)
	}
}

func TestServe_EachAddressServesItsPaths(t *testing.T) {
	s := serve(t, testConfig(t))
	for _, c := range []struct {
		addr, path string
		status     int
		text       string
	}{
		{s.addr, "/livez", 200, "alive\n"},
		{s.addr, "/readyz", 200, "ready\n"},
		{s.addr, "/", 404, ""},
		{s.addr, "/debug/pprof/", 404, ""},
		{s.addr, "/dev/viewers", 404, ""},
		{s.addr, "/graphql", 400, "BAD_REQUEST"},
		{s.addr, "/graphql?query={__typename}", 200, `{"data":{"__typename":"Query"}}`},
		{s.admin, "/debug/pprof/", 200, "goroutine"},
		{s.admin, "/graphql", 404, ""},
		{s.admin, "/metrics", 200, "carrel_changes_in_flight 0"},
		{s.addr, "/metrics", 404, ""},
	} {
		if status, text := s.get(c.addr, c.path); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %.200s", c.path, status, text)
		}
	}
	if got := s.graphql("", `{__schema{types{name}}}`); !strings.Contains(got, "INTROSPECTION_DISABLED") {
		t.Error(got)
	}
}

func TestServe_MetricsAreOnTheAdminAddress(t *testing.T) {
	cfg := testConfig(t)
	ann := tokenFor(t, cfg.AuthHS256File, "u:demo:ann")
	s := serve(t, cfg)
	s.graphql(ann, createAnn)
	s.graphql(ann, `mutation{createContent(input:{kind:LINK,title:"Canary",link:"https://canary.example/"}){content{id}}}`)
	for range 2 {
		s.graphql(ann, `query Canary{viewer{library{nodes{id}}}}`)
	}
	s.graphql("canary", `{viewer{id}}`)
	s.graphql(ann, `{canary}`)
	_, text := s.get(s.admin, "/metrics")
	for _, want := range []string{
		`carrel_request_seconds_count{code="OK",operation="mutation"} 2`,
		`carrel_request_seconds_count{code="OK",operation="query"} 2`,
		`carrel_request_seconds_count{code="UNAUTHENTICATED",operation="none"} 1`,
		`carrel_request_seconds_count{code="GRAPHQL_VALIDATION_FAILED",operation="none"} 1`,
		`carrel_store_call_seconds_count{operation="commit",outcome="ok"} 1`,
		`carrel_store_call_seconds_count{operation="commit a principal",outcome="ok"} 1`,
		`carrel_store_call_seconds_count{operation="page a library",outcome="ok"}`,
		`carrel_fanout_lag_seconds_count{outcome="complete"} 1`,
		"\ncarrel_oldest_change_seconds ", "\ncarrel_repairs_requested_total 0\n", "\ngo_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	// Metrics reveal nothing about who and what is in the store.
	for line := range strings.SplitSeq(text, "\n") {
		if lower := strings.ToLower(line); strings.Contains(lower, "canary") || strings.Contains(lower, "u:") || strings.Contains(lower, "demo") {
			t.Errorf("an id or a text is in the metrics: %s", line)
		}
	}
}

func TestServe_DevelopmentHasPagesTokensAndIntrospection(t *testing.T) {
	cfg := testConfig(t)
	dora := file(t, "demo.jsonl", `{"type":"user","id":"u:demo:dora","displayName":"Dora","email":"dora@demo.example","visibility":"PUBLIC"}`+
		"\n")
	if code, _, errs := command(t, "import", dora, "--store", cfg.Store); code != 0 {
		t.Fatalf("import: exit %d: %s", code, errs)
	}
	cfg.Dev, cfg.App = true, true
	s := serve(t, cfg)
	if status, text := s.get(s.addr, "/"); status != 200 || !strings.Contains(text, "<html") {
		t.Errorf("/: %d %.200s", status, text)
	}
	if status, text := s.get(s.addr, "/dev/viewers"); status != 200 || !strings.Contains(text, "eyJ") {
		t.Errorf("/dev/viewers: %d %.200s", status, text)
	}
	if got := s.graphql("", `{__type(name:"User"){name}}`); got != `{"data":{"__type":{"name":"User"}}}` {
		t.Error(got)
	}
	app, _ := s.get(s.addr, "/app")
	s.out.await("(u:demo:dora)")
	s.end()
	out := s.out.String()
	if !strings.Contains(out, "(u:demo:dora)") || strings.Contains(out, "(u:demo:ann)") {
		t.Errorf("the demo viewers that exist, and no others, are printed: %s", out)
	}
	// What is printed is there: without npm the binary has no pages but the form.
	if strings.Contains(out, "\nGraphiQL: http://"+s.addr+"/\n") != web.Built() || !strings.Contains(out, ": http://"+s.addr+"/\n") ||
		strings.Contains(out, "Reference client: http://"+s.addr+"/app\n") != (app == 200) {
		t.Errorf("the addresses of the pages are wrong, /app is %d: %s", app, out)
	}
	if strings.Contains(out, testSecret) {
		t.Error("the secret is printed")
	}
}

// TestDevelopment_DemoTokensAreAccepted: the tokens of the demo viewers have the issuer and
// audience that this gateway requires, and not the defaults.
func TestDevelopment_DemoTokensAreAccepted(t *testing.T) {
	cfg := testConfig(t)
	cfg.Dev, cfg.AuthIssuer, cfg.AuthAudience = true, "someone", "somebody"
	dora := file(t, "demo.jsonl", `{"type":"user","id":"u:demo:dora","displayName":"Dora","visibility":"PUBLIC"}`+"\n")
	if code, _, errs := command(t, "import", dora, "--store", cfg.Store); code != 0 {
		t.Fatalf("import: exit %d: %s", code, errs)
	}
	s := serve(t, cfg)
	s.out.await("(u:demo:dora)")
	_, menu := s.get(s.addr, "/dev/viewers")
	_, printed, _ := strings.Cut(s.out.String(), "(u:demo:dora)")
	for name, text := range map[string]string{"/dev/viewers": menu, "the output": printed} {
		tokens := regexp.MustCompile(`eyJ[\w.-]+`).FindAllString(text, -1)
		var viewers []string
		for _, token := range tokens {
			viewers = append(viewers, s.graphql(token, `{viewer{id}}`))
		}
		if !slices.Contains(viewers, `{"data":{"viewer":{"id":"u:demo:dora"}}}`) {
			t.Errorf("%s has no token for Dora: %q", name, viewers)
		}
	}
}

// TestGraphiQL_CanBeEnabledInProduction: GraphiQL may be enabled in production, without demo
// viewers and the other features of development.
func TestGraphiQL_CanBeEnabledInProduction(t *testing.T) {
	for name, c := range map[string]struct {
		change          func(*config.Config)
		page, introspec bool
	}{
		"neither":       {func(*config.Config) {}, false, false},
		"graphiql":      {func(c *config.Config) { c.GraphiQL = true }, true, false},
		"introspection": {func(c *config.Config) { c.Introspection = true }, false, true},
		"both":          {func(c *config.Config) { c.GraphiQL, c.Introspection = true, true }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			c.change(&cfg)
			s := serve(t, cfg)
			if status, text := s.get(s.addr, "/"); (status == 200) != c.page || strings.Contains(text, "<html") != c.page {
				t.Errorf("/: %d %.100s", status, text)
			}
			if status, text := s.get(s.addr, "/dev/viewers"); status != 404 {
				t.Errorf("/dev/viewers: %d %.100s", status, text)
			}
			if got := s.graphql("", `{__type(name:"User"){name}}`); (got == `{"data":{"__type":{"name":"User"}}}`) != c.introspec {
				t.Error(got)
			}
			if got := s.graphql("", `{usr{id}}`); strings.Contains(got, "Did you mean") {
				t.Errorf("names are suggested: %s", got)
			}
		})
	}
}

// heldBack is an output that blocks when the address of GraphiQL is written, until free is closed.
type heldBack struct {
	*firstLine
	free chan struct{}
}

func (h heldBack) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("GraphiQL")) {
		<-h.free
	}
	return h.firstLine.Write(p)
}

// TestServe_DoesNotWaitForPrintedTokens: printing tokens reads the store. A store that did not
// answer, or a stopped terminal, once kept a gateway from serving after it had announced its
// addresses.
func TestServe_DoesNotWaitForPrintedTokens(t *testing.T) {
	cfg := testConfig(t)
	cfg.Dev = true
	free := make(chan struct{})
	s := serveTo(t, cfg, func(out *firstLine) io.Writer { return heldBack{out, free} })
	letGo := sync.OnceFunc(func() { close(free) })
	t.Cleanup(letGo)
	s.client.Timeout = time.Minute
	if status, text := s.get(s.addr, "/livez"); status != 200 {
		t.Errorf("/livez: %d %s", status, text)
	}
	if got := s.graphql("", `{__typename}`); got != `{"data":{"__typename":"Query"}}` {
		t.Error(got)
	}
	letGo()
	s.out.await("GraphiQL: ")
}

func TestShutdown_FinishesRequestsInFlight(t *testing.T) {
	s := serve(t, testConfig(t))
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const query = `{"query":"{__typename}"}`
	// The server has asked for the body, so it has read the header when the shutdown starts.
	_, _ = conn.Write([]byte("POST /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: " +
		"application/json\r\nContent-Length: 24\r\nExpect: 100-continue\r\n\r\n"))
	const goOn = "HTTP/1.1 100 Continue\r\n\r\n"
	asked := make([]byte, len(goOn))
	if _, err := io.ReadFull(conn, asked); err != nil || string(asked) != goOn {
		t.Fatalf("got %q, %v", asked, err)
	}
	_, _ = conn.Write([]byte(query[:5]))
	if status, _ := s.get(s.addr, "/livez"); status != 200 {
		t.Fatal(status)
	}
	s.client.CloseIdleConnections()
	s.stop()
	s.stop = nil
	s.out.await(`"stopping"`)
	_, _ = conn.Write([]byte(query[5:]))
	var answer bytes.Buffer
	_, _ = answer.ReadFrom(conn)
	if !strings.Contains(answer.String(), `{"data":{"__typename":"Query"}}`) {
		t.Errorf("got %q", answer.String())
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

func TestServe_SecondProcessOfAStoreIsRefused(t *testing.T) {
	cfg := testConfig(t)
	serve(t, cfg)
	err := runServer(context.Background(), cfg, newFirstLine())
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
}

func TestServe_AddressInUseIsAnError(t *testing.T) {
	s := serve(t, testConfig(t))
	cfg := testConfig(t)
	cfg.Listen = s.addr
	if err := runServer(context.Background(), cfg, newFirstLine()); err == nil || !strings.Contains(err.Error(), "listen") {
		t.Errorf("got %v", err)
	}
	cfg = testConfig(t)
	cfg.AdminListen = s.addr
	if err := runServer(context.Background(), cfg, newFirstLine()); err == nil || !strings.Contains(err.Error(), "admin-listen") {
		t.Errorf("got %v", err)
	}
}

func TestTLS_OffersHTTP2(t *testing.T) {
	cfg := testConfig(t)
	var cert *x509.Certificate
	cert, cfg.TLSCert, cfg.TLSKey = certificatetest.New(t)
	s := serve(t, cfg)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	s.scheme = "https"
	s.client = &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	resp, err := s.client.Get("https://" + s.addr + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("the protocol is %s", resp.Proto)
	}
	if got := s.graphql("", `{__typename}`); got != `{"data":{"__typename":"Query"}}` {
		t.Error(got)
	}
}

func TestServe_AppliesProfileAndDocuments(t *testing.T) {
	cfg := testConfig(t)
	cfg.HTTPProfile, cfg.TrustedProxy = "draft", []string{"127.0.0.1", "10.0.0.0/8"}
	cfg.Documents = file(t, "documents.json", `{"Name":"{__typename}"}`)
	s := serve(t, cfg)
	if status, text := s.get(s.addr, "/graphql?documentId=Name"); status != 200 || text != `{"data":{"__typename":"Query"}}` {
		t.Errorf("%d %s", status, text)
	}
	if status, text := s.get(s.addr, "/graphql?query={viewer{id}}"); status != 422 || !strings.Contains(text, "PERSISTED_QUERY_NOT_FOUND") {
		t.Errorf("%d %s", status, text)
	}
}

// TestShutdown_ClosesOpenSockets: a socket that its client keeps open is closed at the end.
func TestShutdown_ClosesOpenSockets(t *testing.T) {
	s := serve(t, testConfig(t))
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn,
		"GET /graphql HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "+
			"13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n", s.addr)
	head := make([]byte, 12)
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 101" {
		t.Fatalf("got %q, %v", head, err)
	}
	closed := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(conn) // it ends with a close frame or a reset
		closed <- b
	}()
	s.end()
	if b := <-closed; !bytes.Contains(b, []byte("\x03\xe9Going away")) {
		t.Errorf("the close code is not 1001: %q", b)
	}
}

// socket returns a function that runs a query over a socket that is opened with a token.
func (s *served) socket(token string) func(query string) string {
	conn, _, err := websocket.Dial(s.t.Context(), "ws://"+s.addr+"/graphql", &websocket.DialOptions{
		Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	next := func(message string) string {
		if err := conn.Write(s.t.Context(), websocket.MessageText, []byte(message)); err != nil {
			s.t.Fatal(err)
		}
		_, b, err := conn.Read(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		return string(b)
	}
	next(`{"type":"connection_init"}`)
	n := 0
	return func(query string) string {
		n++
		got := next(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":%q}}`, n, query))
		_, _, _ = conn.Read(s.t.Context()) // complete
		return got
	}
}

// The token of a deleted administrator reads no more than that of any viewer without a user, also over a
// socket that was opened before.
func TestServe_DeletedAdministratorsReadLikeOthers(t *testing.T) {
	cfg := testConfig(t)
	ann, adm := tokenFor(t, cfg.AuthHS256File, "u:demo:ann"), tokenFor(t, cfg.AuthHS256File, "u:demo:adm", "admin")
	s := serve(t, cfg)
	s.graphql(ann, createAnn)
	s.graphql(adm, `mutation{createUser(input:{tenant:"demo",name:"adm",displayName:"Adm",email:"adm@demo.example"}){user{id}}}`)
	const email = `{user(id:"u:demo:ann"){email}}`
	if got, want := s.graphql(adm, email), `{"data":{"user":{"email":"ann@demo.example"}}}`; got != want {
		t.Fatalf("before: got %s, want %s", got, want)
	}
	open := s.socket(adm)
	if got := open(email); !strings.Contains(got, "ann@demo.example") {
		t.Fatalf("over a socket, before: got %s", got)
	}
	s.graphql(adm, `mutation{deleteUser(input:{id:"u:demo:adm"}){userErrors{code}}}`)
	if got := open(email); !strings.Contains(got, `{"data":{"user":{"email":null}}}`) {
		t.Errorf("over a socket, after: got %s", got)
	}
	if got, want := s.graphql(adm, email), `{"data":{"user":{"email":null}}}`; got != want {
		t.Errorf("after: got %s, want %s", got, want)
	}
}
