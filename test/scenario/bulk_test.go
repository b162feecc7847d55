package scenario

import (
	"fmt"
	"slices"
	"testing"
)

const (
	shareItems  = `mutation($in: ShareContentsInput!) { out: shareContents(input: $in) { list: results { content { id } fanOut { libraries } userErrors { code field } } userErrors { code field } clientMutationId } }`
	deleteItems = `mutation($in: DeleteContentsInput!) { deleteContents(input: $in) { results { deletedContentId userErrors { code field currentVersion } } userErrors { code field } } }`
)

// TestBulk_EachItemHasAResult shares and deletes several items in one mutation each, some of which
// are refused.
func TestBulk_EachItemHasAResult(t *testing.T) {
	g := serve(t)
	ann, ben := g.user("acme", "ann", "PUBLIC"), g.user("acme", "ben", "PUBLIC")
	var ids []string
	for n := range 30 {
		name := fmt.Sprintf("n%02d", n)
		g.must(ann, createItem, vars{"in": vars{"name": name, "kind": "NOTE", "title": name}})
		ids = append(ids, "c:acme:"+name)
	}
	in := vars{"contentIds": append(slices.Clone(ids), ids[3], "c:acme:none"), "principalIds": []string{"u:acme:ben"},
		"idempotencyKey": "all", "clientMutationId": "m"}
	for range 2 { // the second time is a repetition with the same key
		a := g.must(ann, shareItems, vars{"in": in})
		list, _ := a.at("out.list").([]any)
		if len(list) != 32 || a.at("out.clientMutationId") != "m" {
			t.Fatalf("got %+v", a.Data)
		}
		for i, id := range ids {
			if got, want := fmt.Sprint(list[i]), "map[content:map[id:"+id+"] fanOut:map[libraries:1] userErrors:[]]"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if got := fmt.Sprint(list[30:]); got != "[map[content:<nil> fanOut:<nil> userErrors:[map[code:INVALID "+
			"field:[contentIds 30]]]] map[content:<nil> fanOut:<nil> userErrors:[map[code:NOT_FOUND field:[contentIds 31]]]]]" {
			t.Errorf("got %s", got)
		}
	}
	if p := pageOf(g.must(ben, pageItems, vars{"id": "u:acme:ben"})); len(p.Titles) != 20 {
		t.Errorf("ben's library: %v", p.Titles)
	}
	// Reusing the key with another role is a client error, reported in the result of its
	// item.
	a := g.ask(ann, shareItems, vars{"in": vars{"contentIds": []string{ids[0], "x"}, "principalIds": []string{"u:acme:ben"},
		"role": "EDITOR", "idempotencyKey": "all"}})
	if got := fmt.Sprint(a.code(), a.Errors[0].Path,
		a.at("out.list")); got != "IDEMPOTENCY_MISMATCH[out list 0] [<nil> map[content:<nil> fanOut:<nil> "+
		"userErrors:[map[code:INVALID field:[contentIds 1]]]]]" {
		t.Errorf("got %s", got)
	}
	items := []vars{{"id": ids[0]}, {"id": ids[1], "expectedVersion": 7}, {"id": ids[2], "expectedVersion": 1}}
	a = g.must(ann, deleteItems, vars{"in": vars{"items": items}})
	if got, want := fmt.Sprint(a.at("deleteContents.results")),
		fmt.Sprintf("[map[deletedContentId:%s userErrors:[]] map[deletedContentId:<nil> userErrors:[map[code:CONFLICT "+
			"currentVersion:1 field:[items 1 expectedVersion]]]] map[deletedContentId:%s userErrors:[]]]", ids[0], ids[2]); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for len(items) < 101 {
		items = append(items, vars{"id": "c:acme:none"})
	}
	a = g.ask(ann, deleteItems, vars{"in": vars{"items": items}})
	if got := a.userErrors("deleteContents"); !slices.Equal(got, []string{"TOO_MANY items"}) || a.at("deleteContents.results") != nil {
		t.Errorf("101 items: %v, %v", got, a.at("deleteContents.results"))
	}
	if a := g.ask("", deleteItems, vars{"in": vars{"items": items[:1]}}); a.code() != "UNAUTHENTICATED" {
		t.Errorf("nobody signed in: %+v", a)
	}
	g.audit()
}

// TestTotalCount_CountsWhatTheViewerMaySee checks that the total counts what the viewer may see.
func TestTotalCount_CountsWhatTheViewerMaySee(t *testing.T) {
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	ben := g.user("acme", "ben", "PUBLIC")
	hid := g.user("acme", "hid", "PRIVATE")
	g.must(ann, `mutation { createGroup(input: {tenant: "acme", name: "g", displayName: "G", visibility: PUBLIC}) { userErrors { code } } }`,
		nil)
	g.must(g.token("u:acme:root", "admin"),
		`mutation { setGroupMembers(input: {groupId: "g:acme:g", members: [{principalId: "u:acme:hid", role: MEMBER}, {principalId: "u:acme:ben", role: MEMBER}]}) { userErrors { code message } } }`, nil)
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "x",
		"members": []vars{{"principalId": "u:acme:ben", "role": "VIEWER"}}}})
	const look = `{ group(id: "g:acme:g") { members(first: 1) { totalCount } } content(id: "c:acme:x") { members(first: 0) { totalCount } } user(id: "u:acme:ann") { groups { totalCount } } }`
	for _, c := range []struct{ token, want string }{{ann, "3 2 1"}, {ben, "2 2 1"}, {hid, "3 <nil> 1"}} {
		a := g.must(c.token, look, nil)
		if got := fmt.Sprint(a.at("group.members.totalCount"), " ", a.at("content.members.totalCount"), " ",
			a.at("user.groups.totalCount")); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
