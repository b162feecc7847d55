package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// page is one page of a connection. Only those of libraries have a Bucket and a Count.
type page struct {
	Titles           []string
	Cursors          []string
	Bucket           string
	Count            int
	HasNext, HasPrev bool
	Start, End       string
}

// pageOf returns the page of a library.
func pageOf(a *answer) *page {
	lib, ok := a.at("principal.library").(map[string]any)
	if !ok {
		return nil
	}
	p := connectionPage(lib)
	p.Bucket, p.Count = lib["bucket"].(string), int(lib["count"].(map[string]any)["value"].(float64))
	return p
}

// connectionPage returns the page of any connection whose nodes have titles.
func connectionPage(connection map[string]any) *page {
	p := &page{}
	for _, e := range connection["edges"].([]any) {
		edge := e.(map[string]any)
		p.Titles = append(p.Titles, edge["node"].(map[string]any)["title"].(string))
		p.Cursors = append(p.Cursors, edge["cursor"].(string))
	}
	info := connection["pageInfo"].(map[string]any)
	p.HasNext, p.HasPrev = info["hasNextPage"].(bool), info["hasPreviousPage"].(bool)
	p.Start, _ = info["startCursor"].(string)
	p.End, _ = info["endCursor"].(string)
	return p
}

func order(direction string) vars { return vars{"field": "LAST_MODIFIED", "direction": direction} }

// notes creates ann's library of n notes, oldest first.
func notes(g *gateway, n int) (token string, titles []string) {
	g.t.Helper()
	token = g.user("acme", "ann", "PUBLIC")
	for i := range n {
		title := fmt.Sprintf("note %03d", i)
		g.must(token, createItem, vars{"in": vars{"name": fmt.Sprint(i), "kind": "NOTE", "visibility": "PUBLIC", "title": title}})
		titles = append(titles, title)
	}
	return token, titles
}

