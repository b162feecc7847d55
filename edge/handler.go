package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/library"
)

// Config is what a Handler is made of.
type Config struct {
	Schema graphql.ExecutableSchema
	// Authenticate tells who sent a request. Its errors are the domain's, of
	// code Unauthenticated for a bad token.
	Authenticate func(r *http.Request) (*library.Viewer, error)
	// Prepare, where it is set, adds to an operation's context what its
	// resolvers expect there: the loaders of that operation.
	Prepare func(ctx context.Context) context.Context
	Limits  Limits
	// WarnOnly logs what goes beyond the limits of a document's shape and cost,
	// and runs it all the same, so that an operator can see whom they would
	// hit. What protects the process itself (sizes, tokens, overlap) stands.
	WarnOnly bool
	// Development switches introspection and suggestions on.
	Development bool
	// CrossOrigin tells which other sites may call; nil: none.
	CrossOrigin *CrossOrigin
	Log         *slog.Logger
	// Random fills b, for the ids of internal errors.
	Random func(b []byte)
	// Observe, where it is set, is told of each request that was answered: the
	// type of its operation, empty where it was not known, and the code of the
	// first error, OK where there is none.
	Observe func(operation, code string, took time.Duration)
}

// Handler answers GraphQL requests by POST. It is safe for concurrent use.
type Handler struct {
	authenticate func(r *http.Request) (*library.Viewer, error)
	prepare      func(ctx context.Context) context.Context
	limits       Limits
	development  bool
	sites        *CrossOrigin
	schema       *ast.Schema
	stands       judge
	compiler     *compiler
	executor     *executor.Executor
	presenter    *presenter
	observe      func(operation, code string, took time.Duration)
	running      atomic.Int64
	exchanges    sync.Pool
}

// New makes a Handler.
func New(c Config) (*Handler, error) {
	if c.Schema == nil || c.Authenticate == nil || c.Log == nil || c.Random == nil {
		return nil, errors.New("edge: a handler needs a schema, an authenticator, a log and a source of randomness")
	}
	h := &Handler{
		authenticate: c.Authenticate, prepare: c.Prepare, limits: c.Limits, development: c.Development,
		sites: c.CrossOrigin, schema: c.Schema.Schema(),
		executor:  executor.New(c.Schema),
		presenter: &presenter{log: c.Log, random: c.Random},
		observe:   c.Observe,
	}
	if h.observe == nil {
		h.observe = func(string, string, time.Duration) {}
	}
	if h.sites == nil {
		h.sites = sameOriginOnly()
	}
	h.stands = func(r *refusal) *refusal { return r }
	if c.WarnOnly {
		h.stands = func(r *refusal) *refusal {
			c.Log.Warn("a document is beyond a limit", "code", r.errs[0].Extensions["code"], "why", r.errs[0].Message)
			return nil
		}
	}
	h.compiler = newCompiler(h.schema, &h.limits, c.Development, h.stands)
	h.executor.SetErrorPresenter(h.presenter.present)
	h.executor.SetRecoverFunc(recovered)
	h.exchanges.New = func() any { return new(exchange) }
	return h, nil
}

// ServeHTTP answers one request. What it writes is complete before the first
// byte goes out, so that a panic is still answered.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := h.exchanges.Get().(*exchange)
	defer h.release(x)
	x.media = negotiate(r.Header["Accept"])
	if refused := h.serve(x, r); refused != nil {
		x.refuse(refused)
	}
	x.send(w)
	h.observe(x.operation, x.code, time.Since(began))
}

// serve fills x with the answer, or returns why there is none.
func (h *Handler) serve(x *exchange, r *http.Request) (refused *refusal) {
	defer func() {
		if value := recover(); value != nil {
			operation := x.operation
			x.reset()
			x.operation = operation
			err := recovered(r.Context(), value)
			refused = &refusal{status: http.StatusInternalServerError, errs: gqlerror.List{h.presenter.present(r.Context(), err)}}
		}
	}()
	if refused := h.admit(x, r); refused != nil {
		return refused
	}
	viewer, err := h.authenticate(r)
	if err != nil {
		return h.unauthenticated(r.Context(), err)
	}
	if refused := h.read(x, r); refused != nil {
		return refused
	}
	p, refused := decodeBody(x.body.Bytes())
	if refused != nil {
		return refused
	}
	op, refused := h.operation(p)
	if refused != nil {
		return refused
	}
	x.operation = string(op.Operation.Operation)
	if h.running.Add(1) > int64(h.limits.Concurrent) {
		h.running.Add(-1)
		return overloaded()
	}
	defer h.running.Add(-1)
	return h.execute(auth.WithViewer(r.Context(), viewer), x, op)
}

