package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/answer"
	"carrel/auth"
	"carrel/budget"
	"carrel/edge/connection"
	"carrel/graph"
	"carrel/observe"
	"carrel/principal"
)

// Config configures a Handler.
type Config struct {
	// Schema executes operations.
	Schema graph.Executor
	// Authenticate returns the caller for the values of an Authorization header. Its errors are
	// fault.Errors, with code Unauthenticated for an invalid token.
	Authenticate Authenticate
	// EndRights, if set, takes the rights from a viewer that it has lost since its token was verified, which
	// a socket does once. It is called for each operation, and each event of a subscription. Its errors are
	// those of Authenticate.
	EndRights func(ctx context.Context, v *principal.Viewer) error
	Limits    Limits
	// Development enables introspection and suggestions. Introspection enables only introspection.
	Development, Introspection bool
	// Profile determines the statuses.
	Profile Profile
	// Documents, if set, are the only documents that are answered.
	Documents Manifest
	// TrustedProxies are the proxies whose X-Forwarded-For header is trusted.
	TrustedProxies []netip.Prefix
	// CrossOrigin defines which other sites may call. If nil, none may.
	CrossOrigin *CrossOrigin
	Log         *slog.Logger
	// Random fills b. It makes the ids of internal errors.
	Random func(b []byte)
	// Observe, if set, is called for each answered request with the type of its operation, which is
	// empty if it is unknown, and the code of the first error, or OK.
	Observe func(operation, code string, took time.Duration)
	// Closed, if set, is called for each socket that has ended, with its close code or one of the
	// Ended constants.
	Closed func(code string)
	// Tracing creates spans of operations. If nil, there are none.
	Tracing *observe.Tracing
	// Spent, if set, is called with the points that a signed-in viewer or an address has spent.
	Spent func(signedIn bool, points float64)
}

// Authenticate returns the caller for the values of an Authorization header.
type Authenticate func(ctx context.Context, authorization []string) (auth.Caller, error)

// Handler answers GraphQL requests by POST and GET, as a single response or by server-sent events,
// and over websockets. It is safe for concurrent use.
type Handler struct {
	authenticate Authenticate
	endRights    func(ctx context.Context, v *principal.Viewer) error
	limits       Limits
	introspects  bool // introspection is enabled
	profile      Profile
	sites        *CrossOrigin
	graph        graph.Executor
	schema       *ast.Schema // of graph
	compiler     *compiler
	persisted    *persisted
	rates        *rates
	presenter    *presenter
	observe      func(operation, code string, took time.Duration)
	closed       func(code string)
	tracing      *observe.Tracing
	operations   *budget.Budget // that run
	lanes        *budget.Lanes
	bodies       *bodies
	memory       *answer.Memory
	connections  *connection.Limit
	streams      *streams
	zipper       *zipper
	exchanges    sync.Pool // of *exchange
	intakes      sync.Pool // of *intake, for messages of sockets
}

