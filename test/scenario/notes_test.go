package scenario

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	saveRevision     = `mutation($in: SaveRevisionInput!) { saveRevision(input: $in) { revision { key branch number locale title isCurrent isWorking author { id } } content { title version } userErrors { code field message } } }`
	publishRevision  = `mutation($in: PublishRevisionInput!) { publishRevision(input: $in) { revision { number isCurrent isWorking } content { title } userErrors { code field message } } }`
	createBranch     = `mutation($in: CreateBranchInput!) { createBranch(input: $in) { branch { key number copiedFrom isCurrent locales } userErrors { code field message } } }`
	setCurrentBranch = `mutation($in: SetCurrentBranchInput!) { setCurrentBranch(input: $in) { branch { number isCurrent isWorking } content { title } userErrors { code field message } } }`
	saveDraft        = `mutation($in: SaveDraftInput!) { saveDraft(input: $in) { draft { key version baseRevision isStale body content { id } author { id } } userErrors { code field message } } }`
	publishDraft     = `mutation($in: PublishDraftInput!) { publishDraft(input: $in) { revision { number title body baseRevision } userErrors { code field message } } }`
	discardDraft     = `mutation($in: DiscardDraftInput!) { discardDraft(input: $in) { discarded userErrors { code field message } } }`
	suggestRevision  = `mutation($in: SuggestRevisionInput!) { suggestRevision(input: $in) { suggestion { id key state baseRevision } userErrors { code field message } } }`
	decideSuggestion = `mutation($in: DecideSuggestionInput!) { decideSuggestion(input: $in) { suggestion { state decidedBy { id } resultingRevision { number } } revision { number body author { id } } userErrors { code field message } } }`
	readText         = `query($id: ID!, $locale: String, $strict: Boolean, $branch: Int, $number: Int, $working: Boolean) { content(id: $id) { title revision(locale: $locale, strictLocale: $strict, branch: $branch, number: $number, working: $working) { number locale title body } } }`
	readDrafts       = `query($after: Cursor) { viewer { drafts(first: 2, after: $after) { nodes { key title body version isStale content { id } } pageInfo { hasNextPage endCursor } } } }`
	readRevisions    = `query($id: ID!, $branch: Int, $locale: String, $first: Int, $after: Cursor) { content(id: $id) { branch(number: $branch) { locales revisions(locale: $locale, first: $first, after: $after) { nodes { number locale title isCurrent body } pageInfo { hasNextPage hasPreviousPage endCursor } } } } }`
	readSuggestions  = `query($id: ID!, $state: SuggestionState, $after: Cursor) { content(id: $id) { suggestions(state: $state, first: 2, after: $after) { nodes { id title note state } pageInfo { hasNextPage endCursor } } } }`
	byKey            = `query($key: String!) { byKey(key: $key, tenant: "acme") { __typename ... on Content { id } ... on Branch { key } ... on Revision { key } ... on Draft { key } ... on Suggestion { key } } }`
)

// in returns the variables of a mutation whose input has these fields.
func in(fields ...any) vars {
	v := vars{}
	for i := 0; i < len(fields); i += 2 {
		v[fields[i].(string)] = fields[i+1]
	}
	return vars{"in": v}
}

// note creates a note with further fields, and returns its id.
func (g *gateway) note(token string, fields ...any) string {
	g.t.Helper()
	v := in(append([]any{"kind", "NOTE", "title", "note", "visibility", "PUBLIC"}, fields...)...)
	return g.must(token, createItem, v).at("createContent.content.id").(string)
}

// wantAt checks the value at a path of an answer, as JSON.
func (g *gateway) wantAt(a *answer, path, want string) {
	g.t.Helper()
	if len(a.Errors) > 0 {
		g.t.Errorf("errors: %+v", a.Errors)
	}
	got, err := json.Marshal(a.at(path))
	if err != nil || string(got) != want {
		g.t.Errorf("%s is %s, want %s", path, got, want)
	}
}

// wantText checks the title that a viewer is shown; "" means none.
func (g *gateway) wantText(token, want string, v vars) {
	g.t.Helper()
	a := g.must(token, readText, v)
	got, _ := a.at("content.revision.title").(string)
	if got != want {
		g.t.Errorf("%v shows %q, want %q", v, got, want)
	}
}

