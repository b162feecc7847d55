package edge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHealth_ShowsNoReasonButNotReady(t *testing.T) {
	var down error
	h := Mux(Routes{
		GraphQL: newEdge(t, nil).handler, Sites: sameOriginOnly(nil),
		Ready: func(context.Context) error { return down },
	})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	if w := get("/livez"); w.Code != 200 || w.Body.String() != "alive\n" {
		t.Errorf("livez: %d %s", w.Code, w.Body)
	}
	if w := get("/readyz"); w.Code != 200 || w.Body.String() != "ready\n" {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	down = errors.New("10.0.0.1 is down")
	if w := get("/readyz"); w.Code != 503 || w.Body.String() != "not ready\n" {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	down = errors.Join(NotReady("the store does not answer"), down)
	if w := get("/readyz"); w.Code != 503 || w.Body.String() != "not ready: the store does not answer\n" {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	if w := get("/"); w.Code != 404 {
		t.Errorf("/: %d", w.Code)
	}
	if w := get("/debug/pprof/"); w.Code != 404 {
		t.Errorf("pprof: %d", w.Code)
	}
}

// start serves h on its own port and returns the address.
func start(t *testing.T, h http.Handler, l Limits) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, ln, h, l)
	return ln.Addr().String()
}

func startOn(t *testing.T, ln net.Listener, h http.Handler, l Limits) {
	t.Helper()
	srv := Server(h, l, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		_ = srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestServer_SlowHeadersAreRefused(t *testing.T) {
	l := DefaultLimits()
	l.ReadHeader = 50 * time.Millisecond
	c := dial(t, start(t, newEdge(t, nil).handler, l))
	_, _ = io.WriteString(c, "POST /graphql HTTP/1.1\r\nHost: x\r\n")
	// The server closes without an answer. Reading ends by itself, with an error if the connection
	// was reset.
	if b, _ := io.ReadAll(c); bytes.Contains(b, []byte("200 OK")) {
		t.Errorf("got %q", b)
	}
}

func TestServer_SlowBodyIsAnsweredWith408(t *testing.T) {
	l := DefaultLimits()
	l.Read = time.Second
	c := dial(t, start(t, newEdge(t, nil).handler, l))
	_, _ = io.WriteString(c, "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// TestServer_UnclearFramingEndsTheConnection: if two servers may find the end of a request at
// different positions, the bytes after it are not read as another request.
func TestServer_UnclearFramingEndsTheConnection(t *testing.T) {
	addr := start(t, newEdge(t, nil).handler, DefaultLimits())
	const head = "Host: x\r\nContent-Type: application/json\r\n"
	const body, chunked = `{"query":"{__typename}"}`, "18\r\n" + `{"query":"{__typename}"}` + "\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		request string
		answers int
	}{
		"its length": {"POST /graphql HTTP/1.1\r\n" + head + "Content-Length: 24\r\n\r\n" + body, 2},
		"both": {"POST /graphql HTTP/1.1\r\n" + head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" +
			chunked, 1},
		"both, the other way": {"POST /graphql HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\nContent-Length: 24\r\n\r\n" +
			chunked, 1},
		"both, of a GET": {"GET /graphql?query={__typename} HTTP/1.1\r\nHost: x\r\nContent-Length: " +
			"5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 1},
		"Transfer-Encoding of HTTP/1.0": {"POST /graphql HTTP/1.0\r\nConnection: keep-alive\r\n" + head +
			"Transfer-Encoding: chunked\r\nContent-Length: 24\r\n\r\n" + body, 1},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, addr)
			if _, err := io.WriteString(conn, c.request+
				"GET /graphql?query={smuggled:__typename} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if n := strings.Count(string(got), " 200 OK\r\n"); n != c.answers || strings.Contains(string(got), "smuggled") != (n == 2) {
				t.Errorf("%v: got %s", err, got)
			}
			if c.answers == 1 && !strings.Contains(string(got), "\r\nConnection: close\r\n") {
				t.Errorf("the answer does not say that the connection ends: %s", got)
			}
		})
	}
}

func TestServer_EndlessHeadersAreRefused(t *testing.T) {
	c := dial(t, start(t, newEdge(t, nil).handler, DefaultLimits()))
	go func() {
		_, _ = io.WriteString(c, "POST /graphql HTTP/1.1\r\nHost: x\r\n")
		for i := range 100_000 {
			if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("a", 100)); err != nil {
				return
			}
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		// The connection may be reset before the answer is read.
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d", resp.StatusCode)
	}
}

// TestServer_LongestHeaderIsAccepted: a header of exactly the documented length is accepted. A
// header that is one byte longer is refused.
func TestServer_LongestHeaderIsAccepted(t *testing.T) {
	addr := start(t, newEdge(t, nil).handler, DefaultLimits())
	const fields = "GET /graphql?query={__typename} HTTP/1.1\r\nHost: x\r\n"
	for beyond, want := range []int{http.StatusOK, http.StatusRequestHeaderFieldsTooLarge} {
		c := dial(t, addr)
		long := strings.Repeat("X-A: b\r\n", 100) + "X-Long: "
		_, _ = io.WriteString(c, fields+long+strings.Repeat("a", DefaultLimits().HeaderBytes+beyond-len(fields+long)-len("\r\n\r\n"))+"\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes longer than the limit: got %d", beyond, resp.StatusCode)
		}
	}
}

func TestServer_KeepAliveConnectionSurvivesRefusals(t *testing.T) {
	addr := start(t, newEdge(t, nil).handler, DefaultLimits())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, body := range []string{`{`, `{"query":"{nothing}"}`, `{"query":"{viewer{id}}"}`} {
		resp, err := client.Post("http://"+addr+"/graphql", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.ContentLength != int64(len(b)) || len(b) == 0 {
			t.Errorf("Content-Length %d for %d bytes", resp.ContentLength, len(b))
		}
	}
}

// TestServer_PanicOutsideGraphQLIsLogged: a panic outside of GraphQL operations is logged at level
// ERROR, and broken connections are not logged at INFO.
func TestServer_PanicOutsideGraphQLIsLogged(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			lines := make(lineLog, 10)
			h := Mux(Routes{
				GraphQL: http.NotFoundHandler(), Sites: sameOriginOnly(nil),
				Ready: func(context.Context) error { panic("the page is broken") },
			})
			server := httptest.NewUnstartedServer(h)
			server.EnableHTTP2 = http2
			server.Config = Server(h, DefaultLimits(), slog.New(slog.NewJSONHandler(lines, nil)))
			if server.StartTLS(); !http2 {
				if c, err := net.Dial("tcp", server.Listener.Addr().String()); err == nil {
					_, _ = io.WriteString(c, "no handshake")
					_, _ = io.ReadAll(c) // by then it was logged
					_ = c.Close()
				}
			}
			t.Cleanup(server.Close)
			if resp, err := server.Client().Get(server.URL + "/readyz"); err == nil {
				t.Errorf("the answer is %s", resp.Status)
				_ = resp.Body.Close()
			}
			line := next(t, lines)
			for _, want := range []string{`"level":"ERROR"`, `"err":"panic: the page is broken`, `server_test.go`} {
				if !strings.Contains(line, want) {
					t.Errorf("%s is not in %s", want, line)
				}
			}
			if strings.Contains(line[:strings.Index(line, "stack")], "127.0.0.1") {
				t.Errorf("it contains the client's address: %s", line)
			}
		})
	}
}

// lineLog is a log that passes each line on.
type lineLog chan string

func (l lineLog) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
