// Package web serves two pages, built by npm and embedded in the binary, from the gateway's own
// origin: GraphiQL at / and the reference client at /app, and in development the demo viewers
// for both.
//
// It is responsible for the pages, their assets, their cache headers and their content security
// policies. It must not know how tokens are made or how /graphql answers: tokens come in
// through Options, and the pages call /graphql.
//
// The build is optional: without npm, dist contains only its .keep. Then a plain HTML form
// replaces GraphiQL, and there is no client.
package web

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

//go:embed form.html
var form string

// The marks in the pages that are replaced in each answer: by its nonce (vite.config.js writes
// the same word), by whether there are demo viewers, "demo" or "none" (app/index.html has it),
// and by which pages are served, of "graphiql app", so that they link only to pages that exist.
const (
	nonceMark   = "CARREL-NONCE"
	viewersMark = "CARREL-VIEWERS"
	pagesMark   = "CARREL-PAGES"
)

// appRoot is the path of the reference client: every path below it that is not a file is a
// place in the client, and is answered with its page.
const appRoot = "/app"

// Viewer is somebody the page can ask as.
type Viewer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Token is a fresh bearer token, empty for the anonymous viewer.
	Token string `json:"token"`
}

// Options configures the handler. What is off is answered with 404.
type Options struct {
	// Dev switches GraphiQL and the demo viewers on.
	Dev bool
	// GraphiQL enables GraphiQL without Dev: by default, production does not explain its schema.
	GraphiQL bool
	// App switches the reference client on. It holds no secret and hands out no
	// tokens, so production may serve it.
	App bool
	// Viewers mints a token for each demo viewer. It is called for every answer of /dev/viewers,
	// which is 404 without Dev or if Viewers is nil, and 403 under any host name but the machine's
	// own, such as localhost.
	Viewers func() ([]Viewer, error)
}

// Built reports whether the binary contains the pages; otherwise a plain form is served.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}

// Handler serves the pages, their assets and /dev/viewers.
func Handler(opts Options) http.Handler {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		return http.NotFoundHandler()
	}
	return handler(opts, built)
}

// handler is Handler over any build, so that tests need none.
func handler(opts Options, built fs.FS) http.Handler {
	opts.GraphiQL = opts.GraphiQL || opts.Dev
	s := &site{files: map[string][]byte{}}
	// A file that cannot be read is skipped: it is then answered with 404, as if the build had not
	// made it.
	_ = fs.WalkDir(built, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		served := opts.GraphiQL
		if inApp("/" + name) {
			served = opts.App
		}
		if !served {
			return nil
		}
		if b, err := fs.ReadFile(built, name); err == nil {
			s.files["/"+name] = b
		}
		return nil
	})
	if opts.Dev {
		s.viewers = opts.Viewers
	}
	var pages []string
	if opts.GraphiQL {
		s.graphiql = s.takePage("/index.html", form)
		pages = append(pages, "graphiql")
	}
	if opts.App {
		s.app = s.takePage(appRoot+"/index.html", "")
		pages = append(pages, "app")
	}
	s.graphiql = strings.ReplaceAll(s.graphiql, pagesMark, strings.Join(pages, " "))
	s.app = strings.ReplaceAll(s.app, pagesMark, strings.Join(pages, " "))
	return s
}

// takePage takes a page out of the files: it is served under another name, and
// with its marks replaced.
func (s *site) takePage(name, otherwise string) string {
	page, ok := s.files[name]
	if !ok {
		return otherwise
	}
	delete(s.files, name)
	return string(page)
}

// site is the pages with everything they load.
type site struct {
	graphiql, app string            // empty: not served
	files         map[string][]byte // by path
	viewers       func() ([]Viewer, error)
}

// inApp reports whether a path belongs to the reference client.
func inApp(name string) bool { return name == appRoot || strings.HasPrefix(name, appRoot+"/") }