func TestNotes_RequestedLocaleSelectsTheText(t *testing.T) {
	g := serve(t)
	ann, bob := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC")
	id := g.note(ann, "body", "Hello", "locale", "EN-gb", "url", "https://acme.example/guide")
	g.must(ann, saveRevision, in("contentId", id, "locale", "fr", "title", "guide fr", "body", "Bonjour"))
	g.must(ann, saveRevision, in("contentId", id, "title", "guide", "body", "neutral"))
	for _, c := range []struct {
		accept, field, want string
	}{
		{"", "", "guide"},
		{"", `(locale: "fr_CA")`, "guide fr"},
		{"", `(locale: "fr_CA", strictLocale: true)`, ""},
		{"", `(strictLocale: true)`, "guide"},
		{"", `(locale: "de")`, "guide"},
		{"fr-CA, en;q=0.5", "", "guide fr"},
		{"de, fr;q=0.1, en-GB;q=0.9", "", "note"},
		{"fr", `(locale: "en-gb")`, "note"},
		{"it;q=0.7, *;q=0.1", "", "note"},
		{"fr;q=0", "", "guide"},
	} {
		// The requested locale decides how the text is read.
		for _, fields := range []string{"title body", "title", "title locale isCurrent key"} {
			r := g.send("POST", "/graphql", question(fmt.Sprintf(`{ content(id: %q) { revision%s { %s } } }`, id, c.field, fields)),
				"Accept-Language: "+c.accept)
			got, _ := r.at("content.revision.title").(string)
			if got != c.want || len(r.Errors) > 0 {
				t.Errorf("%q, revision%s { %s }: %q and %v, want %q", c.accept, c.field, fields, got, r.Errors, c.want)
			}
		}
	}
	g.wantAt(g.must("", readRevisions, vars{"id": id}), "content.branch.locales", `["en_GB","fr"]`)
	a := g.ask(bob, `query($id: ID!) { content(id: $id) { revision(locale: "english") { title } } }`, vars{"id": id})
	if a.code() != "BAD_USER_INPUT" {
		t.Errorf("a malformed locale: %+v", a.Errors)
	}
	long := strings.Repeat("x", 512<<10)
	g.must(ann, saveRevision, in("contentId", id, "locale", "xx", "title", "long", "body", long))
	if got := g.must("", readText, vars{"id": id, "locale": "xx"}).at("content.revision.body"); got != long {
		t.Errorf("a text of 512 KiB comes back with %d bytes", len(got.(string)))
	}
	g.wantRefused(ann, saveRevision, "saveRevision", in("contentId", id, "title", "", "body", long+"x", "locale", "qq", "branch", 1),
		"INVALID locale", "INVALID title", "INVALID body")
	g.wantRefused(ann, saveRevision, "saveRevision", in("contentId", id, "title", "t", "body", "", "branch", 2), "NOT_FOUND branch")
	g.wantRefused(bob, saveRevision, "saveRevision", in("contentId", id, "title", "t", "body", ""), "FORBIDDEN contentId")
	link := g.must(ann, createItem, in("kind", "LINK", "title", "l", "link", "https://acme.example/", "visibility",
		"PUBLIC")).at("createContent.content.id")
	g.wantRefused(ann, saveRevision, "saveRevision", in("contentId", link, "title", "t", "body", ""), "INVALID contentId")
	g.wantRefused(ann, createItem, "createContent", in("kind", "LINK", "title", "l", "link", "https://acme.example/", "body", "b"),
		"INVALID body")
	g.wantRefused(ann, createItem, "createContent", in("kind", "NOTE", "title", "l", "locale", "en"), "INVALID locale")
	g.audit()
}

