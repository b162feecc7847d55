package resolvers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/core/fault"
	"carrel/principal"
)

const entities = `query($r: [_Any!]!) { _entities(representations: $r) {
	__typename ... on User { id } ... on Group { id } ... on Content { id } } }`

// ref returns a reference. more are additional fields in it.
func ref(typeName, id string, more ...string) any {
	r := map[string]any{"__typename": typeName, "id": id}
	for _, name := range more {
		r[name] = "x"
	}
	return r
}

// refs returns references given as type and id: "User u:acme:ann".
func refs(list ...string) []any {
	all := make([]any, len(list))
	for i, text := range list {
		typeName, id, _ := strings.Cut(text, " ")
		all[i] = ref(typeName, id)
	}
	return all
}

// returned lists the entities of an answer as refs takes them, "" for null.
func returned(a answer) []string {
	list, _ := a.at("_entities").([]any)
	all := make([]string, len(list))
	for i, e := range list {
		if m, ok := e.(map[string]any); ok {
			all[i] = fmt.Sprint(m["__typename"], " ", m["id"])
		}
	}
	return all
}

// faults lists the errors of an answer as path and reason.
func faults(t *testing.T, a answer) []string {
	t.Helper()
	var all []string
	for _, err := range a.errs {
		var located *gqlerror.Error
		if !errors.As(err, &located) {
			t.Fatalf("an error without a path: %v", err)
		}
		all = append(all, located.Path.String()+" "+string(fault.ReasonOf(err)))
	}
	return all
}

