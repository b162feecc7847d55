package resolvers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"carrel/principal"
)

// shape is what can be selected of a type: leaves by name, and objects with their shapes.
type shape struct {
	typename string
	leaves   []string
	objects  map[string]*shape
	on       []string // fragments on interfaces and unions: the name, and the selection
}

func shapes() *shape {
	user := &shape{typename: "User", leaves: strings.Fields("__typename id tenant displayName visibility createdAt email"),
		on: []string{"Node { id }", "Principal { id }", "_Entity { ... on User { tenant } }"}}
	content := &shape{typename: "Content", on: []string{"Node { id }", "KeyedObject { ... on Content { kind } }",
		"_Entity { ... on Content { version } }"},
		leaves: strings.Fields("__typename id tenant kind title description link visibility createdAt lastModified " +
			"version viewerRole viewerCanShare viewerCanEdit viewerCanManage viewerCanDelete expiresAt"),
		objects: map[string]*shape{"createdBy": user}}
	edge := &shape{typename: "LibraryEdge", leaves: strings.Fields("__typename cursor role"), objects: map[string]*shape{"node": content}}
	return &shape{typename: "LibraryConnection", leaves: []string{"__typename", "bucket"}, objects: map[string]*shape{
		"edges": edge, "nodes": content,
		"pageInfo": {typename: "PageInfo", leaves: strings.Fields("__typename hasNextPage hasPreviousPage startCursor endCursor")},
		"count":    {typename: "Count", leaves: strings.Fields("__typename value precision")},
	}}
}

// draw returns a selection set of s. Response names are those of their fields or contain the field
// name, so that equal ones merge and others cannot conflict.
func (s *shape) draw(t *rapid.T, depth int) string {
	var b strings.Builder
	b.WriteString("{ ")
	for range rapid.IntRange(1, 5).Draw(t, "fields") {
		alias := ""
		if n := rapid.IntRange(0, 8).Draw(t, "alias"); n == 0 {
			alias = "x_"
		}
		directive := rapid.SampledFrom([]string{"", "", "", "", " @skip(if: $no)", " @include(if: $no)", " @include(if: $yes)"}).Draw(t,
			"directive")
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		switch {
		case kind < 4 && len(s.objects) > 0 && depth > 0:
			names := make([]string, 0, len(s.objects))
			for _, name := range []string{"edges", "nodes", "pageInfo", "count", "node", "createdBy"} {
				if s.objects[name] != nil {
					names = append(names, name)
				}
			}
			name := rapid.SampledFrom(names).Draw(t, "object")
			fmt.Fprintf(&b, "%s%s%s ", prefixed(alias, name), directive, " "+s.objects[name].draw(t, depth-1))
		case kind == 8 && len(s.on) > 0:
			name, below, _ := strings.Cut(rapid.SampledFrom(s.on).Draw(t, "interface"), " ")
			fmt.Fprintf(&b, "... on %s%s %s ", name, directive, below)
		case kind == 9 && depth > 0:
			fmt.Fprintf(&b, "... on %s%s %s ", s.typename, directive, s.draw(t, depth-1))
		default:
			name := rapid.SampledFrom(s.leaves).Draw(t, "leaf")
			fmt.Fprintf(&b, "%s%s ", prefixed(alias, name), directive)
		}
	}
	b.WriteString("}")
	return b.String()
}

func prefixed(alias, name string) string {
	if alias == "" {
		return name
	}
	return alias + name + ": " + name
}

// TestPlan_WritesTheSameBytes compares planned pages with those of the generated code, for random
// selections.
func TestPlan_WritesTheSameBytes(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(7)
	for i, text := range []string{`"quoted" \ back`, "tab\tline\nreturn\r", "<script>&\u2028 ünï 漢字"} {
		g.must(as("u:acme:ann"),
			`mutation($id: ID!, $d: String) { updateContent(input: {id: $id, description: $d, expiresAt: "2999-01-01T00:00:00Z"}) { userErrors { code field } } }`,
			"id", fmt.Sprintf("c:acme:item%03d", 3*i), "d", text)
	}
	page := shapes()
	viewers := map[string]*principal.Viewer{"the owner": as("u:acme:eve"), "a colleague": as("u:acme:bob"), "anonymous": {},
		"an administrator": admin()}
	rapid.Check(t, func(rt *rapid.T) {
		viewer := viewers[rapid.SampledFrom([]string{"the owner", "a colleague", "anonymous", "an administrator"}).Draw(rt, "viewer")]
		arguments := rapid.SampledFrom([]string{"", "(first: 3)", "(last: 2)", "(first: 0)", "(first: 3, filter: {text: \"item\"})",
			"(last: 2, filter: {createdBy: \"u:acme:ann\", kinds: [LINK]})", "(filter: {text: \"nowhere\"})",
			"(first: 4, orderBy: {field: LAST_MODIFIED, direction: DESC})"}).Draw(rt, "arguments")
		query := `query($yes: Boolean = true, $no: Boolean = false) { user(id: "u:acme:eve") { library` + arguments + ` ` +
			page.draw(rt, 5) + ` id @include(if: $yes) @skip(if: $no) } }`
		fast, slow := g.doWith(g.exec, viewer, query), g.doWith(g.slow, viewer, query)
		if diff := cmp.Diff(slow.raw, fast.raw); diff != "" {
			rt.Fatalf("%s\n(-generated +planned):\n%s", query, diff)
		}
		if len(fast.errs)+len(slow.errs) > 0 {
			rt.Fatalf("%s\nerrors %v and %v", query, fast.errs, slow.errs)
		}
	})
}

