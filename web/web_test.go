package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// built returns a build as vite writes it.
func built() fstest.MapFS {
	return fstest.MapFS{
		".keep":                      {},
		"index.html":                 {Data: []byte(`<html data-pages="CARREL-PAGES"><script type="module" src="/assets/index-Ab12.js" nonce="CARREL-NONCE"></script>`)},
		"favicon.svg":                {Data: []byte("<svg/>")},
		"assets/index-Ab12.js":       {Data: []byte("export {}")},
		"assets/index-Cd34.css":      {Data: []byte("body{}")},
		"assets/codicon-Ef56.ttf":    {Data: []byte("font")},
		"assets/json.worker-Gh78.js": {Data: []byte("self")},
		"app/index.html":             {Data: []byte(`<html data-viewers="CARREL-VIEWERS" data-pages="CARREL-PAGES" data-sign-in="CARREL-SIGN-IN"><script type="module" src="/app/assets/index-Ij90.js" nonce="CARREL-NONCE"></script>`)},
		"app/assets/index-Ij90.js":   {Data: []byte("export {}")},
		"app/favicon.svg":            {Data: []byte("<svg/>")},
	}
}

func demoViewers() ([]Viewer, error) {
	return []Viewer{{Name: "Anonymous", Description: "Not signed in."}, {Name: "Ann", Description: "A manager.", Token: "a.b.c"}}, nil
}

func ask(t *testing.T, h http.Handler, method, path string, header http.Header) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Host = "localhost:8080"
	for name, values := range header {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	answer := rec.Result()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

func TestHandler_AnswersWithStatusTypeAndCaching(t *testing.T) {
	dev := handler(Options{Dev: true, App: true, Viewers: demoViewers}, built())
	forever := "public, max-age=31536000, immutable"
	for _, tc := range []struct {
		name, method, path      string
		status                  int
		mediaType, cache, allow string
		hasPolicy, noBody       bool
	}{
		{name: "page", method: "GET", path: "/", status: 200, mediaType: "text/html; charset=utf-8", cache: "no-store", hasPolicy: true},
		{name: "head of the page", method: "HEAD", path: "/", status: 200, mediaType: "text/html; charset=utf-8",
			cache: "no-store", hasPolicy: true, noBody: true},
		{name: "script", method: "GET", path: "/assets/index-Ab12.js", status: 200, mediaType: "text/javascript; charset=utf-8",
			cache: forever, hasPolicy: true},
		{name: "worker", method: "GET", path: "/assets/json.worker-Gh78.js", status: 200, mediaType: "text/javascript; charset=utf-8",
			cache: forever, hasPolicy: true},
		{name: "style", method: "GET", path: "/assets/index-Cd34.css", status: 200, mediaType: "text/css; charset=utf-8",
			cache: forever, hasPolicy: true},
		{name: "font", method: "GET", path: "/assets/codicon-Ef56.ttf", status: 200, mediaType: "font/ttf", cache: forever, hasPolicy: true},
		{name: "icon, whose name has no hash", method: "GET", path: "/favicon.svg", status: 200, mediaType: "image/svg+xml",
			cache: "no-cache", hasPolicy: true},
		{name: "viewers", method: "GET", path: "/dev/viewers", status: 200, mediaType: "application/json; charset=utf-8", cache: "no-store"},
		{name: "client", method: "GET", path: "/app", status: 200, mediaType: "text/html; charset=utf-8", cache: "no-store", hasPolicy: true},
		{name: "a path in the client", method: "GET", path: "/app/library/u:demo:ann", status: 200,
			mediaType: "text/html; charset=utf-8", cache: "no-store", hasPolicy: true},
		{name: "script of the client", method: "GET", path: "/app/assets/index-Ij90.js", status: 200,
			mediaType: "text/javascript; charset=utf-8", cache: forever, hasPolicy: true},
		{name: "icon of the client", method: "GET", path: "/app/favicon.svg", status: 200, mediaType: "image/svg+xml",
			cache: "no-cache", hasPolicy: true},
		{name: "post to the client", method: "POST", path: "/app/find", status: 405, allow: "GET, HEAD"},
		{name: "unknown asset of the client", method: "GET", path: "/app/assets/none.js", status: 404},
		{name: "path with a similar beginning", method: "GET", path: "/apple", status: 404},
		{name: "post to the page", method: "POST", path: "/", status: 405, allow: "GET, HEAD"},
		{name: "post to the viewers", method: "POST", path: "/dev/viewers", status: 405, allow: "GET, HEAD"},
		{name: "the page by its file name", method: "GET", path: "/index.html", status: 404},
		{name: "folder", method: "GET", path: "/assets/", status: 404},
		{name: "hidden file", method: "GET", path: "/.keep", status: 404},
		{name: "path out of the folder", method: "GET", path: "/assets/../web.go", status: 404},
		{name: "unknown", method: "GET", path: "/assets/none.js", status: 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answer, body := ask(t, dev, tc.method, tc.path, nil)
			if answer.StatusCode != tc.status {
				t.Fatalf("status %d, want %d", answer.StatusCode, tc.status)
			}
			if got := answer.Header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("X-Content-Type-Options is %q", got)
			}
			if got := answer.Header.Get("Allow"); got != tc.allow {
				t.Errorf("Allow is %q, want %q", got, tc.allow)
			}
			if tc.status != 200 {
				return
			}
			if got := answer.Header.Get("Content-Type"); got != tc.mediaType {
				t.Errorf("Content-Type is %q, want %q", got, tc.mediaType)
			}
			if got := answer.Header.Get("Cache-Control"); got != tc.cache {
				t.Errorf("Cache-Control is %q, want %q", got, tc.cache)
			}
			if got := answer.Header.Get("Content-Security-Policy") != ""; got != tc.hasPolicy {
				t.Errorf("a policy: %v, want %v", got, tc.hasPolicy)
			}
			if (body == "") != tc.noBody {
				t.Errorf("the body is %q", body)
			}
		})
	}
}

