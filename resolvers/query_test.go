package resolvers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
	"carrel/principal"
)

func TestQuery_LookupsReturnVisibleObjectsOfTheirKind(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "ghost")
	g.must(as("u:acme:ann"), `mutation { createGroup(input: {tenant: "acme", name: "crew", displayName: "Crew"}) { userErrors { message } } }`)
	g.link(as("u:acme:ann"), "Page")
	const bad = "BAD_USER_INPUT"
	ids := []string{"u:acme:ann", "U:ACME:Ann", "g:acme:crew", "c:acme:Page", "u:acme:ghost", "u:acme:nobody", "c:acme:page",
		"", "ann", "c:acme", "x:acme:ann", "u:acme:an n"}
	want := map[string][]any{
		"node":      {"u:acme:ann", "u:acme:ann", "g:acme:crew", "c:acme:Page", nil, nil, nil, bad, bad, bad, bad, bad},
		"principal": {"u:acme:ann", "u:acme:ann", "g:acme:crew", nil, nil, nil, nil, bad, bad, bad, bad, bad},
		"user":      {"u:acme:ann", "u:acme:ann", nil, nil, nil, nil, nil, bad, bad, bad, bad, bad},
		"group":     {nil, nil, "g:acme:crew", nil, nil, nil, nil, bad, bad, bad, bad, bad},
		"content":   {nil, nil, nil, "c:acme:Page", nil, nil, nil, bad, bad, bad, bad, bad},
	}
	for field, wants := range want {
		for i, id := range ids {
			a := g.do(as("u:acme:ann"), `query($id: ID!) { `+field+`(id: $id) { id } }`, "id", id)
			got := a.at(field, "id")
			if len(a.errs) > 0 {
				got = string(fault.ReasonOf(a.errs[0]))
			}
			if got != wants[i] {
				t.Errorf("%s(%q): got %v, want %v", field, id, got, wants[i])
			}
		}
	}
	a := g.must(as("u:acme:ann"), `query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }`, "ids", ids)
	node := func(id, kind string) any { return map[string]any{"id": id, "__typename": kind} }
	all := []any{node("u:acme:ann", "User"), node("u:acme:ann", "User"), node("g:acme:crew", "Group"),
		node("c:acme:Page", "Content"), nil, nil, nil, nil, nil, nil, nil, nil}
	if diff := cmp.Diff(all, a.at("nodes")); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// TestQuery_MalformedIDsSayWhatIsWrong: and which ids the field takes.
func TestQuery_MalformedIDsSayWhatIsWrong(t *testing.T) {
	g := newGateway(t)
	const forms = "; ids of users, groups and content have the form u:<tenant>:<name>, g:<tenant>:<name> or c:<tenant>:<name>"
	const others = "; of leases and pastes l: or p: and 32 hexadecimal digits; of suggestions such digits"
	for id, why := range map[string]string{
		"":                                    "",
		"ann":                                 "",
		"x:demo:ann":                          "",
		"C:demo:x":                            "",
		"c:DEMO:x":                            ": a tenant is written in lower case",
		"c:Demo-1:x":                          ": a tenant is written in lower case",
		"c:démo:x":                            ": a tenant has 1 to 32 characters of a-z, 0-9 and -, and does not start with -",
		"c:demo":                              ": an id has three parts: a letter, a tenant and a name, with colons between them",
		"u:demo:a b":                          ": a name is made of A-Z, a-z, 0-9 and . _ ~ @ / -",
		"g:demo:":                             ": a name has 1 to 128 characters",
		"p:1":                                 ": such an id is a letter, a colon and 32 digits of 0-9 and a-f",
		"99999999999999999999999":             "",
		"c:demo:" + strings.Repeat("k", 9000): ": an id has at most 163 characters",
	} {
		for _, field := range []string{"node", "content", "user", "group", "principal"} {
			a := g.do(as("u:acme:ann"), `query($id: ID!) { `+field+`(id: $id) { id } }`, "id", id)
			want := field + ": the id is malformed" + why + forms
			if field == "node" {
				want += others
			}
			if len(a.errs) != 1 || !strings.HasSuffix(a.errs[0].Error(), want) || len(want) > 300 {
				t.Errorf("%s(%q): got %v, want %s", field, id, a.errs, want)
			}
		}
	}
	a := g.do(as("u:acme:ann"), `mutation { updateContent(input: {id: "c:DEMO:x", title: "t"}) { userErrors { code message } } }`)
	if !strings.Contains(a.raw, "a tenant is written in lower case") {
		t.Errorf("got %s", a.raw)
	}
}

