package resolvers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"carrel/core/fault"
	"carrel/domain"
	"carrel/principal"
)

// unseenPairs are pairs of a hidden and an absent object for each kind of argument.
var unseenPairs = map[string][][2]string{
	"content": {{"c:acme:hidden", "c:acme:absent"}, {"c:acme:hidden", "c:acme:deleted"}},
	"user":    {{"u:acme:ghost", "u:acme:nobody"}},
	"group":   {{"g:acme:secret", "g:acme:nothing"}},
	"name":    {{"secret", "nothing"}},
	"url": {{"https://acme.example/hidden", "https://acme.example/absent"},
		{"https://acme.example/hidden", "https://acme.example/deleted"}},
}

// unseenRow is a request for one object of some kind, whose id replaces %s. A row without kinds
// says why the field has none.
type unseenRow struct {
	kinds string
	ask   string
}

const (
	payloadOf     = `{ userErrors { code field message } }`
	bulkPayloadOf = `{ results { userErrors { code field message } } userErrors { code field message } }`
)

// unseenRows has a row for every field of Query and Mutation.
var unseenRows = map[string][]unseenRow{
	"viewer":       {{"", "names nothing"}},
	"limits":       {{"", "names nothing"}},
	"_service":     {{"", "names nothing"}},
	"canonicalUrl": {{"", "names nothing that is stored"}},
	"parseKey":     {{"", "names nothing that is stored"}},
	"createUser":   {{"", "names only what it creates, and TAKEN may reveal that it exists"}},
	"createGroup":  {{"", "names only what it creates, and TAKEN may reveal that it exists"}},
	"acquireLease": {{"", "names keys, and TAKEN may reveal that one is held"}},
	// Ids of leases are random, and a caller who knows one also has its token.
	"lease":          {{"", "is answered to callers with the token, and FORBIDDEN reveals a lease"}},
	"confirmLease":   {{"", "is for callers with the token, and FORBIDDEN reveals a lease"}},
	"cancelLease":    {{"", "is for callers with the token, and FORBIDDEN reveals a lease"}},
	"keyHolder":      {{"", "is for administrators of the tenant, whose keys these are"}},
	"isKeyAvailable": {{"", "reveals whether a key is held, and not by whom"}},
	"latestContent":  {{"", "names a tenant, whose PUBLIC content everybody sees"}},
	"latestPastes":   {{"", "names nothing"}},
	"createPaste":    {{"", "names nothing"}},
	// Ids of pastes are random, and a caller who knows one may read the paste.
	"paste":       {{"", "is answered to everybody"}},
	"updatePaste": {{"", "is for callers with the secret, and WRONG_SECRET reveals a paste that everybody may read"}},
	"deletePaste": {{"", "is for callers with the secret, and WRONG_SECRET reveals a paste that everybody may read"}},

	"node":      {{"content user group suggestion", `{ node(id: "%s") { id } }`}},
	"nodes":     {{"content user group", `{ nodes(ids: ["%s", "c:acme:seen", "g:acme:low", "c:acme:other"]) { id } }`}},
	"principal": {{"user group", `{ principal(id: "%s") { id library(first: 2) { edges { role node { id } } } } }`}},
	"user": {{"user",
		`{ user(id: "%s") { id groups(first: 2) { nodes { id } } library(first: 2) { count { value } edges { role node { id viewerRole } } } } }`}},
	"group": {{"group",
		`{ group(id: "%s") { id viewerRole members(first: 2) { nodes { id } } library(first: 2, includeShared: true) { edges { node { id viewerRole } } } } }`}},
	"content":      {{"content", `{ content(id: "%s") { id viewerRole viewerCanEdit createdBy { id } members(first: 2) { nodes { id } } } }`}},
	"contentByUrl": {{"url", `{ contentByUrl(url: "%s", tenant: "acme") { id viewerRole } }`}},
	"byKey": {
		{"content", `{ byKey(key: "%s") { __typename } }`},
		{"url", `{ byKey(key: "%s", tenant: "acme") { __typename } }`},
		{"url", `{ byKey(key: "%s#1", tenant: "acme") { __typename } }`},
		{"url", `{ byKey(key: "%s#1.0", tenant: "acme") { __typename } }`},
		{"content", `{ byKey(key: "%s#user/u:acme:eve/1") { __typename } }`},
		{"suggestion", `{ byKey(key: "c:acme:seen#suggestion/1.%s") { __typename } }`},
	},
	"principals": {{"name", `{ principals(tenant: "acme", prefix: "%s") { nodes { id } } }`}},
	"_entities": {
		{"content", `{ _entities(representations: [{__typename: "Content", id: "%s"}]) { __typename } }`},
		{"user", `{ _entities(representations: [{__typename: "User", id: "%s"}]) { __typename } }`},
		{"group", `{ _entities(representations: [{__typename: "Group", id: "%s"}]) { __typename } }`},
	},

	"updateUser":  {{"user", `mutation { updateUser(input: {id: "%s", displayName: "x"}) ` + payloadOf + ` }`}},
	"deleteUser":  {{"user", `mutation { deleteUser(input: {id: "%s"}) ` + payloadOf + ` }`}},
	"deleteGroup": {{"group", `mutation { deleteGroup(input: {id: "%s", idempotencyKey: "k"}) ` + payloadOf + ` }`}},
	"updateGroup": {{"group", `mutation { updateGroup(input: {id: "%s", displayName: "x"}) ` + payloadOf + ` }`}},
	"setGroupMembers": {
		{"group", `mutation { setGroupMembers(input: {groupId: "%s", members: [{principalId: "u:acme:ann", role: MEMBER}]}) ` + payloadOf + ` }`},
		{"group", `mutation { setGroupMembers(input: {groupId: "%s", members: [{principalId: "u:acme:eve"}]}) ` + payloadOf + ` }`},
		{"user group", `mutation { setGroupMembers(input: {groupId: "g:acme:mine", members: [{principalId: "%s", role: MEMBER}]}) ` +
			payloadOf + ` }`},
		{"user group", `mutation { setGroupMembers(input: {groupId: "g:acme:theirs", members: [{principalId: "%s", role: MEMBER}]}) ` +
			payloadOf + ` }`},
	},
	"createContent": {{"user group",
		`mutation { createContent(input: {kind: NOTE, title: "x", members: [{principalId: "%s", role: VIEWER}]}) ` + payloadOf + ` }`}},
	"updateContent": {
		{"content", `mutation { updateContent(input: {id: "%s", title: "x"}) ` + payloadOf + ` }`},
		{"content", `mutation { updateContent(input: {id: "%s", visibility: PUBLIC, idempotencyKey: "k"}) ` + payloadOf + ` }`},
	},
	"shareContent": {
		{"content", `mutation { shareContent(input: {contentId: "%s", principalIds: ["u:acme:eve"]}) ` + payloadOf + ` }`},
		{"user group", `mutation { shareContent(input: {contentId: "c:acme:seen", principalIds: ["%s"]}) ` + payloadOf + ` }`},
		{"user group", `mutation { shareContent(input: {contentId: "c:acme:mine", principalIds: ["%s", "u:acme:ann"]}) ` + payloadOf + ` }`},
	},
	"setContentMembers": {
		{"content", `mutation { setContentMembers(input: {contentId: "%s", members: [{principalId: "u:acme:ann", role: VIEWER}]}) ` +
			payloadOf + ` }`},
		{"content", `mutation { setContentMembers(input: {contentId: "%s", members: [{principalId: "u:acme:eve"}]}) ` + payloadOf + ` }`},
		{"user group", `mutation { setContentMembers(input: {contentId: "c:acme:seen", members: [{principalId: "%s", role: VIEWER}]}) ` +
			payloadOf + ` }`},
		{"user group", `mutation { setContentMembers(input: {contentId: "c:acme:mine", members: [{principalId: "%s", role: EDITOR}]}) ` +
			payloadOf + ` }`},
	},
	"removeFromLibrary": {
		{"content", `mutation { removeFromLibrary(input: {principalId: "u:acme:eve", contentId: "%s"}) ` + payloadOf + ` }`},
		{"user group", `mutation { removeFromLibrary(input: {principalId: "%s", contentId: "c:acme:seen"}) ` + payloadOf + ` }`},
	},
	"moveContent": {
		{"content", `mutation { moveContent(input: {id: "%s", url: "https://acme.example/x"}) ` + payloadOf + ` }`},
		{"content", `mutation { moveContent(input: {id: "%s", url: null}) ` + payloadOf + ` }`},
	},
	"createBranch":     {{"content", `mutation { createBranch(input: {contentId: "%s"}) ` + payloadOf + ` }`}},
	"setCurrentBranch": {{"content", `mutation { setCurrentBranch(input: {contentId: "%s", branch: 1}) ` + payloadOf + ` }`}},
	"saveRevision":     {{"content", `mutation { saveRevision(input: {contentId: "%s", title: "x", body: "x"}) ` + payloadOf + ` }`}},
	"publishRevision":  {{"content", `mutation { publishRevision(input: {contentId: "%s", branch: 1, number: 0}) ` + payloadOf + ` }`}},
	"saveDraft":        {{"content", `mutation { saveDraft(input: {contentId: "%s", title: "x", body: "x"}) ` + payloadOf + ` }`}},
	"publishDraft":     {{"content", `mutation { publishDraft(input: {contentId: "%s"}) ` + payloadOf + ` }`}},
	"discardDraft":     {{"content", `mutation { discardDraft(input: {contentId: "%s"}) { discarded userErrors { code field } } }`}},
	"suggestRevision":  {{"content", `mutation { suggestRevision(input: {contentId: "%s", title: "x", body: "x"}) ` + payloadOf + ` }`}},
	"decideSuggestion": {{"suggestion", `mutation { decideSuggestion(input: {id: "%s", decision: ACCEPT}) ` + payloadOf + ` }`}},
	"shareContents": {
		{"content", `mutation { shareContents(input: {contentIds: ["%s"], principalIds: ["u:acme:eve"]}) ` + bulkPayloadOf + ` }`},
		{"user group", `mutation { shareContents(input: {contentIds: ["c:acme:seen", "c:acme:mine"], principalIds: ["%s"]}) ` +
			bulkPayloadOf + ` }`},
	},
	"deleteContents": {{"content", `mutation { deleteContents(input: {items: [{id: "%s"}]}) ` + bulkPayloadOf + ` }`}},
	"deleteContent":  {{"content", `mutation { deleteContent(input: {id: "%s"}) ` + payloadOf + ` }`}},
	"rebuildLibrary": {{"user group", `mutation { rebuildLibrary(input: {principalId: "%s"}) ` + payloadOf + ` }`}},
}