// New returns a Handler. It returns an error if a document of the manifest could not be answered.
func New(c Config) (*Handler, error) {
	if c.Schema == nil || c.Authenticate == nil || c.Log == nil || c.Random == nil {
		return nil, errors.New("edge: a handler needs a schema, an authenticator, a log and a source of randomness")
	}
	h := &Handler{
		authenticate: c.Authenticate, endRights: c.EndRights, limits: c.Limits, introspects: c.Development || c.Introspection, profile: c.Profile,
		sites: c.CrossOrigin, graph: c.Schema, schema: c.Schema.Schema(),
		presenter: &presenter{log: c.Log, random: c.Random},
		observe:   c.Observe, closed: c.Closed, tracing: c.Tracing,
		zipper:     newZipper(),
		operations: budget.New(c.Limits.Concurrent, 1),
		lanes:      budget.NewLanes(max(1, runtime.GOMAXPROCS(0)/2)),
		// An answer, and what is resolved for it.
		memory: answer.NewMemory(c.Limits.AnswerMemory, 2*c.Limits.AnswerBytes),
	}
	if h.observe == nil {
		h.observe = func(string, string, time.Duration) {}
	}
	if h.endRights == nil {
		h.endRights = func(context.Context, *principal.Viewer) error { return nil }
	}
	if h.closed == nil {
		h.closed = func(string) {}
	}
	if h.sites == nil {
		h.sites = sameOriginOnly(nil)
	}
	h.compiler = newCompiler(h.schema, &h.limits, h.introspects, c.Development)
	h.persisted = newPersisted(c.Documents, &h.limits)
	h.rates = newRates(&h.limits, c.TrustedProxies, c.Log, c.Spent)
	h.bodies = newBodies(&h.limits)
	h.connections = connection.NewLimit(h.limits.Connections, h.rates.connectionAccount)
	h.streams = newStreams(&h.limits)
	h.exchanges.New = func() any { return new(exchange) }
	h.intakes.New = func() any { return new(intake) }
	for id, text := range c.Documents {
		if _, r := h.compiler.document(text); r != nil {
			return nil, fmt.Errorf("document %s: %s", id, r.errs[0].Message)
		}
	}
	return h, nil
}

// ServeHTTP answers one request. It sends a single response only when it is complete, so that a
// panic can still be answered.
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
	x.accepted = negotiate(r.Header["Accept"], h.profile.defaultMedia())
	refused := h.serve(w, x, r)
	switch {
	case x.opened:
		return // the stream reports its own outcome
	case refused != nil && x.stream && refused.ofRequest():
		// A client that prefers events gets the refusal as an event, because it would treat another
		// status as a lost connection and retry.
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

// Open returns the number of open event streams and sockets.
func (h *Handler) Open() (events, sockets int) { return h.streams.count() }

// AnswerBytes returns the memory that is reserved for answers in progress.
func (h *Handler) AnswerBytes() int64 { return h.memory.Used() }

// Drain closes event streams and sockets and refuses new ones. It returns when all are closed.
func (h *Handler) Drain(ctx context.Context) error { return h.streams.drain(ctx) }

// serve fills x with the answer, or returns a refusal. It also answers streams, which last for
// hours, so it keeps the stack small.
func (h *Handler) serve(w http.ResponseWriter, x *exchange, r *http.Request) (refused *refusal) {
	defer func() {
		if value := recover(); value != nil {
			x.restart()
			refused = h.panicked(r.Context(), value)
		}
	}()
	caller, op, refused := h.prepareRequest(x, r)
	x.intake.reset() // the operation has copies of what it needs
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
	return x.answer(resp, op.reportCost(h.limits.Cost))
}

// panicked returns the refusal for a request whose handling panicked.
func (h *Handler) panicked(ctx context.Context, value any) *refusal {
	err := recovered(ctx, value)
	return &refusal{status: http.StatusInternalServerError, errs: gqlerror.List{h.presenter.present(ctx, err)}}
}

// prepareRequest reads a request and prepares its operation.
func (h *Handler) prepareRequest(x *exchange, r *http.Request) (caller auth.Caller, op *operation, refused *refusal) {
	if refused := h.admit(x, r); refused != nil {
		return caller, nil, refused
	}
	caller, account, refused := h.caller(r)
	x.payer = account
	if refused != nil {
		return caller, nil, refused
	}
	x.compress = h.compresses(caller.SignedIn(), r.Header)
	p, refused := h.params(x, r, account)
	if refused != nil {
		return caller, nil, refused
	}
	p.language = r.Header["Accept-Language"]
	op, refused = h.operation(r.Context(), p, account)
	if refused != nil {
		return caller, nil, refused
	}
	kind := op.Operation.Operation
	x.operation, x.name, x.cost = string(kind), op.Operation.Name, op.cost
	switch {
	case r.Method == http.MethodGet && kind == ast.Mutation:
		return caller, nil, notAllowed(http.MethodPost, "Mutations are sent by POST.")
	case kind == ast.Subscription && !x.events:
		return caller, nil, refuse(http.StatusNotAcceptable, codeNotAcceptable,
			"A subscription is answered by text/event-stream, or over a websocket.")
	case kind != ast.Subscription && !x.stream && x.media == mediaNone:
		return caller, nil, notAcceptable()
	}
	return caller, op, nil
}

// admit checks the method and the header of a request.
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
	return refuse(http.StatusNotAcceptable, codeNotAcceptable,
		"Answers are application/graphql-response+json, application/json or text/event-stream.")
}

