package scenario

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostileEntities returns row 34: the requests that a router sends to a subgraph, sent by a
// client.
func hostileEntities() []row {
	return []row{
		{34, "private ids by _entities", hostileReferences},
		{34, "wrong type names", hostileTypeNames},
		{34, "10,000 representations", hostileManyReferences},
		{34, "smuggled fields", hostileSmuggling},
		{34, "the schema for composers in production", hostileSDL},
	}
}

const entities = `query($r:[_Any!]!){_entities(representations:$r){__typename ...on User{id email} ...on Group{id} ...on Content{id title}}}`

// refer returns a reference.
func refer(typeName, id string) vars { return vars{"__typename": typeName, "id": id} }

// entities resolves references and returns the response with its bytes.
func (w *world) entities(token, query string, references ...any) *reply {
	w.t.Helper()
	var header []string
	if token != "" {
		header = append(header, "Authorization: Bearer "+token)
	}
	if references == nil {
		references = []any{}
	}
	r := w.send("POST", "/graphql", string(mustJSON(map[string]any{"query": query, "variables": vars{"r": references}})), header...)
	if got := r.Header.Get("Cache-Control"); got != "private, no-store" {
		w.t.Errorf("Cache-Control %q: a shared cache may store what depends on the viewer", got)
	}
	return r
}

// referred returns the ids of the entities in a response, or nil if there are none.
func referred(r *reply) []string {
	list, _ := r.at("_entities").([]any)
	ids := make([]string, len(list))
	for i, e := range list {
		if m, ok := e.(map[string]any); ok {
			ids[i], _ = m["id"].(string)
		}
	}
	return ids
}

// hostileReferences checks that the rights of the viewer apply however an object is
// reached, and that nobody can distinguish private from missing objects.
func hostileReferences(t *testing.T, w *world) {
	w.must(w.ann, createGrp, vars{"in": vars{"tenant": "acme", "name": "closed", "displayName": "Closed", "visibility": "PRIVATE"}})
	hidden := w.user("acme", "hidden", "PRIVATE")
	ask := []any{refer("Content", "c:acme:private"), refer("User", "u:acme:hidden"), refer("Group", "g:acme:closed"),
		refer("Content", "c:acme:public0"), refer("Content", "c:acme:private")}
	none := []any{refer("Content", "c:acme:missing"), refer("User", "u:acme:missing"), refer("Group", "g:acme:missing"),
		refer("Content", "c:acme:public0"), refer("Content", "c:acme:missing")}
	for name, c := range map[string]struct {
		token string
		want  []string
	}{
		"anonymous":         {"", []string{"", "", "", "c:acme:public0", ""}},
		"of the tenant":     {w.bob, []string{"", "", "", "c:acme:public0", ""}},
		"of another tenant": {w.eve, []string{"", "", "", "c:acme:public0", ""}},
		"their owner":       {w.ann, []string{"c:acme:private", "", "g:acme:closed", "c:acme:public0", "c:acme:private"}},
		"the user itself":   {hidden, []string{"", "u:acme:hidden", "", "c:acme:public0", ""}},
		"their administrator": {w.token("u:acme:boss", "admin"), []string{"c:acme:private", "u:acme:hidden", "g:acme:closed",
			"c:acme:public0", "c:acme:private"}},
	} {
		a := w.entities(c.token, entities, ask...)
		if diff := cmp.Diff(c.want, referred(a)); diff != "" || len(a.Errors) > 0 {
			t.Errorf("%s: %+v (-want +got):\n%s", name, a.Errors, diff)
		}
		if c.want[0] == "" && c.want[1] == "" {
			if b := w.entities(c.token, entities, none...); !bytes.Equal(a.body, b.body) {
				t.Errorf("%s can distinguish private from missing objects: %s %s", name, a.body, b.body)
			}
		}
	}
}

