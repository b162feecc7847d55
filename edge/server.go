package edge

import (
	"context"
	"log/slog"
	"net/http"
)

// Routes are what stands at the main address.
type Routes struct {
	GraphQL http.Handler
	Page    http.Handler // what people see at /; nil: nothing
	// Ready tells why the process should get no requests; nil: it should.
	Ready func(ctx context.Context) error
	// Sites are the other sites that may call /graphql.
	Sites *CrossOrigin
}

// Mux puts the routes in their places. Health tells no version and no cause:
// those are for the log.
func Mux(r Routes) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/graphql", r.Sites.Wrap(r.GraphQL))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "alive\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		if r.Ready(req.Context()) != nil {
			plain(w, http.StatusServiceUnavailable, "not ready\n")
			return
		}
		plain(w, http.StatusOK, "ready\n")
	})
	if r.Page != nil {
		mux.Handle("/", r.Page)
	}
	return mux
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// Server is an HTTP server that no slow or endless client can hold up.
func Server(h http.Handler, l Limits, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: l.ReadHeader,
		ReadTimeout:       l.Read,
		WriteTimeout:      l.Write,
		IdleTimeout:       l.Idle,
		MaxHeaderBytes:    l.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
