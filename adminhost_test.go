package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAdmin_ChecksTheHost: a page of a site whose name was made to resolve to this machine cannot read
// metrics or profiles.
func TestAdmin_ChecksTheHost(t *testing.T) {
	h := adminHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "metrics.example.org:9090")
	for host, want := range map[string]int{
		"127.0.0.1:9090": 200, "127.0.0.1": 200, "10.1.2.3:9090": 200, "[::1]:9090": 200, "[::1]": 200, "[fe80::1.2.3.4]:80": 200,
		"localhost:9090": 200, "LOCALHOST": 200, "": 200, "metrics.example.org:9090": 200, "Metrics.Example.org": 200,
		"evil.example:9090": 403, "evil.example": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:9090": 403,
		"x.metrics.example.org": 403,
		"evil.example.":         403, "example.org": 403, "127.0.0.1:1:2": 403,
		"carrel:9090": 403, "router": 403,
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/cmdline"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s of %q: %d, want %d", path, host, w.Code, want)
			}
		}
	}
}

// TestAdmin_RefusesPagesOfOtherOrigins: a page that an operator visits cannot start a profile.
func TestAdmin_RefusesPagesOfOtherOrigins(t *testing.T) {
	h := adminHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "127.0.0.1:9090")
	for name, c := range map[string]struct {
		site, origin string
		want         int
	}{
		"a program":                       {"", "", 200},
		"typed in":                        {"none", "", 200},
		"a link of the page itself":       {"same-origin", "", 200},
		"a script of the page itself":     {"same-origin", "http://127.0.0.1:9090", 200},
		"another site":                    {"cross-site", "https://evil.example", 403},
		"an image of another site":        {"cross-site", "", 403},
		"another port":                    {"same-site", "", 403},
		"another site, in an old browser": {"", "https://evil.example", 403},
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/cmdline"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Host = "127.0.0.1:9090"
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("%s from %s: %d, want %d", path, name, w.Code, c.want)
			}
		}
	}
}
