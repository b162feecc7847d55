package edge

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"carrel/core/clock"
	"carrel/core/lru"
	"carrel/edge/validation"
	"carrel/graph"
)

// document is a valid query text: parsed, within the limits and validated. It is shared by all
// requests with that text and immutable, except for the time of the last warning.
type document struct {
	text string
	ast  *ast.QueryDocument
	// pageSizes are the arguments that set a page size.
	pageSizes []*ast.Argument
	// lists are the arguments that list the objects to read.
	lists []*ast.Argument
	// filters are the arguments that make a page read more entries than it returns.
	filters []*ast.Argument
	// sized maps each of them to its index in the sizes of an operation.
	sized map[*ast.Argument]int
	// conditional reports that directives select fields, which may depend on the variables of an
	// operation.
	conditional bool
	// texts reports that texts are selected in the language of the request.
	texts bool
	// nullable are the variables that may be null and are used where no null is taken. It is nil if
	// there are none.
	nullable map[string]bool
	// pages caches the plans of its operations and pages. It is nil if there are none, or if the
	// document is conditional.
	pages *graph.PlanCache
}

// operation returns the operation with a name, or the only operation if the name is empty.
func (d *document) operation(name string) (*ast.OperationDefinition, *refusal) {
	if name == "" && len(d.ast.Operations) > 1 {
		return nil, refuseDocument(codeOperationResolution, "The document has several operations: operationName must name one of them.")
	}
	if op := d.ast.Operations.ForName(name); op != nil {
		return op, nil
	}
	return nil, refuseDocument(codeOperationResolution, "The document has no operation with the name in operationName.")
}

// compiler compiles query texts to documents and caches these.
type compiler struct {
	schema        *ast.Schema
	rules         *rules.Rules
	limits        *Limits
	introspection bool
	cache         *lru.Cache[string, *document] // by text
}

// newCompiler returns a compiler. With suggestions, errors suggest names of the schema, which
// reveals the schema like introspection.
func newCompiler(schema *ast.Schema, limits *Limits, introspection, suggestions bool) *compiler {
	r := rules.NewDefaultRules()
	if !suggestions {
		for _, without := range []validator.Rule{
			rules.FieldsOnCorrectTypeRuleWithoutSuggestions, rules.KnownArgumentNamesRuleWithoutSuggestions,
			rules.KnownTypeNamesRuleWithoutSuggestions, rules.ScalarLeafsRuleWithoutSuggestions,
			rules.ValuesOfCorrectTypeRuleWithoutSuggestions,
		} {
			r.RemoveRule(strings.TrimSuffix(without.Name, "WithoutSuggestions"))
			r.AddRule(without.Name, without.RuleFunc)
		}
	}
	r.AddRule("DateTimes", dateTimes)
	return &compiler{
		schema: schema, rules: fewErrors(r, limits.Errors), limits: limits, introspection: introspection,
		cache: lru.New[string](limits.CachedDocuments, limits.CachedBytes, (*document).weight, nil),
	}
}

// dateTimes refuses texts that are no DateTime, before a mutation beside them is executed. The other
// rules accept every value of a custom scalar.
func dateTimes(observers *validator.Events, addError validator.AddErrFunc) {
	observers.OnValue(func(_ *validator.Walker, v *ast.Value) {
		if v.Definition == nil || v.Definition.Name != "DateTime" || v.Kind != ast.StringValue && v.Kind != ast.BlockValue {
			return
		}
		if _, err := clock.Parse(v.Raw); err != nil {
			addError(validator.Message("A DateTime is expected: %s.", err), core.At(v.Position))
		}
	})
}

// fewErrors limits the errors of each rule to the number that an answer may have: a rule may find
// one for each token.
func fewErrors(all *rules.Rules, limit int) *rules.Rules {
	few := rules.NewRules()
	for name, rule := range all.GetInner() {
		few.AddRule(name, func(observers *validator.Events, addError validator.AddErrFunc) {
			shown := 0
			rule(observers, func(options ...validator.ErrorOption) {
				if shown++; shown <= limit {
					addError(options...)
				}
			})
		})
	}
	return few
}

// document returns the document for a text, cached or compiled. Only valid documents are cached.
// Refusing an invalid one again costs little, and many of them cannot evict others.
func (c *compiler) document(text string) (*document, *refusal) {
	if d, ok := c.cache.Get(text); ok {
		return d, nil
	}
	d, r := c.compile(text)
	if r != nil {
		return nil, r
	}
	c.cache.Put(text, d)
	return d, nil
}

