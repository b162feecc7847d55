package scenario

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestIdempotencyKeys_RepetitionIsAppliedOnce(t *testing.T) {
	g := serve(t)
	ann, ben := g.user("acme", "ann", "PUBLIC"), g.user("acme", "ben", "PUBLIC")
	in := vars{"kind": "NOTE", "title": "once", "idempotencyKey": "key"}
	id := func(a *answer) any { return a.at("createContent.content.id") }
	var mu sync.Mutex
	ids := map[any]bool{}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			a, err := g.post(ann, createItem, vars{"in": in})
			if err != nil || len(a.Errors) > 0 {
				t.Errorf("%+v, %v", a, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[id(a)] = true
		})
	}
	wg.Wait()
	if len(ids) != 1 || ids[nil] {
		t.Errorf("ten parallel requests created %v", ids)
	}
	if a := g.ask(ann, createItem, vars{"in": vars{"kind": "NOTE", "title": "other",
		"idempotencyKey": "key"}}); a.code() != "IDEMPOTENCY_MISMATCH" {
		t.Errorf("another input: %q", a.code())
	}
	if theirs := g.must(ben, createItem, vars{"in": in}); ids[id(theirs)] {
		t.Error("two viewers shared one key")
	}
	if p := pageOf(g.must(ann, pageItems, vars{"id": "u:acme:ann"})); !slices.Equal(p.Titles, []string{"once"}) {
		t.Errorf("ann's library: %v", p.Titles)
	}
	g.audit()
}

// TestUpdateContent_ParallelUpdatesAreEachAppliedOnce races 200 updates of one item.
func TestUpdateContent_ParallelUpdatesAreEachAppliedOnce(t *testing.T) {
	t.Parallel() // mostly waits
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	g.user("acme", "ben", "PUBLIC")
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "0", "visibility": "PUBLIC",
		"members": []vars{{"principalId": "u:acme:ben", "role": "VIEWER"}}}})
	g.updateAtOnce(ann, "c:acme:x", 200)
	if p := pageOf(g.must(ann, pageItems, vars{"id": "u:acme:ben"})); len(p.Titles) != 1 {
		t.Errorf("ben's library: %v", p.Titles)
	}
	g.audit()
}