// TestNotes_OnlyPublicationsMoveTheItem checks that changes that visitors see move the item
// in libraries, and changes that only editors see do not.
func TestNotes_OnlyPublicationsMoveTheItem(t *testing.T) {
	g := serve(t)
	ann, bob := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC")
	id := g.note(ann, "body", "zero")
	g.note(ann, "title", "other")
	newest := func() string {
		a := g.must(bob, `{ user(id: "u:acme:ann") { library(last: 1) { nodes { title revision { title number } } } } }`, nil)
		b, _ := json.Marshal(a.at("user.library.nodes"))
		return string(b)
	}
	a := g.must(ann, saveRevision, in("contentId", id, "title", "one", "body", "1", "publish", false))
	g.wantAt(a, "saveRevision.revision", `{"author":{"id":"u:acme:ann"},"branch":1,"isCurrent":false,"isWorking":true,"key":"`+
		id+`#1.1","locale":null,"number":1,"title":"one"}`)
	g.wantAt(a, "saveRevision.content", `{"title":"note","version":1}`)
	if got := newest(); got != `[{"revision":null,"title":"other"}]` {
		t.Errorf("an unpublished text moved the item: %s", got)
	}
	g.wantText(bob, "note", vars{"id": id})
	g.wantText(bob, "", vars{"id": id, "working": true})
	g.wantText(bob, "", vars{"id": id, "number": 1})
	g.wantText(ann, "one", vars{"id": id, "working": true})
	g.wantText(ann, "one", vars{"id": id, "number": 1})
	g.wantText(ann, "", vars{"id": id, "number": 2})
	g.must(ann, publishRevision, in("contentId", id, "branch", 1, "number", 1))
	if got := newest(); got != `[{"revision":{"number":1,"title":"one"},"title":"one"}]` {
		t.Errorf("the published item is not the newest: %s", got)
	}
	g.wantRefused(ann, saveRevision, "saveRevision", in("contentId", id, "title", "late", "body", "", "baseRevision", 0),
		"REVISION_CONFLICT baseRevision")
	g.wantRefused(ann, publishRevision, "publishRevision", in("contentId", id, "branch", 1, "number", 9), "NOT_FOUND number")
	back := g.must(ann, publishRevision, in("contentId", id, "branch", 1, "number", 0))
	g.wantAt(back, "publishRevision.revision", `{"isCurrent":true,"isWorking":false,"number":0}`)
	g.wantText(bob, "note", vars{"id": id})
	next := in("contentId", id, "title", "two", "body", "2", "idempotencyKey", "once")
	for range 2 {
		g.wantAt(g.must(ann, saveRevision, next), "saveRevision.revision.number", "2")
	}
	g.wantAt(g.must(bob, readRevisions, vars{"id": id}), "content.branch.revisions.nodes",
		`[{"body":"2","isCurrent":true,"locale":null,"number":2,"title":"two"}]`)
	first := g.must(ann, readRevisions, vars{"id": id, "first": 2})
	g.wantAt(first, "content.branch.revisions.pageInfo.hasNextPage", "true")
	rest := g.must(ann, readRevisions, vars{"id": id, "first": 2, "after": first.at("content.branch.revisions.pageInfo.endCursor")})
	g.wantAt(rest, "content.branch.revisions.nodes", `[{"body":"zero","isCurrent":false,"locale":null,"number":0,"title":"note"}]`)
	g.wantAt(rest, "content.branch.revisions.pageInfo.hasNextPage", "false")
	stolen := g.ask(bob, readRevisions, vars{"id": id, "first": 2, "after": first.at("content.branch.revisions.pageInfo.endCursor")})
	if stolen.code() != "BAD_CURSOR" {
		t.Errorf("a visitor can use the cursor of an editor: %+v", stolen.Errors)
	}
	g.audit()
}

