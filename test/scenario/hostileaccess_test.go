package scenario

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hostileAccess returns rows 33 and 35 to 41: objects that the viewer may not see or change.
func hostileAccess() []row {
	return []row{
		{33, "node(id) of another's private item is null, as for a missing one", hostileNode},
		{35, "rights are checked at the node", hostileNodes},
		{36, "viewer x bucket", hostileBuckets},
		{37, "mutations by a removed member", hostileRemoved},
		{38, "share with 10,000, self, duplicates, unknown ids", hostileShares},
		{39, "cursors: bit flip, another's, other order, v99, 10 KB", hostileCursors},
		{40, "cursor of a deleted item", func(t *testing.T, w *world) {
			carl := w.user("acme", "carl", "PUBLIC")
			for n := range 4 {
				w.must(carl, createItem, vars{"in": vars{"name": fmt.Sprint("carl", n), "kind": "NOTE", "visibility": "PUBLIC",
					"title": fmt.Sprint(n)}})
			}
			first := pageOf(w.must(carl, pageItems, vars{"id": "u:acme:carl", "first": 2}))
			w.must(carl, deleteItem, vars{"in": vars{"id": "c:acme:carl1"}})
			rest := pageOf(w.must(carl, pageItems, vars{"id": "u:acme:carl", "first": 9, "after": first.End}))
			if !slices.Equal(first.Titles, []string{"0", "1"}) || !slices.Equal(rest.Titles, []string{"2", "3"}) {
				t.Errorf("%v, then %v", first.Titles, rest.Titles)
			}
		}},
		{41, "id enumeration", hostileEnumeration},
	}
}

func hostileNode(t *testing.T, w *world) {
	missingLikeHidden(t, w, 10, "--header-cache", "0")
	missingLikeHidden(t, w, 0)
}

// missingLikeHidden compares look-ups of an item that does not exist with those of one that is hidden, which read the store
// at least reads times.
func missingLikeHidden(t *testing.T, w *world, reads int, flags ...string) {
	// Use a gateway where nothing else reads.
	g := serveWith(t, append(flags, "--rate-limit", "0")...)
	ann := g.user("acme", "ann", "PUBLIC")
	g.must(ann, createItem, vars{"in": vars{"name": "private", "kind": "NOTE", "title": "Private", "visibility": "PRIVATE"}})
	g.user("beta", "eve", "PUBLIC")
	const query = `query($id:ID!){node(id:$id){id}}`
	ask := func(id string) *reply {
		return g.send("POST", "/graphql", string(mustJSON(map[string]any{"query": query, "variables": vars{"id": id}})),
			"Authorization: Bearer "+w.eve)
	}
	const theirs, none = "c:acme:private", "c:acme:missing"
	if a, b := ask(theirs), ask(none); !bytes.Equal(a.body, b.body) || string(a.body) != `{"data":{"node":null}}` {
		t.Errorf("theirs: %s, missing: %s", a.body, b.body)
	}
	// They take the same time because they make the same calls of the store. The embedded store's header cache keeps
	// what is missing, too, so neither makes a call of its own once it was asked for.
	methods := append(slices.Clone(requestReads), "read a content", "read contents")
	callsOf := func(id string) map[string]int {
		before := g.storeReads(methods...)
		for range 10 {
			ask(id)
		}
		calls := g.storeReads(methods...)
		for method, n := range before {
			calls[method] -= n
		}
		return calls
	}
	// One attempt may collide with the scrubber, which reads for a moment every ten
	// seconds.
	var diff string
	for range 5 {
		calls := callsOf(none)
		if diff = cmp.Diff(calls, callsOf(theirs)); diff == "" && calls["read contents"]+calls["read a content"] >= reads {
			return
		}
	}
	t.Errorf("calls of the store: %s", diff)
}