func TestPaging_BothDirectionsReadEachEntryOnce(t *testing.T) {
	g := serve(t)
	token, titles := notes(g, 45)
	reversed := slices.Clone(titles)
	slices.Reverse(reversed)
	for _, c := range []struct {
		direction string
		want      []string
	}{{"ASC", titles}, {"DESC", reversed}} {
		for _, size := range []int{1, 7, 44, 45, 46, 100} {
			t.Run(fmt.Sprintf("%s by %d", c.direction, size), func(t *testing.T) {
				var forward []string
				after := vars{"id": "u:acme:ann", "first": size, "by": order(c.direction)}
				for n := 0; ; n++ {
					p := pageOf(g.must(token, pageItems, after))
					forward = append(forward, p.Titles...)
					if wantPrev := n > 0; p.HasPrev != wantPrev {
						t.Errorf("page %d: hasPreviousPage %v", n, p.HasPrev)
					}
					if wantNext := len(forward) < len(titles); p.HasNext != wantNext {
						t.Fatalf("page %d, %d read: hasNextPage %v", n, len(forward), p.HasNext)
					}
					if p.Start != p.Cursors[0] || p.End != p.Cursors[len(p.Cursors)-1] && p.HasNext {
						t.Errorf("page %d: cursors of page and edges differ", n)
					}
					if !p.HasNext {
						break
					}
					after["after"] = p.End
				}
				if diff := cmp.Diff(c.want, forward); diff != "" {
					t.Errorf("forwards (-want +got):\n%s", diff)
				}
				var backward []string
				before := vars{"id": "u:acme:ann", "last": size, "by": order(c.direction)}
				for {
					p := pageOf(g.must(token, pageItems, before))
					backward = append(slices.Clone(p.Titles), backward...)
					if !p.HasPrev {
						break
					}
					before["before"] = p.Start
				}
				if diff := cmp.Diff(c.want, backward); diff != "" {
					t.Errorf("backwards (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestPaging_InvalidArgumentsAreRefused(t *testing.T) {
	g := serve(t)
	token, _ := notes(g, 3)
	cursor := pageOf(g.must(token, pageItems, vars{"id": "u:acme:ann", "first": 1})).End
	for _, c := range []struct {
		name string
		args vars
		code string
		want int // edges
	}{
		{"none: the default", vars{}, "", 3},
		{"first 0", vars{"first": 0}, "", 0},
		{"before alone", vars{"before": cursor}, "", 0},
		{"negative", vars{"first": -1}, "BAD_USER_INPUT", 0},
		{"over the limit", vars{"first": 101}, "BAD_USER_INPUT", 0},
		{"a million", vars{"last": 1000000}, "BAD_USER_INPUT", 0},
		{"first with last", vars{"first": 1, "last": 1}, "BAD_USER_INPUT", 0},
		{"after with last", vars{"last": 1, "after": cursor}, "BAD_USER_INPUT", 0},
		{"before with first", vars{"first": 1, "before": cursor}, "BAD_USER_INPUT", 0},
		{"an empty cursor", vars{"first": 1, "after": ""}, "BAD_CURSOR", 0},
		{"garbage", vars{"first": 1, "after": "garbage"}, "BAD_CURSOR", 0},
		{"10 KB", vars{"first": 1, "after": strings.Repeat("A", 10_000)}, "BAD_CURSOR", 0},
		{"another order", vars{"first": 1, "after": cursor, "by": order("DESC")}, "BAD_CURSOR", 0},
		{"includeShared changed", vars{"first": 1, "after": cursor, "shared": true}, "BAD_CURSOR", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.args["id"] = "u:acme:ann"
			a := g.ask(token, pageItems, c.args)
			if a.code() != c.code {
				t.Fatalf("code %q, want %q: %+v", a.code(), c.code, a.Errors)
			}
			if c.code == "" {
				if p := pageOf(a); len(p.Titles) != c.want {
					t.Errorf("%d edges, want %d", len(p.Titles), c.want)
				}
			}
		})
	}
}

func TestCursors_AreValidOnlyInTheirLibrary(t *testing.T) {
	g := serve(t)
	token, titles := notes(g, 6)
	first := pageOf(g.must(token, pageItems, vars{"id": "u:acme:ann", "first": 2}))
	next := vars{"id": "u:acme:ann", "first": 2, "after": first.End}
	t.Run("any flipped bit is detected", func(t *testing.T) {
		for i := range first.End {
			flipped := []byte(first.End)
			flipped[i] ^= 1
			a := g.ask(token, pageItems, vars{"id": "u:acme:ann", "first": 2, "after": string(flipped)})
			// The last character has unused bits. Text that decodes to the same bytes is
			// the same cursor.
			if a.code() != "BAD_CURSOR" && i != len(flipped)-1 {
				t.Errorf("character %d: %q", i, a.code())
			}
		}
	})
	t.Run("it reveals no id and no time", func(t *testing.T) {
		for _, hint := range []string{"acme", "c:", "ann"} {
			if strings.Contains(first.End, hint) {
				t.Errorf("%q is in %q", hint, first.End)
			}
		}
	})
	t.Run("of another library", func(t *testing.T) {
		ben := g.user("acme", "ben", "PUBLIC")
		if a := g.ask(ben, pageItems, vars{"id": "u:acme:ben", "first": 2, "after": first.End}); a.code() != "BAD_CURSOR" {
			t.Errorf("%q", a.code())
		}
	})
	t.Run("of another viewer class", func(t *testing.T) {
		if a := g.ask("", pageItems, next); a.code() != "BAD_CURSOR" {
			t.Errorf("%q", a.code())
		}
	})
	t.Run("it outlives a restart", func(t *testing.T) {
		g.stop()
		g.start()
		if p := pageOf(g.must(token, pageItems, next)); !slices.Equal(p.Titles, titles[2:4]) {
			t.Errorf("%v", p.Titles)
		}
	})
	t.Run("its item moves, and is then deleted", func(t *testing.T) {
		g.must(token, updateItem, vars{"in": vars{"id": "c:acme:1", "title": "moved"}})
		if p := pageOf(g.must(token, pageItems, next)); !slices.Equal(p.Titles, titles[2:4]) {
			t.Errorf("after the move: %v", p.Titles)
		}
		g.must(token, deleteItem, vars{"in": vars{"id": "c:acme:1"}})
		if p := pageOf(g.must(token, pageItems, next)); !slices.Equal(p.Titles, titles[2:4]) {
			t.Errorf("after the deletion: %v", p.Titles)
		}
	})
	t.Run("of a mutation, in either order", func(t *testing.T) {
		cursor := g.must(token, updateItem, vars{"in": vars{"id": "c:acme:3", "title": "newest"}}).at("updateContent.libraryEdge.cursor")
		if p := pageOf(g.must(token, pageItems, vars{"id": "u:acme:ann", "first": 9, "after": cursor,
			"by": order("DESC")})); !slices.Equal(p.Titles, []string{"note 005", "note 004", "note 002", "note 000"}) {
			t.Errorf("descending: %v", p.Titles)
		}
		if p := pageOf(g.must(token, pageItems, vars{"id": "u:acme:ann", "last": 1, "before": cursor})); !slices.Equal(p.Titles,
			[]string{"note 005"}) {
			t.Errorf("ascending: %v", p.Titles)
		}
	})
}

// TestPaging_WalkToNewerEntriesShowsNothingTwice changes items that were read while the walk
// continues.
func TestPaging_WalkToNewerEntriesShowsNothingTwice(t *testing.T) {
	g := serve(t)
	token, titles := notes(g, 10)
	args := vars{"id": "u:acme:ann", "first": 3}
	var read []string
	last := ""
	for n := 0; ; n++ {
		p := pageOf(g.must(token, pageItems, args))
		read = append(read, p.Titles...)
		last = p.End
		if !p.HasNext {
			break
		}
		g.must(token, updateItem, vars{"in": vars{"id": fmt.Sprintf("c:acme:%d", n), "title": fmt.Sprintf("changed %d", n)}})
		args["after"] = p.End
	}
	if diff := cmp.Diff(titles, read); diff != "" {
		t.Errorf("the walk (-want +got):\n%s", diff)
	}
	args["after"] = last
	if p := pageOf(g.must(token, pageItems, args)); !slices.Equal(p.Titles, []string{"changed 0", "changed 1", "changed 2"}) {
		t.Errorf("from the end of the walk: %v", p.Titles)
	}
}

// TestTitles_RenameShowsInEveryMembersLibrary renames an item there and back, while cursors of its places are in use.
func TestTitles_RenameShowsInEveryMembersLibrary(t *testing.T) {
	g := serve(t)
	ann := g.user("acme", "ann", "PUBLIC")
	g.user("acme", "ben", "PUBLIC")
	g.must(ann, createGrp, vars{"in": vars{"tenant": "acme", "name": "team", "displayName": "Team"}})
	members := []vars{{"principalId": "u:acme:ben", "role": "VIEWER"}, {"principalId": "g:acme:team", "role": "VIEWER"}}
	for n, title := range []string{"Chapter 10", "b", "Äpfel", "apple"} {
		g.must(ann, createItem, vars{"in": vars{"name": fmt.Sprint(n), "kind": "NOTE", "visibility": "PUBLIC", "title": title,
			"members": members}})
	}
	byTitle := vars{"field": "TITLE", "direction": "ASC"}
	shows := func(args vars, want ...string) *page {
		t.Helper()
		var p *page
		for _, owner := range []string{"u:acme:ben", "g:acme:team", "u:acme:ann"} {
			args["id"] = owner
			g.eventually(fmt.Sprint(owner, " shows ", want), func() bool {
				p = pageOf(g.must(ann, pageItems, args))
				return slices.Equal(p.Titles, want)
			})
		}
		return p
	}
	rename := func(title string) { g.must(ann, updateItem, vars{"in": vars{"id": "c:acme:1", "title": title}}) }
	shows(vars{"by": vars{"field": "TITLE", "direction": "DESC"}}, "Chapter 10", "b", "apple", "Äpfel")
	at := shows(vars{"by": byTitle, "first": 3}, "Äpfel", "apple", "b").End
	after := vars{"id": "u:acme:ann", "by": byTitle, "after": at}
	for _, c := range []struct {
		title string
		all   []string
		after int
	}{
		{"Chapter 2", []string{"Äpfel", "apple", "Chapter 2", "Chapter 10"}, 2},
		{"a", []string{"a", "Äpfel", "apple", "Chapter 10"}, 3},
		{"b", []string{"Äpfel", "apple", "b", "Chapter 10"}, 3},
	} {
		rename(c.title)
		shows(vars{"by": byTitle}, c.all...)
		if p := pageOf(g.must(ann, pageItems, after)); !slices.Equal(p.Titles, c.all[c.after:]) {
			t.Errorf("after the rename to %q, the walk goes on with %v", c.title, p.Titles)
		}
	}
	if a := g.ask(ann, pageItems, vars{"id": "u:acme:ann", "after": at, "by": order("ASC")}); a.code() != "BAD_CURSOR" {
		t.Errorf("a cursor of the order of titles in the other one: %q", a.code())
	}
	g.audit()
}
