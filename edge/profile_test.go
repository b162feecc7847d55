package edge

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"carrel/core/fault"
	"carrel/principal"
)

func TestProfiles_DetermineTheStatus(t *testing.T) {
	for name, c := range map[string]struct {
		body                    string
		plain, typed, draftType int // statuses of application/json, of graphql-response+json by default and in the draft
	}{
		"data":                    {`{"query":"{viewer{id}}"}`, 200, 200, 200},
		"data with errors":        {`{"query":"{viewer{id} user(id:\"bad\"){id}}"}`, 200, 200, 294},
		"no JSON":                 {`{`, 400, 400, 400},
		"no request":              {`{"qeury":"{viewer{id}}"}`, 400, 400, 422},
		"variables are a list":    {`{"query":"{viewer{id}}","variables":[7]}`, 400, 400, 422},
		"a batch":                 {`[]`, 400, 400, 422},
		"no syntax":               {`{"query":"{"}`, 200, 400, 400},
		"not valid":               {`{"query":"{nothing}"}`, 200, 400, 422},
		"which operation":         {`{"query":"query A{viewer{id}} query B{viewer{id}}"}`, 200, 400, 422},
		"a variable of no type":   {`{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":{}}}`, 200, 400, 422},
		"beyond a limit":          {`{"query":"` + aliases(31) + `"}`, 200, 400, 422},
		"not persisted":           {`{"documentId":"sha256:` + strings.Repeat("0", 64) + `"}`, 200, 400, 422},
		"a wrong digest is a 400": {`{"query":"{viewer{id}}","documentId":"sha256:` + strings.Repeat("0", 64) + `"}`, 400, 400, 400},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range []struct {
				profile Profile
				header  []string
				want    int
			}{{ProfileDefault, nil, c.plain}, {ProfileDefault, []string{graphqlJSON}, c.typed}, {ProfileDraft, []string{graphqlJSON}, c.draftType},
				{ProfileDraft, nil, c.draftType}, {ProfileDraft, []string{"Accept: application/json"}, c.plain}} {
				e := newEdge(t, func(cfg *Config) { cfg.Profile = p.profile })
				e.onUser = func(context.Context, string) (*principal.User, error) { return nil, fault.BadInputf("bad") }
				if a := e.send(t, c.body, p.header...); a.Code != p.want {
					t.Errorf("profile %d, %q: got %d, want %d: %s", p.profile, p.header, a.Code, p.want, a.Body)
				}
			}
		})
	}
}

func TestCompress_IsForAnonymousAnswers(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.BodyBytes = 1 << 20 })
	long := strings.Repeat("x", zipFrom/2)
	body := `{"query":"query($i:ID!){a:user(id:$i){id} b:user(id:$i){id} c:user(id:$i){id}}","variables":{"i":"` + long + `"}}`
	for name, c := range map[string]struct {
		body   string
		header []string
		want   string
	}{
		"an anonymous one":   {body, []string{"Accept-Encoding: br, gzip;q=0.5"}, "gzip"},
		"no Accept-Encoding": {body, nil, ""},
		"gzip is refused":    {body, []string{"Accept-Encoding: gzip;q=0, br"}, ""},
		"a short one":        {`{"query":"{viewer{id}}"}`, []string{"Accept-Encoding: gzip"}, ""},
		"a viewer's":         {body, []string{"Accept-Encoding: gzip", "Authorization: Bearer ann"}, ""},
		"with a cookie":      {body, []string{"Accept-Encoding: gzip", "Cookie: a=b"}, ""},
		"a refusal is short": {`{"query":"{nothing}"}`, []string{"Accept-Encoding: gzip"}, ""},
		"again, by the pool": {body, []string{"Accept-Encoding: gzip"}, "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(c.body))
			r.Header.Set("Content-Type", "application/json")
			for _, h := range c.header {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, r)
			if got := w.Header().Get("Content-Encoding"); got != c.want || !strings.Contains(w.Header().Get("Vary"), "Accept-Encoding") {
				t.Fatalf("encoded %q, Vary %q", got, w.Header().Get("Vary"))
			}
			if c.want == "" {
				return
			}
			z, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(z); err != nil || string(b) != strings.ReplaceAll(`{"data":{"a":{"id":"#"},"b":{"id":"#"},"c":{"id":"#"}}}`,
				"#", long) {
				t.Errorf("%v %.100s", err, b)
			}
		})
	}
}

