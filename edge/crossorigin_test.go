package edge

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOrigins_InvalidAreRefused(t *testing.T) {
	for _, c := range []struct {
		origin      string
		credentials bool
	}{
		{"*", true}, {"", false}, {"null", false}, {"example.org", false}, {"*.example.org", false}, {"https://", false},
		{"https://*", false}, {"https://*.org", false}, {"https://*example.org", false}, {"https://www.*.org", false},
		{"https://example.*", false},
		{"https://example.org/", false}, {"https://example.org/path", false}, {"https://u@example.org", false}, {"https://example.org?x", false},
		{"https://example.org#", false}, {"ftp://example.org", false}, {"file://", false}, {"https://a b", false},
		{"https://example.org,https://b.org", false},
		{"//example.org", false}, {"https:example.org", false},
	} {
		if _, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://good.org", c.origin},
			Credentials: c.credentials}); err == nil || !strings.Contains(err.Error(), c.origin) {
			t.Errorf("%q: %v", c.origin, err)
		}
	}
	if _, err := NewCrossOrigin(CrossOriginConfig{Credentials: true}); err == nil {
		t.Error("credentials without origins: no error")
	}
	for _, origin := range []string{"*", "https://example.org", "http://localhost:3000", "https://*.example.org",
		"https://*.example.org:8443", "http://[::1]:3000", "HTTPS://Example.org"} {
		if _, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{origin}}); err != nil {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

func TestPreflight_AllowsConfiguredOriginsOnly(t *testing.T) {
	sites, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org", "https://*.example.com"}, Credentials: true})
	if err != nil {
		t.Fatal(err)
	}
	h := Mux(Routes{GraphQL: newEdge(t, nil).handler, Sites: sites})
	for origin, allowed := range map[string]bool{
		"https://app.example.org":          true,
		"https://a.example.com":            true,
		"https://a.b.example.com":          true,
		"https://example.com":              false,
		"http://app.example.org":           false,
		"https://app.example.org:444":      false,
		"https://app.example.org.evil.com": false,
		"https://evilapp.example.org":      false,
		"https://evilexample.com":          false,
		"http://a.example.com":             false,
		"https://evil.com":                 false,
		"null":                             false,
		"":                                 false,
	} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			r := httptest.NewRequest(method, "/graphql", strings.NewReader(`{"query":"{__typename}"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header["Origin"] = []string{origin}
			if method == http.MethodOptions {
				r.Header.Set("Access-Control-Request-Method", "POST")
				r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			want := ""
			if allowed {
				want = origin
			}
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("%s %s: allowed %q", method, origin, got)
			}
			if !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Origin") {
				t.Errorf("%s %s: Vary is %q", method, origin, w.Header().Values("Vary"))
			}
		}
	}
}

// TestCrossOrigin_EveryAnswerVariesByOrigin, whichever sites may call and whether or not the
// request has an Origin.
func TestCrossOrigin_EveryAnswerVariesByOrigin(t *testing.T) {
	everybody, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	one, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org"}, Credentials: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, sites := range map[string]*CrossOrigin{"none": sameOriginOnly(nil), "all": everybody, "one": one} {
		h := Mux(Routes{GraphQL: newEdge(t, nil).handler, Sites: sites})
		for _, request := range []string{"GET /graphql?query={__typename}", "GET /graphql", "POST /graphql", "OPTIONS /graphql", "PUT /graphql"} {
			for _, origin := range []string{"", "https://app.example.org", "https://evil.example"} {
				method, url, _ := strings.Cut(request, " ")
				r := httptest.NewRequest(method, url, strings.NewReader(`{"query":"{__typename}"}`))
				r.Header.Set("Content-Type", "application/json")
				if origin != "" {
					r.Header.Set("Origin", origin)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if vary := strings.Join(w.Header().Values("Vary"), ","); strings.Count(vary, "Origin") != 1 {
					t.Errorf("%s of %q, with the sites %s: %d, Vary is %q", request, origin, name, w.Code, vary)
				}
			}
		}
	}
}

func TestPreflight_ManyCommasAreCheap(t *testing.T) {
	sites, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	h := Mux(Routes{GraphQL: newEdge(t, nil).handler, Sites: sites})
	r := httptest.NewRequest(http.MethodOptions, "/graphql", nil)
	r.Header.Set("Origin", "https://app.example.org")
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", strings.Repeat(",", 100<<10))
	allocations := testing.AllocsPerRun(10, func() { h.ServeHTTP(httptest.NewRecorder(), r) })
	if allocations > 100 {
		t.Errorf("%.0f allocations", allocations)
	}
}

func TestCrossOrigin_CookiesOfOtherSitesAreRefused(t *testing.T) {
	trusting, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org"}, Credentials: true})
	if err != nil {
		t.Fatal(err)
	}
	everybody, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sites  *CrossOrigin
		header []string
		status int
	}{
		"own page":                   {nil, []string{"Cookie: a=b", "Sec-Fetch-Site: same-origin"}, 200},
		"no browser":                 {nil, []string{"Cookie: a=b"}, 200},
		"other site":                 {nil, []string{"Cookie: a=b", "Sec-Fetch-Site: cross-site"}, 403},
		"a sibling":                  {nil, []string{"Cookie: a=b", "Sec-Fetch-Site: same-site"}, 403},
		"old browser, other origin":  {nil, []string{"Cookie: a=b", "Origin: https://evil.com"}, 403},
		"old browser, own origin":    {nil, []string{"Cookie: a=b", "Origin: http://example.com"}, 200},
		"null origin":                {nil, []string{"Cookie: a=b", "Origin: null"}, 403},
		"other site without cookies": {nil, []string{"Sec-Fetch-Site: cross-site"}, 200},
		"a trusted site": {trusting, []string{"Cookie: a=b", "Sec-Fetch-Site: cross-site", "Origin: https://app.example.org"},
			200},
		"one that is not":               {trusting, []string{"Cookie: a=b", "Sec-Fetch-Site: cross-site", "Origin: https://evil.com"}, 403},
		"everybody, but not as someone": {everybody, []string{"Cookie: a=b", "Sec-Fetch-Site: cross-site", "Origin: https://evil.com"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, func(cfg *Config) { cfg.CrossOrigin = c.sites })
			a := e.send(t, `{"query":"{viewer{id}}"}`, c.header...)
			if a.Code != c.status || c.status == 403 && (a.code() != "CSRF_BLOCKED" || e.calls.Load() > 0) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
}

// TestPreflight_AllowsTheHeadersOfClients: those that the gateway reads, those of tracing and of
// clients, and those of the flag.
func TestPreflight_AllowsTheHeadersOfClients(t *testing.T) {
	sites, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org"}, Headers: []string{"X-Tenant"}})
	if err != nil {
		t.Fatal(err)
	}
	h := Mux(Routes{GraphQL: newEdge(t, nil).handler, Sites: sites})
	for header, allowed := range map[string]bool{
		"authorization": true, "content-type": true, "accept": true, "x-request-id": true,
		"traceparent": true, "tracestate": true, "baggage": true, "sentry-trace": true,
		"apollographql-client-name": true, "apollographql-client-version": true,
		"apollo-require-preflight": true, "x-apollo-operation-name": true, "x-apollo-operation-id": true,
		"x-tenant": true, "x-other": false, "cookie": false,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, preflight("https://app.example.org", header))
		if got := w.Header().Get("Access-Control-Allow-Headers") != ""; got != allowed {
			t.Errorf("%s: allowed is %v, want %v", header, got, allowed)
		}
	}
}

// TestPreflight_OfFilesAllowsTracing: pages that trace their requests may read the schema if their site is
// configured, and raw texts from everywhere.
func TestPreflight_OfFilesAllowsTracing(t *testing.T) {
	sites, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	e := newEdge(t, nil)
	h := Mux(Routes{GraphQL: e.handler, Sites: sites, Schema: "type Query", Raw: e.handler.Raw(rawText)})
	for _, c := range []struct{ path, origin, allowed, headers string }{
		{"/schema.graphql", "https://app.example.org", "https://app.example.org", "traceparent"},
		{"/schema.graphql", "https://other.example", "", ""},
		{"/p/p:1/raw", "https://other.example", "*", "*"},
	} {
		r := preflight(c.origin, "traceparent")
		r.URL.Path = c.path
		r.Header.Set("Access-Control-Request-Method", "GET")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		allowed, headers := w.Header().Get("Access-Control-Allow-Origin"), w.Header().Get("Access-Control-Allow-Headers")
		if w.Code/100 != 2 || allowed != c.allowed || headers != c.headers {
			t.Errorf("%s from %s: %d, allowed are %q and %q", c.path, c.origin, w.Code, allowed, headers)
		}
	}
}

// TestCrossOrigin_LogsEachRefusalOnce with the flag that would allow it, and a bounded number.
func TestCrossOrigin_LogsEachRefusalOnce(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "flag" || a.Key == "value" {
			return a
		}
		return slog.Attr{}
	}}))
	sites, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	h := Mux(Routes{GraphQL: newEdge(t, nil).handler, Sites: sites})
	for range 2 {
		h.ServeHTTP(httptest.NewRecorder(), preflight("https://other.example", "content-type"))
		h.ServeHTTP(httptest.NewRecorder(), preflight("https://app.example.org", "content-type, X-Mine"))
		h.ServeHTTP(httptest.NewRecorder(), preflight("https://app.example.org", "traceparent,authorization"))
		h.ServeHTTP(httptest.NewRecorder(), preflight("https://app.example.org", strings.Repeat("x", maxAsked+1)))
		h.ServeHTTP(httptest.NewRecorder(), preflight("https://app.example.org", "x y,\"y\""))
		h.ServeHTTP(httptest.NewRecorder(), preflight("https://user:secret@app.example.org", "accept"))
	}
	if want := "flag=--cors-origin value=https://other.example\nflag=--cors-header value=x-mine\n"; out.String() != want {
		t.Errorf("logged\n%s\nwant\n%s", out.String(), want)
	}
	for i := range 100 {
		h.ServeHTTP(httptest.NewRecorder(), preflight(fmt.Sprintf("https://%d.%s.example", i, strings.Repeat("x", 1000)), "accept"))
	}
	if lines := strings.Count(out.String(), "\n"); lines != maxRefusals || out.Len() > maxRefusals*(maxRefused+100) {
		t.Errorf("%d lines and %d bytes are logged, want %d lines", lines, out.Len(), maxRefusals)
	}
}

// preflight returns the request by which a browser asks whether a page may send a POST with headers.
func preflight(origin, headers string) *http.Request {
	r := httptest.NewRequest(http.MethodOptions, "/graphql", nil)
	r.Header.Set("Origin", origin)
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", headers)
	return r
}
