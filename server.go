package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	_ "embed" // for clientSchema
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"carrel/auth"
	"carrel/cli"
	"carrel/config"
	"carrel/demo/tokens"
	"carrel/edge"
	"carrel/edge/certificate"
	"carrel/gateway"
	"carrel/graph"
	"carrel/heap"
	"carrel/observe"
	"carrel/resolvers"
	"carrel/web"
)

// clientSchema is the schema without the fields of federation, for tools that generate code.
//
//go:embed clients/schema.graphql
var clientSchema string

// runServer serves the API with cfg until ctx ends, and then finishes the running requests. The
// first line on out is JSON with the addresses. The following lines are the log and, in
// development, the addresses of the pages and the tokens of the demo viewers.
func runServer(ctx context.Context, cfg config.Config, out io.Writer) (err error) {
	output := observe.NewOutput(out)
	log := observe.NewLogger(output)
	defer func() { err = errors.Join(err, output.Open(nil)) }()
	if err := checkConfig(&cfg); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	settings, err := cfg.Edge()
	if err != nil {
		return err
	}
	heap.LimitMemory(heap.Memory())
	access, err := openAccess(ctx, &cfg, log)
	if err != nil {
		return err
	}
	defer access.close()
	metrics := observe.NewMetrics()
	export, err := openExport(ctx, &cfg, metrics, log)
	if err != nil {
		return err
	}
	defer export.Close(ctx)
	g, err := gateway.Open(ctx, cfg.StoreFlag, gateway.Options{
		HostID: cfg.HostID, Log: log, Fatal: fail, Metrics: metrics, Tracing: export.Tracing(),
		Doing: "carrel serve", Targets: settings.Limits.ShareTargets, ConfirmedKeys: settings.Limits.ConfirmedKeys, HeaderCache: cfg.HeaderCache,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close(ctx)) }()
	s := &server{cfg: &cfg, log: log, edge: settings, access: access, gateway: g, readiness: g.Readiness(log),
		metrics: metrics, tracing: export.Tracing()}
	if cfg.TLSCert != "" {
		if s.certificate, err = certificate.Open(cfg.TLSCert, cfg.TLSKey, log); err != nil {
			return err
		}
	}
	return s.run(ctx, fail, output)
}

// run listens, announces the addresses, and serves until ctx ends. fail ends it
// with an error.
func (s *server) run(ctx context.Context, fail context.CancelCauseFunc, output *observe.Output) error {
	public, err := s.handler()
	if err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	if err := output.Open(s.announce); err != nil {
		return errors.Join(err, s.closeListeners())
	}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		// Serving does not wait for this, because it reads the store, which may be slow.
		if err := s.printAddresses(ctx, output); err != nil {
			fail(err)
		}
	}()
	err = s.serve(ctx, public)
	fail(nil)
	<-printed
	return err
}

// checkConfig returns the errors in the flags before anything is opened.
func checkConfig(cfg *config.Config) error {
	if _, err := gateway.TargetOf(cfg.StoreFlag); err != nil {
		return err
	}
	return cfg.Check()
}

// server is a gateway with its listeners.
type server struct {
	cfg    *config.Config
	log    *slog.Logger
	edge   config.EdgeConfig
	access *access
	// certificate is nil without TLS.
	certificate *certificate.Certificate
	gateway     *gateway.Gateway
	metrics     *observe.Metrics
	tracing     *observe.Tracing // if nil, no spans are created
	api         *edge.Handler
	main        net.Listener
	admin       net.Listener
	draining    atomic.Bool
	// readiness is the result of /readyz while the server is not draining.
	readiness *gateway.Readiness
}

// listen opens the listeners.
func (s *server) listen() error {
	var err error
	if s.main, err = net.Listen("tcp", s.cfg.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if s.admin, err = net.Listen("tcp", s.cfg.AdminListen); err != nil {
		return errors.Join(fmt.Errorf("admin-listen: %w", err), s.main.Close())
	}
	return nil
}

func (s *server) closeListeners() error { return errors.Join(s.main.Close(), s.admin.Close()) }

// announce writes the first line of the log, and then the warnings about settings.
func (s *server) announce(log *slog.Logger) {
	log.Info("listening", "addr", s.main.Addr().String(), "admin_addr", s.admin.Addr().String(), "config", s.cfg)
	s.cfg.WarnOfExposure(log, &s.edge, s.admin.Addr())
}

// serve answers requests until ctx ends or a listener fails.
func (s *server) serve(ctx context.Context, handler http.Handler) error {
	public, listener := edge.Server(s.api.Requests(handler), s.edge.Limits, s.log), s.api.Listener(s.main)
	operators := &http.Server{Handler: adminHandler(s.metrics.Handler(), s.cfg.AdminListen), ReadHeaderTimeout: s.edge.Limits.ReadHeader,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	ended := make(chan error, 2)
	go func() {
		if s.certificate != nil {
			public.TLSConfig = &tls.Config{GetCertificate: s.certificate.ForHandshake}
			ended <- public.ServeTLS(listener, "", "")
			return
		}
		ended <- public.Serve(listener)
	}()
	go func() { ended <- operators.Serve(s.admin) }()

	var failed error
	running := 2
	select {
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			failed = cause
		}
	case failed = <-ended:
		running--
	}
	s.draining.Store(true)
	s.log.Info("stopping")
	if failed == nil {
		s.lingerFor(ctx, s.cfg.DrainDelay, public)
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.edge.Limits.Stop)
	defer cancel()
	// Shutdown would wait for streams, and does not know about sockets.
	stopped := errors.Join(s.api.Drain(deadline), public.Shutdown(deadline), operators.Close())
	if stopped != nil {
		stopped = errors.Join(fmt.Errorf("requests were cut off: %w", stopped), public.Close())
	}
	for range running {
		<-ended
	}
	return errors.Join(failed, stopped)
}

// lingerFor keeps answering for a while, closing connections after each request, so that load
// balancers that poll /readyz send new requests elsewhere before this process stops accepting them.
func (s *server) lingerFor(ctx context.Context, while time.Duration, public *http.Server) {
	if while <= 0 {
		return
	}
	public.SetKeepAlivesEnabled(false)
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), while)
	defer cancel()
	<-over.Done()
}

// handler returns the handler of the main address.
func (s *server) handler() (http.Handler, error) {
	subgraph, err := graph.NewSubgraph()
	if err != nil {
		return nil, err
	}
	s.api, err = edge.New(edge.Config{
		Schema: resolvers.NewSchema(&resolvers.Root{
			Services: s.services(),
			Limits:   s.edge.PublishedLimits(), Schema: subgraph, Loaded: s.metrics.Loaded,
		}),
		Authenticate:   s.access.tokens.Caller,
		EndRights:      s.gateway.People.EndAdmin,
		Limits:         s.edge.Limits,
		Development:    s.cfg.Dev,
		Introspection:  s.cfg.Introspection,
		Profile:        s.edge.Profile,
		Documents:      s.edge.Documents,
		TrustedProxies: s.edge.Proxies,
		CrossOrigin:    s.access.sites,
		Log:            s.log,
		Random:         func(b []byte) { _, _ = rand.Read(b) },
		Observe:        s.metrics.Request,
		Closed:         s.metrics.SocketClosed,
		Tracing:        s.tracing,
		Spent:          s.metrics.Spent,
	})
	if err != nil {
		return nil, config.WrongUsage("documents", s.cfg.Documents, err.Error())
	}
	s.metrics.Streams(s.api.Open)
	s.metrics.Answers(s.api.AnswerBytes)
	schema := ""
	if s.cfg.Dev || s.cfg.Introspection {
		schema = clientSchema
	}
	var demoMenu func() ([]web.Viewer, error)
	if minter := s.demoTokens(); minter != nil {
		demoMenu = minter.Menu
	}
	return edge.Mux(edge.Routes{
		GraphQL: s.api,
		Page: web.Handler(web.Options{
			Dev: s.cfg.Dev, GraphiQL: s.cfg.GraphiQL, App: s.cfg.App, Viewers: demoMenu,
			Issuer: s.cfg.AuthIssuer, ClientID: s.cfg.AppOIDCClientID, Scope: s.cfg.AppOIDCScope,
		}),
		Raw:    s.api.Raw(s.gateway.Pastes.Text),
		Schema: schema,
		Ready:  s.ready,
		Sites:  s.access.sites,
	}), nil
}

func (s *server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return edge.NotReady("the process is shutting down")
	}
	return s.readiness.Check(ctx)
}

// demoTokens returns a source of tokens for the demo viewers. It is nil outside development, and if
// there is no secret to sign with.
func (s *server) demoTokens() *tokens.Minter {
	if !s.cfg.Dev || s.access.secret == nil {
		return nil
	}
	return &tokens.Minter{Secret: s.access.secret, Issuer: s.cfg.AuthIssuer, Audience: s.cfg.AuthAudience}
}

// printAddresses prints, in development, the addresses of the pages, and a token for each demo
// viewer that exists in the store.
func (s *server) printAddresses(ctx context.Context, out io.Writer) error {
	if !s.cfg.Dev {
		return nil
	}
	scheme := "http"
	if s.cfg.TLSCert != "" {
		scheme = "https"
	}
	page := "GraphiQL"
	if !web.Built() {
		page = "A form for queries (GraphiQL and the reference client need a build with npm)"
	}
	text := fmt.Appendf(nil, "\n%s: %s://%s/\n", page, scheme, s.main.Addr())
	if s.cfg.App && web.Built() {
		text = fmt.Appendf(text, "Reference client: %s://%s/app\n", scheme, s.main.Addr())
	}
	minter := s.demoTokens()
	if _, err := out.Write(text); err != nil || minter == nil {
		return err
	}
	text, err := minter.Text(ctx, s.gateway.People, s.log)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// adminHandler returns the handler of the operators' address, which listens at addr.
func adminHandler(metrics http.Handler, addr string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	named := hostOf(addr)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, site := hostOf(r.Host), r.Header.Get("Sec-Fetch-Site")
		switch {
		case host != "" && !strings.EqualFold(host, "localhost") && !strings.EqualFold(host, named) && net.ParseIP(host) == nil:
			http.Error(w, "this address must be requested by its IP address, as localhost, or by its name in --admin-listen", http.StatusForbidden)
			return
		case site != "" && site != "none" && site != "same-origin", site == "" && r.Header.Get("Origin") != "":
			http.Error(w, "a page of another origin may not request this address", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// hostOf returns the host of an address without its port. A page of a site whose name was made to
// resolve to this machine (DNS rebinding) sends the name of that site.
func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		addr = host
	}
	return strings.Trim(addr, "[]")
}

// access decides who may send requests, and from where.
type access struct {
	tokens *auth.Authenticator
	secret []byte // nil if there is none
	sites  *edge.CrossOrigin
	stop   context.CancelFunc
	done   chan struct{}
}

// openAccess reads the secret and keys, and refreshes the keys until it is closed.
func openAccess(ctx context.Context, cfg *config.Config, log *slog.Logger) (*access, error) {
	a := &access{done: make(chan struct{})}
	var err error
	if a.sites, err = edge.NewCrossOrigin(edge.CrossOriginConfig{
		Origins: cfg.CORSOrigin, Headers: cfg.CORSHeader, Credentials: cfg.CORSCredentials, Log: log,
	}); err != nil {
		return nil, config.NewUsageError("cors-origin: " + err.Error())
	}
	if cfg.AuthHS256File != "" {
		if a.secret, err = auth.ReadSecret(cfg.AuthHS256File); err != nil {
			return nil, config.NewUsageError("auth-hs256-file: " + err.Error())
		}
	}
	ctx, a.stop = context.WithCancel(ctx)
	var keys *auth.KeySet
	if cfg.AuthJWKS != "" {
		if keys, err = auth.OpenKeySet(ctx, cfg.AuthJWKS, time.Now, log); err != nil {
			a.stop()
			return nil, config.NewUsageError("auth-jwks: " + err.Error())
		}
	}
	a.tokens, err = auth.New(auth.Config{Secret: a.secret, Keys: keys, Issuer: cfg.AuthIssuer, Audience: cfg.AuthAudience, Now: time.Now})
	if err != nil {
		a.stop()
		return nil, err
	}
	go func() {
		defer close(a.done)
		if keys != nil {
			keys.Run(ctx, cfg.AuthJWKSEvery)
		}
	}()
	return a, nil
}

// close stops refreshing the keys.
func (a *access) close() {
	a.stop()
	<-a.done
}

// openExport starts to export telemetry. It returns nil if no collector is configured.
func openExport(ctx context.Context, c *config.Config, m *observe.Metrics, log *slog.Logger) (*observe.Export, error) {
	to, err := c.Collectors(os.Getenv)
	if err != nil || to.Traces.URL == "" && to.Metrics.URL == "" {
		return nil, err
	}
	host, err := gateway.HostName(c.HostID)
	if err != nil {
		return nil, err
	}
	var run [4]byte
	_, _ = rand.Read(run[:]) // it never fails
	return observe.OpenExport(ctx, observe.ExportConfig{
		Traces: to.Traces, Metrics: to.Metrics, Ratio: c.TraceRatio, MetricsEvery: c.OTLPMetricsEvery,
		Host: host, Instance: host + "-" + hex.EncodeToString(run[:]), Version: cli.Version(), Log: log,
	}, m)
}

// services returns the Services that the resolvers use.
func (s *server) services() resolvers.Services {
	g := s.gateway
	return resolvers.Services{
		People: g.People, Library: g.Library, PeopleByID: g.People, ItemsByID: g.Library, Listing: g.Listing,
		Feed: g.Feed, Repair: g.Repair, Notes: g.Notes, Pastes: g.Pastes, Leases: g.Leases,
	}
}