// compile parses, inspects and validates a text. The cheapest check comes first.
func (c *compiler) compile(text string) (*document, *refusal) {
	if len(text) > c.limits.QueryChars && (len(text) > utf8.UTFMax*c.limits.QueryChars || utf8.RuneCountInString(text) > c.limits.QueryChars) {
		return nil, tooLong(c.limits)
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, c.limits.Tokens)
	if err != nil {
		return nil, c.parseRefusal(text, err)
	}
	if fault := validation.SyntaxError(text, nil); fault != nil {
		return nil, c.syntaxRefusal(fault)
	}
	if len(doc.Operations)+len(doc.Fragments) == 0 {
		return nil, refuse(statusSyntax, codeParseFailed, "The query is empty.")
	}
	if r := inspect(doc, c.limits, c.introspection); r != nil {
		return nil, r
	}
	if len(doc.Operations) == 0 {
		return nil, refuseDocument(codeOperationResolution, "The document has no operation.")
	}
	validation.MergeRepeated(doc)
	if validation.Overlaps(doc, c.limits.Overlap) {
		return nil, refuseDocument(codeDuplicateLimit, "The same fields are selected too often in different fragments.")
	}
	if errs := validator.ValidateWithRules(c.schema, doc, c.rules); len(errs) > 0 {
		return nil, &refusal{errs: c.presentable(errs, codeValidationFailed)}
	}
	d := &document{text: text, ast: doc, sized: map[*ast.Argument]int{}, nullable: validation.Nullable(doc)}
	d.collect(doc)
	return d, nil
}

func tooLong(l *Limits) *refusal {
	return refuseDocument(codeQueryTooLong, fmt.Sprintf("The query has more than %d characters.", l.QueryChars))
}

// parseRefusal distinguishes the parser's own limits from syntax errors.
func (c *compiler) parseRefusal(text string, err error) *refusal {
	switch message := err.Error(); {
	case strings.Contains(message, "exceeded token limit"):
		return refuseDocument(codeTokenLimit, fmt.Sprintf("The query has more than %d tokens.", c.limits.Tokens))
	case strings.Contains(message, "exceeded maximum nesting depth"):
		return refuseDocument(codeDepthLimit, fmt.Sprintf("The query is nested more than %d levels deep.", parser.MaxNestingDepth))
	}
	if e, ok := err.(*gqlerror.Error); ok {
		return c.syntaxRefusal(validation.SyntaxError(text, e))
	}
	return refuse(statusSyntax, codeParseFailed, "The query cannot be parsed.")
}

func (c *compiler) syntaxRefusal(e *gqlerror.Error) *refusal {
	return &refusal{status: statusSyntax, errs: c.presentable(gqlerror.List{e}, codeParseFailed)}
}

// maxMessage limits the length of an error message, which may quote the query, in bytes.
const maxMessage = 300

// presentable returns the first errors of a list, shortened and with a code.
func (c *compiler) presentable(errs gqlerror.List, code string) gqlerror.List {
	shown := make(gqlerror.List, 0, min(len(errs), c.limits.Errors))
	for _, e := range errs[:cap(shown)] {
		message := e.Message
		if len(message) > maxMessage {
			message = strings.ToValidUTF8(message[:maxMessage], "") + "..."
		}
		locations := e.Locations
		if len(locations) > 2 {
			locations = locations[:2]
		}
		shown = append(shown, &gqlerror.Error{Message: message, Locations: locations, Extensions: map[string]any{"code": code}})
	}
	return shown
}

// collect finds the arguments that the limits on sizes apply to, and whether operations can share
// the plans of pages.
func (d *document) collect(doc *ast.QueryDocument) {
	for _, op := range doc.Operations {
		d.collectSet(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		d.collectSet(f.SelectionSet)
	}
	if d.conditional {
		d.pages = nil
	}
}

func (d *document) collectSet(set ast.SelectionSet) {
	for _, sel := range set {
		var directives ast.DirectiveList
		switch sel := sel.(type) {
		case *ast.Field:
			directives = sel.Directives
			d.collectField(sel)
			d.collectSet(sel.SelectionSet)
		case *ast.InlineFragment:
			directives = sel.Directives
			d.collectSet(sel.SelectionSet)
		case *ast.FragmentSpread:
			directives = sel.Directives
		}
		d.conditional = d.conditional || len(directives) > 0
	}
}

// collectField collects the arguments of one field.
func (d *document) collectField(f *ast.Field) {
	if f.Definition == nil {
		return
	}
	typ := f.Definition.Type.Name()
	planned := typ == "LibraryConnection" || f.ObjectDefinition.Name == "Query" && graph.IsPlanned(f.Name)
	if planned && d.pages == nil {
		d.pages = graph.NewPlanCache(d.text)
	}
	d.texts = d.texts || f.Name == "revision" && f.ObjectDefinition.Name == "Content"
	connection := isConnection(typ)
	for _, arg := range f.Arguments {
		switch {
		case connection && (arg.Name == "first" || arg.Name == "last"):
			d.pageSizes = append(d.pageSizes, arg)
			d.sized[arg] = len(d.sized)
		case connection && arg.Name == "filter":
			d.filters = append(d.filters, arg)
			d.sized[arg] = len(d.sized)
		case f.Definition.Arguments.ForName(arg.Name).Type.Elem != nil:
			d.lists = append(d.lists, arg)
			d.sized[arg] = len(d.sized)
		}
	}
}

// weight estimates the memory of a document in bytes: a syntax tree with positions takes some
// thirty times the size of its text (measured), and the plans of its pages have their own limit.
func (d *document) weight() int {
	weight := 30*len(d.text) + 1024
	if d.pages != nil {
		weight += graph.PlanBytes*len(d.text) + 1024
	}
	return weight
}
