package scenario

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const searchItems = `query($id: ID!, $first: Int, $after: Cursor, $last: Int, $before: Cursor, $by: LibraryOrder, $shared: Boolean, $filter: LibraryFilter) {
	principal(id: $id) { library(first: $first, after: $after, last: $last, before: $before, orderBy: $by, includeShared: $shared, filter: $filter) {
		bucket count { value precision } edges { cursor role node { id title } }
		pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`

// TestSearch_EachConditionSelectsItems finds items of ann's library by each condition, as each kind
// of viewer.
func TestSearch_EachConditionSelectsItems(t *testing.T) {
	g := serveWith(t, "--rate-limit", "0")
	ann, bob, eve := g.user("acme", "ann", "PUBLIC"), g.user("acme", "bob", "PUBLIC"), g.user("beta", "eve", "PUBLIC")
	ghost := g.user("acme", "ghost", "PRIVATE")
	for _, in := range []vars{
		{"title": "Über Gärten", "description": "Wege und Mauern"},
		{"title": "Garden walls", "visibility": "LOGGEDIN"},
		{"title": "A private garden", "visibility": "PRIVATE", "members": []vars{{"principalId": "u:beta:eve", "role": "VIEWER"}}},
		{"title": "The Go site", "kind": "LINK", "link": "https://go.dev/"},
	} {
		full := vars{"kind": "NOTE", "visibility": "PUBLIC"}
		for name, value := range in {
			full[name] = value
		}
		g.must(ann, createItem, vars{"in": full})
	}
	g.must(ghost, createItem, vars{"in": vars{"kind": "NOTE", "title": "Garden of ghosts", "visibility": "PUBLIC",
		"members": []vars{{"principalId": "u:acme:ann", "role": "VIEWER"}}}})
	for _, c := range []struct {
		name   string
		viewer string
		filter vars
		shared bool
		want   []string
	}{
		{"words without accents and case", ann, vars{"text": "gart UBER"}, false, []string{"Über Gärten"}},
		{"words with other accents", ann, vars{"text": "gàrden"}, false, []string{"Garden walls", "A private garden", "Garden of ghosts"}},
		{"a word of the description", ann, vars{"text": "mauer gart"}, false, []string{"Über Gärten"}},
		{"nothing", ann, vars{"text": "arden"}, false, nil},
		{"a kind", ann, vars{"kinds": "LINK"}, false, []string{"The Go site"}},
		{"visibilities", ann, vars{"visibilities": []string{"PRIVATE", "LOGGEDIN"}}, false, []string{"Garden walls", "A private garden"}},
		{"roles of ann", eve, vars{"roles": []string{"MANAGER"}, "kinds": []string{"NOTE"}}, false, []string{"Über Gärten"}},
		{"a creator", bob, vars{"createdBy": "u:acme:ann", "text": "garden"}, false, []string{"Garden walls"}},
		{"a creator who is not seen", ann, vars{"createdBy": "u:acme:ghost"}, false, nil},
		{"a creator who sees himself", ghost, vars{"createdBy": "u:acme:ghost"}, false, []string{"Garden of ghosts"}},
		{"what eve may see", eve, vars{"text": "garden"}, false, []string{"Garden of ghosts"}},
		{"and what was shared with eve", eve, vars{"text": "garden"}, true, []string{"A private garden", "Garden of ghosts"}},
		{"what everyone may see", "", vars{"text": "the"}, false, []string{"The Go site"}},
		{"no condition", bob, vars{}, false, []string{"Über Gärten", "Garden walls", "The Go site", "Garden of ghosts"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := g.in(t)
			args := vars{"id": "u:acme:ann", "first": 2, "shared": c.shared}
			count := pageOf(g.must(c.viewer, pageItems, args)).Count
			args["filter"] = c.filter
			var got []string
			for more := true; more; {
				p := pageOf(g.must(c.viewer, searchItems, args))
				got, more, args["after"] = append(got, p.Titles...), p.HasNext, p.End
				if p.Count != count {
					t.Errorf("it counts %d of %d", p.Count, count)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("forwards: %s", diff)
			}
			got = nil
			args = vars{"id": "u:acme:ann", "last": 1, "shared": c.shared, "filter": c.filter, "by": order("DESC")}
			for more := true; more; {
				p := pageOf(g.must(c.viewer, searchItems, args))
				got, more, args["before"] = append(got, p.Titles...), p.HasPrev, p.Start
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("backwards, newest first: %s", diff)
			}
		})
	}
}

// TestSearch_PageOfALongLibraryEndsEarly checks that a page that has scanned 2,000 entries is
// short, and says so.
func TestSearch_PageOfALongLibraryEndsEarly(t *testing.T) {
	const items = 2100
	var lines bytes.Buffer
	fmt.Fprintln(&lines, `{"type":"user","id":"u:acme:ann","displayName":"Ann","visibility":"PUBLIC"}`)
	for n := range items {
		title := "hay"
		if n == 0 || n == items-1 {
			title = fmt.Sprint("needle ", n)
		}
		fmt.Fprintf(&lines, `{"type":"content","id":"c:acme:%d","kind":"NOTE","title":%q,"visibility":"PUBLIC","createdAt":"2026-01-01T00:%02d:%02dZ","members":[{"principalId":"u:acme:ann","role":"MANAGER"}]}`+"\n",
			n, title, n/60, n%60)
	}
	g := serveWith(t, "--rate-limit", "0")
	g.stop()
	file := filepath.Join(g.dir, "items.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := g.run("import", file, "--store", g.store); code != 0 {
		t.Fatal(errs)
	}
	g.start()
	find := func(args vars) *page {
		args["id"], args["filter"] = "u:acme:ann", vars{"text": "needle"}
		return pageOf(g.must("", searchItems, args))
	}
	last := fmt.Sprint("needle ", items-1)
	first := find(vars{"first": 10})
	if !slices.Equal(first.Titles, []string{"needle 0"}) || !first.HasNext || first.HasPrev || first.End == "" ||
		first.End == first.Cursors[0] {
		t.Errorf("the first page: %+v", first)
	}
	second := find(vars{"first": 10, "after": first.End})
	if !slices.Equal(second.Titles, []string{last}) || second.HasNext || !second.HasPrev {
		t.Errorf("the second page: %+v", second)
	}
	newest := find(vars{"last": 10})
	if !slices.Equal(newest.Titles, []string{last}) || !newest.HasPrev || newest.HasNext || newest.Start == newest.Cursors[0] {
		t.Errorf("the last page: %+v", newest)
	}
	if oldest := find(vars{"last": 10, "before": newest.Start}); !slices.Equal(oldest.Titles, []string{"needle 0"}) ||
		oldest.HasPrev || !oldest.HasNext {
		t.Errorf("the page before it: %+v", oldest)
	}
}

// TestSearch_HostileFiltersAreRefusedOrFindNothing checks that each hostile filter is refused with
// a code and a short message, or finds nothing.
func TestSearch_HostileFiltersAreRefusedOrFindNothing(t *testing.T) {
	g := serveWith(t, "--rate-limit", "0")
	ann, _ := notes(g, 3)
	for _, c := range []struct {
		name   string
		filter any
		code   string
	}{
		{"a text of 201 characters", vars{"text": strings.Repeat("ü", 201)}, "BAD_USER_INPUT"},
		{"a text of 500 KB", vars{"text": strings.Repeat("note ", 100<<10)}, "BAD_USER_INPUT"},
		{"11 words", vars{"text": "a b c d e f g h i j k"}, "BAD_USER_INPUT"},
		{"200 marks", vars{"text": "note" + strings.Repeat("\u0301", 196)}, ""},
		{"control characters", vars{"text": "note\x00\x1b[31m\r\n"}, "nothing"},
		{"CQL and a pattern", vars{"text": "%' OR '1'='1"}, "nothing"},
		{"a regular expression", vars{"text": ".*"}, ""},
		{"an empty list", vars{"kinds": []any{}}, "BAD_USER_INPUT"},
		{"9,000 values", vars{"roles": slices.Repeat([]any{"VIEWER"}, 9_000)}, "BAD_USER_INPUT"},
		{"an unknown value", vars{"kinds": []any{"FILM"}}, "BAD_USER_INPUT"},
		{"a value in lower case", vars{"kinds": []any{"note"}}, "BAD_USER_INPUT"},
		{"null in a list", vars{"kinds": []any{nil}}, "BAD_USER_INPUT"},
		{"a number", vars{"text": 7}, "BAD_USER_INPUT"},
		{"a list of filters", []any{vars{"text": "note"}}, "BAD_USER_INPUT"},
		{"an unknown condition", vars{"title": "note"}, "BAD_USER_INPUT"},
		{"a creator without an id", vars{"createdBy": ""}, "BAD_USER_INPUT"},
		{"a creator of 64 KB", vars{"createdBy": "u:acme:" + strings.Repeat("x", 64<<10)}, "BAD_USER_INPUT"},
		{"a creator with a control character", vars{"createdBy": "u:acme:a\x00"}, "BAD_USER_INPUT"},
		{"a creator of another kind", vars{"createdBy": "c:acme:0"}, "nothing"},
		{"null everywhere", vars{"text": nil, "kinds": nil, "visibilities": nil, "createdBy": nil, "roles": nil}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := g.in(t).ask(ann, searchItems, vars{"id": "u:acme:ann", "filter": c.filter})
			found := 3
			if c.code == "nothing" {
				found, c.code = 0, ""
			}
			if a.code() != c.code || c.code != "" && len(a.Errors[0].Message) > 300 {
				t.Fatalf("got %.400s", mustJSON(a))
			}
			if p := pageOf(a); c.code == "" && len(p.Titles) != found {
				t.Errorf("%d items, want %d", len(p.Titles), found)
			}
		})
	}
	filters := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ` f%d: library(filter: {text: "note"}) { nodes { id } }`, i)
		}
		return "{ viewer {" + b.String() + " } }"
	}
	if a := g.ask(ann, filters(2), nil); a.code() != "" {
		t.Errorf("two filters: %+v", a.Errors)
	}
	if a := g.ask(ann, filters(3), nil); a.code() != "COST_LIMIT" {
		t.Errorf("three filters: %s", mustJSON(a))
	}
}