func TestNotes_DraftsSurviveACrashAndReportConflicts(t *testing.T) {
	t.Parallel() // a cluster waits for the end of a killed gateway before its audit
	g := serve(t)
	ann, bob, eve := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC"), g.user("acme", "eve", "PUBLIC")
	id := g.note(ann, "body", "zero", "members", []any{vars{"principalId": "u:acme:bob", "role": "EDITOR"}})
	long := strings.Repeat("draft ", 1000)
	d := g.must(bob, saveDraft, in("contentId", id, "title", "", "body", long)).at("saveDraft.draft").(map[string]any)
	if d["version"] != 1.0 || d["baseRevision"] != 0.0 || d["isStale"] != false || d["body"] != long || d["key"] != id+"#user/u:acme:bob/1" {
		t.Errorf("the draft is %v", d)
	}
	g.wantRefused(bob, publishDraft, "publishDraft", in("contentId", id), "INVALID title")
	g.wantRefused(eve, saveDraft, "saveDraft", in("contentId", id, "title", "", "body", ""), "FORBIDDEN contentId")
	g.wantRefused(bob, saveDraft, "saveDraft", in("contentId", id, "title", "", "body", "", "expectedVersion", 0), "CONFLICT expectedVersion")
	g.wantRefused(bob, saveDraft, "saveDraft", in("contentId", id, "title", "", "body", "", "baseRevision", 7), "INVALID baseRevision")
	g.must(bob, saveDraft, in("contentId", id, "title", "bob's", "body", long, "expectedVersion", 1))
	g.must(ann, saveRevision, in("contentId", id, "title", "ann's", "body", "one"))
	g.kill()
	g.start()
	g.wantAt(g.must(bob, readDrafts, nil), "viewer.drafts.nodes", `[{"body":"`+long+`","content":{"id":"`+id+
		`"},"isStale":true,"key":"`+id+`#user/u:acme:bob/1","title":"bob's","version":2}]`)
	g.must(ann, saveDraft, in("contentId", id, "title", "ann's own", "body", ""))
	g.wantAt(g.must(ann, `{ user(id: "u:acme:bob") { drafts { nodes { title } } } }`, nil), "user.drafts.nodes", "[]")
	g.wantAt(g.must(ann, byKey, vars{"key": id + "#user/u:acme:bob/1"}), "byKey", "null")
	g.wantRefused(bob, publishDraft, "publishDraft", in("contentId", id), "REVISION_CONFLICT force")
	done := g.must(bob, publishDraft, in("contentId", id, "force", true))
	g.wantAt(done, "publishDraft.revision.number", "2")
	g.wantAt(done, "publishDraft.revision.baseRevision", "0")
	g.wantAt(done, "publishDraft.revision.body", `"`+long+`"`)
	g.wantRefused(bob, publishDraft, "publishDraft", in("contentId", id, "force", true), "NOT_FOUND contentId")
	for i := range 5 {
		other := g.note(bob, "title", fmt.Sprint("n", i))
		g.must(bob, saveDraft, in("contentId", other, "title", fmt.Sprint("d", i), "body", "b"))
	}
	var titles []string
	v := vars{}
	for range 4 {
		a := g.must(bob, readDrafts, v)
		for _, n := range a.at("viewer.drafts.nodes").([]any) {
			titles = append(titles, n.(map[string]any)["title"].(string))
		}
		v = vars{"after": a.at("viewer.drafts.pageInfo.endCursor")}
		if a.at("viewer.drafts.pageInfo.hasNextPage") != true {
			break
		}
	}
	if !slices.Equal(titles, []string{"d4", "d3", "d2", "d1", "d0"}) {
		t.Errorf("the drafts, newest first: %v", titles)
	}
	g.wantAt(g.must(bob, discardDraft, in("contentId", id)), "discardDraft.discarded", "false")
	g.must(bob, saveDraft, in("contentId", id, "title", "x", "body", ""))
	g.wantAt(g.must(bob, discardDraft, in("contentId", id)), "discardDraft.discarded", "true")
	g.must(bob, saveDraft, in("contentId", id, "title", "x", "body", ""))
	g.must(ann, deleteItem, vars{"in": vars{"id": id}})
	g.wantAt(g.must(bob, byKey, vars{"key": id + "#user/u:acme:bob/1"}), "byKey", "null")
	g.audit()
}