// TestHandler_DisabledPagesAreNotFound: production explains no schema and hands out no tokens,
// whether or not it serves the reference client.
func TestHandler_DisabledPagesAreNotFound(t *testing.T) {
	ofGraphiQL := []string{"/", "/dev/viewers", "/assets/index-Ab12.js", "/favicon.svg", "/index.html"}
	ofApp := []string{"/app", "/app/", "/app/library/u:demo:ann", "/app/assets/index-Ij90.js"}
	for name, tc := range map[string]struct {
		opts            Options
		served, refused []string
	}{
		"nothing":        {Options{Viewers: demoViewers}, nil, append(ofApp, ofGraphiQL...)},
		"only client":    {Options{App: true, Viewers: demoViewers}, ofApp, ofGraphiQL},
		"without client": {Options{Dev: true, Viewers: demoViewers}, ofGraphiQL[:4], ofApp},
		"only GraphiQL": {Options{GraphiQL: true, Viewers: demoViewers}, []string{"/", "/assets/index-Ab12.js", "/favicon.svg"},
			append(ofApp, "/dev/viewers", "/index.html")},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(tc.opts, built())
			for _, path := range tc.served {
				if answer, _ := ask(t, h, "GET", path, nil); answer.StatusCode != http.StatusOK {
					t.Errorf("%s answered %d", path, answer.StatusCode)
				}
			}
			for _, path := range tc.refused {
				if answer, body := ask(t, h, "GET", path, nil); answer.StatusCode != http.StatusNotFound || strings.Contains(body, "a.b.c") {
					t.Errorf("%s answered %d: %s", path, answer.StatusCode, body)
				}
			}
		})
	}
}

// TestClient_PageSaysWhetherThereAreDemoViewers: the page contains whether there are demo viewers,
// so that it need not request what does not exist.
func TestClient_PageSaysWhetherThereAreDemoViewers(t *testing.T) {
	for want, opts := range map[string]Options{
		`data-viewers="demo"`: {Dev: true, App: true, Viewers: demoViewers},
		`data-viewers="none"`: {App: true, Viewers: demoViewers},
	} {
		if _, body := ask(t, handler(opts, built()), "GET", "/app", nil); !strings.Contains(body, want) {
			t.Errorf("%s is missing: %s", want, body)
		}
	}
}

