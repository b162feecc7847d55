package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// hostileBodies returns hostile requests within the body limit, which must cost very little, by
// name.
func hostileBodies(t testing.TB) map[string][]byte {
	bodies := map[string][]byte{
		"1 MB of spaces":  []byte(`{"query":"` + strings.Repeat(" ", 1<<20-20) + `"}`),
		"1 MB of braces":  []byte(strings.Repeat("{", 1<<20)),
		"1 MB of members": []byte(`{"query":"{__typename}"` + strings.Repeat(`,"a":1`, 170_000) + `}`),
		"5,000 lists in lists": []byte(`{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":` +
			strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000) + `}}`),
		"an id of 1 MB": []byte(`{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":"` +
			strings.Repeat("a", 1<<20-100) + `"}}`),
		"10,000 levels of JSON":          []byte(strings.Repeat("[", 10_000)),
		"1 MB of brackets":               []byte(strings.Repeat("[]", 1<<19)),
		"1 MB of escapes":                []byte(`{"query":"` + strings.Repeat(`\u0020`, 170_000) + `"}`),
		"1 MB of numbers":                []byte(`{"query":"{__typename}","variables":{"a":[1` + strings.Repeat(`,1`, 500_000) + `]}}`),
		"1 MB that ends in bad UTF-8":    []byte(`{"query":"` + strings.Repeat(" ", 1<<20-20) + "\xff" + `"}`),
		"1 MB of operations in an array": []byte(`[{"query":"{a}"}` + strings.Repeat(`,{"query":"{a}"}`, 60_000) + `]`),
		"a cursor of 1 MB": []byte(`{"query":"query($c:Cursor){viewer{library(after:$c){nodes{id}}}}","variables":{"c":"` +
			strings.Repeat("A", 1<<20-120) + `"}}`),
		"a list of 100,000 ids": []byte(`{"query":"query($i:[ID!]!){nodes(ids:$i){id}}","variables":{"i":["a"` +
			strings.Repeat(`,"a"`, 99_999) + `]}}`),
	}
	for name, query := range map[string]string{
		"a comment of 1 MB": "{__typename}#" + strings.Repeat("a", 1<<20-40), "fragment bomb, 26 levels": bomb(26, "id"),
		"fragment bomb, 60 levels": bomb(60, "id"), "a bomb of fields": fieldBomb(20),
		"101 aliases": aliases(101), "1,500 times a field": "{viewer{" + strings.Repeat("id ", 1_500) + "}}", "13 levels": nested(13),
		"4,000 times a field": "{viewer{" + strings.Repeat("id ", 4_000) + "}}", "900 directives": "{viewer{id" +
			strings.Repeat("@x", 900) + "}}",
		"fields that overlap": overlapping(200, "id displayName"), "900 unknown fragments": "{viewer{" + spreads(900) + "}}",
		"lists in lists":     `{user(id:` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `){id}}`,
		"900 unknown fields": "{viewer{" + unknown(900) + "}}", "many arguments": "{viewer{" + otherArguments(150) + "}}",
		"100 x 100 x 100": `{user(id:"x"){library(first:100){nodes{createdBy{library(first:100){nodes{createdBy{library(first:100){nodes{id}}}}}}}}}}`,
		"50 operations":   operations(50), "15,001 characters": strings.Repeat("{a", 7_501),
		"introspection": "{__schema{types{fields{type{name}}}}}",
	} {
		body, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		bodies[name] = body
	}
	return bodies
}

// BenchmarkHostile is for profiling what `make bench` measures.
func BenchmarkHostile(b *testing.B) {
	e := newEdge(b, func(c *Config) { c.Limits.AddressPoints = 0 })
	for name, body := range hostileBodies(b) {
		b.Run(name, func(b *testing.B) {
			r, reader := hostileRequest(body)
			w := nowhere{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				reader.Reset(body)
				e.handler.ServeHTTP(w, r)
			}
		})
	}
}

// unknown returns fields that no type has.
func unknown(n int) string {
	var q strings.Builder
	for i := range n {
		fmt.Fprintf(&q, " f%d", i)
	}
	return q.String()
}

func hostileRequest(body []byte) (*http.Request, *bytes.Reader) {
	reader := bytes.NewReader(body)
	r := httptest.NewRequest(http.MethodPost, "/graphql", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = readCloser{reader}, int64(len(body))
	return r, reader
}

// TestHostile_RequestsTakeLittleMemory: none allocates 1 MB, once the buffers for reading exist.
func TestHostile_RequestsTakeLittleMemory(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.AddressPoints = 0 })
	for name, body := range hostileBodies(t) {
		least := uint64(1 << 62)
		var code string
		// Other goroutines of the tests allocate too, and under the race detector a pool drops a
		// quarter of its items.
		for range 20 {
			r, _ := hostileRequest(body)
			w := httptest.NewRecorder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			e.handler.ServeHTTP(w, r)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
			var a answerUnderTest
			_ = json.Unmarshal(w.Body.Bytes(), &a)
			code = a.code()
		}
		if least > 1<<20 {
			t.Errorf("%s: %s takes %d bytes, want at most 1 MiB", name, code, least)
		}
		if code == "" {
			t.Errorf("%s is not refused", name)
		}
	}
	if e.calls.Load() > 0 {
		t.Errorf("%d resolvers ran", e.calls.Load())
	}
}
