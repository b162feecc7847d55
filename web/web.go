// Package web serves two pages, built by npm and embedded in the binary, from the gateway's own
// origin: GraphiQL at / and the reference client at /app, and in development the demo viewers
// for both.
//
// It is responsible for the pages, their assets, their cache headers and their content security
// policies. It must not know how tokens are issued or how /graphql answers: Options provides the
// tokens, and the pages call /graphql.
//
// The build is optional. Without it dist contains only .keep, a plain HTML form replaces
// GraphiQL, and there is no client.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"embed"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

//go:embed form.html
var form string

// The placeholders in the built pages, which come from vite.config.js and from the sources of the
// pages. Each answer replaces the first by its nonce, the second by "demo" or "none", which says
// whether there are demo viewers, the third by the names of the pages that are served, such as
// "graphiql app", so that they link only to pages that exist, and the fourth by the ways to sign in,
// as JSON.
const (
	nonceMark   = "CARREL-NONCE"
	viewersMark = "CARREL-VIEWERS"
	pagesMark   = "CARREL-PAGES"
	signInMark  = "CARREL-SIGN-IN"
)

// appRoot is the path of the reference client. Every path below it that is neither a file nor in
// its folder assets is answered with its page.
const appRoot = "/app"

// Viewer is a demo viewer, as whom a page can send requests.
type Viewer struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Token is a fresh bearer token, empty for the anonymous viewer.
	Token string `json:"token"`
}

// Options configures the handler. Disabled pages are answered with 404.
type Options struct {
	// Dev enables GraphiQL and the demo viewers.
	Dev bool
	// GraphiQL enables GraphiQL without Dev: by default, production does not explain its schema.
	GraphiQL bool
	// App enables the reference client. It contains no secrets and issues no
	// tokens, so production may serve it.
	App bool
	// ClientID is the id of the reference client at the OpenID Connect provider Issuer, an http(s) URL;
	// empty: users do not sign in at a provider. Scope is what the client asks the provider for.
	Issuer, ClientID, Scope string
	// Viewers returns the demo viewers, each with a fresh token. It is called for every answer of
	// /dev/viewers, which is 404 without Dev or if Viewers is nil, and 403 under any host name
	// but localhost and loopback addresses.
	Viewers func() ([]Viewer, error)
}

// Built reports whether the binary contains the pages. Without them there is only the form.
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

// handler is Handler with the build as a parameter, for tests.
func handler(opts Options, built fs.FS) http.Handler {
	opts.GraphiQL = opts.GraphiQL || opts.Dev
	s := &site{files: map[string]file{}, provider: opts.providerOrigin()}
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
			plain, zipped := strings.CutSuffix("/"+name, ".gz")
			s.files[plain] = file{b, zipped}
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
		s.app = strings.ReplaceAll(s.takePage(appRoot+"/index.html", ""), signInMark, opts.signIn())
		pages = append(pages, "app")
	}
	s.graphiql = strings.ReplaceAll(s.graphiql, pagesMark, strings.Join(pages, " "))
	s.app = strings.ReplaceAll(s.app, pagesMark, strings.Join(pages, " "))
	return s
}

// signIn returns the ways to sign in to the reference client, as JSON for an attribute. Tokens are pasted in
// development, and where there is no provider.
func (o Options) signIn() string {
	ways := struct {
		Paste    bool   `json:"paste"`
		Issuer   string `json:"issuer,omitempty"`
		ClientID string `json:"clientId,omitempty"`
		Scope    string `json:"scope,omitempty"`
	}{Paste: o.Dev || o.ClientID == ""}
	if o.ClientID != "" {
		ways.Issuer, ways.ClientID, ways.Scope = o.Issuer, o.ClientID, o.Scope
	}
	text, _ := json.Marshal(ways) // strings and a bool: there is no error
	return html.EscapeString(string(text))
}

// providerOrigin returns the only other origin that the reference client may call: that of the provider, if there
// is one.
func (o Options) providerOrigin() []string {
	u, err := url.Parse(o.Issuer)
	if o.ClientID == "" || err != nil {
		return nil
	}
	return []string{u.Scheme + "://" + u.Host}
}

// takePage removes a page from the files and returns it: it is served at another
// path, with its placeholders replaced.
func (s *site) takePage(name, otherwise string) string {
	page, ok := s.files[name]
	if !ok {
		return otherwise
	}
	delete(s.files, name)
	return string(page.content)
}

