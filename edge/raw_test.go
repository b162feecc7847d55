package edge

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
)

// rawText knows two pastes.
func rawText(_ context.Context, id string) (*string, error) {
	text := "<script>alert(1)</script>\n\x00ü"
	switch id {
	case "p:1":
		return &text, nil
	case "down":
		return nil, fault.Unavailablef(errors.New("10.0.0.1:9042 refused"), "the store failed")
	case "broken":
		return nil, errors.New("SELECT secret")
	case "malformed":
		return nil, fault.BadInputf("not an id")
	}
	return nil, nil
}

func TestRaw_ServesTextsAsPlainText(t *testing.T) {
	var codes []string
	e := newEdge(t, func(c *Config) {
		c.Observe = func(_, code string, _ time.Duration) { codes = append(codes, code) }
	})
	h := Mux(Routes{GraphQL: e.handler, Sites: sameOriginOnly(nil), Raw: e.handler.Raw(rawText)})
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/p/p:1/raw", 200, "<script>alert(1)</script>\n\x00ü"},
		{"GET", "/p/p%3A1/raw", 200, "<script>alert(1)</script>\n\x00ü"},
		{"HEAD", "/p/p:1/raw", 200, ""},
		{"GET", "/p/p:2/raw", 404, "There is no such paste; it may have expired or been deleted.\n"},
		{"GET", "/p/malformed/raw", 404, "There is no such paste; it may have expired or been deleted.\n"},
		{"GET", "/p/down/raw", 503, "the store failed\n"},
		{"POST", "/p/p:1/raw", 405, "Method Not Allowed\n"},
		{"GET", "/p/p:1/other", 404, "404 page not found\n"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, w.Code, w.Body, c.status, c.body)
		}
		head := w.Header()
		if got := head.Get("Access-Control-Allow-Origin"); c.status != 405 && !strings.HasSuffix(c.path, "other") && got != "*" {
			t.Errorf("%s %s: pages of the sites %q may read it", c.method, c.path, got)
		}
		if c.status == 405 || strings.HasSuffix(c.path, "other") {
			continue
		}
		for name, want := range map[string]string{
			"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Set-Cookie": "",
		} {
			if head.Get(name) != want {
				t.Errorf("%s %s: %s is %q, want %q", c.method, c.path, name, head.Get(name), want)
			}
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/p/broken/raw", nil))
	if w.Code != 503 || strings.Contains(w.Body.String(), "SELECT") || !strings.Contains(e.log.String(), "SELECT secret") {
		t.Errorf("an internal error: %d %s, log %s", w.Code, w.Body, e.log.String())
	}
	want := []string{codeOK, codeOK, codeOK, codeNotFound, codeNotFound, codeUnavailable, codeInternal}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("the codes that were observed: %s", diff)
	}
	if used := e.handler.AnswerBytes(); used != 0 {
		t.Errorf("%d bytes are still reserved", used)
	}
}

// TestRaw_IsBounded by the points of an address, the memory for answers, and the number of running
// operations.
func TestRaw_IsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		limit  func(*Limits)
		status int
	}{
		"points": {func(l *Limits) { l.AddressPoints = 1 }, http.StatusTooManyRequests},
		"memory": {func(l *Limits) { l.AnswerMemory = 2*rawBytes - 1 }, http.StatusServiceUnavailable},
		"count":  {func(l *Limits) { l.Concurrent = 1 }, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(cfg *Config) { c.limit(&cfg.Limits) })
			get := func(h http.Handler) *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("GET", "/p/p:1/raw", nil)
				r.SetPathValue("id", "p:1")
				h.ServeHTTP(w, r)
				return w
			}
			var inner *httptest.ResponseRecorder
			outer := get(e.handler.Raw(func(ctx context.Context, id string) (*string, error) {
				inner = get(e.handler.Raw(rawText))
				return rawText(ctx, id)
			}))
			if outer.Code != 200 || inner.Code != c.status || inner.Header().Get("Retry-After") == "" {
				t.Errorf("the first %d, one more %d %s; want 200, %d", outer.Code, inner.Code, inner.Body, c.status)
			}
		})
	}
}