// TestPages_KnowWhichOthersAreServed: the pages link to each other only if both are served.
func TestPages_KnowWhichOthersAreServed(t *testing.T) {
	for _, tc := range []struct {
		opts       Options
		path, want string
	}{
		{Options{App: true}, "/app", `data-pages="app"`},
		{Options{App: true, GraphiQL: true}, "/app", `data-pages="graphiql app"`},
		{Options{App: true, Dev: true}, "/", `data-pages="graphiql app"`},
		{Options{GraphiQL: true}, "/", `data-pages="graphiql"`},
	} {
		if _, body := ask(t, handler(tc.opts, built()), "GET", tc.path, nil); !strings.Contains(body, tc.want) {
			t.Errorf("%+v: %s is missing at %s: %s", tc.opts, tc.want, tc.path, body)
		}
	}
}

func TestClient_WithoutABuildIsNotFound(t *testing.T) {
	h := handler(Options{Dev: true, App: true}, fstest.MapFS{".keep": {}})
	if answer, _ := ask(t, h, "GET", "/app", nil); answer.StatusCode != http.StatusNotFound {
		t.Errorf("answered %d", answer.StatusCode)
	}
}

func TestPolicy_OfTheClientIsTheStrictest(t *testing.T) {
	answer, body := ask(t, handler(Options{App: true}, built()), "GET", "/app", nil)
	policy := answer.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "img-src 'self';", "connect-src 'self'",
		"require-trusted-types-for 'script'", "trusted-types 'none'", "form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s is missing in %s", part, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "data:") || strings.Contains(policy, "http") {
		t.Errorf("too wide: %s", policy)
	}
	if nonce := nonceOf(t, policy); !strings.Contains(body, `nonce="`+nonce+`"`) {
		t.Errorf("the script does not have the nonce of %s:\n%s", policy, body)
	}
}

func TestHandler_DevelopmentServesTheBuiltPage(t *testing.T) {
	answer, body := ask(t, Handler(Options{Dev: true}), "GET", "/", nil)
	if answer.StatusCode != 200 || !strings.Contains(body, "<title>Carrel</title>") {
		t.Fatalf("answered %d: %s", answer.StatusCode, body)
	}
	if strings.Contains(body, nonceMark) {
		t.Error("the page still has the placeholder of the nonce")
	}
}

var nonceInPolicy = regexp.MustCompile(`; script-src 'nonce-([A-Z2-7]+)'; style-src 'nonce-([A-Z2-7]+)'(;|$)`)

// nonceOf returns the nonce, which must be all that allows scripts and styles.
func nonceOf(t *testing.T, policy string) string {
	t.Helper()
	nonces := nonceInPolicy.FindStringSubmatch(policy)
	if nonces == nil || nonces[1] != nonces[2] {
		t.Fatalf("the policy does not have exactly one nonce: %s", policy)
	}
	return nonces[1]
}

// TestNonce_CannotBeGuessed: 26 letters out of 32 have 130 bits.
func TestNonce_CannotBeGuessed(t *testing.T) {
	h := handler(Options{Dev: true, App: true}, built())
	for _, page := range []string{"/", "/app"} {
		t.Run(page, func(t *testing.T) {
			const answers, letters = 512, 26
			seen := map[string]bool{}
			var at [letters]map[byte]bool
			for range answers {
				answer, _ := ask(t, h, "GET", page, nil)
				nonce := nonceOf(t, answer.Header.Get("Content-Security-Policy"))
				if len(nonce) != letters {
					t.Fatalf("the nonce %s has %d letters", nonce, len(nonce))
				}
				seen[nonce] = true
				for i := range letters {
					if at[i] == nil {
						at[i] = map[byte]bool{}
					}
					at[i][nonce[i]] = true
				}
			}
			if len(seen) != answers {
				t.Errorf("%d nonces in %d answers", len(seen), answers)
			}
			for i, found := range at {
				// In 512 answers, one of the 32 letters may be missing, but not
				// half of them.
				if len(found) < 16 {
					t.Errorf("only %d letters were ever found at %d", len(found), i)
				}
			}
		})
	}
}