// site has the pages and the files that they load.
type site struct {
	graphiql, app string          // empty: not served
	files         map[string]file // by path
	viewers       func() ([]Viewer, error)
	provider      []string // the origin of the OpenID Connect provider, if there is one
}

// file is a file as it is embedded. web/compress.mjs compresses most of them when they are built.
type file struct {
	content []byte
	zipped  bool // content is compressed with gzip
}

// plain returns the content without compression.
func (f file) plain() ([]byte, error) {
	if !f.zipped {
		return f.content, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(f.content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
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
		return s.app, s.appPolicy
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
		http.Error(w, "only GET and HEAD are allowed", http.StatusMethodNotAllowed)
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

// byLoopbackName reports whether the host of the request is localhost or a loopback
// address. A page whose name was made to resolve to 127.0.0.1 (DNS rebinding) sends
// its own name.
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

// servePage writes the page with a new nonce. The answer must not be cached or
// revalidated, because a nonce that is used again can be guessed.
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
//
// A compressed file is written as it is, if the client takes gzip. Ranges are of the plain content.
func serveFile(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	// This policy applies to a worker if the file is its script, and to an image that is opened as a
	// page. Neither needs to load anything.
	h.Set("Content-Security-Policy", basePolicy)
	h.Set("Content-Type", mediaType(r.URL.Path))
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(strings.TrimPrefix(r.URL.Path, appRoot), "/assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if f.zipped {
		h.Set("Vary", "Accept-Encoding")
	}
	if f.zipped && r.Header["Range"] == nil && takesGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(f.content)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(f.content) // an error means that the client has gone
		}
		return
	}
	content, err := f.plain()
	if err != nil {
		http.Error(w, "the file is damaged", http.StatusInternalServerError)
		return
	}
	serveContent(w, r, content)
}

// takesGzip reports whether the client accepts gzip: it is listed, with a quality other than 0.
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		if name, quality, _ := strings.Cut(part, ";"); strings.TrimSpace(name) == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(quality), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

// serveContent writes a file, or the one range of it that was requested. It answers
// several ranges with the whole file: browsers request one at most, and a thousand
// times the same range would make a large answer.
func serveContent(w http.ResponseWriter, r *http.Request, content []byte) {
	if ranges := r.Header["Range"]; len(ranges) > 1 || len(ranges) == 1 && strings.Contains(ranges[0], ",") {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// mediaType returns the media type of a file by its extension. The types of fonts
// are here because not every system's table has them.
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

// basePolicy is the part that all policies share: pages may not be framed, send forms or set a base
// URL, and may load only what the rest of the policy lists.
const basePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// noncePolicy allows scripts and styles only by the nonce of the answer, from any origin, and the
// imports of these scripts. They may connect to our origin and to the ones that are given.
func noncePolicy(nonce string, origins ...string) string {
	return basePolicy + "; connect-src " + strings.Join(append([]string{"'self'"}, origins...), " ") + "; script-src 'nonce-" +
		nonce + "'; style-src 'nonce-" + nonce + "'"
}

// graphiqlPolicy also allows what GraphiQL needs: fonts and images as data: URLs in style
// sheets, and the workers of Monaco. src/policy.ts adapts Monaco's styles to the policy.
func graphiqlPolicy(nonce string) string {
	return noncePolicy(nonce) + "; font-src 'self' data:; img-src 'self' data:; worker-src 'self'"
}

// appPolicy also allows images from our origin, connections to the provider at which users sign in, and
// forbids turning any text of a library into markup or scripts.
func (s *site) appPolicy(nonce string) string {
	return noncePolicy(nonce, s.provider...) + "; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// serveViewers writes the demo viewers with their tokens. Only the pages themselves may request
// them: Sec-Fetch-Site shows requests from other sites, and Host the name under which the page
// was opened.
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
		http.Error(w, "the tokens of the demo viewers could not be created", http.StatusInternalServerError)
		return
	}
	if viewers == nil {
		viewers = []Viewer{}
	}
	body, err := json.Marshal(map[string][]Viewer{"viewers": viewers})
	if err != nil {
		http.Error(w, "the demo viewers could not be encoded", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	serveContent(w, r, body)
}