// updateAtOnce races updates of an item that has version 1. Each must happen exactly once. An
// update that is refused because it waited too long is repeated with the same key.
func (g *gateway) updateAtOnce(token, id string, many int) {
	g.t.Helper()
	var wg sync.WaitGroup
	for n := range many {
		wg.Go(func() {
			in := vars{"id": id, "title": fmt.Sprint(n + 1), "idempotencyKey": fmt.Sprint(id, " ", n)}
			for tries := 1; ; tries++ {
				a, err := g.post(token, updateItem, vars{"in": in})
				if err == nil && a.code() == "" {
					return
				}
				again := err == nil && slices.Contains([]string{"CONTENTION", "UNAVAILABLE", "TIMEOUT"}, a.code())
				if !again || tries == 10 {
					g.t.Errorf("try %d: %+v, %v", tries, a, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := g.must(token, `query($id:ID!){content(id:$id){version}}`, vars{"id": id}).at("content.version"); got != float64(many+1) {
		g.t.Errorf("got version %v after %d updates", got, many)
	}
}

func TestUpdateContent_StaleVersionIsAConflict(t *testing.T) {
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "a"}})
	g.must(ann, updateItem, vars{"in": vars{"id": "c:acme:x", "title": "b", "expectedVersion": 1}})
	a := g.ask(ann, updateItem, vars{"in": vars{"id": "c:acme:x", "title": "c", "expectedVersion": 1}})
	if got := a.userErrors("updateContent"); !slices.Equal(got, []string{"CONFLICT expectedVersion"}) || a.at("updateContent.content") != nil {
		t.Errorf("%v, %v", got, a.at("updateContent.content"))
	}
	a = g.ask(ann, `mutation { updateContent(input: {id: "c:acme:x", title: "c", expectedVersion: 1}) { userErrors { code currentVersion } } }`, nil)
	if got := fmt.Sprint(a.at("updateContent.userErrors")); got != "[map[code:CONFLICT currentVersion:2]]" {
		t.Errorf("got %s", got)
	}
	if got := g.must(ann, `{ content(id: "c:acme:x") { title version } }`, nil).at("content.title"); got != "b" {
		t.Errorf("title %v", got)
	}
}

// TestUpdateContent_EditorChangesOnlyTitleDescriptionAndLink: an editor changes title, description
// and link, and nothing else.
func TestUpdateContent_EditorChangesOnlyTitleDescriptionAndLink(t *testing.T) {
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	ben := g.user("acme", "ben", "PUBLIC")
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "LINK", "title": "x", "link": "https://example.com/",
		"members": []vars{{"principalId": "u:acme:ben", "role": "EDITOR"}}}})
	const look = `{ content(id: "c:acme:x") { title visibility viewerRole viewerCanShare viewerCanEdit viewerCanManage viewerCanDelete } }`
	may := func(token, want string) {
		t.Helper()
		a := g.must(token, look, nil)
		got := fmt.Sprint(a.at("content.title"), " ", a.at("content.visibility"), " ", a.at("content.viewerRole"),
			" share ", a.at("content.viewerCanShare"), " edit ", a.at("content.viewerCanEdit"), " manage ",
			a.at("content.viewerCanManage"), " delete ", a.at("content.viewerCanDelete"))
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	may(ben, "x PRIVATE EDITOR share false edit true manage false delete false")
	g.must(ben, updateItem, vars{"in": vars{"id": "c:acme:x", "title": "y", "description": "d", "link": "https://example.com/y"}})
	for field, value := range (vars{"visibility": "PRIVATE", "expiresAt": nil}) {
		a := g.ask(ben, updateItem, vars{"in": vars{"id": "c:acme:x", "title": "z", field: value}})
		if got := a.userErrors("updateContent"); !slices.Equal(got, []string{"FORBIDDEN " + field}) {
			t.Errorf("an editor changes %s: %v", field, got)
		}
	}
	a := g.ask(ben, `mutation { deleteContent(input: {id: "c:acme:x"}) { deletedContentId userErrors { code field } } }`, nil)
	if got := a.userErrors("deleteContent"); !slices.Equal(got, []string{"FORBIDDEN id"}) {
		t.Errorf("an editor deletes: %v", got)
	}
	may(ann, "y PRIVATE MANAGER share true edit true manage true delete true")
}

// TestVisibility_WithdrawalIsImmediate makes an item PRIVATE. From the answer on, no library shows
// it to viewers without a role.
func TestVisibility_WithdrawalIsImmediate(t *testing.T) {
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	zed := g.user("beta", "zed", "PUBLIC")
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "x", "visibility": "PUBLIC"}})
	if p := pageOf(g.must("", pageItems, vars{"id": "u:acme:ann"})); len(p.Titles) != 1 {
		t.Fatalf("before: %v", p.Titles)
	}
	g.must(zed, shareItem, vars{"in": vars{"contentId": "c:acme:x", "principalIds": []string{"u:beta:zed"}}})
	g.must(ann, updateItem, vars{"in": vars{"id": "c:acme:x", "visibility": "PRIVATE"}})
	if p := pageOf(g.must("", pageItems, vars{"id": "u:acme:ann"})); len(p.Titles) != 0 {
		t.Errorf("ann's library as a stranger reads it: %v", p.Titles)
	}
	if a := g.ask("", `{ node(id: "c:acme:x") { id } content(id: "c:acme:x") { id } }`, nil); a.at("node") != nil || a.at("content") != nil {
		t.Errorf("look-ups: %+v", a.Data)
	}
	if p := pageOf(g.must(zed, pageItems, vars{"id": "u:beta:zed"})); len(p.Titles) != 1 {
		t.Errorf("zed was given a role, but cannot see the item: %v", p.Titles)
	}
	g.must(ann, removeFor, vars{"in": vars{"contentId": "c:acme:x", "members": []vars{{"principalId": "u:beta:zed", "role": nil}}}})
	if a := g.ask(zed, `{ content(id: "c:acme:x") { id } }`, nil); a.at("content") != nil {
		t.Error("zed sees the item without a role")
	}
	if a := g.ask(zed, removeItem, vars{"in": vars{"contentId": "c:acme:x",
		"principalId": "u:beta:zed"}}); !slices.Equal(a.userErrors("removeFromLibrary"), []string{"NOT_FOUND contentId"}) {
		t.Errorf("a removed member's mutation: %v", a.userErrors("removeFromLibrary"))
	}
	g.audit()
}

const removeFor = `mutation($in: SetContentMembersInput!) { setContentMembers(input: $in) { content { id } userErrors { code field message } } }`
