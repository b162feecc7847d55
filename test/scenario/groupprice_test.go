package scenario

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestRates_ResolvingGroupsIsBilled checks that reading an item that may be hidden is billed for
// resolving the viewer's groups, whether the item exists or not.
func TestRates_ResolvingGroupsIsBilled(t *testing.T) {
	g := serveWith(t)
	ann := g.user("acme", "ann", "PUBLIC")
	eve := g.user("acme", "eve", "PUBLIC")
	for n := range 3 {
		g.must(ann, `mutation($in: CreateGroupInput!) { createGroup(input: $in) { userErrors { message } } }`,
			vars{"in": vars{"tenant": "acme", "name": fmt.Sprint("g", n), "displayName": "G"}})
		g.must(ann, `mutation($in: SetGroupMembersInput!) { setGroupMembers(input: $in) { userErrors { message } } }`,
			vars{"in": vars{"groupId": fmt.Sprint("g:acme:g", n), "members": []vars{{"principalId": "u:acme:eve", "role": "MEMBER"}}}})
	}
	g.must(ann, createItem, vars{"in": vars{"name": "hidden", "kind": "NOTE", "title": "x", "visibility": "PRIVATE"}})
	g.must(ann, createItem, vars{"in": vars{"name": "open", "kind": "NOTE", "title": "x", "visibility": "PUBLIC"}})
	for id, want := range map[string]float64{"c:acme:open": 1, "c:acme:hidden": 1 + 5, "c:acme:absent": 1 + 5} {
		body := mustJSON(map[string]any{"query": `query($id:ID!){content(id:$id){id}}`, "variables": vars{"id": id},
			"extensions": vars{"cost": true}})
		a := g.send("POST", "/graphql", string(body), "Authorization: Bearer "+eve)
		var reply struct {
			Extensions struct{ Cost struct{ Points float64 } }
		}
		if err := json.Unmarshal(a.body, &reply); err != nil || reply.Extensions.Cost.Points != want {
			t.Errorf("%s costs %v points, want %v: %s, %v", id, reply.Extensions.Cost.Points, want, a.body, err)
		}
	}
}
