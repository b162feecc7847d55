package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	find = `query($tenant: String!, $prefix: String, $first: Int, $after: Cursor) {
		principals(tenant: $tenant, prefix: $prefix, first: $first, after: $after) {
			edges { cursor node { __typename id displayName } } nodes { id }
			pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`
	renameUser = `mutation($in: UpdateUserInput!) { updateUser(input: $in) { user { id } userErrors { code field message } } }`
)

// pageIDs returns the ids of a page of a search for people.
func pageIDs(a *answer) (ids []string) {
	edges, _ := a.at("principals.edges").([]any)
	for _, e := range edges {
		ids = append(ids, e.(map[string]any)["node"].(map[string]any)["id"].(string))
	}
	return ids
}

// findAll pages through a search for people.
func (g *gateway) findAll(token, prefix string, size int) (ids []string) {
	g.t.Helper()
	var after any
	for range 100 {
		a := g.must(token, find, vars{"tenant": "acme", "prefix": prefix, "first": size, "after": after})
		page := pageIDs(a)
		if before := a.at("principals.pageInfo.hasPreviousPage"); before != (len(ids) > 0) {
			g.t.Errorf("hasPreviousPage is %v after %d", before, len(ids))
		}
		if ids = append(ids, page...); a.at("principals.pageInfo.hasNextPage") != true {
			return ids
		}
		if len(page) != size {
			g.t.Errorf("a page of %d has %d and says that there are more", size, len(page))
		}
		after = a.at("principals.pageInfo.endCursor")
	}
	g.t.Fatal("the search does not end")
	return nil
}

// barredFrom returns the code with which v is refused to search a tenant for people, or
// "" if it may search.
func (v *viewer) barredFrom(tenant string) string {
	switch {
	case v.token == "":
		return "UNAUTHENTICATED"
	case v.tenant != tenant && !v.global:
		return "FORBIDDEN"
	}
	return ""
}

// TestFind_OnlyViewersOfTheTenantFindPrincipals checks for each kind of viewer which principals it
// finds. Only viewers of the tenant can find anybody in it, even PUBLIC users.
func TestFind_OnlyViewersOfTheTenantFindPrincipals(t *testing.T) {
	g := serve(t)
	owners, viewers := population(g)
	var all []string
	for _, o := range owners {
		all = append(all, o.id)
	}
	for _, v := range viewers {
		t.Run(v.name, func(t *testing.T) {
			if code := v.barredFrom("acme"); code != "" {
				if a := g.ask(v.token, find, vars{"tenant": "acme", "prefix": "own"}); a.code() != code {
					t.Errorf("want %s: %+v", code, a)
				}
				return
			}
			for _, c := range []struct {
				prefix string
				finds  func(id string) bool
			}{
				{"", func(string) bool { return true }},
				{"OWN-", func(id string) bool { return strings.HasPrefix(id, "u:acme:own-") }},
				{"private", func(id string) bool { return strings.HasSuffix(id, "private") }},
				{"G", func(id string) bool { return strings.HasPrefix(id, "g:") }},
			} {
				want := []string{}
				for _, o := range owners {
					if v.sees(o) && c.finds(o.id) {
						want = append(want, o.id)
					}
				}
				slices.Sort(want)
				for _, size := range []int{2, 100} {
					got := []string{}
					for _, id := range g.findAll(v.token, c.prefix, size) {
						if slices.Contains(all, id) {
							got = append(got, id)
						}
					}
					slices.Sort(got)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%q by %d (-want +got):\n%s", c.prefix, size, diff)
					}
				}
			}
		})
	}
	g.audit()
}

// TestFind_OrderAndCursorsSurviveARestart checks order, renaming, cursors and refusals over HTTP,
// and that a restart does not change the result.
func TestFind_OrderAndCursorsSurviveARestart(t *testing.T) {
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	for _, name := range []string{"anna", "annabel", "bob"} {
		g.user("acme", name, "PUBLIC")
	}
	g.must(ann, renameUser, vars{"in": vars{"id": "u:acme:ann", "displayName": "Zoë van Annen"}})
	for range 2 {
		for prefix, want := range map[string][]string{
			"":       {"u:acme:anna", "u:acme:annabel", "u:acme:bob", "u:acme:ann"},
			"an":     {"u:acme:ann", "u:acme:anna", "u:acme:annabel"},
			"ANNE":   {"u:acme:ann"},
			"van an": {"u:acme:ann"},
			"zoË":    {"u:acme:ann"},
			"zoe":    nil,
		} {
			if diff := cmp.Diff(want, g.findAll(ann, prefix, 2)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", prefix, diff)
			}
		}
		g.stop()
		g.start()
	}
	first := g.must(ann, find, vars{"tenant": "ACME", "prefix": "AN", "first": 1})
	after := first.at("principals.pageInfo.endCursor")
	beta := g.token("u:beta:bob")
	for _, c := range []struct {
		name  string
		token string
		vars  vars
		code  string
	}{
		{"a cursor of the same search", ann, vars{"tenant": "acme", "prefix": "an", "after": after}, ""},
		{"a cursor of another prefix", ann, vars{"tenant": "acme", "prefix": "ann", "after": after}, "BAD_CURSOR"},
		{"a cursor of another tenant", beta, vars{"tenant": "beta", "prefix": "an", "after": after}, "BAD_CURSOR"},
		{"a malformed tenant", ann, vars{"tenant": "a b"}, "BAD_USER_INPUT"},
		{"a control character", ann, vars{"tenant": "acme", "prefix": "a\x07"}, "BAD_USER_INPUT"},
		{"a long prefix", ann, vars{"tenant": "acme", "prefix": strings.Repeat("a", 201)}, "BAD_USER_INPUT"},
		{"nobody signed in", "", vars{"tenant": "acme"}, "UNAUTHENTICATED"},
		{"another tenant", ann, vars{"tenant": "beta"}, "FORBIDDEN"},
		{"a page too large", ann, vars{"tenant": "acme", "first": 101}, "BAD_USER_INPUT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := g.ask(c.token, find, c.vars); a.code() != c.code {
				t.Errorf("%+v", a.Errors)
			}
		})
	}
	g.audit()
}
