package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// preflightSeconds is how long browsers may cache a preflight response.
const preflightSeconds = 600

// CrossOrigin defines which other sites may call, and protects requests with cookies from all
// others.
type CrossOrigin struct {
	cors        *cors.Cors // if nil, no other site may call
	credentials bool
	protect     *http.CrossOriginProtection
}

// sameOriginOnly allows no other site.
func sameOriginOnly() *CrossOrigin {
	return &CrossOrigin{protect: http.NewCrossOriginProtection()}
}

// NewCrossOrigin allows the origins to call, with cookies if credentials is set. An origin is
// http(s)://host[:port]. Its host may start with "*." for all subdomains. A single "*" means all
// sites, and cannot be combined with credentials. Without origins no other site may call.
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
			return nil, fmt.Errorf("invalid origin %q: use https://host, https://host:port, https://*.domain or *", o)
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
	if c.cors != nil {
		return c.cors.Handler(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		next.ServeHTTP(w, r)
	})
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
