package resolvers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/fault"
	"carrel/principal"
)

// TestMutation_RefusalIsAUserError: an error that the user can correct is in userErrors with its
// path. All objects are null, and the clientMutationId is echoed.
func TestMutation_RefusalIsAUserError(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "bob")
	g.link(as("u:acme:ann"), "page", "u:acme:bob")
	fault := func(code string, field ...any) map[string]any {
		return map[string]any{"code": code, "field": field}
	}
	cases := []struct {
		name, mutation string
		want           []any
	}{
		{"a null visibility",
			`createGroup(input: {tenant: "acme", name: "g", displayName: "G", visibility: null, clientMutationId: "x"}) { group { id }`,
			[]any{fault("INVALID", "visibility")}},
		{"all faults at once",
			`createContent(input: {name: "a/b", kind: LINK, title: " ", link: "ftp://x", clientMutationId: "x"}) { content { id } libraryEdge { cursor } fanOut { state }`,
			[]any{fault("INVALID", "name"), fault("INVALID", "title"), fault("INVALID", "link")}},
		{"a name that is taken",
			`createContent(input: {name: "page", kind: NOTE, title: "t", clientMutationId: "x"}) { content { id } libraryEdge { cursor } fanOut { state }`, []any{fault("TAKEN", "name")}},
		{"a malformed id", `updateContent(input: {id: "page", title: "t", clientMutationId: "x"}) { content { id } libraryEdge { cursor } fanOut { state }`, []any{fault("INVALID", "id")}},
		{"an unknown id", `deleteContent(input: {id: "c:acme:none", clientMutationId: "x"}) { deletedContentId fanOut { state }`,
			[]any{fault("NOT_FOUND", "id")}},
		{"not a manager", `updateContent(input: {id: "c:acme:page", title: "t", clientMutationId: "x"}) { content { id } libraryEdge { cursor } fanOut { state }`, []any{fault("FORBIDDEN", "id")}},
		{"an unknown target",
			`shareContent(input: {contentId: "c:acme:page", principalIds: ["u:acme:bob", "u:acme:none"], clientMutationId: "x"}) { content { id } edges { cursor } fanOut { state }`, []any{fault("NOT_FOUND", "principalIds", "1")}},
		{"another's library",
			`removeFromLibrary(input: {principalId: "u:acme:root", contentId: "c:acme:page", clientMutationId: "x"}) { removedContentId principal { id } fanOut { state }`, []any{fault("FORBIDDEN", "principalId")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := g.do(as("u:acme:bob"), `mutation { m: `+c.mutation+` userErrors { code field } clientMutationId } }`)
			if len(a.errs) > 0 {
				t.Fatalf("top-level errors: %v", a.errs)
			}
			payload := a.at("m").(map[string]any)
			if diff := cmp.Diff(c.want, payload["userErrors"]); diff != "" {
				t.Errorf("userErrors (-want +got):\n%s", diff)
			}
			if payload["clientMutationId"] != "x" {
				t.Errorf("clientMutationId is %v, want x", payload["clientMutationId"])
			}
			delete(payload, "userErrors")
			delete(payload, "clientMutationId")
			for field, object := range payload {
				if object != nil {
					t.Errorf("%s is %v with userErrors, want null", field, object)
				}
			}
		})
	}
}

