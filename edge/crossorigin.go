package edge

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rs/cors"
)

// preflightSeconds is how long browsers may cache a preflight response.
const preflightSeconds = 600

// requestHeaders are the headers that pages of other sites may send: those that the gateway reads,
// and those that clients and tracing add.
var requestHeaders = []string{
	"Accept", "Authorization", "Content-Type", "X-Request-Id",
	"Apollo-Require-Preflight", "X-Apollo-Operation-Name", "X-Apollo-Operation-Id",
	"Apollographql-Client-Name", "Apollographql-Client-Version",
	"Traceparent", "Tracestate", "Baggage", "Sentry-Trace",
}

// responseHeaders are the headers that pages of other sites may read, in addition to those that
// every page may read.
var responseHeaders = []string{"Retry-After", "Ratelimit", "Ratelimit-Policy", "Allow", "Www-Authenticate"}

// CrossOriginConfig says which other sites may call.
type CrossOriginConfig struct {
	// Origins may call. One is http(s)://host[:port]. Its host may start with "*." for all
	// subdomains. A single "*" means all sites, and cannot be combined with Credentials. Without
	// origins no other site may call.
	Origins []string
	// Headers are the names of headers that their pages may send besides those of requestHeaders.
	// They are well-formed.
	Headers     []string
	Credentials bool         // cookies are accepted from the origins
	Log         *slog.Logger // of refusals; if nil, they are not logged
}

// CrossOrigin defines which other sites may call, and protects requests with cookies from all
// others.
type CrossOrigin struct {
	cors        *cors.Cors      // if nil, no other site may call
	headers     map[string]bool // that pages of other sites may send; names in lower case
	credentials bool
	protect     *http.CrossOriginProtection
	refusals    refusals
}

// sameOriginOnly allows no other site.
func sameOriginOnly(log *slog.Logger) *CrossOrigin {
	return &CrossOrigin{protect: http.NewCrossOriginProtection(), refusals: refusals{log: log}}
}

// NewCrossOrigin checks the configuration.
func NewCrossOrigin(config CrossOriginConfig) (*CrossOrigin, error) {
	c, credentials := sameOriginOnly(config.Log), config.Credentials
	if len(config.Origins) == 0 {
		if credentials {
			return nil, errors.New("credentials are allowed, but no origin is: name the sites that may send cookies")
		}
		return c, nil
	}
	for _, o := range config.Origins {
		if o == "*" && credentials {
			return nil, fmt.Errorf("origin %q cannot be combined with credentials: name the sites that may send cookies", o)
		}
		if o != "*" && !wellFormedOrigin(o) {
			return nil, fmt.Errorf("invalid origin %q: use https://host, https://host:port, https://*.domain or *", o)
		}
	}
	c.credentials = credentials
	headers := slices.Concat(requestHeaders, config.Headers)
	c.headers = make(map[string]bool, len(headers))
	for _, h := range headers {
		c.headers[strings.ToLower(h)] = true
	}
	c.cors = cors.New(cors.Options{
		AllowedOrigins:   config.Origins,
		AllowedMethods:   []string{http.MethodGet, http.MethodPost},
		AllowedHeaders:   headers,
		ExposedHeaders:   responseHeaders,
		AllowCredentials: credentials,
		MaxAge:           preflightSeconds,
	})
	return c, nil
}

// wellFormedOrigin reports whether o is a scheme, host and optional port. A wildcard must replace
// whole labels, so that "https://*example.com" does not allow "https://evilexample.com".
func wellFormedOrigin(o string) bool {
	plain := strings.Replace(strings.ToLower(o), "://*.", "://wildcard.", 1)
	u, err := url.Parse(plain)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	if strings.Contains(o, "://*.") && !strings.Contains(strings.TrimPrefix(u.Hostname(), "wildcard."), ".") {
		return false // "*.com" is not a site
	}
	return !strings.Contains(u.Host, "*") && u.Scheme+"://"+u.Host == plain
}

// Wrap answers preflight requests and adds CORS headers. Every answer varies by Origin, even if no
// other site may call, because a GET with a foreign Origin is refused.
func (c *CrossOrigin) Wrap(next http.Handler) http.Handler {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		next.ServeHTTP(w, r)
	})
	if c.cors != nil {
		answer = c.cors.Handler(next).ServeHTTP
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if foreignOrigin(r) {
			c.report(r)
		}
		answer(w, r)
	})
}

// report logs what a browser will refuse, with the flag that would allow it.
func (c *CrossOrigin) report(r *http.Request) {
	origin := r.Header.Get("Origin")
	if c.cors == nil || !c.cors.OriginAllowed(r) {
		if !wellFormedOrigin(origin) { // not sent by a browser
			return
		}
		c.refusals.once("--cors-origin", origin)
		return
	}
	asked := r.Header.Get("Access-Control-Request-Headers")
	if r.Method != http.MethodOptions || len(asked) > maxAsked {
		return
	}
	for name := range strings.SplitSeq(asked, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); headerName.MatchString(name) && !c.headers[name] {
			c.refusals.once("--cors-header", name)
		}
	}
}

// headerName matches the names of headers that are logged.
var headerName = regexp.MustCompile(`^[a-z0-9_-]+$`)

// maxAsked is the most bytes of a preflight's list of headers that are looked at for the log.
// Browsers send some hundred.
const maxAsked = 4 << 10

// maxRefusals is how many different refusals are logged, and maxRefused how many bytes of each:
// clients choose them.
const (
	maxRefusals = 32
	maxRefused  = 256
)

// refusals logs each refused origin and header once.
type refusals struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[string]bool
}

// once logs that a value was refused, and the flag that would allow it, unless it did so before.
func (s *refusals) once(flag, value string) {
	value = value[:min(len(value), maxRefused)]
	s.mu.Lock()
	first := s.log != nil && len(s.seen) < maxRefusals && !s.seen[flag+value]
	if first {
		if s.seen == nil {
			s.seen = make(map[string]bool)
		}
		s.seen[flag+value] = true
	}
	s.mu.Unlock()
	if first {
		s.log.Warn("cors: refused a page of another site; if it is yours, allow it with this flag", slog.String("flag", flag),
			slog.String("value", value))
	}
}

// check refuses a request with cookies from a site that may not call. Without cookies a request
// from another site is anonymous.
func (c *CrossOrigin) check(r *http.Request) *refusal {
	if _, cookies := r.Header["Cookie"]; !cookies {
		return nil
	}
	if c.credentials && c.cors.OriginAllowed(r) {
		return nil
	}
	if c.protect.Check(r) != nil {
		return refuse(http.StatusForbidden, codeCSRFBlocked, "Requests with cookies from other sites are not accepted.")
	}
	return nil
}

// mayConnect reports whether the page that opens a websocket may do so. Browsers make no preflight
// request for websockets, but send the Origin.
func (c *CrossOrigin) mayConnect(r *http.Request) bool {
	return !foreignOrigin(r) || c.cors != nil && c.cors.OriginAllowed(r)
}
