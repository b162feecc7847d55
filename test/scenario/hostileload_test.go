package scenario

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// hostileLoad returns rows 51 to 56: many and broken connections, and information that must not
// leak.
func hostileLoad() []row {
	return []row{
		{51, "HTTP/2 resets, 100,000 header fields", hostileHTTP2},
		{52, "client gone in mid-mutation", hostileLeaving},
		{53, "200 parallel updates of one item", hostileUpdates},
		{54, "floods by one viewer", hostileFlood},
		{55, "secrets are compared in constant time", func(t *testing.T, w *world) {
			// Timing cannot be measured over HTTP. What can be checked is that the
			// response does not reveal how much of a signature was right.
			good := w.tokenWith(nil)
			at := strings.LastIndexByte(good, '.') + 1
			var answers []string
			for _, i := range []int{at, at + 1, at + 20, len(good) - 2} {
				wrong := []byte(good)
				wrong[i] = map[bool]byte{true: 'B', false: 'A'}[wrong[i] == 'A']
				r := w.send("POST", "/graphql", question("{viewer{id}}"), "Authorization: Bearer "+string(wrong))
				answers = append(answers, fmt.Sprint(r.Status, string(r.body)))
			}
			for _, a := range answers {
				if a != answers[0] || !strings.HasPrefix(a, "401") {
					t.Errorf("got %s and %s", answers[0], a)
				}
			}
		}},
		{56, "metrics and pprof on their own address; nothing private is disclosed", hostileDisclosure},
	}
}

// hostileSlowness returns row 50. It opens idle connections, and connections that never finish
// sending a header or a body, or reading a response.
func hostileSlowness() longRow {
	var g *gateway
	kinds := []string{"head", "body", "idle", "answer"}
	ends := make(chan string, 2*len(kinds))
	begin := func(t *testing.T, w *world) {
		flags := []string{"--rate-limit", "0", "--limit", "streams=150", "--trusted-proxy", "127.0.0.1"}
		g = serveWith(t, flags...)
		calm := serveWith(t, flags...) // on the same machine, without slow connections
		const head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		for n := range 100 {
			for kind, c := range []net.Conn{g.dial(head), g.dial(head + "Content-Length: 1000000\r\n\r\n{"), g.dial("")} {
				if n < 2 {
					go func() { ends <- kinds[kind] + ": " + endOf(c) }()
				}
			}
		}
		body := question(`{limits{maxDepth maxCost maxTokens maxAliases}}`)
		for range 50 { // responses that nobody reads
			g.dial(strings.Repeat(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body), 100))
		}
		for range 2 { // and more of them than fit into socket buffers
			c := g.dial("")
			go func() { ends <- kinds[3] + ": " + endOfUnread(c, head) }()
		}
		// Other clients are served meanwhile: none of the slow connections has been
		// closed yet.
		var beside, alone time.Duration
		for range 20 {
			beside, alone = max(beside, g.latency()), max(alone, calm.latency())
		}
		if beside > time.Second+5*alone {
			t.Errorf("other clients are answered after %v, but after %v by a gateway without slow ones", beside, alone)
		}
		idleSockets(t, &world{gateway: g})
	}
	try := func(t *testing.T, _ *world) {
		for range cap(ends) {
			select {
			case end := <-ends:
				kind, how, _ := strings.Cut(end, ": ")
				if how == "" || kind == "body" && !strings.HasPrefix(how, "HTTP/1.1 408") {
					t.Errorf("%s ends with %q", kind, how)
				}
			case <-time.After(time.Minute):
				t.Fatal("a slow connection is still open")
			}
		}
		if a := g.in(t).ask("", `{limits{maxDepth}}`, nil); a.at("limits.maxDepth") != 12.0 {
			t.Errorf("afterwards: %+v", a)
		}
	}
	return longRow{row{50, "slowloris on headers, body and reading; idle floods; others keep their latency", try}, begin}
}

// latency sends a request and returns how long its answer took.
func (g *gateway) latency() time.Duration {
	g.t.Helper()
	begun := time.Now()
	if a := g.ask(g.token("u:acme:bob"), `{limits{maxDepth}}`, nil); a.at("limits.maxDepth") != 12.0 {
		g.t.Errorf("another client is answered %+v", a)
	}
	return time.Since(begun)
}

// endOfUnread sends requests over a connection and reads nothing. It returns how the
// connection ended. The gateway must end it, because neither side can write once all
// socket buffers are full.
func endOfUnread(c net.Conn, head string) string {
	fields := ""
	for n := range 8 {
		fields += fmt.Sprintf("l%d:limits{maxDepth maxCost maxTokens maxAliases maxBodyBytes maxValues maxHeaderBytes maxReadSeconds}", n)
	}
	body := question("{" + fields + "}")
	request := fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	for {
		if _, err := c.Write(request); err != nil {
			return err.Error()
		}
	}
}