// TestMutation_SaysWhatIsInvalid: a client can translate the reason of each INVALID error.
func TestMutation_SaysWhatIsInvalid(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann")
	g.link(as("u:acme:ann"), "page")
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		mutation string
		want     []any
	}{
		"texts": {`createContent(input: {kind: LINK, title: " ", link: "ftp://x", description: "` + long + `"})`,
			[]any{"EMPTY", "TOO_LONG", "MALFORMED"}},
		"kind":         {`createContent(input: {kind: NOTE, title: "t", link: "https://example.com"})`, []any{"NOT_APPLICABLE"}},
		"missing link": {`createContent(input: {kind: LINK, title: "t"})`, []any{"EMPTY"}},
		"url":          {`createContent(input: {kind: NOTE, title: "t", url: "https://example.com/` + long + `"})`, []any{"TOO_LONG"}},
		"name":         {`createContent(input: {kind: NOTE, title: "t", name: "` + long + `"})`, []any{"TOO_LONG"}},
		"past":         {`updateContent(input: {id: "c:acme:page", expiresAt: "2001-01-01T00:00:00Z"})`, []any{"OUT_OF_RANGE"}},
		"null":         {`updateContent(input: {id: "c:acme:page", visibility: null})`, []any{"EMPTY"}},
		"nothing":      {`updateContent(input: {id: "c:acme:page"})`, []any{"EMPTY"}},
		"twice":        {`setContentMembers(input: {contentId: "c:acme:page", members: [{principalId: "u:acme:root", role: VIEWER}, {principalId: "u:acme:root", role: EDITOR}]})`, []any{"REPEATED"}},
		"another kind": {`createGroup(input: {tenant: "acme", name: "g", displayName: "G"}) { userErrors { reason } } n: updateGroup(input: {id: "u:acme:ann", displayName: "x"})`, []any{"NOT_APPLICABLE"}},
		"not invalid":  {`deleteContent(input: {id: "c:acme:none"})`, []any{nil}},
		"lease key": {`acquireLease(input: {documents: [{key: ""}, {key: "` + long + `"}], ttlMs: 1})`,
			[]any{"EMPTY", "TOO_LONG", "OUT_OF_RANGE"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.do(as("u:acme:ann"), "mutation { m: "+c.mutation+" { userErrors { reason } } }")
			if len(a.errs) > 0 {
				t.Fatalf("top-level errors: %v", a.errs)
			}
			at := "m"
			if name == "another kind" {
				at = "n"
			}
			var got []any
			for _, e := range a.at(at, "userErrors").([]any) {
				got = append(got, e.(map[string]any)["reason"])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMutation_FailureIsATopLevelError: an error that only a program or the service can correct is
// a top-level error, and the payload is null.
func TestMutation_FailureIsATopLevelError(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann")
	g.link(as("u:acme:ann"), "page")
	const create = `mutation($t: String!) { createContent(input: {kind: NOTE, title: $t, idempotencyKey: "k"}) { content { id } userErrors { code } } }`
	g.must(as("u:acme:ann"), create, "t", "one")
	cases := []struct {
		name   string
		answer answer
		code   fault.Code
		reason fault.Reason
	}{
		{"anonymous", g.do(&principal.Viewer{},
			`mutation { m: deleteContent(input: {id: "c:acme:page"}) { deletedContentId userErrors { code } } }`), fault.Unauthenticated, ""},
		{"another input under one key", g.do(as("u:acme:ann"), create, "t", "two"), fault.Conflict, fault.ReasonIdempotencyMismatch},
		{"not a date", g.do(as("u:acme:ann"),
			`mutation { m: updateContent(input: {id: "c:acme:page", expiresAt: "soon"}) { userErrors { code } } }`), fault.Invalid,
			fault.ReasonBadInput},
		{"a version beyond an Int", g.do(as("u:acme:ann"),
			`mutation { m: deleteContent(input: {id: "c:acme:page", expectedVersion: 4294967297}) { userErrors { code } } }`),
			fault.Invalid, fault.ReasonBadInput},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if len(c.answer.errs) != 1 || fault.CodeOf(c.answer.errs[0]) != c.code || fault.ReasonOf(c.answer.errs[0]) != c.reason {
				t.Errorf("errors %v, want one of code %d and reason %q", c.answer.errs, c.code, c.reason)
			}
			for field, payload := range c.answer.data {
				if payload != nil {
					t.Errorf("%s is %v, want null", field, payload)
				}
			}
		})
	}
}

// TestMutation_MissingFieldIsNotNull: a missing field is not changed, and null clears it.
func TestMutation_MissingFieldIsNotNull(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann")
	g.link(as("u:acme:ann"), "page")
	const update = `mutation($in: UpdateContentInput!) { updateContent(input: $in) { content { title description link expiresAt version } libraryEdge { role } fanOut { state libraries } userErrors { code field } } }`
	steps := []struct {
		name  string
		input map[string]any
		want  map[string]any // of the content; nil: INVALID
	}{
		{"set", map[string]any{"description": "d", "expiresAt": "2999-01-01T00:00:00Z"},
			map[string]any{"title": "page", "description": "d", "link": "https://example.com/", "expiresAt": "2999-01-01T00:00:00.000000Z",
				"version": 2.0}},
		{"left out", map[string]any{"title": "t"},
			map[string]any{"title": "t", "description": "d", "link": "https://example.com/", "expiresAt": "2999-01-01T00:00:00.000000Z",
				"version": 3.0}},
		{"cleared", map[string]any{"description": nil, "expiresAt": nil},
			map[string]any{"title": "t", "description": nil, "link": "https://example.com/", "expiresAt": nil, "version": 4.0}},
		{"a title cannot be cleared", map[string]any{"title": nil}, nil},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			s.input["id"] = "c:acme:page"
			a := g.do(as("u:acme:ann"), update, "in", s.input)
			if len(a.errs) > 0 {
				t.Fatal(a.errs)
			}
			if s.want == nil {
				if got := a.at("updateContent", "userErrors", 0, "code"); got != "INVALID" {
					t.Errorf("got %s, want INVALID", a.raw)
				}
				return
			}
			if diff := cmp.Diff(s.want, a.at("updateContent", "content")); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			want := map[string]any{"state": "COMPLETE", "libraries": 1.0}
			if diff := cmp.Diff(want, a.at("updateContent", "fanOut")); diff != "" {
				t.Errorf("fanOut (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMutation_SeesEarlierOnesOfItsOperation: the second mutation returns its own changes, not what
// was loaded for the first.
func TestMutation_SeesEarlierOnesOfItsOperation(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "bob")
	a := g.must(as("u:acme:ann"), `mutation {
		a: createContent(input: {name: "page", kind: NOTE, title: "t", members: [{principalId: "u:acme:bob", role: MANAGER}]}) { content { createdBy { displayName } visibility viewerRole viewerCanEdit viewerCanManage viewerCanDelete } libraryEdge { role node { id } } userErrors { code } }
		b: updateUser(input: {id: "u:acme:ann", displayName: "Ann"}) { user { displayName } userErrors { code } }
		c: setContentMembers(input: {contentId: "c:acme:page", members: [{principalId: "u:acme:ann", role: VIEWER}]}) { content { createdBy { displayName } viewerRole viewerCanEdit viewerCanManage viewerCanDelete } userErrors { code } }
		d: removeFromLibrary(input: {principalId: "u:acme:ann", contentId: "c:acme:page"}) { removedContentId principal { displayName } fanOut { libraries } userErrors { code } } }`)
	for path, want := range map[string]any{
		"a content createdBy displayName": "ann",
		"a content viewerRole":            "MANAGER",
		"a content visibility":            "PRIVATE",
		"a content viewerCanEdit":         true,
		"a content viewerCanManage":       true,
		"a content viewerCanDelete":       true,
		"a libraryEdge role":              "MANAGER",
		"a libraryEdge node id":           "c:acme:page",
		"b user displayName":              "Ann",
		"c content createdBy displayName": "Ann",
		"c content viewerRole":            "VIEWER",
		"c content viewerCanEdit":         false,
		"c content viewerCanManage":       false,
		"c content viewerCanDelete":       false,
		"d removedContentId":              "c:acme:page",
		"d principal displayName":         "Ann",
		"d fanOut libraries":              1.0,
	} {
		if got := a.at(parts(path)...); got != want {
			t.Errorf("%s: got %v, want %v in %s", path, got, want, a.raw)
		}
	}
}

func TestShareContent_ReturnsAnEdgeForEachTarget(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "bob")
	g.link(as("u:acme:ann"), "page")
	a := g.must(as("u:acme:ann"),
		`mutation { shareContent(input: {contentId: "c:acme:page", principalIds: ["u:acme:bob", "u:acme:ann"]}) { content { id } edges { cursor role node { id } } fanOut { libraries state } userErrors { code } } }`)
	for path, want := range map[string]any{
		"shareContent edges 0 role":     "VIEWER",
		"shareContent edges 1 role":     "MANAGER", // sharing never demotes
		"shareContent edges 1 node id":  "c:acme:page",
		"shareContent fanOut libraries": 1.0,
		"shareContent content id":       "c:acme:page",
	} {
		if got := a.at(parts(path)...); got != want {
			t.Errorf("%s: got %v, want %v in %s", path, got, want, a.raw)
		}
	}
	rebuilt := g.must(admin(),
		`mutation { rebuildLibrary(input: {principalId: "u:acme:bob"}) { principal { id } restored removed userErrors { code } } }`)
	want := map[string]any{"principal": map[string]any{"id": "u:acme:bob"}, "restored": 0.0, "removed": 0.0, "userErrors": []any{}}
	if diff := cmp.Diff(want, rebuilt.at("rebuildLibrary")); diff != "" {
		t.Errorf("rebuildLibrary (-want +got):\n%s", diff)
	}
}