func (h *Handler) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, codePayloadTooLarge,
		fmt.Sprintf("The request body has more than %d bytes.", h.limits.BodyBytes))
}

// caller returns the caller of a request and the account that pays for it, which it charges the
// minimum price.
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

// unauthenticated refuses a request whose token is invalid, or cannot be verified now.
func (h *Handler) unauthenticated(ctx context.Context, err error) *refusal {
	shown := h.presenter.present(ctx, err)
	r := &refusal{status: http.StatusInternalServerError, errs: gqlerror.List{shown}}
	switch shown.Extensions["code"] {
	case codeUnauthenticated:
		r.status, r.challenge = http.StatusUnauthorized, `Bearer realm="carrel", error="invalid_token"`
	case codeUnavailable:
		r.status = http.StatusServiceUnavailable
		r.retryAfter, _ = shown.Extensions["retryAfter"].(int)
	case codeTimeout:
		r.status = http.StatusGatewayTimeout
	}
	return r
}

// params reads the request from the URL or from the body.
func (h *Handler) params(x *exchange, r *http.Request, a account) (params, *refusal) {
	if r.Method == http.MethodGet {
		return decodeURL(r.URL.RawQuery, &h.limits)
	}
	if refused := h.read(x, r, a); refused != nil {
		return params{}, refused
	}
	return h.decode(r.Context(), x.bytes(), a)
}

// decode reads a body or the payload of a message.
func (h *Handler) decode(ctx context.Context, body []byte, a account) (p params, refused *refusal) {
	if late := h.inLane(ctx, a, len(body), func() { p, refused = decodeBody(body, &h.limits) }); late != nil {
		return params{}, late
	}
	return p, refused
}

// laneBytes is the length of a text from which working on it takes turns with other work of its account. Short
// ones take microseconds.
const laneBytes = 4 << 10

// inLane does work on so many bytes for an account. It returns a refusal if ctx ends before its turn.
func (h *Handler) inLane(ctx context.Context, a account, bytes int, work func()) *refusal {
	if bytes <= laneBytes {
		work()
	} else if h.lanes.Run(ctx, a.holder(), work) != nil {
		return timedOut()
	}
	return nil
}

// read reads the body.
func (h *Handler) read(x *exchange, r *http.Request, a account) *refusal {
	err := x.read(connection.Body(r.Context(), r.Body), h.bodies, a)
	var late net.Error
	switch {
	case errors.Is(err, errNoRoom):
		return noRoom()
	case errors.As(err, &late) && late.Timeout():
		return refuse(http.StatusRequestTimeout, codeTimeout, "The request body took too long to arrive.")
	case err != nil:
		return badRequest("The request body could not be read.")
	case len(x.bytes()) > h.limits.BodyBytes:
		return h.tooLarge()
	}
	return nil
}

// noRoom refuses a request for which no memory is free.
func noRoom() *refusal {
	return tooBusy("Other requests that are read or run, yours or those of all, use all memory for requests; try again.")
}

// tooBusy refuses a request because too much is in progress, for its account or for all.
func tooBusy(message string) *refusal {
	return refuseUntil(http.StatusServiceUnavailable, codeUnavailable, message, 1)
}

// release returns the buffers of an exchange to their pools.
func (h *Handler) release(x *exchange) {
	if x.op != nil {
		x.op.release()
	}
	x.intake.reset()
	if x.reset(); max(x.zipped.Cap(), cap(x.out)) <= pooledBytes {
		h.exchanges.Put(x)
	}
}