// TestPages_AreNotCached: an answer that is cached or revalidated would have a nonce that was
// used before.
func TestPages_AreNotCached(t *testing.T) {
	h := handler(Options{Dev: true, App: true}, built())
	for _, page := range []string{"/", "/app", "/app/groups"} {
		first, _ := ask(t, h, "GET", page, nil)
		for name, header := range map[string]http.Header{
			"by any tag":   {"If-None-Match": {"*"}},
			"by its tag":   {"If-None-Match": {first.Header.Get("ETag")}},
			"by its time":  {"If-Modified-Since": {"Fri, 31 Dec 9999 23:59:59 GMT"}},
			"a part of it": {"Range": {"bytes=0-3"}},
		} {
			answer, body := ask(t, h, "GET", page, header)
			if answer.StatusCode != http.StatusOK || !strings.Contains(body, nonceOf(t, answer.Header.Get("Content-Security-Policy"))) {
				t.Errorf("%s, request of %s: %d %s", page, name, answer.StatusCode, body)
			}
			if got := answer.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("%s, request of %s: Cache-Control is %q", page, name, got)
			}
		}
	}
}

func TestPolicy_RestrictsThePageToItsOrigin(t *testing.T) {
	for name, h := range map[string]http.Handler{
		"graphiql": handler(Options{Dev: true}, built()),
		"form":     handler(Options{Dev: true}, fstest.MapFS{".keep": {}}),
	} {
		t.Run(name, func(t *testing.T) {
			answer, body := ask(t, h, "GET", "/", nil)
			policy := answer.Header.Get("Content-Security-Policy")
			for _, part := range []string{"default-src 'none'", "connect-src 'self'", "worker-src 'self'", "base-uri 'none'",
				"form-action 'none'", "frame-ancestors 'none'"} {
				if !strings.Contains(policy, part) {
					t.Errorf("%s is missing in %s", part, policy)
				}
			}
			if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "-attr") {
				t.Errorf("too wide: %s", policy)
			}
			nonce := nonceOf(t, policy)
			if strings.Count(body, "<script")+strings.Count(body, "<style") != strings.Count(body, `nonce="`+nonce+`"`) {
				t.Errorf("a script or a style without the nonce:\n%s", body)
			}
			if strings.Contains(body, " style=") {
				t.Errorf("a style that the policy refuses:\n%s", body)
			}
		})
	}
}

// TestPolicy_FilesMayLoadNothing: the policy of a file applies to a worker, and to an image that
// is opened as a page.
func TestPolicy_FilesMayLoadNothing(t *testing.T) {
	h := handler(Options{Dev: true, App: true}, built())
	for _, file := range []string{"/assets/json.worker-Gh78.js", "/favicon.svg", "/app/favicon.svg"} {
		answer, _ := ask(t, h, "GET", file, nil)
		if got := answer.Header.Get("Content-Security-Policy"); got != "default-src 'none'; base-uri 'none'; "+
			"form-action 'none'; frame-ancestors 'none'" {
			t.Errorf("%s: %s", file, got)
		}
	}
}

func TestForm_ReplacesPagesThatWereNotBuilt(t *testing.T) {
	h := handler(Options{Dev: true, Viewers: demoViewers}, fstest.MapFS{".keep": {}})
	answer, body := ask(t, h, "GET", "/", nil)
	if answer.StatusCode != 200 {
		t.Fatalf("answered %d", answer.StatusCode)
	}
	for _, part := range []string{`id="query"`, `id="variables"`, `id="token"`, `type="submit"`, "'/graphql'", "without npm"} {
		if !strings.Contains(body, part) {
			t.Errorf("%s is missing", part)
		}
	}
	if answer, _ := ask(t, h, "GET", "/dev/viewers", nil); answer.StatusCode != 200 {
		t.Errorf("/dev/viewers answered %d", answer.StatusCode)
	}
}

