package edge

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/auth"
	"carrel/budget"
	"carrel/core/input"
	"carrel/graph"
	"carrel/note"
	"carrel/principal"
)

// usualDocument is the memory of a document that an operation keeps without being counted: of a
// text of 2,000 characters. Clients have few documents, and most are kept anyway for later requests.
const usualDocument = 64 << 10

// operation is a validated operation that can be run once.
type operation struct {
	graph.Execution
	account   account
	lanes     *budget.Lanes
	cost      int // of its document with these variables, see cost.go
	price     int // charged before it is run, and for each event of a subscription
	wantsCost bool
	// texts counts the bytes of the texts in the arguments of its fields.
	texts atomic.Int64
	// started lists the mutations that were executed, by their response names.
	started []string
	// ctx ends with the time for the answer, or the event, that is being built, or when the client leaves.
	ctx context.Context
	// keeps is the memory of its variables, and of a document that is longer than usual.
	keeps int
	// resolving is the price of the groups that were resolved for the viewer.
	resolving int
	// received is the price of the bytes of the request.
	received int
}

// operation prepares the operation of a request and charges its account. minPrice was charged
// before.
func (h *Handler) operation(ctx context.Context, p params, a account) (*operation, *refusal) {
	keep, refused := h.persisted.resolve(&p)
	if refused != nil {
		return nil, refused
	}
	doc, refused := h.document(ctx, p.query, a)
	if refused != nil {
		return nil, refused
	}
	if keep != "" {
		h.persisted.keep(keep, doc.text, a.holder())
	}
	def, refused := doc.operation(p.operationName)
	if refused != nil {
		return nil, refused
	}
	values, refused := doc.variables(h.schema, def, p.variables)
	if refused != nil {
		return nil, refused
	}
	asked, refused := doc.sizes(values, &h.limits)
	if refused != nil {
		return nil, refused
	}
	op := &operation{account: a, lanes: h.lanes, wantsCost: p.cost, cost: doc.cost(def, asked), received: priceOf(p.size),
		keeps: sizeOf(values) + max(0, doc.weight()-usualDocument)}
	if refused := overCost(op.cost, h.limits.Cost); refused != nil {
		return nil, refused
	}
	op.OperationContext = &graphql.OperationContext{
		RawQuery: doc.text, OperationName: p.operationName, Variables: values,
		Doc: doc.ast, Operation: def,
		DisableIntrospection:   !h.introspects,
		RecoverFunc:            recovered,
		RootResolverMiddleware: func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler { return next(ctx) },
	}
	op.ResolverMiddleware, op.Plans, op.Present = op.resolve, doc.pages, h.presenter.present
	if doc.texts && p.language != nil { // parsed once, and not for each text
		op.Locales = note.AcceptedLocales(strings.Join(p.language, ","))
	}
	op.price = max(minPrice, op.cost*costPrice)
	switch def.Operation {
	case ast.Mutation:
		fields := op.fields(h.schema.Mutation)
		op.price = max(mutationPrice*op.changes(fields), op.price) + op.textBytes(fields)/textUnit*textPrice
		if refused := a.paste(pastes(fields)); refused != nil {
			return nil, refused
		}
	case ast.Subscription:
		return op, op.subscribe(h.schema.Subscription)
	}
	return op, a.rest(op.price)
}

// document returns the document for a text. Compiling a new one takes turns with other work of its account.
func (h *Handler) document(ctx context.Context, text string, a account) (doc *document, refused *refusal) {
	if doc, known := h.compiler.cache.Get(text); known {
		return doc, nil
	}
	if h.lanes.Run(ctx, a.holder(), func() { doc, refused = h.compiler.document(text) }) != nil {
		return nil, timedOut()
	}
	return doc, refused
}

// subscribe checks and charges a subscription. One that resumes reads what it has missed.
func (op *operation) subscribe(root *ast.Definition) *refusal {
	fields := op.fields(root)
	if len(fields) != 1 { // validation does not consider skipped fields
		return refuseDocument(codeValidationFailed, "A subscription has exactly one field, which may not be skipped.")
	}
	if fields[0].ArgumentMap(op.Variables)["after"] != nil {
		return op.account.rest(op.price + resumePrice)
	}
	return op.account.rest(op.price)
}

// fields returns the root fields of the operation without skipped ones.
func (op *operation) fields(root *ast.Definition) []graphql.CollectedField {
	return graphql.CollectFields(op.OperationContext, op.Operation.SelectionSet, []string{root.Name})
}

// bulkLists are the names of the lists of items in the inputs of bulk mutations.
var bulkLists = map[string]string{"shareContents": "contentIds", "deleteContents": "items"}