// unseenWorld creates the objects that unseenRows name. eve and far are in nested groups.
func unseenWorld(t *testing.T) (*gateway, *recorder) {
	record := &recorder{}
	g := newGatewayOn(t, func(s *domain.Store) { *s = record.on(*s) })
	g.people("root", "ann", "eve", "ghost")
	g.must(&principal.Viewer{User: "u:acme:root", GlobalAdmin: true},
		`mutation { createUser(input: {tenant: "other", name: "far", displayName: "Far", email: "far@example.com"}) { userErrors { message } } }`)
	group := func(name, visibility string, members ...string) {
		g.must(as("u:acme:ann"),
			`mutation($n: String!, $v: LibraryVisibility) { createGroup(input: {tenant: "acme", name: $n, displayName: $n, visibility: $v}) { userErrors { message } } }`, "n", name, "v", visibility)
		var in []any
		for _, m := range members {
			id, role, _ := strings.Cut(m, "=")
			in = append(in, map[string]any{"principalId": id, "role": role})
		}
		if in != nil {
			g.must(as("u:acme:ann"),
				`mutation($g: ID!, $m: [GroupMemberChange!]!) { setGroupMembers(input: {groupId: $g, members: $m}) { userErrors { code field message } } }`,
				"g", "g:acme:"+name, "m", in)
		}
	}
	group("low", "PUBLIC", "u:acme:eve=MEMBER", "u:other:far=MEMBER")
	group("middle", "PRIVATE", "g:acme:low=MEMBER")
	group("high", "PUBLIC", "g:acme:middle=MEMBER")
	group("mine", "PUBLIC", "u:acme:eve=MANAGER", "u:other:far=MANAGER")
	group("theirs", "PUBLIC")
	group("secret", "PRIVATE")
	for name, visibility := range map[string]string{"seen": "PUBLIC", "other": "PRIVATE", "mine": "PUBLIC",
		"hidden": "PRIVATE", "deleted": "PRIVATE"} {
		members := []any{}
		if name == "mine" {
			members = []any{map[string]any{"principalId": "u:acme:eve", "role": "MANAGER"},
				map[string]any{"principalId": "u:other:far", "role": "MANAGER"}}
		}
		g.must(as("u:acme:ann"),
			`mutation($n: String!, $v: LibraryVisibility, $m: [ContentMemberChange!], $u: String) { createContent(input: {name: $n, kind: NOTE, title: $n, visibility: $v, members: $m, url: $u}) { userErrors { message } } }`,
			"n", name, "v", visibility, "m", members, "u", "https://acme.example/"+name)
	}
	g.must(as("u:acme:ann"), `mutation { deleteContent(input: {id: "c:acme:deleted"}) { userErrors { message } } }`)
	unseenPairs["suggestion"] = nil
	for _, item := range []string{"c:acme:hidden", "c:acme:seen"} {
		suggested := g.must(as("u:acme:ann"),
			`mutation($c: ID!) { suggestRevision(input: {contentId: $c, title: "x", body: "x"}) { suggestion { id } userErrors { message } } }`,
			"c", item)
		unseenPairs["suggestion"] = append(unseenPairs["suggestion"],
			[2]string{suggested.at("suggestRevision", "suggestion", "id").(string), strings.Repeat("0", 32)})
	}
	// The first look-up fills the directory, and the second finds it filled.
	for range 2 {
		g.must(as("u:acme:eve"), `{ principals(tenant: "acme", prefix: "eve") { nodes { id } } }`)
	}
	return g, record
}

