package resolvers_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// selectable is what a random selection on a type may contain.
type selectable struct {
	leaves  string
	objects map[string]string // fields with their arguments, and the types they return
	on      string            // types of fragments
}

var selectables = map[string]selectable{
	"Query": {"__typename", map[string]string{"viewer": "User", `user(id: "u:acme:eve")`: "User"}, "Query"},
	"User": {"__typename id tenant displayName", map[string]string{"library(first: 2)": "LibraryConnection"},
		"User Principal Node"},
	"Principal": {"__typename id tenant displayName", map[string]string{"library(first: 2)": "LibraryConnection"},
		"User Principal Node"},
	"Node": {"__typename id", nil, "Node User"},
	"LibraryConnection": {"__typename bucket", map[string]string{"edges": "LibraryEdge", "nodes": "Content", "pageInfo": "PageInfo"},
		"LibraryConnection"},
	"LibraryEdge": {"__typename cursor role", map[string]string{"node": "Content"}, "LibraryEdge"},
	"Content":     {"__typename id title kind version", nil, "Content Node KeyedObject"},
	"KeyedObject": {"__typename", nil, "KeyedObject Content"},
	"PageInfo":    {"__typename hasNextPage endCursor startCursor", nil, "PageInfo"},
}

// orderDrawer draws documents that select the same fields again in different fragments.
type orderDrawer struct {
	*rand.Rand
	plain     bool // without directives and with one field of Query, so that a plan can be used
	fragments []string
	spreads   map[string][]string // names of the fragments on each type
}

func (d *orderDrawer) directive() string {
	if d.plain || d.IntN(12) > 0 {
		return ""
	}
	return []string{" @include(if: $yes)", " @skip(if: $no)", " @include(if: $no)"}[d.IntN(3)]
}

func (d *orderDrawer) selection(typ string, depth int) string {
	from := selectables[typ]
	var objects []string
	for name := range from.objects {
		objects = append(objects, name)
	}
	slices.Sort(objects)
	if typ == "Query" && d.plain {
		objects = objects[:1]
	}
	leaves := strings.Fields(from.leaves)
	text := "{ "
	for range 1 + d.IntN(4) {
		switch n := d.IntN(10); {
		case n < 5 && len(objects) > 0 && depth > 0:
			name := objects[d.IntN(len(objects))]
			text += name + d.directive() + " " + d.selection(from.objects[name], depth-1) + " "
		case n < 7 && depth > 0:
			on := strings.Fields(from.on)
			other := on[d.IntN(len(on))]
			switch {
			case d.IntN(3) == 0:
				text += "... on " + other + d.directive() + " " + d.selection(other, depth-1) + " "
			case d.IntN(3) == 0 && len(d.spreads[other]) > 0:
				text += "..." + d.spreads[other][d.IntN(len(d.spreads[other]))] + d.directive() + " "
			default:
				below := d.selection(other, depth-1)
				name := fmt.Sprintf("f%d", len(d.fragments))
				d.fragments = append(d.fragments, "fragment "+name+" on "+other+" "+below)
				d.spreads[other] = append(d.spreads[other], name)
				text += "..." + name + d.directive() + " "
			}
		default:
			text += leaves[d.IntN(len(leaves))] + d.directive() + " "
		}
	}
	return text + "}"
}

// reference orders fields as the specification says, in a document that nothing has changed.
type reference struct {
	schema *ast.Schema
	doc    *ast.QueryDocument
}

// collect is CollectFields of the specification. keys gets the response names in their order.
func (r *reference) collect(set ast.SelectionSet, typ string, visited map[string]bool, keys *[]string, groups map[string][]*ast.Field) {
	selected := func(directives ast.DirectiveList) bool {
		for _, d := range directives {
			if (d.Name == "skip") == (d.Arguments.ForName("if").Value.Raw == "yes") {
				return false
			}
		}
		return true
	}
	applies := func(condition string) bool {
		return condition == "" || condition == typ || slices.Contains(r.schema.PossibleTypes[condition], r.schema.Types[typ])
	}
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if !selected(sel.Directives) {
				continue
			}
			if groups[sel.Alias] == nil {
				*keys = append(*keys, sel.Alias)
			}
			groups[sel.Alias] = append(groups[sel.Alias], sel)
		case *ast.InlineFragment:
			if selected(sel.Directives) && applies(sel.TypeCondition) {
				r.collect(sel.SelectionSet, typ, visited, keys, groups)
			}
		case *ast.FragmentSpread:
			if visited[sel.Name] || !selected(sel.Directives) {
				continue
			}
			visited[sel.Name] = true
			if f := r.doc.Fragments.ForName(sel.Name); applies(f.TypeCondition) {
				r.collect(f.SelectionSet, typ, visited, keys, groups)
			}
		}
	}
}