// TestCursors_ErrorsNameTheArgumentsOfTheirConnection: only a library has orderBy.
func TestCursors_ErrorsNameTheArgumentsOfTheirConnection(t *testing.T) {
	g := newGateway(t)
	g.people("ann")
	g.link(as("u:acme:ann"), "Page")
	for query, order := range map[string]bool{
		`user(id: "u:acme:ann") { library(after: $c) { bucket } }`:             true,
		`latestPastes(after: $c) { nodes { id } }`:                             false,
		`latestContent(tenant: "acme", after: $c) { nodes { id } }`:            false,
		`principals(tenant: "acme", after: $c) { nodes { id } }`:               false,
		`content(id: "c:acme:Page") { members(after: $c) { nodes { id } } }`:   false,
		`content(id: "c:acme:Page") { branches(after: $c) { nodes { key } } }`: false,
		`user(id: "u:acme:ann") { groups(after: $c) { nodes { id } } }`:        false,
	} {
		a := g.do(as("u:acme:ann"), `query($c: Cursor) { `+query+` }`, "c", "abc")
		if len(a.errs) != 1 || fault.ReasonOf(a.errs[0]) != fault.ReasonBadCursor || strings.Contains(a.errs[0].Error(), "orderBy") != order {
			t.Errorf("%s: got %v", query, a.errs)
		}
	}
}

func TestNodes_AtMostAHundredAreAccepted(t *testing.T) {
	g := newGateway(t)
	ids := make([]string, 101)
	for i := range ids {
		ids[i] = fmt.Sprintf("c:acme:%d", i)
	}
	if a := g.must(as("u:acme:ann"), `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, "ids", ids[:100]); len(a.at("nodes").([]any)) != 100 {
		t.Errorf("100 ids: %s", a.raw)
	}
	a := g.do(as("u:acme:ann"), `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, "ids", ids)
	if len(a.errs) != 1 || fault.ReasonOf(a.errs[0]) != fault.ReasonBadInput {
		t.Errorf("101 ids: errors %v, want one of BAD_USER_INPUT", a.errs)
	}
}

// TestNodes_LoadTogether: items of a list load their creators, and their permissions, in one call
// each.
func TestNodes_LoadTogether(t *testing.T) {
	g := newGateway(t)
	g.fillLibrary(6)
	ids := make([]string, 6)
	for i := range ids {
		ids[i] = fmt.Sprintf("c:acme:item%03d", i)
	}
	a := g.must(as("u:acme:eve"),
		`query($ids: [ID!]!) { nodes(ids: $ids) { ... on Content { createdBy { displayName } viewerRole viewerCanManage } } }`, "ids", ids)
	if got := a.at("nodes", 4, "createdBy", "displayName"); got != "bob" {
		t.Errorf("the creator is %v, want bob", got)
	}
	// One call for the principals among ids, although there are none, and one for creators.
	calls := 0
	for _, asked := range g.spy.principals {
		if len(asked) > 0 {
			calls++
		}
	}
	if calls != 1 || len(g.spy.permissions) != 1 {
		t.Errorf("%d calls for creators, %d for permissions; want 1 each", calls, len(g.spy.permissions))
	}
}

// TestQuery_PrincipalsAreReadOnce: a principal that was looked up is not read again elsewhere in
// the answer, and a page of principals is one call.
func TestQuery_PrincipalsAreReadOnce(t *testing.T) {
	g := newGateway(t)
	g.people("root", "bob", "bea", "ghost")
	g.link(as("u:acme:bob"), "page")
	g.spy.reset()
	a := g.must(as("u:acme:bob"), `{ principals(tenant: "acme", prefix: "B", first: 2) {
		edges { cursor node { __typename id displayName ... on User { email library { nodes { createdBy { displayName } } } } } }
		nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`)
	for path, want := range map[string]any{
		"principals edges 0 node id":                                    "u:acme:bea",
		"principals edges 0 node __typename":                            "User",
		"principals edges 0 node email":                                 nil,
		"principals edges 1 node email":                                 "bob@example.com",
		"principals nodes 1 id":                                         "u:acme:bob",
		"principals pageInfo hasNextPage":                               false,
		"principals edges 1 node library nodes 0 createdBy displayName": "bob",
	} {
		if got := a.at(parts(path)...); got != want {
			t.Errorf("%s: got %v, want %v in %s", path, got, want, a.raw)
		}
	}
	if len(g.spy.principals) > 0 {
		t.Errorf("they were read again: %v", g.spy.principals)
	}
	for _, query := range []string{`{ principals(tenant: "a b") { nodes { id } } }`,
		`{ principals(tenant: "acme", first: -1) { nodes { id } } }`} {
		if a := g.do(as("u:acme:bob"), query); len(a.errs) != 1 || fault.ReasonOf(a.errs[0]) != fault.ReasonBadInput {
			t.Errorf("%s: %v", query, a.errs)
		}
	}
}

func TestQuery_ViewerIsTheSignedInUser(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "bob")
	cases := []struct {
		name   string
		viewer *principal.Viewer
		want   any
	}{
		{"signed in", as("u:acme:ann"), map[string]any{"id": "u:acme:ann", "email": "ann@example.com",
			"groups": map[string]any{"nodes": []any{}}}},
		{"anonymous", &principal.Viewer{}, nil},
		{"a token without a user", as("u:acme:new"), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := g.must(c.viewer, `{ viewer { id email groups { nodes { id } } } }`)
			if diff := cmp.Diff(c.want, a.at("viewer")); diff != "" {
				t.Errorf("viewer (-want +got):\n%s", diff)
			}
		})
	}
	if got := g.must(as("u:acme:bob"), `{ user(id: "u:acme:ann") { email } }`).at("user", "email"); got != nil {
		t.Errorf("bob reads ann's address: %v", got)
	}
}

func TestLimits_AreReturned(t *testing.T) {
	g := newGateway(t)
	a := g.must(&principal.Viewer{}, `{ limits { defaultPageSize maxPageSize maxDepth maxCost maxShareTargets maxBodyBytes } }`)
	want := map[string]any{"defaultPageSize": 20.0, "maxPageSize": 100.0, "maxDepth": 12.0, "maxCost": 5000.0,
		"maxShareTargets": 100.0, "maxBodyBytes": float64(1 << 20)}
	if diff := cmp.Diff(want, a.at("limits")); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

func TestQuery_MembersOfGroupsAndItemsAreReturned(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "bob")
	g.must(as("u:acme:ann"), `mutation {
		createGroup(input: {tenant: "acme", name: "crew", displayName: "Crew"}) { userErrors { message } }
		setGroupMembers(input: {groupId: "g:acme:crew", members: [{principalId: "u:acme:bob", role: MEMBER}]}) { userErrors { message } } }`)
	g.link(as("u:acme:ann"), "page", "g:acme:crew")
	a := g.must(as("u:acme:bob"), `{
		group(id: "g:acme:crew") { viewerRole members(first: 1) { edges { role node { id } } pageInfo { hasNextPage endCursor } } }
		content(id: "c:acme:page") { viewerRole members { edges { cursor role node { __typename id } } nodes { displayName } } }
		user(id: "u:acme:bob") { groups { edges { cursor role node { id } } } } }`)
	for path, want := range map[string]any{
		"group viewerRole":                        "MEMBER",
		"group members edges 0 node id":           "u:acme:ann",
		"group members edges 0 role":              "MANAGER",
		"group members pageInfo hasNextPage":      true,
		"content viewerRole":                      "VIEWER",
		"content members edges 0 node __typename": "Group",
		"content members edges 0 role":            "VIEWER",
		"content members edges 1 node id":         "u:acme:ann",
		"content members nodes 1 displayName":     "ann",
		"user groups edges 0 node id":             "g:acme:crew",
		"user groups edges 0 role":                "MEMBER",
	} {
		if got := a.at(parts(path)...); got != want {
			t.Errorf("%s: got %v, want %v in %s", path, got, want, a.raw)
		}
	}
	next := g.must(as("u:acme:bob"),
		`query($c: Cursor) { group(id: "g:acme:crew") { members(first: 1, after: $c) { nodes { id } pageInfo { hasNextPage } } } }`,
		"c", a.at("group", "members", "pageInfo", "endCursor"))
	if got := next.at("group", "members", "nodes", 0, "id"); got != "u:acme:bob" {
		t.Errorf("the second page starts with %v, want u:acme:bob", got)
	}
}

// parts splits a path into words. Numbers are list indexes.
func parts(path string) []any {
	var p []any
	for _, word := range strings.Fields(path) {
		if n := word[0] - '0'; len(word) == 1 && n < 10 {
			p = append(p, int(n))
		} else {
			p = append(p, word)
		}
	}
	return p
}
