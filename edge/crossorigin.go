package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// preflightSeconds is how long browsers may remember what they asked.
const preflightSeconds = 600

// CrossOrigin says which other sites may call, and guards what carries cookies
// against those that may not.
type CrossOrigin struct {
	cors        *cors.Cors // nil: no other site may call
	credentials bool
	protect     *http.CrossOriginProtection
}

// sameOriginOnly lets no other site call.
func sameOriginOnly() *CrossOrigin {
	return &CrossOrigin{protect: http.NewCrossOriginProtection()}
}

// NewCrossOrigin lets the origins call, with cookies if credentials are on. An
// origin is http(s)://host[:port]; its host may begin with "*." for all names
// below it; "*" alone stands for all sites, without credentials only. No
// origins at all: no other site may call.
func NewCrossOrigin(origins []string, credentials bool) (*CrossOrigin, error) {
	c := sameOriginOnly()
	if len(origins) == 0 {
		if credentials {
			return nil, errors.New("credentials are allowed, but no origin is: name the sites that may send cookies")
		}
		return c, nil
	}
	for _, o := range origins {
		if o == "*" && credentials {
			return nil, fmt.Errorf("origin %q cannot be combined with credentials: name the sites that may send cookies", o)
		}
		if o != "*" && !wellFormedOrigin(o) {
			return nil, fmt.Errorf("origin %q is not one: it takes https://host, https://host:port, https://*.domain or *", o)
		}
	}
	c.credentials = credentials
	c.cors = cors.New(cors.Options{
		AllowedOrigins:   origins,
		AllowedMethods:   []string{http.MethodGet, http.MethodPost},
		AllowedHeaders:   []string{"Accept", "Authorization", "Content-Type", "Apollo-Require-Preflight", "X-Apollo-Operation-Name"},
		ExposedHeaders:   []string{"Retry-After"},
		AllowCredentials: credentials,
		MaxAge:           preflightSeconds,
	})
	return c, nil
}

// wellFormedOrigin tells whether o is scheme, host and port and nothing more.
// A wildcard may only stand for whole labels in front of a domain, so that
// "https://*example.com" does not let "https://evilexample.com" in.
func wellFormedOrigin(o string) bool {
	plain := strings.Replace(strings.ToLower(o), "://*.", "://wildcard.", 1)
	u, err := url.Parse(plain)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	if strings.Contains(o, "://*.") && !strings.Contains(strings.TrimPrefix(u.Hostname(), "wildcard."), ".") {
		return false // "*.com" is no site
	}
	return !strings.Contains(u.Host, "*") && u.Scheme+"://"+u.Host == plain
}

// Wrap answers preflight requests and adds what browsers ask for. Every answer
// depends on the Origin, also where no other site may call: a GET with another
// one is refused.
func (c *CrossOrigin) Wrap(next http.Handler) http.Handler {
	if c.cors != nil {
		return c.cors.Handler(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		next.ServeHTTP(w, r)
	})
}

// check refuses a request that carries cookies and comes from a site that may
// not call. Without cookies another site's request is nobody's in particular.
func (c *CrossOrigin) check(r *http.Request) *refusal {
	if _, cookies := r.Header["Cookie"]; !cookies {
		return nil
	}
	if c.credentials && c.cors.OriginAllowed(r) {
		return nil
	}
	if c.protect.Check(r) != nil {
		return refuse(http.StatusForbidden, codeCSRFBlocked, "Requests with cookies are not taken from other sites.")
	}
	return nil
}

// mayConnect tells whether the page that opens a websocket may: browsers ask
// nobody before they connect to another site, but tell where they come from.
func (c *CrossOrigin) mayConnect(r *http.Request) bool {
	return !foreignOrigin(r) || c.cors != nil && c.cors.OriginAllowed(r)
}