// hostileTypeNames checks that errors reveal no internals and do not repeat the input,
// and that the rest of the batch is answered.
func hostileTypeNames(t *testing.T, w *world) {
	for _, typeName := range []any{
		"Principal", "Node", "_Entity", "Query", "__Schema", "LibraryEdge", "user", "", " User", "User ", "Usr", "*library.User",
		"User{id}", "u:acme:ann",
		strings.Repeat("secret", 600), "\x00", "' OR 1=1 --", 7, true, nil, vars{"name": "User"}, []any{"User"},
	} {
		a := w.entities(w.ann, entities, vars{"__typename": typeName, "id": "u:acme:ann"}, refer("User", "u:acme:bob"))
		if diff := cmp.Diff([]string{"", "u:acme:bob"}, referred(a)); diff != "" {
			t.Errorf("%.50q (-want +got):\n%s", fmt.Sprint(typeName), diff)
		}
		if len(a.Errors) != 1 || a.code() != "BAD_USER_INPUT" || !cmp.Equal(a.Errors[0].Path, []any{"_entities", 0.0}) {
			t.Errorf("%.50q: errors %+v", fmt.Sprint(typeName), a.Errors)
		}
		if len(a.body) > 1000 || bytes.Contains(a.body, []byte("secret")) || bytes.Contains(a.body, []byte("library.")) ||
			bytes.Contains(a.body, []byte("OR 1=1")) {
			t.Errorf("%.50q: %.300s", fmt.Sprint(typeName), a.body)
		}
	}
	// The same holds for ids, and for references that are not objects.
	for _, reference := range []any{"User", 1, false, []any{}, vars{}, vars{"__typename": "User"}, refer("User", "' OR 1=1 --"),
		refer("Content", "c:acme:\x00"), vars{"__typename": "User", "id": 1}} {
		a := w.entities(w.ann, entities, refer("User", "u:acme:bob"), reference)
		if diff := cmp.Diff([]string{"u:acme:bob", ""}, referred(a)); diff != "" || len(a.Errors) != 1 ||
			a.code() != "BAD_USER_INPUT" || !cmp.Equal(a.Errors[0].Path, []any{"_entities", 1.0}) {
			t.Errorf("%v: %+v (-want +got):\n%s", reference, a.Errors, diff)
		}
	}
	if a := w.entities(w.ann, `query($r:[_Any!]!){_entities(representations:$r){...on Limits{maxDepth}}}`,
		refer("User", "u:acme:ann")); a.code() != "GRAPHQL_VALIDATION_FAILED" {
		t.Errorf("a fragment of a type that is no entity: %s", a.body)
	}
}

// hostileManyReferences checks that references are counted before the store is read.
func hostileManyReferences(t *testing.T, w *world) {
	for _, n := range []int{101, 3_000, 10_000} {
		many := make([]any, n)
		for i := range many {
			many[i] = refer("User", "u:acme:ann")
		}
		w.readsNothing(func() {
			a := w.entities(w.ann, entities, many...)
			if a.code() != "BAD_USER_INPUT" || len(a.body) > 500 || a.Data != nil {
				t.Errorf("%d: %.300s", n, a.body)
			}
		})
	}
	const libraries = `query($r:[_Any!]!){_entities(representations:$r){...on User{library(first:100){nodes{id}}}}}`
	hundred := make([]any, 100)
	for i := range hundred {
		hundred[i] = refer("User", "u:acme:ann")
	}
	if a := w.entities(w.ann, libraries, hundred...); a.code() != "COST_LIMIT" {
		t.Errorf("a hundred libraries: %.300s", a.body)
	}
	if a := w.entities(w.ann, entities, hundred...); len(a.Errors) > 0 || len(referred(a)) != 100 {
		t.Errorf("a hundred: %.300s", a.body)
	}
}

// hostileSmuggling checks that only the key of a reference counts, and its other fields
// are ignored.
func hostileSmuggling(t *testing.T, w *world) {
	user := vars{"__typename": "User", "id": "u:acme:ann", "email": "mallory@example.com", "visibility": "PUBLIC",
		"viewer": "u:acme:ann", "roles": []string{"global-admin"}}
	item := vars{"__typename": "Content", "id": "c:acme:private", "title": "Mine", "visibility": "PUBLIC",
		"creator": "u:beta:eve", "tenant": "beta", "viewerRole": "MANAGER"}
	const query = `query($r:[_Any!]!){_entities(representations:$r){...on User{id email} ...on Content{id title visibility viewerRole viewerCanManage}}}`
	if a := w.entities(w.eve, query, user, item); string(a.body) != `{"data":{"_entities":[{"id":"u:acme:ann","email":null},null]}}` {
		t.Errorf("to another: %s", a.body)
	}
	want := `{"data":{"_entities":[{"id":"u:acme:ann","email":"ann@example.com"},{"id":"c:acme:private","title":"Private","visibility":"PRIVATE","viewerRole":"MANAGER","viewerCanManage":true}]}}`
	if a := w.entities(w.ann, query, user, item); string(a.body) != want {
		t.Errorf("to the owner: %s", a.body)
	}
}

// hostileSDL checks that composition tools can read the schema while introspection is
// off, and that it is the contract and nothing more.
func hostileSDL(t *testing.T, w *world) {
	a := w.send("POST", "/graphql", question(`{_service{sdl}}`))
	sdl, _ := a.at("_service.sdl").(string)
	if len(a.Errors) > 0 || !strings.Contains(sdl, `type Content implements Node @key(fields: "id")`) {
		t.Fatalf("got %.300s", a.body)
	}
	for _, hidden := range []string{"_entities", "_service", "_Any", "@oneOf", "node(", "nodes(\n", "directive @"} {
		if strings.Contains(sdl, hidden) {
			t.Errorf("it contains %s", hidden)
		}
	}
	if a := w.send("POST", "/graphql", question(`{__schema{types{name}}}`)); a.code() != "INTROSPECTION_DISABLED" {
		t.Errorf("introspection: %.300s", a.body)
	}
}
