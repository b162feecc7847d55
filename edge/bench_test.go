package edge

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
)

// nowhere is a ResponseWriter that does nothing.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}

// BenchmarkTransport measures the cost of the edge for an operation that does nothing.
func BenchmarkTransport(b *testing.B) {
	e := newEdge(b, func(c *Config) { c.Limits.AddressPoints = 0 })
	body := []byte(`{"operationName":"Page","query":"query Page($id: ID!, $first: Int = 20) {\n  __typename\n  user(id: $id) @skip(if: true) {\n    id\n    library(first: $first) {\n      edges { cursor node { id title link visibility lastModified createdBy { id displayName } } }\n      pageInfo { hasNextPage endCursor }\n    }\n  }\n}","variables":{"id":"u:acme:ann","first":20}}`)
	r := httptest.NewRequest(http.MethodPost, "/graphql", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/graphql-response+json, application/json;q=0.9")
	w := nowhere{http.Header{}}
	reader := bytes.NewReader(body)
	r.Body = readCloser{reader}
	r.ContentLength = int64(len(body))
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		e.handler.ServeHTTP(w, r)
	}
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }
