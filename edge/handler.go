package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/answer"
	"carrel/auth"
	"carrel/graph"
	"carrel/observe"
)

// Config is what a Handler is made of.
type Config struct {
	Schema graph.ExecutableSchema
	// Authenticate tells who asks, by the values of an Authorization header. Its
	// errors are the domain's, of code Unauthenticated for a bad token.
	Authenticate Authenticate
	// Prepare, where it is set, adds to an operation's context what its
	// resolvers expect there: the loaders of that operation.
	Prepare func(ctx context.Context) context.Context
	Limits  Limits
	// WarnOnly logs what goes beyond the limits of a document's shape and cost,
	// and runs it all the same, so that an operator can see whom they would
	// hit. What protects the process itself (sizes, tokens, overlap) stands.
	WarnOnly bool
	// Exceeded, where it is set, is told the code of each limit that an operation
	// was beyond and was run all the same.
	Exceeded func(code string)
	// Development switches introspection and suggestions on; Introspection only it.
	Development, Introspection bool
	// Profile decides on statuses.
	Profile Profile
	// Documents, where they are set, are the only ones that are answered.
	Documents Manifest
	// TrustedProxies are believed what they say of where a request comes from.
	TrustedProxies []netip.Prefix
	// CrossOrigin tells which other sites may call; nil: none.
	CrossOrigin *CrossOrigin
	Log         *slog.Logger
	// Random fills b, for the ids of internal errors.
	Random func(b []byte)
	// Observe, where it is set, is told of each request that was answered: the
	// type of its operation, empty where it was not known, and the code of the
	// first error, OK where there is none.
	Observe func(operation, code string, took time.Duration)
	// Closed, where it is set, is told of each socket that has ended: the code it
	// was closed with, or one of the Ended constants.
	Closed func(code string)
	// Tracing makes spans of operations; nil: nobody asks for them.
	Tracing *observe.Tracing
	// Spent, where it is set, is told of the points that a signed-in viewer, or an
	// address, pays.
	Spent func(signedIn bool, points float64)
}

// Authenticate tells who asks, by the values of an Authorization header.
type Authenticate func(ctx context.Context, authorization []string) (auth.Caller, error)

// Handler answers GraphQL requests by POST and GET, in one piece or by
// server-sent events, and over websockets. It is safe for concurrent use.
type Handler struct {
	authenticate Authenticate
	prepare      func(ctx context.Context) context.Context
	limits       Limits
	introspects  bool // introspection is answered
	profile      Profile
	sites        *CrossOrigin
	graph        graph.ExecutableSchema
	schema       *ast.Schema // of graph
	stands       judge
	warning      *warning // nil: limits are enforced
	compiler     *compiler
	persisted    *persisted
	rates        *rates
	executor     *executor.Executor
	presenter    *presenter
	observe      func(operation, code string, took time.Duration)
	closed       func(code string)
	tracing      *observe.Tracing
	running      atomic.Int64
	memory       *answer.Memory
	streams      *streams
	zipper       *zipper
	exchanges    sync.Pool // of *exchange
	intakes      sync.Pool // of *intake, for messages of sockets
	large        *largeBuffers
}

// New makes a Handler. It refuses a manifest with a document that could not be
// answered.
func New(c Config) (*Handler, error) {
	if c.Schema == nil || c.Authenticate == nil || c.Log == nil || c.Random == nil {
		return nil, errors.New("edge: a handler needs a schema, an authenticator, a log and a source of randomness")
	}
	h := &Handler{
		authenticate: c.Authenticate, prepare: c.Prepare, limits: c.Limits, introspects: c.Development || c.Introspection, profile: c.Profile,
		sites: c.CrossOrigin, graph: c.Schema, schema: c.Schema.Schema(),
		executor:  executor.New(c.Schema),
		presenter: &presenter{log: c.Log, random: c.Random},
		observe:   c.Observe, closed: c.Closed, tracing: c.Tracing,
		zipper: newZipper(), memory: answer.NewMemory(c.Limits.AnswerMemory),
	}
	if h.observe == nil {
		h.observe = func(string, string, time.Duration) {}
	}
	if h.closed == nil {
		h.closed = func(string) {}
	}
	if h.sites == nil {
		h.sites = sameOriginOnly()
	}
	h.stands = func(r *refusal) *refusal { return r }
	if c.WarnOnly {
		h.stands = func(*refusal) *refusal { return nil } // warn tells of it
		h.warning = &warning{c.Log, c.Exceeded}
		if c.Exceeded == nil {
			h.warning.exceeded = func(string) {}
		}
	}
	h.compiler = newCompiler(h.schema, &h.limits, h.introspects, c.Development, h.stands)
	h.persisted = newPersisted(c.Documents, &h.limits)
	h.rates = newRates(&h.limits, c.TrustedProxies, c.Spent)
	h.streams = newStreams(&h.limits)
	h.executor.SetErrorPresenter(h.presenter.present)
	h.executor.SetRecoverFunc(recovered)
	h.exchanges.New = func() any { return new(exchange) }
	h.intakes.New = func() any { return new(intake) }
	h.large = newLargeBuffers(h.limits.BodyBytes)
	for id, text := range c.Documents {
		if _, r := h.compiler.document(text); r != nil {
			return nil, fmt.Errorf("document %s: %s", id, r.errs[0].Message)
		}
	}
	return h, nil
}

// ServeHTTP answers one request. What it writes in one piece is complete before
// the first byte goes out, so that a panic is still answered.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if wantsSocket(r) {
		h.serveSocket(w, r)
		return
	}
	x := h.exchanges.Get().(*exchange)
	defer h.release(x)
	x.began = time.Now()
	ctx, span := h.tracing.Request(r.Context(), r)
	if span != nil {
		r, x.span = r.WithContext(ctx), span
	}
	x.profile = h.profile
	x.accepted = negotiate(r.Header["Accept"], h.profile.unsaid())
	refused := h.serve(w, x, r)
	switch {
	case x.opened:
		return // the stream tells of itself
	case refused != nil && x.stream && refused.ofRequest():
		// A client that reads events alone is told by them; it would take another
		// status for a broken connection, and try again.
		x.code = firstCode(refused.errs)
		h.refuseByEvents(w, refused)
	case refused != nil:
		x.refuse(refused)
		x.send(w, h.zipper)
	default:
		x.send(w, h.zipper)
	}
	h.observe(x.operation, x.code, time.Since(x.began))
	x.span.End(x.outcome(observe.TransportHTTP, x.status))
}

// Open is how many event streams and sockets are open.
func (h *Handler) Open() (events, sockets int) { return h.streams.count() }

// AnswerBytes is the memory that is reserved for answers in progress.
func (h *Handler) AnswerBytes() int64 { return h.memory.Used() }

// Drain ends what would not end by itself, event streams and sockets, and lets
// no more of them be opened. It returns when all are gone.
func (h *Handler) Drain(ctx context.Context) error { return h.streams.drain(ctx) }

// serve fills x with the answer, or returns why there is none. A stream is
// answered here too, for hours, and on no larger a stack than it takes.
func (h *Handler) serve(w http.ResponseWriter, x *exchange, r *http.Request) (refused *refusal) {
	defer func() {
		if value := recover(); value != nil {
			x.restart()
			refused = h.panicked(r.Context(), value)
		}
	}()
	caller, op, refused := h.prepared(x, r)
	switch {
	case refused != nil:
		return refused
	case op.Operation.Operation == ast.Subscription || x.stream:
		return h.stream(w, r, x, caller, op)
	}
	x.op = op
	resp, refused := h.run(r.Context(), caller, op)
	if refused != nil {
		return refused
	}
	return x.answer(resp, op.told(h.limits.Cost))
}

// panicked is the refusal of what has panicked while it was answered.
func (h *Handler) panicked(ctx context.Context, value any) *refusal {
	err := recovered(ctx, value)
	return &refusal{status: http.StatusInternalServerError, errs: gqlerror.List{h.presenter.present(ctx, err)}}
}

// prepared reads a request up to the operation that it asks for.
func (h *Handler) prepared(x *exchange, r *http.Request) (caller auth.Caller, op *operation, refused *refusal) {
	if refused := h.admit(x, r); refused != nil {
		return caller, nil, refused
	}
	caller, account, refused := h.caller(r)
	if refused != nil {
		return caller, nil, refused
	}
	x.public = !caller.SignedIn() && r.Header["Cookie"] == nil && takesGzip(r.Header)
	p, refused := h.params(x, r)
	if refused != nil {
		return caller, nil, refused
	}
	p.language = r.Header["Accept-Language"]
	op, refused = h.operation(p, account)
	if refused != nil {
		return caller, nil, refused
	}
	kind := op.Operation.Operation
	x.operation, x.name, x.cost = string(kind), op.Operation.Name, op.cost
	switch {
	case r.Method == http.MethodGet && kind == ast.Mutation:
		return caller, nil, notAllowed(http.MethodPost, "Mutations are sent by POST.")
	case kind == ast.Subscription && !x.events:
		return caller, nil, refuse(http.StatusNotAcceptable, codeNotAcceptable, "A subscription is answered by text/event-stream, or over a websocket.")
	case kind != ast.Subscription && !x.stream && x.media == mediaNone:
		return caller, nil, notAcceptable()
	}
	h.warn(r.Context(), op, caller)
	return caller, op, nil
}

// admit judges a request by its head.
func (h *Handler) admit(x *exchange, r *http.Request) *refusal {
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		return notAllowed("GET, POST", "GraphQL requests are sent by POST or GET.")
	}
	if x.media == mediaNone && !x.events {
		return notAcceptable()
	}
	if r.Method == http.MethodGet {
		return checkGET(r)
	}
	if refused := checkContentType(r.Header); refused != nil {
		return refused
	}
	if r.ContentLength > int64(h.limits.BodyBytes) {
		return h.tooLarge()
	}
	return h.sites.check(r)
}

func notAllowed(allow, message string) *refusal {
	r := refuse(http.StatusMethodNotAllowed, codeMethodNotAllowed, message)
	r.allow = allow
	return r
}

func notAcceptable() *refusal {
	return refuse(http.StatusNotAcceptable, codeNotAcceptable, "Answers are application/graphql-response+json, application/json or text/event-stream.")
}

func (h *Handler) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, codePayloadTooLarge, fmt.Sprintf("The request body has more than %d bytes.", h.limits.BodyBytes))
}

// caller is who sends a request, and the account that pays for it. The least
// price is taken from it here, whatever becomes of the request.
func (h *Handler) caller(r *http.Request) (auth.Caller, account, *refusal) {
	caller, err := h.authenticate(r.Context(), r.Header["Authorization"])
	if err != nil {
		if refused := h.rates.account("", r).begin(); refused != nil {
			return caller, account{}, refused
		}
		return caller, account{}, h.unauthenticated(r.Context(), err)
	}
	a := h.rates.account(string(caller.User), r)
	return caller, a, a.begin()
}

// unauthenticated refuses a request whose token is bad, or cannot be judged.
func (h *Handler) unauthenticated(ctx context.Context, err error) *refusal {
	shown := h.presenter.present(ctx, err)
	r := &refusal{status: http.StatusInternalServerError, errs: gqlerror.List{shown}}
	switch shown.Extensions["code"] {
	case codeUnauthenticated:
		r.status, r.challenge = http.StatusUnauthorized, `Bearer realm="carrel", error="invalid_token"`
	case codeUnavailable:
		r.status = http.StatusServiceUnavailable
		r.retryAfter, _ = shown.Extensions["retryAfter"].(int)
	}
	return r
}

// params reads the request from the URL or from the body.
func (h *Handler) params(x *exchange, r *http.Request) (params, *refusal) {
	if r.Method == http.MethodGet {
		return decodeURL(r.URL.RawQuery, &h.limits)
	}
	if refused := h.read(x, r); refused != nil {
		return params{}, refused
	}
	return decodeBody(x.bytes(), &h.limits)
}

// read takes the body in.
func (h *Handler) read(x *exchange, r *http.Request) *refusal {
	err := x.read(r.Body, h.large)
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return refuse(http.StatusRequestTimeout, codeTimeout, "The request body took too long to arrive.")
	case err != nil:
		return badRequest("The request body could not be read.")
	case len(x.bytes()) > h.limits.BodyBytes:
		return h.tooLarge()
	}
	return nil
}

// release keeps the room of an exchange for later ones.
func (h *Handler) release(x *exchange) {
	if x.op != nil {
		x.op.release()
	}
	x.intake.reset(h.large)
	if x.reset(); max(x.first.Cap(), x.zipped.Cap(), cap(x.out)) <= pooledBytes {
		h.exchanges.Put(x)
	}
}
