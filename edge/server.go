package edge

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Routes are what stands at the main address.
type Routes struct {
	GraphQL http.Handler
	Page    http.Handler // what people see at /; nil: nothing
	// Raw serves the texts of pastes, by the value "id" of the path; nil: they are not served.
	Raw http.Handler
	// Ready tells why the process should get no requests; nil: it should. Of the
	// reasons a NotReady is shown.
	Ready func(ctx context.Context) error
	// Sites are the other sites that may call /graphql.
	Sites *CrossOrigin
}

// NotReady is a reason that anybody may know: it names no host and no version.
type NotReady string

func (n NotReady) Error() string { return string(n) }

// Mux puts the routes in their places. Health tells no version, and no cause
// but a NotReady: the rest is for the log.
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
	}
	if r.Page != nil {
		mux.Handle("/", compressAssets(r.Page))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.TLS != nil {
			w.Header()["Strict-Transport-Security"] = httpsAlways
		}
		mux.ServeHTTP(w, req)
	})
}

// The values of the headers below. They are shared by all answers: nobody
// writes into the values of a header, and four allocations an answer are saved.
var (
	noSniffing  = []string{"nosniff"}
	noContent   = []string{"default-src 'none'; frame-ancestors 'none'"}
	ownSite     = []string{"same-origin"}
	noReferrer  = []string{"no-referrer"}
	httpsAlways = []string{"max-age=31536000"}
)

// secure adds the headers of what is no page: nothing in it may be run, framed,
// guessed at or read by other sites.
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

// maxHTTP2Streams are the requests that one connection may have under way; a
// browser has a handful.
const maxHTTP2Streams = 100

// headSlack is what HTTP/2 counts of a head beside its bytes: 32 for each field,
// of which 128 have room.
const headSlack = 32 * 128

// AnswerTime is how long an answer may take. It begins when the head of the
// request is read, and so has room for the reading of the body and the running.
func (l *Limits) AnswerTime() time.Duration {
	return max(l.Write, l.Read+l.Query, l.Read+l.Mutation)
}

// headBytes is how long the head of a request is, as HTTP/1.1 writes it.
func headBytes(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len("  HTTP/1.1\r\nHost: \r\n\r\n") + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + len(": \r\n")
		}
	}
	return n
}

// shortHead refuses requests whose head is longer than most bytes, blanks around
// values not counted. Of the server it is known only that a head is not much
// longer, by a measure that differs between HTTP/1.1 and HTTP/2.
func shortHead(h http.Handler, most int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if headBytes(r) > most {
			plain(w, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("The head of the request has more than %d bytes.\n", most))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// endUnclearFraming closes the connection after a request whose end another
// server may have found elsewhere, so that nothing behind it is taken for a
// request (smuggling): one with both Content-Length and Transfer-Encoding, or
// with Transfer-Encoding in HTTP/1.0. net/http drops one of the two before
// anybody sees it, so every request with a Transfer-Encoding, and every one of
// HTTP/1.0, ends its connection. Clients of GraphQL know how long their
// documents are and send Content-Length alone.
func endUnclearFraming(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// Server is an HTTP server that no slow or endless client can hold up.
func Server(h http.Handler, l Limits, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           endUnclearFraming(shortHead(h, l.HeaderBytes)),
		ReadHeaderTimeout: l.ReadHeader,
		ReadTimeout:       l.Read,
		WriteTimeout:      l.AnswerTime(),
		IdleTimeout:       l.Idle,
		MaxHeaderBytes:    l.HeaderBytes + headSlack,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxHTTP2Streams},
		ErrorLog:          stdlog.New(serverLog{log}, "", 0),
	}
}

// serverLog takes what net/http has to say, a line at a time. Most of it tells
// of broken connections, which clients make as they like; a handler that has
// panicked is the one thing that people must hear of.
type serverLog struct{ log *slog.Logger }

// Write implements io.Writer.
func (s serverLog) Write(line []byte) (int, error) {
	_, what, panicked := strings.Cut(string(line), ": panic serving ")
	if !panicked {
		s.log.Debug(strings.TrimSuffix(string(line), "\n"))
		return len(line), nil
	}
	// It begins with the address of the client, which no other line has.
	if _, cause, ok := strings.Cut(what, ": "); ok {
		what = cause
	}
	cause, stack, _ := strings.Cut(what, "\n")
	s.log.Error("a request has panicked", "err", "panic: "+cause, "stack", stack)
	return len(line), nil
}
