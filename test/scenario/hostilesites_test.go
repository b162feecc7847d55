package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// hostileSites returns rows 17 to 24: requests that pages of other sites may send.
func hostileSites() []row {
	get := "/graphql?query=" + url.QueryEscape("{viewer{id}}")
	return []row{
		{17, "GET mutation", func(t *testing.T, w *world) {
			mutation := `mutation{updateUser(input:{id:"u:acme:ann",displayName:"Forged"}){user{id}}}`
			r := w.send("GET", "/graphql?query="+url.QueryEscape(mutation), "", "Authorization: Bearer "+w.ann)
			if r.Status != 405 || r.Header.Get("Allow") != "POST" || r.code() != "METHOD_NOT_ALLOWED" {
				t.Errorf("got %d %v %s", r.Status, r.Header, r.body)
			}
			if a := w.ask(w.ann, `{viewer{displayName}}`, nil); a.at("viewer.displayName") != "ann" {
				t.Errorf("it was done: %+v", a)
			}
			for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"} {
				if r := w.send(method, "/graphql", ""); r.Status != 405 || r.Header.Get("Allow") != "GET, POST" {
					t.Errorf("%s: %d %v", method, r.Status, r.Header)
				}
			}
		}},
		{18, "GET with a cookie or from another site, without a preflight header", func(t *testing.T, w *world) {
			for _, header := range [][]string{{"Cookie: a=b"}, {"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"},
				{"Origin: https://evil.example"}} {
				if r := w.send("GET", get, "", header...); r.Status != 400 || r.code() != "CSRF_BLOCKED" {
					t.Errorf("%v: %d %s", header, r.Status, r.body)
				}
				for _, with := range []string{"Apollo-Require-Preflight: true", "X-Apollo-Operation-Name: A", "Content-Type: application/json"} {
					if r := w.send("GET", get, "", append([]string{with}, header...)...); r.Status != 200 {
						t.Errorf("%v with %s: %d %s", header, with, r.Status, r.body)
					}
				}
			}
		}},
		{19, "POST of text, forms and multipart", func(t *testing.T, w *world) {
			for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
				"", "application/json; charset=utf-16", "text/plain, application/json"} {
				if r := w.send("POST", "/graphql", question("{viewer{id}}"), "Content-Type: "+media); r.Status != 415 ||
					r.code() != "UNSUPPORTED_MEDIA_TYPE" {
					t.Errorf("%q: %d %s", media, r.Status, r.body)
				}
			}
		}},
		{20, "cross-site POST with cookies", func(t *testing.T, w *world) {
			for _, header := range [][]string{{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"},
				{"Origin: https://evil.example"}, {"Origin: null"}} {
				if r := w.send("POST", "/graphql", question("{viewer{id}}"), append([]string{"Cookie: a=b"}, header...)...); r.Status != 403 ||
					r.code() != "CSRF_BLOCKED" {
					t.Errorf("%v: %d %s", header, r.Status, r.body)
				}
			}
		}},
		{21, "CORS: foreign, null and similar origins", hostileOrigins},
		{22, "CORS: 100 KB of commas in a preflight", func(t *testing.T, _ *world) {
			g := serveWith(t, "--cors-origin", "https://app.example")
			r, err := g.trySend("OPTIONS", "/graphql", "", "Origin: https://app.example", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: "+strings.Repeat(",", 100<<10))
			if err == nil && r.Status != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("got %d", r.Status)
			}
			if r := g.send("OPTIONS", "/graphql", "", "Origin: https://app.example", "Access-Control-Request-Method: POST",
				"Access-Control-Request-Headers: "+strings.Repeat(",", 8<<10)); r.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("8 KB of commas are allowed: %v", r.Header)
			}
		}},
		{23, "CORS: unsafe settings are refused at start", func(t *testing.T, w *world) {
			for _, flags := range [][]string{
				{"--cors-origin=*", "--cors-credentials"}, {"--cors-credentials"}, {"--cors-origin=*.example.org"},
				{"--cors-origin=example.org"}, {"--cors-origin=null"},
				{"--cors-origin=https://*"}, {"--cors-origin=https://*.org"}, {"--cors-origin=https://*example.org"},
			} {
				code, _, stderr := w.run(append([]string{"serve", "--listen", "127.0.0.1:0", "--store", "pebble:" + t.TempDir(),
					"--auth-hs256-file", w.secretFile()}, flags...)...)
				if code != 2 || !strings.Contains(stderr, "cors-origin") {
					t.Errorf("%v: exit %d, %s", flags, code, stderr)
				}
			}
		}},
		{24, "websockets: foreign, large, many, with tokens of all kinds", hostileSockets},
	}
}

func hostileOrigins(t *testing.T, w *world) {
	g := serveWith(t, "--cors-origin", "https://app.example", "--cors-origin", "https://*.example.org", "--cors-credentials")
	for origin, allowed := range map[string]bool{
		"https://app.example": true, "https://a.example.org": true,
		"https://evil.example": false, "null": false, "https://app.example.evil.example": false, "https://evilapp.example": false,
		"http://app.example":       false,
		"https://app.example:8443": false, "https://evilexample.org": false, "file://": false,
	} {
		for _, method := range []string{"OPTIONS", "POST"} {
			r := g.send(method, "/graphql", map[string]string{"POST": question("{__typename}")}[method], "Origin: "+origin,
				"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type")
			want := map[bool]string{true: origin}[allowed]
			if got := r.Header.Get("Access-Control-Allow-Origin"); got != want ||
				!strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Origin") {
				t.Errorf("%s %s: allowed %q, Vary %q", method, origin, got, r.Header.Values("Vary"))
			}
		}
	}
	// Without --cors-origin, no origin is allowed.
	if r := w.send("POST", "/graphql", question("{__typename}"),
		"Origin: https://app.example"); r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %v", r.Header)
	}
}

