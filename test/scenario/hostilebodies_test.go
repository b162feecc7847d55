package scenario

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

// hostileBodies returns rows 13 to 16: requests that are too large, or malformed.
func hostileBodies() []row {
	return []row{
		{13, "1 MB query", func(t *testing.T, w *world) {
			w.refused(strings.Repeat("{a", 500_000), "QUERY_TOO_LONG")
			if r := w.send("POST", "/graphql", question(strings.Repeat(" ", 1<<20))); r.Status != 413 || r.code() != "PAYLOAD_TOO_LARGE" {
				t.Errorf("got %d %s", r.Status, r.body)
			}
		}},
		{14, "gzip request bomb", func(t *testing.T, w *world) {
			var bomb bytes.Buffer
			z := gzip.NewWriter(&bomb)
			if _, err := io.CopyN(z, zeros{}, 100<<20); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if r := w.send("POST", "/graphql", bomb.String(), "Content-Encoding: gzip"); r.Status != 415 || r.code() != "UNSUPPORTED_MEDIA_TYPE" {
				t.Errorf("got %d %s", r.Status, r.body)
			}
		}},
		{15, "deep JSON, large numbers, bad UTF-8, NUL", func(t *testing.T, w *world) {
			const find = `{"query":"query($i:ID!){user(id:$i){id}}","variables":`
			for name, c := range map[string]struct {
				body string
				code string
			}{
				"10,000 levels":       {find + strings.Repeat(`{"canary":`, 10_000) + "1" + strings.Repeat("}", 10_000) + "}", "BAD_USER_INPUT"},
				"9,000 lists":         {`{"query":"{__typename}","canary":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}", ""},
				"1e400":               {`{"query":"query($n:Int){viewer{library(first:$n){bucket}}}","variables":{"n":1e400}}`, "BAD_USER_INPUT"},
				"1e400 elsewhere":     {find + `{"i":"u:acme:ann","canary":1e400}}`, ""},
				"bad UTF-8":           {"{\"query\":\"{__typename}\",\"x\":\"canary\xff\"}", "BAD_REQUEST"},
				"half a surrogate":    {find + `{"i":"canary\ud800"}}`, "BAD_REQUEST"},
				"NUL in an id":        {find + `{"i":"u:acme:canary\u0000"}}`, "BAD_USER_INPUT"},
				"a brace":             {`{"canary`, "BAD_REQUEST"},
				"something behind it": {`{"query":"{__typename}"}canary`, "BAD_REQUEST"},
			} {
				if r := w.send("POST", "/graphql", c.body); r.code() != c.code || bytes.Contains(r.body, []byte("canary")) {
					t.Errorf("%s: got %d %.300s", name, r.Status, r.body)
				}
			}
		}},
		{16, "duplicate JSON keys", func(t *testing.T, w *world) {
			// If a key is there twice, the last one counts, both for the cost check and
			// for execution.
			body := `{"query":"{__typename}","query":"` + strings.ReplaceAll(deep(13), `"`, `\"`) + `"}`
			if r := w.send("POST", "/graphql", body); r.code() != "DEPTH_LIMIT" {
				t.Errorf("got %s", r.body)
			}
			body = `{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":"u:acme:ann"},"variables":{"i":"u:acme:bob","i":"u:beta:eve"},"Query":"{nothing}"}`
			if r := w.send("POST", "/graphql", body); r.at("user.id") != "u:beta:eve" {
				t.Errorf("got %s", r.body)
			}
		}},
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