func TestNotes_EditorsDecideSuggestions(t *testing.T) {
	g := serve(t)
	ann, bob, eve := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC"), g.user("acme", "eve", "PUBLIC")
	id := g.note(ann, "body", "zero")
	suggest := func(token, title string) string {
		a := g.must(token, suggestRevision, in("contentId", id, "title", title, "body", "body of "+title, "note", "why"))
		return a.at("suggestRevision.suggestion.id").(string)
	}
	better, worse, mine := suggest(bob, "better"), suggest(bob, "worse"), suggest(eve, "mine")
	a := g.ask("", suggestRevision, in("contentId", id, "title", "t", "body", ""))
	if a.code() != "UNAUTHENTICATED" {
		t.Errorf("an anonymous viewer can suggest: %+v", a.Errors)
	}
	g.wantRefused(bob, suggestRevision, "suggestRevision", in("contentId", id, "title", "t", "body", "", "note", strings.Repeat("x", 2001)),
		"INVALID note")
	titles := func(token string, v vars) string {
		v["id"] = id
		var all []string
		for range 3 {
			page := g.must(token, readSuggestions, v)
			for _, n := range page.at("content.suggestions.nodes").([]any) {
				all = append(all, n.(map[string]any)["title"].(string))
			}
			if page.at("content.suggestions.pageInfo.hasNextPage") != true {
				break
			}
			v["after"] = page.at("content.suggestions.pageInfo.endCursor")
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if got := titles(ann, vars{}); got != "better mine worse" {
		t.Errorf("an editor sees %s", got)
	}
	if got := titles(bob, vars{}); got != "better worse" {
		t.Errorf("an author sees %s", got)
	}
	if got := titles("", vars{}); got != "" {
		t.Errorf("an anonymous viewer sees %s", got)
	}
	node := `query($id: ID!) { node(id: $id) { id ... on Suggestion { title body } } }`
	g.wantAt(g.must(bob, node, vars{"id": better}), "node", `{"body":"body of better","id":"`+better+`","title":"better"}`)
	g.wantAt(g.must(eve, node, vars{"id": better}), "node", "null")
	decide := func(token, suggestion, decision string, want ...string) *answer {
		t.Helper()
		return g.wantRefused(token, decideSuggestion, "decideSuggestion", in("id", suggestion, "decision", decision), want...)
	}
	decide(bob, better, "ACCEPT", "FORBIDDEN id")
	decide(ann, better, "WITHDRAW", "FORBIDDEN id")
	decide(eve, better, "REJECT", "NOT_FOUND id")
	decide(eve, strings.Repeat("0", 32), "REJECT", "NOT_FOUND id")
	decide(eve, "nonsense", "REJECT", "INVALID id")
	done := decide(ann, better, "ACCEPT")
	g.wantAt(done, "decideSuggestion",
		`{"revision":{"author":{"id":"u:acme:ann"},"body":"body of better","number":1},"suggestion":{"decidedBy":{"id":"u:acme:ann"},"resultingRevision":{"number":1},"state":"ACCEPTED"},"userErrors":[]}`)
	g.wantText("", "better", vars{"id": id})
	decide(ann, better, "REJECT", "CONFLICT id")
	decide(ann, worse, "ACCEPT", "REVISION_CONFLICT force")
	decide(ann, worse, "REJECT")
	decide(eve, mine, "WITHDRAW")
	if got := titles(ann, vars{"state": "OPEN"}) + "/" + titles(ann, vars{"state": "REJECTED"}); got != "/worse" {
		t.Errorf("open and rejected are %s", got)
	}
	g.audit()
}

func TestNotes_KeysOfHiddenTextsFindNothing(t *testing.T) {
	g := serve(t)
	ann, bob := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC")
	const url = "https://acme.example/guide"
	id := g.note(ann, "body", "zero", "locale", "en", "url", url)
	made := g.must(ann, createBranch, in("contentId", id, "copyFrom", 1))
	g.wantAt(made, "createBranch.branch", `{"copiedFrom":1,"isCurrent":false,"key":"`+url+`#2","locales":["en"],"number":2}`)
	g.must(ann, createBranch, in("contentId", id))
	g.wantRefused(ann, createBranch, "createBranch", in("contentId", id, "copyFrom", 9), "NOT_FOUND copyFrom")
	g.wantRefused(bob, createBranch, "createBranch", in("contentId", id), "FORBIDDEN contentId")
	g.wantRefused(ann, setCurrentBranch, "setCurrentBranch", in("contentId", id, "branch", 3), "INVALID branch")
	g.must(ann, saveRevision, in("contentId", id, "branch", 2, "locale", "en", "title", "two", "body", "2"))
	g.wantText(bob, "note", vars{"id": id})
	list := `query($id: ID!) { content(id: $id) { branches { nodes { number isCurrent } } } }`
	g.wantAt(g.must(bob, list, vars{"id": id}), "content.branches.nodes", `[{"isCurrent":true,"number":1}]`)
	g.must(ann, setCurrentBranch, in("contentId", id, "branch", 2))
	g.must(ann, setCurrentBranch, in("contentId", id, "branch", 3, "working", true))
	g.wantText(bob, "two", vars{"id": id})
	g.wantAt(g.must(bob, list, vars{"id": id}), "content.branches.nodes", `[{"isCurrent":true,"number":2}]`)
	g.wantAt(g.must(ann, list, vars{"id": id}), "content.branches.nodes",
		`[{"isCurrent":false,"number":1},{"isCurrent":true,"number":2},{"isCurrent":false,"number":3}]`)
	suggestion := g.must(bob, suggestRevision, in("contentId", id, "locale", "en", "title", "s", "body",
		"")).at("suggestRevision.suggestion.key").(string)
	draft := g.must(ann, saveDraft, in("contentId", id, "locale", "en", "title", "d", "body", "")).at("saveDraft.draft.key").(string)
	for key, want := range map[string]string{
		url:             `{"__typename":"Content","id":"` + id + `"}`,
		url + "#2":      `{"__typename":"Branch","key":"` + url + `#2"}`,
		id + "#2":       `{"__typename":"Branch","key":"` + url + `#2"}`,
		url + "#EN/2.1": `{"__typename":"Revision","key":"` + url + `#en/2.1"}`,
		draft:           `{"__typename":"Draft","key":"` + draft + `"}`,
		suggestion:      `{"__typename":"Suggestion","key":"` + suggestion + `"}`,
		url + "#2.1":    "null", // the locale must match exactly, and there is no text without one
		url + "#en/2.2": "null",
		url + "#4":      "null",
		suggestion[:len(url)] + "#suggestion/2." + suggestion[len(suggestion)-32:]: "null",
	} {
		g.wantAt(g.must(ann, byKey, vars{"key": key}), "byKey", want)
	}
	for _, hidden := range []string{url + "#1", url + "#en/1.0", url + "#en/2.0", draft} {
		g.wantAt(g.must(bob, byKey, vars{"key": hidden}), "byKey", "null")
	}
	g.audit()
}

// TestNotes_AnsweredSavesSurviveCrashes checks that parallel saves get numbers without gaps, and
// that answered saves survive a crash.
func TestNotes_AnsweredSavesSurviveCrashes(t *testing.T) {
	t.Parallel()
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	id := g.note(ann)
	var mu sync.Mutex
	saved := map[int]string{}
	for crash := range 5 {
		var wg sync.WaitGroup
		answered := make(chan struct{}, 1000)
		for client := range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					body := fmt.Sprintf("%d/%d/%d %s", crash, client, n, strings.Repeat("x", n%2*5000))
					a, err := g.post(ann, saveRevision, in("contentId", id, "title", "t", "body", body, "publish", n%3 == 0))
					if err != nil {
						return
					}
					if number, ok := a.at("saveRevision.revision.number").(float64); ok {
						mu.Lock()
						if other, twice := saved[int(number)]; twice {
							t.Errorf("the number %v was given to %.20s and %.20s", number, other, body)
						}
						saved[int(number)] = body
						mu.Unlock()
						answered <- struct{}{}
					}
				}
			})
		}
		for range 20 + 15*crash {
			<-answered
		}
		g.kill()
		wg.Wait()
		g.start()
	}
	got := map[int]string{}
	v := vars{"id": id, "first": 50}
	for more := true; more; {
		a := g.must(ann, readRevisions, v)
		for _, n := range a.at("content.branch.revisions.nodes").([]any) {
			r := n.(map[string]any)
			got[int(r["number"].(float64))] = r["body"].(string)
		}
		v["after"] = a.at("content.branch.revisions.pageInfo.endCursor")
		more = a.at("content.branch.revisions.pageInfo.hasNextPage") == true
	}
	for number, body := range saved {
		if got[number] != body {
			t.Errorf("revision %d has %.20q, want %.20q", number, got[number], body)
		}
	}
	for number := range len(got) {
		if _, ok := got[number]; !ok {
			t.Errorf("revision %d is missing", number)
		}
	}
	if len(saved) < 100 {
		t.Errorf("only %d saves were answered", len(saved))
	}
	g.audit()
}

