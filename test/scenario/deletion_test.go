package scenario

import (
	"slices"
	"testing"
)

const (
	deleteUser  = `mutation($in: DeleteUserInput!) { deleteUser(input: $in) { deletedUserId fanOut { state libraries } userErrors { code field message } clientMutationId } }`
	deleteGroup = `mutation($in: DeleteGroupInput!) { deleteGroup(input: $in) { deletedGroupId fanOut { state libraries } userErrors { code field message } } }`
)

// TestDeleteUser_IsShownNowhere lets a user with a library, memberships and a draft delete itself.
func TestDeleteUser_IsShownNowhere(t *testing.T) {
	g := serve(t)
	ann, bob := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC")
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "x", "visibility": "PRIVATE",
		"members": []vars{{"principalId": "u:acme:bob", "role": "EDITOR"}}}})
	g.must(bob, createItem, vars{"in": vars{"name": "bobs", "kind": "NOTE", "title": "bobs", "visibility": "PUBLIC",
		"members": []vars{{"principalId": "u:acme:ann", "role": "VIEWER"}}}})
	g.must(bob, createGrp, vars{"in": vars{"tenant": "acme", "name": "team", "displayName": "Team"}})
	g.must(bob, setMembers, vars{"in": vars{"groupId": "g:acme:team", "members": []vars{{"principalId": "u:acme:ann", "role": "MEMBER"}}}})
	g.must(bob, saveDraft, vars{"in": vars{"contentId": "c:acme:bobs", "title": "", "body": "secret"}})
	if a := g.ask(ann, deleteUser, vars{"in": vars{"id": "u:acme:bob", "clientMutationId": "m"}}); !slices.Equal(a.userErrors("deleteUser"),
		[]string{"FORBIDDEN id"}) || a.at("deleteUser.clientMutationId") != "m" {
		t.Errorf("by another user: %v", a.Data)
	}
	for range 2 {
		a := g.must(bob, deleteUser, vars{"in": vars{"id": "u:acme:bob", "idempotencyKey": "k"}})
		if a.at("deleteUser.deletedUserId") != "u:acme:bob" || a.at("deleteUser.fanOut.libraries") != 1.0 {
			t.Errorf("deleted: %v", a.Data)
		}
	}
	const look = `{ viewer { id } user(id: "u:acme:bob") { id } node(id: "u:acme:bob") { id } _entities(representations: [{__typename: "User", id: "u:acme:bob"}]) { __typename } content(id: "c:acme:x") { id } }`
	a := g.ask(bob, look, nil)
	entities, _ := a.at("_entities").([]any)
	if a.at("viewer") != nil || a.at("user") != nil || a.at("node") != nil || a.at("content") != nil || len(entities) != 1 ||
		entities[0] != nil {
		t.Errorf("bob is shown %v", a.Data)
	}
	a = g.must(ann, `{ content(id: "c:acme:bobs") { createdBy { id } members { nodes { id } } } group(id: "g:acme:team") { members { nodes { id } } } principals(tenant: "acme", prefix: "bob") { nodes { id } } }`, nil)
	if a.at("content.createdBy") != nil || len(a.at("content.members.nodes").([]any)) != 1 ||
		len(a.at("group.members.nodes").([]any)) != 1 || len(a.at("principals.nodes").([]any)) != 0 {
		t.Errorf("ann is shown %v", a.Data)
	}
	if a := g.ask(bob, createUser, vars{"in": vars{"tenant": "acme", "name": "bob", "displayName": "Bob",
		"email": "new@example.com"}}); !slices.Equal(a.userErrors("createUser"), []string{"TAKEN name"}) {
		t.Errorf("created again: %v", a.Data)
	}
	if a := g.ask(bob, createItem, vars{"in": vars{"kind": "NOTE", "title": "t"}}); !slices.Equal(a.userErrors("createContent"),
		[]string{"FORBIDDEN"}) {
		t.Errorf("bob creates: %v", a.userErrors("createContent"))
	}
	// Only administrators can manage what bob alone managed.
	rename := vars{"in": vars{"id": "c:acme:bobs", "title": "renamed"}}
	if a := g.ask(ann, updateItem, rename); !slices.Equal(a.userErrors("updateContent"), []string{"FORBIDDEN id"}) {
		t.Errorf("ann changes it: %v", a.Data)
	}
	g.must(g.token("u:acme:root", "admin"), updateItem, rename)
	g.must(g.token("u:acme:root", "admin"), deleteGroup, vars{"in": vars{"id": "g:acme:team"}})
	if a := g.ask(ann, `{ group(id: "g:acme:team") { id } }`, nil); a.at("group") != nil {
		t.Errorf("the group is shown: %v", a.Data)
	}
	g.audit()
}

// TestDeleteUser_DeletionIsFinishedAfterACrash checks that the next start finishes the deletion.
func TestDeleteUser_DeletionIsFinishedAfterACrash(t *testing.T) {
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		g.must(ann, createItem, vars{"in": vars{"name": name, "kind": "NOTE", "title": name, "visibility": "PUBLIC"}})
	}
	g.must(ann, deleteUser, vars{"in": vars{"id": "u:acme:ann"}})
	g.kill()
	g.start()
	if a := g.ask("", `{ user(id: "u:acme:ann") { id } }`, nil); a.at("user") != nil {
		t.Errorf("shown: %v", a.Data)
	}
	g.audit()
}
