package edge

import (
	"fmt"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// shape describes a selection set with its fragments expanded. It is computed once per fragment, so
// that a document in which each fragment spreads the next one twice costs no more than its text.
type shape struct {
	depth   int // the longest path of fields, including the leaf
	intro   int // the same below __schema and __type
	aliases int // of the whole set, at most maxCount
	// keys counts the response keys of the set itself, each at most maxCount.
	keys map[string]int
}

// maxCount is the number at which counting stops. It is above every limit, and sums of two such
// numbers do not overflow.
const maxCount = 1 << 30

func (s *shape) join(o shape, times int) {
	s.depth = max(s.depth, o.depth)
	s.intro = max(s.intro, o.intro)
	s.aliases = min(maxCount, s.aliases+o.aliases*times)
}

// inspector computes shapes of one document.
type inspector struct {
	limits    *Limits
	fragments map[string]*fragmentShape
	// widest is the largest number of repetitions of a key in one set.
	widest int
	// directives counts those of the whole document.
	directives int
	// nested is the deepest nesting of lists and objects in the literal values of the document.
	nested int
	// tooLarge is a number literal beyond 64 bits, or nil.
	tooLarge *ast.Value
}

type fragmentShape struct {
	def   *ast.FragmentDefinition
	shape shape
	state inspectState
}

type inspectState uint8

const (
	notInspected inspectState = iota
	underInspection
	inspected
)

// inspect refuses a document that exceeds the limits before it is validated, because some
// validation rules take more than quadratic time.
func inspect(doc *ast.QueryDocument, limits *Limits, introspection bool) *refusal {
	if len(doc.Operations) > limits.Operations {
		return refuseDocument(codeOperationLimit, fmt.Sprintf("The document has %d operations; at most %d are allowed.",
			len(doc.Operations), limits.Operations))
	}
	in := &inspector{limits: limits, fragments: make(map[string]*fragmentShape, len(doc.Fragments))}
	for _, def := range doc.Fragments {
		in.fragments[def.Name] = &fragmentShape{def: def}
		in.addDirectives(def.Directives)
	}
	shapes := make([]shape, len(doc.Operations))
	for i, op := range doc.Operations {
		in.addDirectives(op.Directives)
		for _, v := range op.VariableDefinitions {
			in.addDirectives(v.Directives)
			in.addValue(v.DefaultValue)
		}
		var cycle string
		if shapes[i], cycle = in.set(op.SelectionSet); cycle != "" {
			return fragmentCycle(cycle)
		}
	}
	// Unused fragments are refused by the validation, but must not cost much either.
	for _, def := range doc.Fragments {
		if _, cycle := in.fragment(def.Name); cycle != "" {
			return fragmentCycle(cycle)
		}
	}
	if in.nested > limits.Depth { // like overlap, this limit protects the process
		return refuseDocument(codeDepthLimit, fmt.Sprintf("A value is %d lists and objects deep; at most %d are allowed.",
			in.nested, limits.Depth))
	}
	if v := in.tooLarge; v != nil {
		r := refuseDocument(codeValidationFailed, clip("A number has at most 64 bits; a longer ID is written as a string: "+v.Raw))
		r.errs = withLocation(r.errs[0], v.Position)
		return r
	}
	if in.directives > limits.Directives {
		return refuseDocument(codeDirectiveLimit, fmt.Sprintf("The document has %d directives; at most %d are allowed.",
			in.directives, limits.Directives))
	}
	if in.widest >= limits.Repetitions {
		return refuseDocument(codeDuplicateLimit,
			fmt.Sprintf("A field is repeated in one selection set, fragments counted, %s times; it must be fewer than %d.",
				atMost(in.widest), limits.Repetitions))
	}
	for i, op := range doc.Operations {
		if shapes[i].intro > 0 && !introspection {
			return refuseDocument(codeIntrospection, "Introspection is disabled.")
		}
		if r := checkShape(op, shapes[i], limits); r != nil {
			return r
		}
	}
	return nil
}

func fragmentCycle(name string) *refusal {
	return refuseDocument(codeValidationFailed, fmt.Sprintf("The fragment %q spreads itself, directly or through others.", name))
}

// atMost formats a number that may have stopped at maxCount.
func atMost(n int) string {
	if n >= maxCount {
		return "more than a billion"
	}
	return fmt.Sprint(n)
}

// checkShape refuses an operation that exceeds a limit.
func checkShape(op *ast.OperationDefinition, s shape, limits *Limits) *refusal {
	refuse := func(code, format string, args ...any) *refusal {
		return refuseDocument(code, fmt.Sprintf(format, args...))
	}
	if s.aliases > limits.Aliases {
		return refuse(codeAliasLimit, "The operation has, fragments counted, %s aliases; at most %d are allowed.",
			atMost(s.aliases), limits.Aliases)
	}
	roots, what := limits.RootFields, "root fields"
	if op.Operation == ast.Mutation {
		roots, what = limits.RootMutations, "mutations"
	}
	if len(s.keys) > roots {
		return refuse(codeRootFieldLimit, "The operation has %d %s; at most %d are allowed.", len(s.keys), what, roots)
	}
	if s.depth > limits.Depth {
		return refuse(codeDepthLimit, "The operation is %d fields deep; at most %d are allowed.", s.depth, limits.Depth)
	}
	if s.intro > limits.IntrospectionDepth {
		return refuse(codeDepthLimit, "The introspection is %d fields deep; at most %d are allowed.", s.intro, limits.IntrospectionDepth)
	}
	return nil
}

// set computes the shape of a selection set. cycle names a fragment that spreads itself.
func (in *inspector) set(set ast.SelectionSet) (s shape, cycle string) {
	s.keys = make(map[string]int, len(set))
	spreads := map[string]int{}
	if cycle = in.gather(set, &s, spreads); cycle != "" {
		return s, cycle
	}
	// A fragment is expanded once and multiplied by the number of its spreads.
	for name, times := range spreads {
		f, cycle := in.fragment(name)
		if cycle != "" {
			return s, cycle
		}
		s.join(f, times)
		for key, n := range f.keys {
			s.keys[key] = min(maxCount, s.keys[key]+n*times)
		}
	}
	for _, n := range s.keys {
		in.widest = max(in.widest, n)
	}
	return s, ""
}

// gather adds the fields of the set and of its inline fragments to s, and counts its spreads.
func (in *inspector) gather(set ast.SelectionSet, s *shape, spreads map[string]int) (cycle string) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			in.addDirectives(sel.Directives)
			in.addArguments(sel.Arguments)
			s.keys[sel.Alias]++
			below, cycle := in.field(sel)
			if cycle != "" {
				return cycle
			}
			s.join(below, 1)
		case *ast.InlineFragment:
			in.addDirectives(sel.Directives)
			if cycle := in.gather(sel.SelectionSet, s, spreads); cycle != "" {
				return cycle
			}
		case *ast.FragmentSpread:
			in.addDirectives(sel.Directives)
			spreads[sel.Name]++
		}
	}
	return ""
}