// TestNode_HiddenIsReadLikeAbsent: a request for a hidden object makes the same store calls, costs
// the same, and returns the same answer as one for an object that does not exist, so that the two
// cannot be distinguished.
func TestNode_HiddenIsReadLikeAbsent(t *testing.T) {
	g, record := unseenWorld(t)
	for _, root := range []*ast.Definition{g.schema.Query, g.schema.Mutation} {
		for _, field := range root.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			rows := unseenRows[field.Name]
			if len(rows) == 0 {
				t.Errorf("%s.%s has no row", root.Name, field.Name)
			}
			for n, row := range rows {
				t.Run(fmt.Sprintf("%s %d", field.Name, n), func(t *testing.T) { row.compare(t, g, record) })
			}
		}
	}
	t.Run("libraryChanged", func(t *testing.T) {
		for _, kind := range []string{"user", "group"} {
			for _, pair := range unseenPairs[kind] {
				var calls [2][]string
				for i, id := range pair {
					record.take()
					if _, err := g.spy.Feed.Follow(t.Context(), as("u:acme:eve"), id, nil); fault.CodeOf(err) != fault.NotFound {
						t.Errorf("%s is followed: %v", id, err)
					}
					calls[i] = record.take()
				}
				if diff := cmp.Diff(calls[0], calls[1]); diff != "" {
					t.Errorf("calls (-%s +%s):\n%s", pair[0], pair[1], diff)
				}
			}
		}
	})
}