func hostileNodes(t *testing.T, w *world) {
	for name, token := range map[string]string{"of another tenant": w.eve, "of the tenant": w.bob, "anonymous": ""} {
		a := w.ask(token, `{ content(id:"c:acme:private"){id} node(id:"c:acme:private"){id} nodes(ids:["c:acme:private","c:acme:public0"]){id}
			user(id:"u:acme:ann"){ email library(includeShared:true,first:100){ nodes{id} count{value} } }
			public: content(id:"c:acme:public0"){ createdBy{ email library(first:100){ nodes{id} } } members{ edges{ node{ ...on User{ email } library(first:100){ nodes{id} } } } } } }`, nil)
		if b := mustJSON(a.Data); bytes.Contains(b, []byte(`"c:acme:private"`)) || bytes.Contains(b, []byte("@")) || len(a.Errors) > 0 {
			t.Errorf("%s sees %s %+v", name, b, a.Errors)
		}
	}
	// Nor do mutations reveal whether the item exists.
	for field, in := range map[string]vars{
		"updateContent(input:$in)": {"id": "", "title": "x"}, "deleteContent(input:$in)": {"id": ""},
		"shareContent(input:$in)":      {"contentId": "", "principalIds": []string{"u:beta:eve"}},
		"setContentMembers(input:$in)": {"contentId": "", "members": []vars{{"principalId": "u:beta:eve", "role": "MANAGER"}}},
		"removeFromLibrary(input:$in)": {"principalId": "u:beta:eve", "contentId": ""},
	} {
		name, _, _ := strings.Cut(field, "(")
		answers := map[string]string{}
		for _, id := range []string{"c:acme:private", "c:acme:missing"} {
			for key := range in {
				if key == "id" || key == "contentId" {
					in[key] = id
				}
			}
			query := fmt.Sprintf("mutation($in:%sInput!){%s{userErrors{code field message}}}", strings.ToUpper(name[:1])+name[1:], field)
			a := w.ask(w.eve, query, vars{"in": in})
			answers[id] = strings.ReplaceAll(string(mustJSON(a)), id, "ID")
			if len(a.userErrors(name)) == 0 {
				t.Errorf("%s of %s: %s", name, id, answers[id])
			}
		}
		if diff := cmp.Diff(answers["c:acme:missing"], answers["c:acme:private"]); diff != "" {
			t.Errorf("%s reveals that the item exists:\n%s", name, diff)
		}
	}
	if a := w.must(w.ann, `{content(id:"c:acme:private"){title version}}`, nil); a.at("content.version") != 1.0 {
		t.Errorf("it was changed: %+v", a.Data)
	}
}

func hostileBuckets(t *testing.T, w *world) {
	w.must(w.ann, createGrp, vars{"in": vars{"tenant": "acme", "name": "shelf", "displayName": "Shelf"}})
	w.must(w.ann, setMembers, vars{"in": vars{"groupId": "g:acme:shelf", "members": []vars{{"principalId": "u:acme:bob", "role": "MEMBER"}}}})
	for _, v := range visibilities {
		w.must(w.ann, createItem, vars{"in": vars{"name": "shelf" + strings.ToLower(v), "kind": "NOTE", "title": v,
			"visibility": v, "members": []vars{{"principalId": "g:acme:shelf", "role": "VIEWER"}}}})
	}
	for _, c := range []struct{ name, token, bucket string }{
		{"anonymous", "", "PUBLIC"}, {"of another tenant", w.eve, "PUBLIC"},
		{"administrator of another tenant", w.token("u:beta:boss", "admin"), "PUBLIC"},
		{"of the tenant", w.token("u:acme:reader"), "LOGGEDIN"}, {"member", w.bob, "PRIVATE"}, {"manager", w.ann, "PRIVATE"},
		{"administrator", w.token("u:acme:boss", "admin"), "PRIVATE"},
		{"global administrator", w.token("u:beta:root", "global-admin"), "PRIVATE"},
	} {
		p := pageOf(w.must(c.token, pageItems, vars{"id": "g:acme:shelf", "first": 100}))
		want := visibilities[:1+slices.Index(visibilities, c.bucket)]
		if p.Bucket != c.bucket || !slices.Equal(p.Titles, want) {
			t.Errorf("%s reads %s: %v, want %s: %v", c.name, p.Bucket, p.Titles, c.bucket, want)
		}
	}
}

