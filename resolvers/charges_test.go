package resolvers_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"carrel/principal"
)

// charged are mutations in an order in which they succeed, or fail as expected, with what they are charged for.
var charged = []struct {
	viewer                   *principal.Viewer
	mutation                 string // %v is the value at the path from in the last answer
	from                     string
	libraries, keys, guesses int
}{
	{as("u:acme:ann"), `createContent(input: {name: "a", kind: NOTE, title: "t", url: "https://x.example/a", members: [{principalId: "u:acme:bob", role: EDITOR}]})`,
		"", 2, 0, 0},
	{as("u:acme:ann"), `createContent(input: {name: "b", kind: NOTE, title: "t"})`, "", 1, 0, 0},
	{as("u:acme:ann"), `createContent(input: {name: "a", kind: NOTE, title: "t"})`, "", 0, 0, 1},
	{as("u:acme:ann"), `createContent(input: {kind: NOTE, title: "t", url: "https://x.example/a"})`, "", 0, 0, 1},
	{as("u:acme:ann"), `createContent(input: {kind: NOTE, title: " "})`, "", 0, 0, 0},
	{as("u:acme:ann"), `updateContent(input: {id: "c:acme:a", title: "u"})`, "", 2, 0, 0},
	{as("u:acme:ann"), `updateContent(input: {id: "c:acme:none", title: "u"})`, "", 0, 0, 0},
	{as("u:acme:ann"), `moveContent(input: {id: "c:acme:a", url: "https://x.example/c"})`, "", 2, 0, 0},
	{as("u:acme:ann"), `moveContent(input: {id: "c:acme:b", url: "https://x.example/c"})`, "", 0, 0, 1},
	{as("u:acme:ann"), `shareContent(input: {contentId: "c:acme:a", principalIds: ["u:acme:eve"]})`, "", 1, 0, 0},
	{as("u:acme:ann"), `shareContents(input: {contentIds: ["c:acme:a", "c:acme:b", "c:acme:none"], principalIds: ["u:acme:root", "u:acme:eve"]})`,
		"", 3, 0, 0},
	{as("u:acme:ann"), `setContentMembers(input: {contentId: "c:acme:a", members: [{principalId: "u:acme:eve", role: EDITOR}]})`,
		"", 1, 0, 0},
	{as("u:acme:eve"), `removeFromLibrary(input: {principalId: "u:acme:eve", contentId: "c:acme:a"})`, "", 1, 0, 0},
	{as("u:acme:ann"), `saveRevision(input: {contentId: "c:acme:a", title: "v", body: "1"})`, "", 3, 0, 0},
	{as("u:acme:ann"), `saveRevision(input: {contentId: "c:acme:a", title: "w", body: "2", publish: false})`, "", 0, 0, 0},
	{as("u:acme:ann"), `publishRevision(input: {contentId: "c:acme:a", branch: 1, number: 1})`, "", 3, 0, 0},
	{as("u:acme:ann"), `saveDraft(input: {contentId: "c:acme:a", title: "x", body: "3"})`, "", 0, 0, 0},
	{as("u:acme:ann"), `publishDraft(input: {contentId: "c:acme:a"})`, "", 3, 0, 0},
	{as("u:acme:ann"), `createBranch(input: {contentId: "c:acme:a", copyFrom: 1})`, "", 0, 0, 0},
	{as("u:acme:ann"), `saveRevision(input: {contentId: "c:acme:a", branch: 2, title: "y", body: "4"})`, "", 0, 0, 0},
	{as("u:acme:ann"), `setCurrentBranch(input: {contentId: "c:acme:a", branch: 2})`, "", 3, 0, 0},
	{as("u:acme:bob"), `m: suggestRevision(input: {contentId: "c:acme:a", title: "z", body: "5"}) { suggestion { id } userErrors { code } }`, "", 0, 0, 0},
	{as("u:acme:ann"), `decideSuggestion(input: {id: "%v", decision: ACCEPT})`, "m suggestion id", 3, 0, 0},
	{as("u:acme:ann"), `deleteContent(input: {id: "c:acme:a"})`, "", 3, 0, 0},
	{as("u:acme:ann"), `deleteContents(input: {items: [{id: "c:acme:b"}, {id: "c:acme:none"}]})`, "", 3, 0, 0},

	{admin(), `createUser(input: {tenant: "acme", name: "eve", displayName: "E", email: "new@example.com"})`, "", 0, 0, 1},
	{admin(), `createUser(input: {tenant: "acme", name: "new", displayName: "N", email: "eve@example.com"})`, "", 0, 0, 1},
	{admin(), `updateUser(input: {id: "u:acme:eve", email: "bob@example.com"})`, "", 0, 0, 1},
	{as("u:acme:ann"), `createGroup(input: {tenant: "acme", name: "g", displayName: "G"})`, "", 0, 0, 0},
	{as("u:acme:ann"), `createGroup(input: {tenant: "acme", name: "g", displayName: "G"})`, "", 0, 0, 1},
	{as("u:acme:ann"), `deleteGroup(input: {id: "g:acme:g"})`, "", 1, 0, 0},
	{as("u:acme:ann"), `deleteGroup(input: {id: "g:acme:none"})`, "", 0, 0, 0},
	{admin(), `deleteUser(input: {id: "u:acme:eve"})`, "", 1, 0, 0},

	{as("u:acme:ann"), `acquireLease(input: {documents: [{key: "a"}], ttlMs: 1})`, "", 0, 0, 0},
	{as("u:acme:ann"), `acquireLease(input: {documents: [{key: "a"}, {key: "b"}, {key: "a"}]})`, "", 0, 0, 0},
	{as("u:acme:ann"), `m: acquireLease(input: {documents: [{key: "a"}, {key: "b"}]}) { lease { id } userErrors { code } }`, "", 0, 2, 0},
	{admin(), `cancelLease(input: {id: "%v"})`, "m lease id", 0, 2, 0},
	{as("u:acme:ann"), `m: acquireLease(input: {documents: [{key: "a"}]}) { lease { id } token userErrors { code } }`, "", 0, 1, 0},
	{as("u:acme:bob"), `n: acquireLease(input: {documents: [{key: "a"}, {key: "c"}, {key: "d"}]}) { userErrors { code } }`, "", 0, 3, 0},
	{admin(), `cancelLease(input: {id: "l:none"})`, "", 0, 0, 0},

	{as("u:acme:ann"), `m: createPaste(input: {body: "b"}) { paste { id } userErrors { code } }`, "", 0, 0, 0},
	{as("u:acme:ann"), `m: updatePaste(input: {id: "%v", secret: "wrong", title: "t"}) { paste { id } userErrors { code } }`, "m paste id", 0, 0, 1},
	{as("u:acme:ann"), `m: createPaste(input: {body: "b"}) { paste { id } userErrors { code } }`, "", 0, 0, 0},
	{as("u:acme:ann"), `deletePaste(input: {id: "%v", secret: "wrong"})`, "m paste id", 0, 0, 1},
}

// TestMutation_CountsWhatIsPaidFor: the libraries that it concerned, the keys that it requested or
// released, and the guesses that it answered.
func TestMutation_CountsWhatIsPaidFor(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "bob", "eve")
	last := answer{}
	for _, c := range charged {
		mutation := c.mutation
		if c.from != "" {
			mutation = fmt.Sprintf(mutation, last.at(parts(c.from)...))
		}
		if mutation[len(mutation)-1] == ')' {
			mutation += ` { userErrors { code message } }`
		}
		e := g.execution(c.viewer, `mutation { `+mutation+` }`, nil)
		errs := g.exec.Execute(t.Context(), e)
		last = answer{raw: written(e)}
		if err := json.Unmarshal([]byte(last.raw), &last.data); err != nil {
			t.Fatal(err)
		}
		if len(errs) > 0 || e.Libraries != c.libraries || e.Keys != c.keys || e.Guesses != c.guesses {
			t.Errorf("%s counts %d libraries, %d keys and %d guesses, want %d, %d and %d: %s %v", mutation,
				e.Libraries, e.Keys, e.Guesses, c.libraries, c.keys, c.guesses, last.raw, errs)
		}
	}
}