const oneName = `{"query":"{user(id:\"x\"){displayName}}"}`

// TestCompress_FollowsTheHeader: answers to callers who are not signed in are compressed if the request has
// no cookie and accepts gzip.
func TestCompress_FollowsTheHeader(t *testing.T) {
	e := newEdge(t, nil)
	head := len(`{"data":{"user":{"displayName":""}}}`)
	const viewer = "Authorization: Bearer ann"
	for name, c := range map[string]struct {
		size   int // of the answer
		header []string
		want   string
	}{
		"a viewer's":               {zipFrom, []string{viewer, "Accept-Encoding: gzip"}, ""},
		"a viewer's long one":      {pooledBytes + 1000, []string{viewer, "Accept-Encoding: gzip"}, ""},
		"one byte less":            {zipFrom - 1, []string{"Accept-Encoding: gzip"}, ""},
		"a long one":               {pooledBytes + 1000, []string{"Accept-Encoding: gzip"}, "gzip"},
		"with a cookie":            {zipFrom, []string{"Accept-Encoding: gzip", "Cookie: a=b"}, ""},
		"a long one with a cookie": {pooledBytes + 1000, []string{"Accept-Encoding: gzip", "Cookie: a=b"}, ""},
		"an empty cookie":          {zipFrom, []string{"Accept-Encoding: gzip", "Cookie: "}, ""},
		"plain text is preferred":  {zipFrom, []string{"Accept-Encoding: identity, gzip;q=0.5"}, ""},
		"both are as good":         {zipFrom, []string{"Accept-Encoding: gzip;q=0.5, identity;q=0.5"}, "gzip"},
		"gzip is refused":          {zipFrom, []string{"Accept-Encoding: gzip;q=0"}, ""},
		"no Accept-Encoding":       {zipFrom, nil, ""},
		"other encodings only":     {zipFrom, []string{"Accept-Encoding: br, zstd"}, ""},
		"nobody signed in":         {zipFrom, []string{"Accept-Encoding: gzip"}, "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			e.named(c.size - head)
			r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(oneName))
			r.Header.Set("Content-Type", "application/json")
			for _, h := range c.header {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, r)
			if got := w.Header().Get("Content-Encoding"); got != c.want || w.Header().Get("Vary") != "Accept, Accept-Encoding" {
				t.Fatalf("encoded %q, Vary %q", got, w.Header().Get("Vary"))
			}
			if held := e.handler.AnswerBytes(); held != 0 {
				t.Errorf("%d bytes are held", held)
			}
			var text io.Reader = w.Body
			if c.want == "gzip" {
				var err error
				if text, err = gzip.NewReader(w.Body); err != nil {
					t.Fatal(err)
				}
			}
			b, err := io.ReadAll(text)
			if err != nil || len(b) != c.size || !strings.HasPrefix(string(b), `{"data":{"user":{"displayName":"xx`) {
				t.Errorf("%v, %d bytes: %.100s", err, len(b), b)
			}
		})
	}
}

// TestCompress_LeavesEventsAlone: events are never compressed, because they contain what somebody
// else has done.
func TestCompress_LeavesEventsAlone(t *testing.T) {
	e := newEdge(t, nil)
	e.named(zipFrom)
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(oneName))
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "gzip"} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "" || !strings.Contains(w.Body.String(), "xxxx") {
		t.Errorf("%v %.100s", w.Header(), w.Body)
	}
}

func TestLimits_HaveNames(t *testing.T) {
	l := DefaultLimits()
	for _, name := range l.Names() {
		if l.Set(name, "27") != nil && l.Set(name, "27s") != nil {
			t.Errorf("%s cannot be set", name)
		}
		for _, bad := range []string{"", "0", "-1", "0s", "x", "1.5", "99999999999999999999"} {
			if err := l.Set(name, bad); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: %v", name, bad, err)
			}
		}
	}
	if l.Depth != 27 || l.Query.Seconds() != 27 {
		t.Errorf("got %d, %s", l.Depth, l.Query)
	}
	if err := l.Set("width", "7"); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("got %v", err)
	}
}