// TestNotes_DocumentationCanBeRun runs the operations of docs/pages.md as they are
// written.
func TestNotes_DocumentationCanBeRun(t *testing.T) {
	g := serve(t)
	text, err := os.ReadFile("../../docs/pages.md")
	if err != nil {
		t.Fatal(err)
	}
	ann := g.user("demo", "ann", "PUBLIC")
	blocks := strings.Split(string(text), "```graphql\n")[1:]
	if len(blocks) != 5 {
		t.Fatalf("docs/pages.md has %d operations", len(blocks))
	}
	var last *answer
	for _, block := range blocks {
		operation, _, _ := strings.Cut(block, "```")
		last = g.must(ann, operation, nil)
	}
	g.wantAt(last, "publishDraft.revision", `{"isCurrent":true,"number":2}`)
}

// TestNotes_FollowersReceivePublications checks that a follower of a library receives publications,
// and nothing that visitors do not see.
func TestNotes_FollowersReceivePublications(t *testing.T) {
	g := serve(t)
	ann, bob := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC")
	id := g.note(ann, "body", "zero")
	s := g.followByEvents(bob, "u:acme:ann", "")
	defer s.leave()
	g.must(ann, saveRevision, in("contentId", id, "title", "hidden", "body", "", "publish", false))
	g.must(bob, suggestRevision, in("contentId", id, "title", "suggested", "body", ""))
	g.must(ann, saveDraft, in("contentId", id, "title", "draft", "body", ""))
	g.must(ann, saveRevision, in("contentId", id, "title", "second", "body", ""))
	s.wants("+" + id + " second MANAGER")
	g.must(ann, publishRevision, in("contentId", id, "branch", 1, "number", 0))
	s.wants("+" + id + " note MANAGER")
}