// idleSockets opens sockets that authenticate as nobody and then do nothing, until no
// more are accepted, and many that do not even authenticate. They use up only the share
// of their own address.
func idleSockets(t *testing.T, w *world) {
	initialise := func(c *websocket.Conn, payload string) error {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"connection_init","payload":`+payload+`}`)); err != nil {
			return err
		}
		_, _, err := c.Read(t.Context())
		return err
	}
	open := func() *websocket.Conn {
		c, _, err := w.socket("X-Forwarded-For: 198.51.100.1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.CloseNow() })
		return c
	}
	for n := range 101 {
		err := initialise(open(), `{}`)
		if refused := websocket.CloseStatus(err) == websocket.StatusTryAgainLater; refused != (n == 100) || !refused && err != nil {
			t.Fatalf("socket %d of one address: %v", n, err)
		}
	}
	for range 100 {
		open()
	}
	if err := initialise(open(), `{"authorization":"`+w.token("u:acme:bob")+`"}`); err != nil {
		t.Errorf("a viewer from the same address, authenticated in the init message: %v", err)
	}
	for name, header := range map[string]string{"another address": "X-Forwarded-For: 198.51.100.2",
		"a viewer from there": "Authorization: Bearer " + w.token("u:acme:bob")} {
		c, _, err := w.socket("X-Forwarded-For: 198.51.100.1", header)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = c.CloseNow()
	}
}

// endOf reads a connection to its end, and returns what it received and how the connection ended.
func endOf(c net.Conn) string {
	answer, err := io.ReadAll(c)
	return strings.TrimSpace(string(answer)) + fmt.Sprintf(" (%v)", err)
}

// secureWorld is a gateway with HTTPS and HTTP/2, and a client for it.
func secureWorld(t *testing.T, flags ...string) *gateway {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der},
		"key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := serveWith(t, append(flags, "--rate-limit", "0", "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key",
		filepath.Join(dir, "key.pem"))...)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	g.url = "https" + strings.TrimPrefix(g.url, "http")
	g.client = &http.Client{Timeout: answerWithin, Transport: &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(g.client.CloseIdleConnections)
	return g
}

func hostileHTTP2(t *testing.T, w *world) {
	g := secureWorld(t)
	if r := g.send("POST", "/graphql", question("{__typename}")); r.ProtoMajor != 2 || r.Header.Get("Strict-Transport-Security") == "" {
		t.Fatalf("it speaks %s: %v", r.Proto, r.Header)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 50 { // each is reset as soon as it is sent
				ctx, cancel := context.WithCancel(t.Context())
				req, err := http.NewRequestWithContext(ctx, "POST", g.url+"/graphql", strings.NewReader(question("{viewer{id}}")))
				if err != nil {
					t.Error(err)
				}
				req.Header.Set("Content-Type", "application/json")
				go cancel()
				if res, err := g.client.Do(req); err == nil {
					_ = res.Body.Close()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if r := g.send("POST", "/graphql", question("{__typename}")); r.Status != 200 {
		t.Errorf("after the resets: %d", r.Status)
	}
	// The headers that a browser sends are allowed, although each field counts for more
	// here.
	many := []string{"X-Long: " + strings.Repeat("a", 10_000)}
	for n := range 60 {
		many = append(many, fmt.Sprintf("X-%d: %s", n, strings.Repeat("a", 80)))
	}
	if r := g.send("POST", "/graphql", question("{__typename}"), many...); r.Status != 200 {
		t.Errorf("60 header fields of 15 KB: %d", r.Status)
	}
	for _, on := range []*gateway{g, w.gateway} {
		req, err := http.NewRequest("POST", on.url+"/graphql", strings.NewReader(question("{__typename}")))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 100_000 {
			req.Header[fmt.Sprintf("X-%d", n)] = []string{"a"}
		}
		if res, err := on.client.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("100,000 header fields: %d", res.StatusCode)
			}
		}
		if r := on.send("POST", "/graphql", question("{__typename}")); r.Status != 200 {
			t.Errorf("afterwards: %d", r.Status)
		}
	}
}

func hostileLeaving(t *testing.T, w *world) {
	var members []vars
	for n := range 20 {
		name := fmt.Sprint("m", n)
		w.user("acme", name, "PUBLIC")
		members = append(members, vars{"principalId": "u:acme:" + name, "role": "VIEWER"})
	}
	w.must(w.ann, createItem, vars{"in": vars{"name": "left", "kind": "NOTE", "title": "0", "visibility": "PUBLIC", "members": members}})
	const head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for n := range 30 {
		body := string(mustJSON(vars{"query": updateItem, "variables": vars{"in": vars{"id": "c:acme:left", "title": fmt.Sprint(n + 1)}}}))
		c := w.dial(fmt.Sprintf("%sAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", head, w.ann, len(body), body))
		if n%2 == 0 { // some clients disconnect before the request is read, some while it runs
			<-time.After(time.Duration(n) * time.Millisecond / 2)
		}
		_ = c.Close()
	}
	// Each mutation happened completely or not at all: all libraries show the item as it
	// is.
	want := ""
	deadline := time.Now().Add(answerWithin)
	for n := 0; n < 20; {
		want, _ = w.must(w.ann, `{content(id:"c:acme:left"){title}}`, nil).at("content.title").(string)
		p := pageOf(w.must(w.ann, pageItems, vars{"id": fmt.Sprint("u:acme:m", n)}))
		if len(p.Titles) == 1 && p.Titles[0] == want {
			n++
		} else if time.Now().After(deadline) {
			t.Fatalf("m%d reads %v of %s", n, p.Titles, want)
		}
	}
	w.must(w.ann, updateItem, vars{"in": vars{"id": "c:acme:left", "title": "again"}})
}

func hostileUpdates(t *testing.T, w *world) {
	w.must(w.ann, createItem, vars{"in": vars{"name": "hot", "kind": "NOTE", "title": "0", "visibility": "PUBLIC"}})
	w.updateAtOnce(w.ann, "c:acme:hot", 200)
}

func hostileFlood(t *testing.T, _ *world) {
	g := serveWith(t, "--rate-limit", "300")
	ann, bob := g.token("u:acme:ann"), g.token("u:acme:bob")
	limited := 0
	for range 400 {
		r := g.send("POST", "/graphql", question("{viewer{id}}"), "Authorization: Bearer "+ann)
		if r.code() != "RATE_LIMITED" {
			continue
		}
		limited++
		after, _ := r.Errors[0].Extensions["retryAfter"].(float64)
		if r.Status != 429 || after < 1 || after > 60 || r.Header.Get("Retry-After") != fmt.Sprint(after) {
			t.Fatalf("got %d %v %s", r.Status, r.Header, r.body)
		}
	}
	if limited < 20 {
		t.Errorf("of 400 requests %d were refused", limited)
	}
	if r := g.send("POST", "/graphql", question("{viewer{id}}"), "Authorization: Bearer "+bob); r.Status != 200 {
		t.Errorf("another viewer: %d %s", r.Status, r.body)
	}
	// Hostile documents, bad tokens and malformed JSON are billed too.
	for name, ask := range map[string]func() *reply{
		"hostile documents": func() *reply {
			return g.send("POST", "/graphql", question(fragmentBomb(26)), "Authorization: Bearer "+g.token("u:acme:carl"))
		},
		"bad tokens": func() *reply {
			return g.send("POST", "/graphql", question("{viewer{id}}"), "Authorization: Bearer x")
		},
		"no JSON": func() *reply {
			return g.send("POST", "/graphql", "{", "Authorization: Bearer "+g.token("u:acme:dan"))
		},
	} {
		refused := false
		for range 400 {
			if refused = ask().code() == "RATE_LIMITED"; refused {
				break
			}
		}
		if !refused {
			t.Errorf("%s: never refused", name)
		}
	}
}

func hostileDisclosure(t *testing.T, w *world) {
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/.git/config", "/config.json"} {
		if r := w.send("GET", path, ""); r.Status != 404 {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	for path, want := range map[string]string{"/livez": "alive\n", "/readyz": "ready\n"} {
		r := w.send("GET", path, "")
		if string(r.body) != want || r.Header.Get("Server") != "" || r.Header.Get("X-Powered-By") != "" {
			t.Errorf("%s answers %q, %v", path, r.body, r.Header)
		}
	}
	if !strings.HasPrefix(w.admin, "http://127.0.0.1:") {
		t.Errorf("the operators' address is %s", w.admin)
	}
	res, err := w.client.Get(w.admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if line := lines.Text(); strings.Contains(line, "acme") || strings.Contains(line, "beta") || strings.Contains(line, "canary") {
			t.Errorf("a metric contains personal data: %s", line)
		}
	}
	w.ask(w.ann, `query Acme($id:ID!){node(id:$id){id}}`, vars{"id": "c:acme:private"})
	for _, secret := range []string{w.ann, w.bob, string(w.secret), "c:acme:private"} {
		if strings.Contains(w.log.String()+w.output.String(), secret) {
			t.Errorf("the log contains %.20s", secret)
		}
	}
}