// TestPlan_WritesEachFieldAsTheGeneratedCode compares all planned fields, for viewers with
// different permissions.
func TestPlan_WritesEachFieldAsTheGeneratedCode(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(3)
	g.must(as("u:acme:ann"),
		`mutation { setContentMembers(input: {contentId: "c:acme:item000", members: [{principalId: "u:acme:bob", role: EDITOR}]}) { userErrors { message } } }`)
	g.must(as("u:acme:ann"),
		`mutation { updateContent(input: {id: "c:acme:item000", description: "text", expiresAt: "2999-01-01T00:00:00Z"}) { userErrors { message } } }`)
	const (
		item  = `{ __typename id tenant kind title description link visibility createdAt lastModified version expiresAt viewerRole viewerCanShare viewerCanEdit viewerCanManage viewerCanDelete createdBy { __typename id tenant displayName visibility createdAt } }`
		query = `{ user(id: "u:acme:eve") { library(first: 3) { __typename bucket edges { __typename cursor role node ` +
			item + ` } nodes ` + item +
			` count { __typename value precision } pageInfo { __typename hasNextPage hasPreviousPage startCursor endCursor } } } }`
		twice = `{ user(id: "u:acme:eve") { library { nodes { createdBy { ... on Node { id } ... on Principal { id } ... on User { id } ... on _Entity { ... on Node { id } __typename } ... on User { __typename } } } } } }`
	)
	for name, viewer := range map[string]*principal.Viewer{"creator": as("u:acme:ann"), "editor": as("u:acme:bob"),
		"owner": as("u:acme:eve"), "administrator": admin(), "anonymous": {}} {
		t.Run(name, func(t *testing.T) {
			for _, query := range []string{query, twice} {
				fast, slow := g.doWith(g.exec, viewer, query), g.doWith(g.slow, viewer, query)
				if diff := cmp.Diff(slow.raw, fast.raw); diff != "" || len(fast.errs)+len(slow.errs) > 0 {
					t.Errorf("errors %v and %v (-generated +planned):\n%s", slow.errs, fast.errs, diff)
				}
			}
		})
	}
}

var errDown = errors.New("down")

// TestPlan_ErrorsAreThoseOfTheGeneratedCode: each error has its own path, and nulls are propagated
// as in the schema.
func TestPlan_ErrorsAreThoseOfTheGeneratedCode(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(2)
	g.spy.denies = true
	a := g.do(as("u:acme:eve"), `{ user(id: "u:acme:eve") { library { nodes { id viewerRole } } } }`)
	want := `{"user":{"library":{"nodes":[{"id":"c:acme:item000","viewerRole":null},{"id":"c:acme:item001","viewerRole":null}]}}}`
	if a.raw != want {
		t.Errorf("got %s, want %s", a.raw, want)
	}
	paths := map[string]bool{}
	for _, err := range a.errs {
		paths[err.Error()] = errors.Is(err, errDown)
	}
	wantPaths := map[string]bool{"input:1:49: user.library.nodes[0].viewerRole down": true,
		"input:1:49: user.library.nodes[1].viewerRole down": true}
	if diff := cmp.Diff(wantPaths, paths); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	b := g.do(as("u:acme:eve"), `{ user(id: "u:acme:eve") { id library { bucket count { value } } } }`)
	if b.raw != `{"user":null}` || len(b.errs) != 1 {
		t.Errorf("a count that fails: %s with %v; want a null user and one error", b.raw, b.errs)
	}
}

// TestPlan_OfAPageCallsNoResolversBelowIt: of a usual page, only the fields above it go through a
// resolver.
func TestPlan_OfAPageCallsNoResolversBelowIt(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(20)
	for query, want := range map[string]int{
		pageQuery: 2,
		`{ viewer { library(first: 3, filter: {text: "item"}) { nodes { id createdBy { id } } } } }`: 2,
		`{ viewer { library(last: 20) { nodes { id viewerRole } count { value } bucket } } }`:        2,
		`{ viewer { library(first: 1) { nodes { id createdBy { email } } } } }`:                      6, // an address is loaded from the domain
		`{ viewer { library(first: 1) { nodes { id members { nodes { id } } } } } }`:                 8, // and so are members
	} {
		resolved := 0
		var mu sync.Mutex
		e := g.execution(as("u:acme:eve"), query, map[string]any{"id": "u:acme:eve"})
		e.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
			mu.Lock()
			resolved++
			mu.Unlock()
			return next(ctx)
		}
		if errs := g.exec.Execute(t.Context(), e); len(errs) > 0 {
			t.Error(errs)
		}
		if resolved != want {
			t.Errorf("%d fields went through resolvers, want %d:\n%s", resolved, want, query)
		}
	}
}
