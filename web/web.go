// Package web serves GraphiQL, built from npm and embedded in the binary, from
// the gateway's own origin, and in development the demo viewers it can ask as.
//
// It answers for the page, its assets, their cache headers and the policy the
// browser holds them to. It must not know how tokens are made or how /graphql
// answers: the one comes in through Options, the other is called by the page.
//
// The build is optional: where npm was missing, dist holds nothing but its
// .keep, and the page is a plain HTML form instead.
package web

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

//go:embed form.html
var form string

// nonceMark stands in the pages where the nonce of the answer belongs;
// vite.config.js writes the same word.
const nonceMark = "CARREL-NONCE"

// Viewer is somebody the page can ask as.
type Viewer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Token is a fresh bearer token, empty for the anonymous viewer.
	Token string `json:"token"`
}

// Options say what the handler serves.
type Options struct {
	// Dev switches the page on. Without it every path answers 404: production
	// serves an API, and hands tokens to nobody.
	Dev bool
	// Viewers mints a token for each demo viewer. It is called for every answer
	// of /dev/viewers, which is 404 where Viewers is nil.
	Viewers func() ([]Viewer, error)
}

// Built tells whether the binary holds GraphiQL; otherwise the plain form is served.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}

// Handler serves the page at /, its assets and /dev/viewers.
func Handler(opts Options) http.Handler {
	built, err := fs.Sub(dist, "dist")
	if err != nil || !opts.Dev {
		return http.NotFoundHandler()
	}
	return handler(opts, built)
}

// handler is Handler over any build, so that tests need none.
func handler(opts Options, built fs.FS) http.Handler {
	s := &site{page: form, files: map[string][]byte{}, viewers: opts.Viewers}
	// A file that cannot be read is left out: it then answers 404, as it would
	// have if the build had not made it.
	_ = fs.WalkDir(built, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		if b, err := fs.ReadFile(built, name); err == nil {
			s.files["/"+name] = b
		}
		return nil
	})
	if index, ok := s.files["/index.html"]; ok {
		s.page = string(index)
		delete(s.files, "/index.html")
	}
	return s
}

// site is the page with everything it loads.
type site struct {
	page    string
	files   map[string][]byte // by path
	viewers func() ([]Viewer, error)
}

// ServeHTTP answers GET and HEAD.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	file, isFile := s.files[r.URL.Path]
	isViewers := r.URL.Path == "/dev/viewers" && s.viewers != nil
	switch {
	case r.URL.Path != "/" && !isFile && !isViewers:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the page is only read: GET or HEAD", http.StatusMethodNotAllowed)
	case isFile:
		serveFile(w, r, file)
	case isViewers:
		s.serveViewers(w, r)
	default:
		s.servePage(w, r)
	}
}

// servePage writes the page with a nonce of its own: scripts run only with it
// or from our origin.
func (s *site) servePage(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Security-Policy", policy(nonce))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	page := strings.ReplaceAll(s.page, nonceMark, nonce)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(page))
}

// serveFile writes an asset. Those in /assets/ have a hash of their content in
// the name, so a name never changes what it stands for.
func serveFile(w http.ResponseWriter, r *http.Request, file []byte) {
	h := w.Header()
	// A worker is held to the policy its own script came with.
	h.Set("Content-Security-Policy", policy(""))
	h.Set("Content-Type", mediaType(r.URL.Path))
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
}

// mediaType is by extension. Fonts are named here because a bare machine's
// type table does not know them.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".ttf":
		return "font/ttf"
	case ".woff2":
		return "font/woff2"
	default:
		if t := mime.TypeByExtension(ext); t != "" {
			return t
		}
		return "application/octet-stream"
	}
}

// policy allows the page its own origin and nothing else. Monaco writes style
// elements and style attributes without a nonce, which is why style-src needs
// 'unsafe-inline'; GraphiQL's fonts and Monaco's images are data: addresses
// inside their style sheets.
func policy(nonce string) string {
	script := "'self'"
	if nonce != "" {
		script += " 'nonce-" + nonce + "'"
	}
	return strings.Join([]string{
		"default-src 'none'",
		"script-src " + script,
		"style-src 'self' 'unsafe-inline'",
		"font-src 'self' data:",
		"img-src 'self' data:",
		"connect-src 'self'",
		"worker-src 'self'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; ")
}

// serveViewers answers with tokens, so only the page itself may ask: a browser
// tells in Sec-Fetch-Site when another site's page does.
func (s *site) serveViewers(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Sec-Fetch-Site")
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		http.Error(w, "only the page of this origin is told the demo viewers", http.StatusForbidden)
		return
	}
	viewers, err := s.viewers()
	if err != nil {
		http.Error(w, "the demo viewers' tokens could not be made", http.StatusInternalServerError)
		return
	}
	if viewers == nil {
		viewers = []Viewer{}
	}
	body, err := json.Marshal(map[string][]Viewer{"viewers": viewers})
	if err != nil {
		http.Error(w, "the demo viewers could not be written", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
