package resolvers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"carrel/core/fault"
	"carrel/domain"
)

// allOfItem selects all objects of an item, and those that lead back to it.
const allOfItem = `fragment Item on Content { id title createdBy { id } members(first: 2) { totalCount nodes { id } }
	viewerRole viewerCanShare viewerCanEdit viewerCanManage viewerCanDelete
	branch { locales revisions(first: 2) { nodes { body author { id } } } } branches(first: 2) { nodes { number locales } }
	revision { title body author { id } }
	suggestions(first: 2) { nodes { body author { id } content { members { nodes { id } } } resultingRevision { body } } } }`

// vanishingRows are operations that read an item, by what they read first. They call begin before it can vanish.
var vanishingRows = map[string]func(g *gateway, id string, begin func()) []error{
	"the item": func(g *gateway, id string, begin func()) []error {
		begin()
		return g.do(as("u:acme:eve"), `query($id: ID!) { content(id: $id) { ...Item } } `+allOfItem, "id", id).errs
	},
	"a node": func(g *gateway, id string, begin func()) []error {
		begin()
		return g.do(as("u:acme:eve"), `query($id: ID!) { nodes(ids: [$id]) { ... on Content { ...Item } } } `+allOfItem, "id", id).errs
	},
	"a library": func(g *gateway, _ string, begin func()) []error {
		begin()
		return g.do(as("u:acme:eve"), `{ user(id: "u:acme:eve") { library(last: 2) { nodes { ...Item } } } } `+allOfItem).errs
	},
	"a draft": func(g *gateway, _ string, begin func()) []error {
		begin()
		return g.do(as("u:acme:eve"), `{ viewer { drafts(first: 2) { nodes { body author { id } content { ...Item } } } } } `+allOfItem).errs
	},
	"an event": func(g *gateway, id string, begin func()) (errs []error) {
		ctx, end := context.WithCancel(g.t.Context())
		defer end()
		e := g.execution(as("u:acme:eve"), `subscription { libraryChanged(principalId: "u:acme:eve") {
			... on LibraryEntryPlaced { edge { node { ...Item } } } ... on LibraryEntryRemoved { contentId } } } `+allOfItem, nil)
		source, refused := g.exec.Subscribe(ctx, e)
		if refused != nil {
			return []error{refused}
		}
		g.must(as("u:acme:ann"), `mutation($id: ID!) { updateContent(input: {id: $id, title: "newer"}) { userErrors { code } } }`, "id", id)
		begin()
		event, err := source.Next(ctx, paid)
		if err != nil {
			return []error{err}
		}
		e.Event, e.Body = event, unlimited()
		for _, err := range g.exec.Execute(ctx, e) {
			errs = append(errs, err)
		}
		return errs
	},
}

// TestItem_ThatVanishesWhileItIsReadIsNoError: an item is deleted, or the viewer loses it, before each of the
// calls of the store that an operation makes. What is read of it afterwards is empty: an error would replace all
// that the operation has read. Only a text that was deleted is an error, after which clients read again.
func TestItem_ThatVanishesWhileItIsReadIsNoError(t *testing.T) {
	losses := map[string]string{
		"deleted": `mutation($id: ID!) { deleteContent(input: {id: $id}) { userErrors { message } } }`,
		"lost": `mutation($id: ID!) { setContentMembers(input: {contentId: $id, members: [{principalId: "u:acme:eve", role: null}]}) {
			userErrors { message } } }`,
	}
	for loss, mutation := range losses {
		for from, read := range vanishingRows {
			t.Run(from+", "+loss, func(t *testing.T) {
				reached := true
				for call := 1; reached; call++ {
					calls := &recorder{}
					g := newGatewayOn(t, func(s *domain.Store) { *s = calls.on(*s) })
					g.people("root", "ann", "eve")
					id := g.vanishingItem("item")
					reached = false
					errs := read(g, id, func() {
						calls.before(call, func() {
							reached = true
							g.must(as("u:acme:ann"), mutation, "id", id)
						})
					})
					calls.before(0, nil)
					for _, err := range errs {
						if !isContention(err) {
							t.Errorf("before call %d: %v", call, err)
						}
					}
					if !reached && call < 5 {
						t.Errorf("the operation makes only %d calls of the store", call-1)
					}
				}
			})
		}
	}
}

// isContention reports whether clients repeat what has failed with err.
func isContention(err error) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Code == fault.Unavailable && e.Reason == fault.ReasonContention && e.RetryAfter > 0
}

// vanishingItem creates a PRIVATE item of ann that eve may edit, with a text, a draft and a suggestion of eve.
func (g *gateway) vanishingItem(name string) string {
	g.t.Helper()
	id := "c:acme:" + name
	g.must(as("u:acme:ann"), `mutation($n: String!) { createContent(input: {name: $n, kind: NOTE, title: $n, visibility: PRIVATE,
		members: [{principalId: "u:acme:eve", role: EDITOR}]}) { userErrors { message } } }`, "n", name)
	g.must(as("u:acme:ann"), `mutation($id: ID!) { saveDraft(input: {contentId: $id, title: "one", body: "text"}) { userErrors { message } }
		publishDraft(input: {contentId: $id}) { userErrors { message } } }`, "id", id)
	g.must(as("u:acme:eve"), `mutation($id: ID!) { suggestRevision(input: {contentId: $id, title: "two", body: "better"}) { userErrors { message } }
		saveDraft(input: {contentId: $id, title: "three", body: "mine"}) { userErrors { message } } }`, "id", id)
	return id
}

// TestMembers_WhomTheViewerDoesNotSeeHaveEmptyLists: managers are shown all members of their groups and items. The
// lists of those that they do not see otherwise are empty, also if they are not: an error would replace the answer.
func TestMembers_WhomTheViewerDoesNotSeeHaveEmptyLists(t *testing.T) {
	g := newGateway(t)
	g.people("root", "ann", "ghost")
	g.link(as("u:acme:ghost"), "shown")
	g.must(as("u:acme:ghost"), `mutation { createGroup(input: {tenant: "acme", name: "hid", displayName: "h", visibility: PRIVATE}) {
		userErrors { message } } }`)
	g.must(as("u:acme:ann"), `mutation { createGroup(input: {tenant: "acme", name: "team", displayName: "t", visibility: PRIVATE}) {
		userErrors { message } } }`)
	root := as("u:acme:root")
	root.Admin = true
	g.must(root, `mutation { setGroupMembers(input: {groupId: "g:acme:team", members: [
		{principalId: "u:acme:ghost", role: MEMBER}, {principalId: "g:acme:hid", role: MEMBER}]}) { userErrors { message } } }`)
	a := g.must(as("u:acme:ann"), `{ group(id: "g:acme:team") { members { totalCount nodes { id
		... on User { library(first: 2) { bucket count { value precision } nodes { id } pageInfo { hasNextPage endCursor } } groups { totalCount nodes { id } } }
		... on Group { library { bucket nodes { id } } members { totalCount nodes { id } } } } } } }`)
	const empty = `"library":{"bucket":"PUBLIC","count":{"value":0,"precision":"EXACT"},"nodes":[],"pageInfo":{"hasNextPage":false,"endCursor":null}}` +
		`,"groups":{"totalCount":0,"nodes":[]}`
	for _, want := range []string{`"totalCount":3`, `{"id":"u:acme:ghost",` + empty + `}`,
		`{"id":"g:acme:hid","library":{"bucket":"PUBLIC","nodes":[]},"members":{"totalCount":0,"nodes":[]}}`} {
		if !strings.Contains(a.raw, want) {
			t.Errorf("%s does not contain %s", a.raw, want)
		}
	}
}