// changes returns how many changes the operation requests: one for each mutation, and one for each
// item of a bulk mutation. A list that is too long for a bulk mutation counts as the longest list
// allowed, and is refused later.
func (op *operation) changes(fields []graphql.CollectedField) (n int) {
	for _, f := range fields {
		items := 1
		if name, bulk := bulkLists[f.Name]; bulk {
			in, _ := f.ArgumentMap(op.Variables)["input"].(map[string]any)
			list, _ := in[name].([]any)
			items = min(max(1, len(list)), input.MaxList)
		}
		n += items
	}
	return n
}

// textBytes returns the length of the texts that mutations may store: of all strings in their
// arguments. A variable counts as often as it is used.
func (op *operation) textBytes(fields []graphql.CollectedField) (n int) {
	for _, f := range fields {
		for _, arg := range f.ArgumentMap(op.Variables) {
			n += textBytes(arg)
		}
	}
	return n
}

// textBytes returns the length of all strings in a value of an argument.
func textBytes(value any) (n int) {
	switch value := value.(type) {
	case string:
		return len(value)
	case []any:
		for _, v := range value {
			n += textBytes(v)
		}
	case map[string]any:
		for _, v := range value {
			n += textBytes(v)
		}
	}
	return n
}

// pastes returns how many pastes mutations create or change. Each may store a whole text.
func pastes(fields []graphql.CollectedField) (n int) {
	for _, f := range fields {
		if f.Name == "createPaste" || f.Name == "updatePaste" {
			n++
		}
	}
	return n
}

// tooManyOperations refuses an operation because others run.
func tooManyOperations() *refusal {
	return tooBusy("Too many operations are running, yours or those of all; try again.")
}

// run executes a query or a mutation, and charges the part of the price that is only known
// afterwards. The operation has ended when it returns, and holds nothing but its answer. The caller
// releases op when the answer has been sent.
func (h *Handler) run(ctx context.Context, caller auth.Caller, op *operation) (*executed, *refusal) {
	if !h.operations.Hold(op.account.holder(), 1) {
		return nil, tooManyOperations()
	}
	defer h.operations.Free(op.account.holder(), 1)
	if !h.bodies.Hold(op.account.holder(), op.keeps) {
		return nil, noRoom()
	}
	defer h.bodies.Free(op.account.holder(), op.keeps)
	ctx, cancel := context.WithTimeout(ctx, h.timeout(op.Operation))
	defer cancel()
	op.ctx = ctx
	h.begin(op, cancel)
	if err := h.reserve(op); err != nil { // nothing was executed yet
		return nil, h.unsent(err)
	}
	op.Viewer = caller.Viewer()
	if err := h.endRights(ctx, op.Viewer); err != nil {
		return nil, h.unauthenticated(ctx, err)
	}
	defer func() {
		op.resolving = resolvingPrice(op.Viewer)
		op.account.bill(op.afterwards())
	}()
	if ctx.Err() != nil {
		return nil, timedOut()
	}
	done, err := h.outcome(op, h.graph.Execute(ctx, &op.Execution))
	switch {
	case err == nil:
		return done, nil
	case op.Operation.Operation == ast.Mutation:
		return h.unsentMutation(op, done, err), nil
	}
	op.release()
	return nil, h.unsent(err)
}

// afterwards returns the part of the price that is only known when the operation has ended.
func (op *operation) afterwards() int {
	return op.Libraries*libraryPrice + op.Keys*keyPrice + op.Guesses*guessPrice + op.resolving + op.bytes()
}

// bytes returns the price of the texts in its arguments and of its answer, or of its last event.
func (op *operation) bytes() int { return priceOf(int(op.texts.Load()) + op.Body.Size()) }

// resolvingPrice returns the price of the groups that were resolved for a viewer, and of the libraries of
// its groups.
func resolvingPrice(v *principal.Viewer) int {
	resolutions, libraries := v.Resolved()
	return resolutions*groupsPrice + libraries*mergedPrice
}

// firstErrors returns the errors of errs that are shown.
func (h *Handler) firstErrors(errs gqlerror.List) gqlerror.List {
	return errs[:min(len(errs), h.limits.Errors)]
}

func (h *Handler) timeout(op *ast.OperationDefinition) time.Duration {
	if op.Operation == ast.Mutation {
		return h.limits.Mutation
	}
	return h.limits.Query
}

// costReported is the content of extensions.cost, in the units of the API's documentation.
type costReported struct {
	Operation  int     `json:"operation"`
	Limit      int     `json:"limit"`
	Points     float64 `json:"points"`
	PointsLeft *int    `json:"pointsLeft,omitempty"`
}

// reportCost returns nil unless the client has requested it.
func (op *operation) reportCost(limit int) *costReported {
	if !op.wantsCost {
		return nil
	}
	t := &costReported{Operation: op.cost, Limit: limit, Points: float64(op.price+op.received+op.afterwards()) / point}
	if op.account.ledger != nil {
		left := op.account.balance()
		t.PointsLeft = &left
	}
	return t
}