// admit judges a request by its head.
func (h *Handler) admit(x *exchange, r *http.Request) *refusal {
	if r.Method != http.MethodPost {
		x.allow = http.MethodPost
		return refuse(http.StatusMethodNotAllowed, codeMethodNotAllowed, "GraphQL requests are sent by POST.")
	}
	if x.media == mediaNone {
		return refuse(http.StatusNotAcceptable, codeNotAcceptable, "Answers are application/graphql-response+json or application/json.")
	}
	if refused := checkContentType(r.Header); refused != nil {
		return refused
	}
	if r.ContentLength > int64(h.limits.BodyBytes) {
		return h.tooLarge()
	}
	return h.sites.check(r)
}

func (h *Handler) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, codePayloadTooLarge, fmt.Sprintf("The request body has more than %d bytes.", h.limits.BodyBytes))
}

func overloaded() *refusal {
	r := refuse(http.StatusServiceUnavailable, codeUnavailable, "Too many operations are running; try again.")
	r.retryAfter = 1
	r.errs[0].Extensions["retryAfter"] = 1
	return r
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

// read takes the body in.
func (h *Handler) read(x *exchange, r *http.Request) *refusal {
	x.limited = io.LimitedReader{R: r.Body, N: int64(h.limits.BodyBytes) + 1}
	_, err := x.body.ReadFrom(&x.limited)
	x.limited.R = nil
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return refuse(http.StatusRequestTimeout, codeTimeout, "The request body took too long to arrive.")
	case err != nil:
		return badRequest("The request body could not be read.")
	case x.body.Len() > h.limits.BodyBytes:
		return h.tooLarge()
	}
	return nil
}

// operation prepares what the body asks for.
func (h *Handler) operation(p params) (*graphql.OperationContext, *refusal) {
	doc, refused := h.compiler.document(p.query)
	if refused != nil {
		return nil, refused
	}
	op, refused := doc.operation(p.operationName)
	if refused != nil {
		return nil, refused
	}
	values, refused := coerce(h.schema, op, p.variables)
	if refused != nil {
		return nil, refused
	}
	if refused := doc.checkSizes(values, h.limits.PageSize); refused != nil {
		return nil, refused
	}
	if refused := doc.checkCost(op, values, h.limits.Cost); refused != nil {
		if refused = h.stands(refused); refused != nil {
			return nil, refused
		}
	}
	return &graphql.OperationContext{
		RawQuery: doc.text, OperationName: p.operationName, Variables: values,
		Doc: doc.ast, Operation: op,
		DisableIntrospection:   !h.development,
		RecoverFunc:            recovered,
		ResolverMiddleware:     func(ctx context.Context, next graphql.Resolver) (any, error) { return next(ctx) },
		RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
	}, nil
}

// execute runs the operation and writes its answer to x.
func (h *Handler) execute(ctx context.Context, x *exchange, op *graphql.OperationContext) *refusal {
	ctx, cancel := context.WithTimeout(ctx, h.timeout(op.Operation))
	defer cancel()
	if h.prepare != nil {
		ctx = h.prepare(ctx)
	}
	respond, ctx := h.executor.DispatchOperation(ctx, op)
	resp := respond(ctx)
	if resp == nil { // the context had ended before it began
		return refuse(http.StatusGatewayTimeout, codeTimeout, "The operation took longer than it may.")
	}
	if len(resp.Errors) > h.limits.Errors {
		resp.Errors = resp.Errors[:h.limits.Errors]
	}
	return x.answer(resp)
}

func (h *Handler) timeout(op *ast.OperationDefinition) time.Duration {
	if op.Operation == ast.Mutation {
		return h.limits.Mutation
	}
	return h.limits.Query
}

func (h *Handler) release(x *exchange) {
	if x.reset(); x.body.Cap() <= pooledBytes && cap(x.out) <= pooledBytes {
		h.exchanges.Put(x)
	}
}
