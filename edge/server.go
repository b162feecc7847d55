package edge

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"carrel/budget"
	"carrel/edge/connection"
)

// Routes are the handlers of the main address.
type Routes struct {
	GraphQL http.Handler
	Page    http.Handler // served at /; if nil, nothing is
	// Raw serves the texts of pastes by the path value "id". If nil, they are not served.
	Raw http.Handler
	// Schema is the text that /schema.graphql serves. If empty, it is not served.
	Schema string
	// Ready returns nil, or the reason why the process should receive no requests. Clients see the
	// reason only if it is a NotReady.
	Ready func(ctx context.Context) error
	// Sites are the other sites that may call /graphql.
	Sites *CrossOrigin
}

// NotReady is a reason that clients may see: it contains no host and no version.
type NotReady string

func (n NotReady) Error() string { return string(n) }

// Mux returns a handler for the routes. The health endpoints show no version, and no reason but a
// NotReady; other reasons are logged.
func Mux(r Routes) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/graphql", r.Sites.Wrap(r.GraphQL))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		if err := r.Ready(req.Context()); err != nil {
			text := "not ready\n"
			var reason NotReady
			if errors.As(err, &reason) {
				text = "not ready: " + string(reason) + "\n"
			}
			plain(w, http.StatusServiceUnavailable, text)
			return
		}
		plain(w, http.StatusOK, "ready\n")
	})
	if r.Raw != nil {
		mux.Handle("GET /p/{id}/raw", r.Raw)
		mux.HandleFunc("OPTIONS /p/{id}/raw", preflightRaw)
	}
	if r.Schema != "" {
		schema := r.Sites.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, r.Schema) }))
		mux.Handle("GET /schema.graphql", schema)
		mux.Handle("OPTIONS /schema.graphql", schema) // browsers ask first, if tracing adds headers
	}
	if r.Page != nil {
		mux.Handle("/", r.Page)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.TLS != nil {
			w.Header()["Strict-Transport-Security"] = httpsAlways
		}
		mux.ServeHTTP(w, req)
	})
}

// Values of the headers below. All answers share them, which saves four allocations per answer. It
// is safe because nothing modifies header values.
var (
	noSniffing  = []string{"nosniff"}
	noContent   = []string{"default-src 'none'; frame-ancestors 'none'"}
	ownSite     = []string{"same-origin"}
	noReferrer  = []string{"no-referrer"}
	httpsAlways = []string{"max-age=31536000"}
	everySite   = []string{"*"}
	retryAfter  = []string{"Retry-After"}
)

// secure adds the headers of an answer that is not a page: browsers must not execute, frame or
// sniff it, and other sites must not read it.
func secure(h http.Header) {
	h["X-Content-Type-Options"] = noSniffing
	h["Content-Security-Policy"] = noContent
	h["Cross-Origin-Resource-Policy"] = ownSite
	h["Referrer-Policy"] = noReferrer
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	secure(w.Header())
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// maxHTTP2Streams limits the concurrent requests of one connection. A browser makes a handful.
const maxHTTP2Streams = 100

// http2Receive is how many bytes of the bodies of one HTTP/2 connection may wait until they are
// read: the least that the protocol allows.
const http2Receive = 64 << 10

// headerSlack is what HTTP/2 counts in addition to the bytes of a header: 32 for each of up to 128
// fields.
const headerSlack = 32 * 128

// AnswerTime returns the timeout of an answer. It starts when the header of the request was read,
// so it includes reading the body and running the operation.
func (l *Limits) AnswerTime() time.Duration {
	return max(l.Write, l.Read+l.Query, l.Read+l.Mutation)
}

// headerBytes returns the length of a request's header in HTTP/1.1 format.
func headerBytes(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len("  HTTP/1.1\r\nHost: \r\n\r\n") + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + len(": \r\n")
		}
	}
	return n
}

// limitHeader refuses requests with a header longer than most bytes, not counting white space
// around values. The server's own limit is less exact and differs between HTTP/1.1 and HTTP/2.
func limitHeader(h http.Handler, limit int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := headerBytes(r)
		connection.Requested(r.Context(), n)
		if n > limit {
			plain(w, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("The header of the request has more than %d bytes.\n", limit))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// endUnclearFraming prevents request smuggling: it closes the connection after a request whose end
// a proxy in front may have found elsewhere. That is a request with both Content-Length and
// Transfer-Encoding, or with Transfer-Encoding in HTTP/1.0. net/http drops one of the two before
// handlers see it, so every request with a Transfer-Encoding, and every HTTP/1.0 request, ends its
// connection. GraphQL clients know the length of their documents and send only Content-Length.
func endUnclearFraming(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// Server returns an HTTP server that clients cannot block with slow or endless requests.
func Server(h http.Handler, l Limits, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           endUnclearFraming(limitHeader(connection.Pace(h, l.StreamWrite), l.HeaderBytes)),
		ConnState:         connection.Track,
		ConnContext:       connection.Context,
		ReadHeaderTimeout: l.ReadHeader,
		ReadTimeout:       l.Read,
		WriteTimeout:      l.AnswerTime(),
		IdleTimeout:       l.Idle,
		MaxHeaderBytes:    l.HeaderBytes + headerSlack,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxHTTP2Streams,
			// What clients send and nobody reads.
			MaxReceiveBufferPerConnection: http2Receive, MaxReceiveBufferPerStream: http2Receive,
			WriteByteTimeout: l.StreamWrite,
		},
		ErrorLog: stdlog.New(serverLog{log}, "", 0),
	}
}

// Listener returns a listener for a Server that limits its connections.
func (h *Handler) Listener(l net.Listener) net.Listener { return h.connections.Listener(l) }

// Requests returns the handler of a Server, which limits the requests over HTTP/2 like connections.
func (h *Handler) Requests(next http.Handler) http.Handler {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		plain(w, http.StatusServiceUnavailable, "Too many connections and requests are open; try again.\n")
	})
	return h.connections.Requests(next, refuse, h.rates.address)
}

// connectionAccount returns the account of an address that connects. Trusted proxies have none,
// because the connections of all their clients come from one address.
func (r *rates) connectionAccount(addr netip.Addr) string {
	if !addr.IsValid() || r.trusts(addr) {
		return budget.Nobody
	}
	key := addressKey(addr)
	return account{owner: key, network: networkOf(key)}.holder()
}

// serverLog receives the log lines of net/http. Most report broken connections, which clients cause
// at will; only a panic of a handler is important.
type serverLog struct{ log *slog.Logger }

// Write implements io.Writer.
func (s serverLog) Write(line []byte) (int, error) {
	_, what, panicked := strings.Cut(string(line), ": panic serving ")
	if !panicked {
		s.log.Debug(strings.TrimSuffix(string(line), "\n"))
		return len(line), nil
	}
	// The line contains the address of the client, which no other log line does.
	if _, cause, ok := strings.Cut(what, ": "); ok {
		what = cause
	}
	cause, stack, _ := strings.Cut(what, "\n")
	s.log.Error("a request has panicked", "err", "panic: "+cause, "stack", stack)
	return len(line), nil
}