func hostileRemoved(t *testing.T, w *world) {
	dan := w.user("acme", "dan", "PUBLIC")
	w.must(w.ann, createGrp, vars{"in": vars{"tenant": "acme", "name": "crew", "displayName": "Crew"}})
	member := func(role any) {
		w.must(w.ann, setMembers, vars{"in": vars{"groupId": "g:acme:crew", "members": []vars{{"principalId": "u:acme:dan", "role": role}}}})
	}
	member("MANAGER")
	w.must(w.ann, createItem, vars{"in": vars{"name": "crewed", "kind": "NOTE", "title": "0", "visibility": "PRIVATE",
		"members": []vars{{"principalId": "g:acme:crew", "role": "MANAGER"}}}})
	w.must(dan, updateItem, vars{"in": vars{"id": "c:acme:crewed", "title": "1"}})
	member(nil)
	for name, c := range map[string]struct {
		query, field string
		in           vars
	}{
		"update":   {updateItem, "updateContent", vars{"id": "c:acme:crewed", "title": "2"}},
		"share":    {shareItem, "shareContent", vars{"contentId": "c:acme:crewed", "principalIds": []string{"u:acme:dan"}}},
		"delete":   {deleteItem, "deleteContent", vars{"id": "c:acme:crewed"}},
		"take out": {removeItem, "removeFromLibrary", vars{"principalId": "g:acme:crew", "contentId": "c:acme:crewed"}},
		"come back": {setMembers, "setGroupMembers",
			vars{"groupId": "g:acme:crew", "members": []vars{{"principalId": "u:acme:dan", "role": "MANAGER"}}}},
		"take charge": {setMembers, "setGroupMembers",
			vars{"groupId": "g:acme:crew", "members": []vars{{"principalId": "u:acme:ann", "role": nil}}}},
	} {
		a := w.ask(dan, c.query, vars{"in": c.in})
		if errs := a.userErrors(c.field); len(errs) != 1 || !strings.HasPrefix(errs[0], "NOT_FOUND") && !strings.HasPrefix(errs[0], "FORBIDDEN") {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := w.must(w.ann, `{content(id:"c:acme:crewed"){title}}`, nil); a.at("content.title") != "1" {
		t.Errorf("it was changed: %+v", a.Data)
	}
	if p := pageOf(w.must(dan, pageItems, vars{"id": "g:acme:crew"})); len(p.Titles) != 0 {
		t.Errorf("dan still reads %v", p.Titles)
	}
}

func hostileShares(t *testing.T, w *world) {
	w.must(w.ann, createItem, vars{"in": vars{"name": "shared", "kind": "NOTE", "title": "0", "visibility": "PUBLIC"}})
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("u:acme:n%d", i)
	}
	share := func(ids ...string) *answer {
		return w.ask(w.ann, shareItem, vars{"in": vars{"contentId": "c:acme:shared", "principalIds": ids}})
	}
	if a := share(many...); a.code() != "BAD_USER_INPUT" && !slices.ContainsFunc(a.userErrors("shareContent"),
		func(e string) bool { return strings.HasPrefix(e, "TOO_MANY") }) || len(mustJSON(a)) > 2_000 {
		t.Errorf("with 10,000: %.500s", mustJSON(a))
	}
	w.readsNothing(func() {
		if a := share(many[:101]...); !slices.ContainsFunc(a.userErrors("shareContent"),
			func(e string) bool { return strings.HasPrefix(e, "TOO_MANY") }) {
			t.Errorf("with 101: %+v", a)
		}
	})
	if a := share("u:acme:bob", "u:acme:nobody", "u:beta:nobody"); len(a.userErrors("shareContent")) != 2 {
		t.Errorf("with unknown ones: %+v", a)
	}
	if p := pageOf(w.must(w.bob, pageItems, vars{"id": "u:acme:bob", "first": 100})); slices.Contains(p.Titles, "0") {
		t.Error("a refused share was applied in part")
	}
	a := w.must(w.ann, shareItem, vars{"in": vars{"contentId": "c:acme:shared",
		"principalIds": []string{"u:acme:ann", "u:acme:bob", "u:acme:bob", "U:ACME:bob"}}})
	if edges, _ := a.at("shareContent.edges").([]any); len(edges) != 2 {
		t.Errorf("self and duplicates: %+v", a.Data)
	}
	if role := w.must(w.ann, `{content(id:"c:acme:shared"){viewerRole}}`, nil).at("content.viewerRole"); role != "MANAGER" {
		t.Errorf("sharing with oneself made a %v of a manager", role)
	}
	if a := share(); a.code() == "" && len(a.userErrors("shareContent")) == 0 {
		t.Errorf("with nobody: %+v", a)
	}
}

func hostileCursors(t *testing.T, w *world) {
	page := func(token, id, cursor, direction string) *answer {
		return w.ask(token, pageItems, vars{"id": id, "first": 3, "after": cursor, "by": vars{"field": "LAST_MODIFIED", "direction": direction}})
	}
	p := pageOf(w.must(w.ann, pageItems, vars{"id": "u:acme:ann", "first": 3}))
	good := p.Cursors[1]
	if a := page(w.ann, "u:acme:ann", good, "ASC"); a.code() != "" {
		t.Fatalf("a good one: %+v", a)
	}
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatalf("%q: %v", good, err)
	}
	for i := range raw {
		flipped := slices.Clone(raw)
		flipped[i] ^= 1 << (i % 8)
		if a := page(w.ann, "u:acme:ann", b64(flipped), "ASC"); a.code() != "BAD_CURSOR" {
			t.Fatalf("byte %d flipped: %+v", i, a)
		}
	}
	v99 := slices.Clone(raw)
	v99[0] = 99
	for name, a := range map[string]*answer{
		"of another library": page(w.bob, "u:acme:bob", good, "ASC"), "of another viewer class": page(w.eve, "u:acme:ann", good, "ASC"),
		"of the other order": page(w.ann, "u:acme:ann", good, "DESC"),
		"v99":                page(w.ann, "u:acme:ann", b64(v99), "ASC"), "10 KB": page(w.ann, "u:acme:ann", strings.Repeat("A", 10<<10), "ASC"),
		"cut off": page(w.ann, "u:acme:ann", good[:len(good)-4], "ASC"),
		"empty":   page(w.ann, "u:acme:ann", "", "ASC"), "garbage": page(w.ann, "u:acme:ann", "%$#", "ASC"),
		"an offset": page(w.ann, "u:acme:ann", "YXJyYXljb25uZWN0aW9uOjE=", "ASC"),
	} {
		if a.code() != "BAD_CURSOR" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	// Cursors are encrypted: none contains a readable id or time.
	now := fmt.Sprint(time.Now().Unix())[:6]
	for _, c := range p.Cursors {
		raw, _ := base64.RawURLEncoding.DecodeString(c)
		for _, secret := range []string{"acme", "public", "private", now} {
			if bytes.Contains(raw, []byte(secret)) || strings.Contains(c, secret) {
				t.Errorf("a cursor contains %q", secret)
			}
		}
	}
}

func hostileEnumeration(t *testing.T, w *world) {
	for n := range 50 {
		ids := make([]string, 100)
		for i := range ids {
			ids[i] = fmt.Sprintf("c:acme:p%d", n*100+i)
		}
		a := w.ask(w.eve, `query($ids:[ID!]!){nodes(ids:$ids){id}}`, vars{"ids": ids})
		if nodes, _ := a.at("nodes").([]any); len(nodes) != 100 || slices.ContainsFunc(nodes, func(v any) bool { return v != nil }) {
			t.Fatalf("got %+v", a)
		}
	}
	if a := w.ask(w.eve, `query($ids:[ID!]!){nodes(ids:$ids){id}}`, vars{"ids": make([]string, 101)}); a.code() != "BAD_USER_INPUT" {
		t.Errorf("101 ids: %+v", a)
	}
	// A hundred ids cost ten points, so at 60 points a minute no more than 600 can be
	// tried in one.
	g := serveWith(t, "--rate-limit", "60")
	began, requests := time.Now(), 0
	for range 100 {
		a := g.ask(g.token("u:acme:mallory"), `query($ids:[ID!]!){nodes(ids:$ids){id}}`, vars{"ids": slices.Repeat([]string{"c:acme:x"}, 100)})
		if a.code() == "RATE_LIMITED" {
			break
		}
		requests++
	}
	if most := 6 + int(time.Since(began)/(10*time.Second)); requests > most {
		t.Errorf("%d ids were tried, want at most %d", 100*requests, 100*most)
	}
}