// write writes the keys of the answer's objects in their order, with those of nested objects.
func (r *reference) write(b *strings.Builder, value any, set ast.SelectionSet, typ string) {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			r.write(b, each, set, typ)
		}
	case map[string]any:
		var keys []string
		groups := map[string][]*ast.Field{}
		r.collect(set, typ, map[string]bool{}, &keys, groups)
		b.WriteString("{")
		for _, key := range keys {
			var below ast.SelectionSet
			for _, f := range groups[key] {
				below = append(below, f.SelectionSet...)
			}
			b.WriteString(key + " ")
			if f := r.schema.Types[typ].Fields.ForName(groups[key][0].Name); f != nil {
				r.write(b, value[key], below, f.Type.Name())
			}
		}
		b.WriteString("}")
	}
}

// keysOf returns the keys of an answer's data in the form of reference.write.
func keysOf(t *testing.T, body string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	var b strings.Builder
	var value func()
	next := func() json.Token {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err, body)
		}
		return token
	}
	value = func() {
		switch next() {
		case json.Delim('{'):
			b.WriteString("{")
			for d.More() {
				b.WriteString(fmt.Sprint(next()) + " ")
				value()
			}
			next()
			b.WriteString("}")
		case json.Delim('['):
			for d.More() {
				value()
			}
			next()
		}
	}
	value()
	return b.String()
}

// TestFields_KeepTheOrderOfTheDocument compares the order of the fields of answers with that of the
// specification, for operations that are planned and for those that the executor runs.
func TestFields_KeepTheOrderOfTheDocument(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(3)
	plans := &answering{Executor: g.exec, counts: map[string]int{}}
	handlers := map[string]*compared{"planned": newCompared(t, plans, 0), "executor": newCompared(t, executed{g.exec}, 0)}
	random, answers := rand.New(rand.NewPCG(4, 2)), 0
	for range 3000 {
		d := &orderDrawer{Rand: random, plain: random.IntN(2) == 0, spreads: map[string][]string{}}
		below := d.selection("Query", 6)
		query := "query Q " + below
		if !d.plain {
			query = "query Q($yes: Boolean!, $no: Boolean!) { __typename @include(if: $yes) t: __typename @include(if: $no) ... on Query " +
				below + " }"
		}
		query = strings.Join(append([]string{query}, d.fragments...), "\n")
		doc, err := parser.ParseQuery(&ast.Source{Input: query})
		if err != nil {
			t.Fatal(err, query)
		}
		for name, c := range handlers {
			r := &request{query: query, variables: map[string]any{"yes": true, "no": false}, viewer: "u:acme:eve"}
			body := c.do(t, r, &faulty{}, &recorder{}).Body
			var answer struct {
				Data   map[string]any
				Errors []any
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatal(err, body)
			}
			if answer.Data == nil { // the document exceeds a limit
				continue
			}
			answers++
			var want strings.Builder
			(&reference{g.schema, doc}).write(&want, answer.Data, doc.Operations[0].SelectionSet, "Query")
			data, _, _ := strings.Cut(strings.TrimPrefix(body, `{"data":`), `,"extensions"`)
			if got := keysOf(t, data); got != want.String() {
				t.Fatalf("%s: %s\n got %s\nwant %s", name, query, got, want.String())
			}
		}
	}
	if answers < 5000 || plans.counts["planned"] < 1000 {
		t.Errorf("only %d of 6000 documents are answered, and by their plans %v", answers, plans.counts)
	}
}
