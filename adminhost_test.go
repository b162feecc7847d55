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
		"localhost:9090": 200, "carrel:9090": 200, "": 200, "metrics.example.org:9090": 200, "Metrics.Example.org": 200,
		"evil.example:9090": 403, "evil.example": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:9090": 403, "x.metrics.example.org": 403,
		"evil.example.": 403, "example.org": 403, "127.0.0.1:1:2": 403,
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