// socket opens a websocket with the subprotocol graphql-transport-ws.
func (w *world) socket(header ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return websocket.Dial(w.t.Context(), "ws"+strings.TrimPrefix(w.url, "http")+"/graphql",
		&websocket.DialOptions{HTTPHeader: h, Subprotocols: []string{"graphql-transport-ws"}})
}

// exchange sends messages over a new socket. It returns the messages that it receives until the
// gateway closes the socket, or until there are as many as wanted.
func (w *world) exchange(answers int, messages ...string) (received []string) {
	w.t.Helper()
	c, _, err := w.socket()
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.CloseNow()
	ctx, cancel := context.WithTimeout(w.t.Context(), answerWithin)
	defer cancel()
	for _, m := range messages {
		if err := c.Write(ctx, websocket.MessageText, []byte(m)); err != nil {
			w.t.Fatal(err)
		}
	}
	for len(received) < answers {
		_, b, err := c.Read(ctx)
		if err != nil {
			var closed websocket.CloseError
			if !errors.As(err, &closed) {
				w.t.Fatal(err)
			}
			return append(received, fmt.Sprintf("closed %d", closed.Code))
		}
		received = append(received, string(b))
	}
	return received
}

func hostileSockets(t *testing.T, w *world) {
	for _, origin := range []string{"https://evil.example", "null"} {
		if _, res, err := w.socket("Origin: " + origin); err == nil || res.StatusCode != 403 {
			t.Errorf("from %s: %v", origin, err)
		}
	}
	last := func(received []string) string { return received[len(received)-1] }
	const ack = `{"type":"connection_init"}`
	if got := last(w.exchange(2, ack, `{"type":"ping","payload":{"x":"`+strings.Repeat("a", 1<<20)+`"}}`)); got != "closed 1009" {
		t.Errorf("more than 1 MiB: %s", got)
	}
	if got := last(w.exchange(2, `{"type":"connection_init","payload":{"authorization":"Bearer x"}}`)); got != "closed 4403" {
		t.Errorf("a bad token: %s", got)
	}
	viewer := `{"id":"1","type":"subscribe","payload":{"query":"{viewer{id}}"}}`
	if got := last(w.exchange(2, `{"type":"connection_init","payload":{"authorization":"Bearer `+w.ann+`"}}`,
		viewer)); !strings.Contains(got, "u:acme:ann") {
		t.Errorf("a good token: %s", got)
	}
	if got := last(w.exchange(1, viewer)); got != "closed 4401" {
		t.Errorf("before the init: %s", got)
	}
	// A token is accepted for 30 s after its expiry. This one expired 28 s ago, so its socket is
	// closed after 2 s.
	brief := w.tokenWith(map[string]any{"sub": "u:acme:ann", "exp": time.Now().Add(-28 * time.Second).Unix()})
	if got := last(w.exchange(2, `{"type":"connection_init","payload":{"authorization":"Bearer `+brief+`"}}`)); got != "closed 4403" {
		t.Errorf("an expired token: %s", got)
	}
	hostileSocketOperations(t, w)
}

// hostileSilence returns another part of row 24. It opens a socket and does not authenticate.
func hostileSilence() longRow {
	received := make(chan string, 1)
	began := time.Now()
	begin := func(t *testing.T, w *world) {
		began = time.Now() // before the gateway's timeout starts
		c, _, err := w.socket()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.CloseNow() })
		go func() {
			_, _, err := c.Read(t.Context())
			received <- fmt.Sprint(websocket.CloseStatus(err), " after ", time.Since(began).Round(time.Second))
		}()
	}
	try := func(t *testing.T, _ *world) {
		select {
		case got := <-received:
			// On a slow machine it may be later, but never earlier.
			if !strings.HasPrefix(got, "StatusCode(4408) after 1") {
				t.Errorf("it is closed with %s", got)
			}
		case <-time.After(answerWithin):
			t.Error("it is not closed")
		}
	}
	return longRow{row{24, "websockets: silent", try}, begin}
}

// hostileSocketOperations starts more operations than a socket may have. They are
// subscriptions without events, so that none of them ends.
func hostileSocketOperations(t *testing.T, w *world) {
	messages := []string{`{"type":"connection_init","payload":{"authorization":"Bearer ` + w.ann + `"}}`}
	for n := range 21 {
		messages = append(messages,
			fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"subscription{libraryChanged(principalId:\"u:acme:ann\"){__typename}}"}}`,
				n))
	}
	// The acknowledgement of the init, and one refusal: that of the last operation.
	if received := w.exchange(2, messages...); !strings.Contains(received[1], `"id":"20"`) ||
		!strings.Contains(received[1], "OPERATION_LIMIT") {
		t.Errorf("21 subscriptions over one socket are answered by %s", received[1:])
	}
}