func TestViewers_EachAnswerHasFreshTokens(t *testing.T) {
	calls := 0
	h := handler(Options{Dev: true, Viewers: func() ([]Viewer, error) {
		calls++
		return demoViewers()
	}}, built())
	for range 2 {
		_, body := ask(t, h, "GET", "/dev/viewers", http.Header{"Sec-Fetch-Site": {"same-origin"}})
		var got struct{ Viewers []Viewer }
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		want, _ := demoViewers()
		if diff := cmp.Diff(want, got.Viewers); diff != "" {
			t.Error(diff)
		}
	}
	if calls != 2 {
		t.Errorf("tokens were issued %d times for 2 answers: each must have fresh ones", calls)
	}
}

func TestViewers_AreForThePageOnly(t *testing.T) {
	h := handler(Options{Dev: true, Viewers: demoViewers}, built())
	for site, status := range map[string]int{"": 200, "none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403} {
		header := http.Header{}
		if site != "" {
			header.Set("Sec-Fetch-Site", site)
		}
		answer, body := ask(t, h, "GET", "/dev/viewers", header)
		if answer.StatusCode != status || status != 200 && strings.Contains(body, "a.b.c") {
			t.Errorf("from %q: %d %s", site, answer.StatusCode, body)
		}
	}
}

// TestViewers_OnlyUnderALoopbackName: a page of another name that was made to resolve to this
// machine gets no tokens, and the client does not learn that there are any.
func TestViewers_OnlyUnderALoopbackName(t *testing.T) {
	h := handler(Options{Dev: true, App: true, Viewers: demoViewers}, built())
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LocalHost:8080": 200, "127.0.0.1": 200, "127.0.0.1:8080": 200,
		"127.8.9.1:8080": 200, "[::1]:8080": 200, "[::1]": 200, "[::ffff:127.0.0.1]:80": 200,
		"": 403, "evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403,
		"evil.localhost.example:8080": 403,
		"192.168.1.5:8080":            403, "0.0.0.0:8080": 403, "[::]:8080": 403, "127.0.0.1:8080:1": 403, "xlocalhost": 403,
	} {
		answer, body := ask(t, h, "GET", "/dev/viewers", http.Header{"Host": {host}, "Sec-Fetch-Site": {"same-origin"}})
		if answer.StatusCode != status || strings.Contains(body, "a.b.c") != (status == 200) {
			t.Errorf("as %q: %d %s", host, answer.StatusCode, body)
		}
		want := map[int]string{200: `data-viewers="demo"`, 403: `data-viewers="none"`}[status]
		if _, page := ask(t, h, "GET", "/app", http.Header{"Host": {host}}); !strings.Contains(page, want) {
			t.Errorf("as %q the client does not get %s", host, want)
		}
	}
}

func TestViewers_FailureHidesItsReason(t *testing.T) {
	broken := handler(Options{Dev: true, Viewers: func() ([]Viewer, error) {
		return nil, errors.New("secret file: not found")
	}}, built())
	answer, body := ask(t, broken, "GET", "/dev/viewers", nil)
	if answer.StatusCode != 500 || strings.Contains(body, "secret") {
		t.Errorf("answered %d: %s", answer.StatusCode, body)
	}
	if answer, _ := ask(t, handler(Options{Dev: true}, built()), "GET", "/dev/viewers", nil); answer.StatusCode != 404 {
		t.Errorf("without viewers it answered %d", answer.StatusCode)
	}
	none := handler(Options{Dev: true, Viewers: func() ([]Viewer, error) { return nil, nil }}, built())
	if _, body := ask(t, none, "GET", "/dev/viewers", nil); body != `{"viewers":[]}` {
		t.Errorf("no viewers: %s", body)
	}
}