func (row unseenRow) compare(t *testing.T, g *gateway, record *recorder) {
	for _, user := range []string{"u:acme:eve", "u:other:far", "u:other:far admin", ""} {
		for _, kind := range strings.Fields(row.kinds) {
			for _, pair := range unseenPairs[kind] {
				var calls [2][]string
				var answers, prices [2]string
				for i, id := range pair {
					record.take()
					g.spy.reset()
					name, admin := strings.CutSuffix(user, " admin")
					v := as(name)
					v.Admin = admin
					a := g.do(v, fmt.Sprintf(row.ask, id))
					record.await(t, "OpenLibrary of 0", g.spy.pagesBegun())
					calls[i] = record.take()
					resolutions, libraries := v.Resolved()
					answers[i], prices[i] = a.raw+fmt.Sprint(a.errs), fmt.Sprintf("%d resolutions and %d libraries", resolutions, libraries)
				}
				if diff := cmp.Diff(calls[0], calls[1]); diff != "" {
					t.Errorf("calls for %q (-%s +%s):\n%s", user, pair[0], pair[1], diff)
				}
				if answers[0] != answers[1] || prices[0] != prices[1] {
					t.Errorf("%q gets %s for %s (%s), and %s for %s (%s)", user, answers[0], pair[0], prices[0], answers[1], pair[1], prices[1])
				}
				if user == "u:acme:eve" && len(calls[0]) == 0 {
					t.Errorf("nothing is read for %q and %s", user, pair[0])
				}
			}
		}
	}
}