// pageAt returns the page at a path, with its policy; empty if there is none. A name in a
// folder of assets is a file or nothing.
func (s *site) pageAt(name string) (page string, policy func(nonce string) string) {
	switch {
	case name == "/":
		return s.graphiql, graphiqlPolicy
	case inApp(name) && !strings.HasPrefix(name, appRoot+"/assets/"):
		return s.app, appPolicy
	}
	return "", nil
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
	page, policy := s.pageAt(r.URL.Path)
	switch {
	case page == "" && !isFile && !isViewers:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the page is only read: GET or HEAD", http.StatusMethodNotAllowed)
	case isFile:
		serveFile(w, r, file)
	case isViewers:
		s.serveViewers(w, r)
	default:
		viewers := "none"
		if s.viewers != nil && byLoopbackName(r) {
			viewers = "demo"
		}
		servePage(w, r, strings.ReplaceAll(page, viewersMark, viewers), policy)
	}
}

// byLoopbackName reports whether the request names this machine as only a
// program on it can: localhost or a loopback address. A page whose name was
// made to resolve to 127.0.0.1 (DNS rebinding) sends its own name.
func byLoopbackName(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && address.Unmap().IsLoopback()
}

// servePage writes the page with a nonce of its own. The answer must not be cached or
// revalidated: a nonce that is used again could be known beforehand.
func servePage(w http.ResponseWriter, r *http.Request, page string, policy func(nonce string) string) {
	nonce := rand.Text()
	h := w.Header()
	h.Set("Content-Security-Policy", policy(nonce))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	page = strings.ReplaceAll(page, nonceMark, nonce)
	h.Set("Content-Length", strconv.Itoa(len(page)))
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, page) // an error means that the client has gone
	}
}

// serveFile writes an asset. Files in a folder assets have a hash of their content in the name,
// so the content of a name never changes.
func serveFile(w http.ResponseWriter, r *http.Request, file []byte) {
	h := w.Header()
	// A worker is held to the policy its own script came with, and needs nothing;
	// nor does a picture that is opened as a page.
	h.Set("Content-Security-Policy", outside)
	h.Set("Content-Type", mediaType(r.URL.Path))
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(strings.TrimPrefix(r.URL.Path, appRoot), "/assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	serveContent(w, r, file)
}

// serveContent writes a file or a part of it. Several parts in one answer could
// be the same one a thousand times, and browsers ask for one at most: with more,
// the answer is the whole file.
func serveContent(w http.ResponseWriter, r *http.Request, content []byte) {
	if ranges := r.Header["Range"]; len(ranges) > 1 || len(ranges) == 1 && strings.Contains(ranges[0], ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
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

// outside is the policy of everything: it must not be framed, must not send forms or have a
// base elsewhere, and may load only what is listed.
const outside = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ofThisAnswer allows scripts and styles only by the nonce of the answer, whatever their
// origin. Imports of a script with the nonce are allowed too.
func ofThisAnswer(nonce string) string {
	return outside + "; connect-src 'self'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce + "'"
}

// graphiqlPolicy is wider, as GraphiQL needs: its fonts and Monaco's images are data: addresses
// inside their style sheets, and Monaco has workers. src/policy.ts makes Monaco's styles need
// nothing more.
func graphiqlPolicy(nonce string) string {
	return ofThisAnswer(nonce) + "; font-src 'self' data:; img-src 'self' data:; worker-src 'self'"
}

// appPolicy allows pictures of our origin, and no text to become markup or
// script, whatever a library holds.
func appPolicy(nonce string) string {
	return ofThisAnswer(nonce) + "; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// serveViewers answers with tokens, so only the page itself may request them: a browser sends
// in Sec-Fetch-Site whether another site's page does, and in Host the name under which this
// page was opened.
func (s *site) serveViewers(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Sec-Fetch-Site")
	if !byLoopbackName(r) {
		http.Error(w, "the demo viewers are only shown at localhost or a loopback address", http.StatusForbidden)
		return
	}
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		http.Error(w, "only a page of this origin may read the demo viewers", http.StatusForbidden)
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
	serveContent(w, r, body)
}