func TestEntities_AreReturnedInTheOrderOfTheirReferences(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "eve", "ghost")
	g.must(as("u:acme:ann"), `mutation { createGroup(input: {tenant: "acme", name: "crew", displayName: "Crew"}) { userErrors { message } } }`)
	g.link(as("u:acme:ann"), "Page")
	g.must(as("u:acme:ann"),
		`mutation { createContent(input: {name: "Secret", kind: NOTE, title: "s", visibility: PRIVATE}) { userErrors { message } } }`)
	const bad = " BAD_USER_INPUT"
	for name, c := range map[string]struct {
		viewer *principal.Viewer
		refs   []any
		want   []string
		faults []string
	}{
		"none": {as("u:acme:ann"), refs(), []string{}, nil},
		"one of each": {as("u:acme:ann"), refs("User u:acme:ann", "Group g:acme:crew", "Content c:acme:Page"),
			[]string{"User u:acme:ann", "Group g:acme:crew", "Content c:acme:Page"}, nil},
		"in their order": {as("u:acme:ann"), refs("Content c:acme:Page", "User u:acme:eve", "Content c:acme:Secret",
			"User u:acme:ann"), []string{"Content c:acme:Page", "User u:acme:eve", "Content c:acme:Secret", "User u:acme:ann"}, nil},
		"some of them twice": {as("u:acme:ann"), refs("User u:acme:ann", "Content c:acme:Page", "User U:ACME:Ann",
			"Content c:acme:Page"), []string{"User u:acme:ann", "Content c:acme:Page", "User u:acme:ann", "Content c:acme:Page"}, nil},
		"missing ones": {as("u:acme:ann"), refs("User u:acme:nobody", "Content c:acme:page", "Group g:acme:none",
			"User u:acme:ann"), []string{"", "", "", "User u:acme:ann"}, nil},
		"private ones, of another": {as("u:acme:eve"), refs("Content c:acme:Secret", "User u:acme:ghost", "Content c:acme:Page"),
			[]string{"", "", "Content c:acme:Page"}, nil},
		"private ones, anonymously": {&principal.Viewer{}, refs("Content c:acme:Secret", "User u:acme:ghost", "Content c:acme:Page"),
			[]string{"", "", "Content c:acme:Page"}, nil},
		"private ones, of one's own": {as("u:acme:ghost"), refs("Content c:acme:Secret", "User u:acme:ghost"),
			[]string{"", "User u:acme:ghost"}, nil},
		"private ones, as a manager": {admin(), refs("Content c:acme:Secret", "User u:acme:ghost"),
			[]string{"Content c:acme:Secret", "User u:acme:ghost"}, nil},
		"the id of another type": {as("u:acme:ann"), refs("User g:acme:crew", "Group u:acme:ann", "Content u:acme:ann",
			"User c:acme:Page", "User u:acme:ann"), []string{"", "", "", "", "User u:acme:ann"}, nil},
		"no references": {as("u:acme:ann"), append(refs("User ann", "Limits u:acme:ann", "Principal u:acme:ann", "User u:acme:ann"),
			"u:acme:ann", map[string]any{}),
			[]string{"", "", "", "User u:acme:ann", "", ""},
			[]string{"_entities[0]" + bad, "_entities[1]" + bad, "_entities[2]" + bad, "_entities[4]" + bad, "_entities[5]" + bad}},
		"smuggled fields": {as("u:acme:eve"), []any{ref("User", "u:acme:eve", "displayName", "email", "viewerRole"),
			ref("Content", "c:acme:Secret", "visibility", "viewer")}, []string{"User u:acme:eve", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.do(c.viewer, entities, "r", c.refs)
			if diff := cmp.Diff(c.want, returned(a)); diff != "" {
				t.Errorf("entities (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.faults, faults(t, a)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEntities_AreReadLikeNodes: the fields of an object do not depend on the way to it, and fields
// in a reference are not trusted.
func TestEntities_AreReadLikeNodes(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "eve")
	g.link(as("u:acme:ann"), "Page", "u:acme:eve")
	const fields = `__typename ... on User { displayName email library { nodes { id } } } ... on Content { title viewerRole viewerCanShare createdBy { id } }`
	smuggled := []any{ref("User", "u:acme:ann", "displayName", "email"), ref("Content", "c:acme:Page", "title", "viewerRole",
		"viewerCanShare", "createdBy")}
	for _, v := range []*principal.Viewer{as("u:acme:ann"), as("u:acme:eve"), admin(), {}} {
		byNode := g.must(v, `{ nodes(ids: ["u:acme:ann", "c:acme:Page"]) { `+fields+` } }`)
		byRef := g.must(v, `query($r: [_Any!]!) { _entities(representations: $r) { `+fields+` } }`, "r", smuggled)
		if diff := cmp.Diff(byNode.at("nodes"), byRef.at("_entities")); diff != "" {
			t.Errorf("%s (-node +entity):\n%s", v.User, diff)
		}
	}
}

// TestEntities_AreReadInOneBatch: each object is read once, and fields of all objects are loaded
// together too.
func TestEntities_AreReadInOneBatch(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(9)
	var list []any
	for i := range 100 {
		switch i % 3 {
		case 0:
			list = append(list, ref("User", fmt.Sprintf("u:acme:%s", []string{"ann", "bob", "eve"}[i%9/3])))
		default:
			list = append(list, ref("Content", fmt.Sprintf("c:acme:item%03d", i%9)))
		}
	}
	a := g.must(as("u:acme:eve"), `query($r: [_Any!]!) { _entities(representations: $r) {
		... on User { displayName } ... on Content { title viewerRole createdBy { displayName } } } }`, "r", list)
	if n := len(a.at("_entities").([]any)); n != 100 {
		t.Errorf("%d entities", n)
	}
	want := []string{"u:acme:ann", "c:acme:item001", "c:acme:item002", "u:acme:bob", "c:acme:item004", "c:acme:item005",
		"u:acme:eve", "c:acme:item007", "c:acme:item008"}
	if diff := cmp.Diff([][]string{want}, g.spy.nodes); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(g.spy.principals) != 1 || len(g.spy.permissions) != 1 || len(g.spy.contents) != 0 {
		t.Errorf("creators %v, permissions %v, single items %v: want one batch of each of the first two", g.spy.principals,
			g.spy.permissions, g.spy.contents)
	}
}

func TestEntities_AtMostAHundredAreAccepted(t *testing.T) {
	g := newGateway(t)
	list := make([]any, 101)
	for i := range list {
		list[i] = ref("Content", "c:acme:one")
	}
	if a := g.must(as("u:acme:ann"), entities, "r", list[:100]); len(a.at("_entities").([]any)) != 100 {
		t.Errorf("100 references: %s", a.raw)
	}
	a := g.do(as("u:acme:ann"), entities, "r", list)
	if diff := cmp.Diff([]string{"_entities BAD_USER_INPUT"}, faults(t, a)); diff != "" {
		t.Errorf("101 references (-want +got):\n%s", diff)
	}
	if a.raw != "null" {
		t.Errorf("got %s: an incomplete list looks like a complete one", a.raw)
	}
}

// TestEntities_ReferencesInTheDocumentAreRead: a router sends references as a variable, but they
// may also be in the document.
func TestEntities_ReferencesInTheDocumentAreRead(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann")
	a := g.must(as("u:acme:ann"),
		`query($id: ID!) { a: _entities(representations: {__typename: "User", id: "u:acme:ann"}) { ... on User { id } }
		b: _entities(representations: [{__typename: "User", id: $id}, {__typename: "User", id: "u:acme:x"}]) { ... on User { id } } }`,
		"id", "u:acme:ann")
	if want := `{"a":[{"id":"u:acme:ann"}],"b":[{"id":"u:acme:ann"},null]}`; a.raw != want {
		t.Errorf("got %s, want %s", a.raw, want)
	}
}

func TestServiceSDL_IsForComposers(t *testing.T) {
	g := newGateway(t)
	sdl, _ := g.must(&principal.Viewer{}, `{ _service { sdl } }`).at("_service", "sdl").(string)
	if !strings.Contains(sdl, "type Content implements Node @key") {
		t.Errorf("got %.300s", sdl)
	}
}