// addDirectives counts directives.
func (in *inspector) addDirectives(directives ast.DirectiveList) {
	in.directives += len(directives)
	for _, d := range directives {
		in.addArguments(d.Arguments)
	}
}

func (in *inspector) addArguments(arguments ast.ArgumentList) {
	for _, arg := range arguments {
		in.addValue(arg.Value)
	}
}

// addValue measures the nesting of a value, because messages of the validation repeat each level
// with everything below it, and looks for numbers that the executor cannot read.
func (in *inspector) addValue(v *ast.Value) {
	in.nested = max(in.nested, levels(v))
	if in.tooLarge == nil {
		in.tooLarge = tooLarge(v)
	}
}

// tooLarge returns the first number in a value that is beyond 64 bits, or nil.
func tooLarge(v *ast.Value) *ast.Value {
	if v == nil {
		return nil
	}
	var err error
	switch v.Kind {
	case ast.IntValue:
		_, err = strconv.ParseInt(v.Raw, 10, 64)
	case ast.FloatValue:
		_, err = strconv.ParseFloat(v.Raw, 64)
	}
	if err != nil {
		return v
	}
	for _, child := range v.Children {
		if found := tooLarge(child.Value); found != nil {
			return found
		}
	}
	return nil
}

// levels returns the nesting of lists and objects in a value. The parser has limited it.
func levels(v *ast.Value) int {
	if v == nil || v.Kind != ast.ListValue && v.Kind != ast.ObjectValue {
		return 0
	}
	below := 0
	for _, child := range v.Children {
		below = max(below, levels(child.Value))
	}
	return 1 + below
}

// field returns the shape of a field including its selections.
func (in *inspector) field(f *ast.Field) (s shape, cycle string) {
	if len(f.SelectionSet) > 0 {
		if s, cycle = in.set(f.SelectionSet); cycle != "" {
			return s, cycle
		}
	}
	if f.Alias != f.Name {
		s.aliases = min(maxCount, s.aliases+1)
	}
	if f.Name == "__schema" || f.Name == "__type" {
		s.intro, s.depth = max(s.intro, s.depth)+1, 0
		return s, ""
	}
	s.depth++
	return s, ""
}

// fragment returns the shape of a fragment's selection set, which is empty for an unknown fragment.
func (in *inspector) fragment(name string) (s shape, cycle string) {
	f := in.fragments[name]
	if f == nil {
		return shape{}, ""
	}
	switch f.state {
	case inspected:
		return f.shape, ""
	case underInspection:
		return shape{}, name
	}
	f.state = underInspection
	if f.shape, cycle = in.set(f.def.SelectionSet); cycle != "" {
		return shape{}, cycle
	}
	f.state = inspected
	return f.shape, ""
}
