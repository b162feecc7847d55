package library

import (
	"strings"
	"testing"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/principal"
)

// TestHeader_OrderTitleOfAMoveThatWasMade: a program that knows no titles may make a deferred move. The former title then
// counts no more.
func TestHeader_OrderTitleOfAMoveThatWasMade(t *testing.T) {
	h := Header{Content: Content{Title: "b", LastModified: 5}, FormerTitle: "a", Position: 4}
	if h.OrderTitle() != "a" {
		t.Errorf("before the move, the item is ordered by %q", h.OrderTitle())
	}
	if h.Position = 5; h.OrderTitle() != "b" {
		t.Errorf("after the move, the item is ordered by %q", h.OrderTitle())
	}
}

// TestLibraryEdge_SortKey: keys compare like the edges, in each order.
func TestLibraryEdge_SortKey(t *testing.T) {
	edge := func(at clock.Instant, title, id string) *LibraryEdge {
		return &LibraryEdge{Node: &Content{ID: ContentID(id), Title: "another"}, Position: at, OrderTitle: title}
	}
	for o, edges := range map[Order][]*LibraryEdge{
		ByChange: {edge(-5, "z", "c:t:z"), edge(0, "y", "c:t:y"), edge(9, "x", "c:t:a"), edge(9, "w", "c:t:b"), edge(10, "v", "c:t:0")},
		ByTitle: {edge(9, "a", "c:t:a"), edge(8, "a", "c:t:b"), edge(7, "a a", "c:t:0"), edge(6, "ab", "c:t:0"), edge(5, "b", "c:t:0"),
			edge(4, "Chapter 9", "c:t:0"), edge(3, "Chapter 10", "c:t:0")},
	} {
		for i, e := range edges[1:] {
			if a, b := edges[i].SortKey(o), e.SortKey(o); a >= b {
				t.Errorf("%s: the key %q is not less than %q", o, a, b)
			}
		}
	}
	e := edge(1, "title", "c:t:a")
	computed := e.SortKey(ByTitle)
	h := Header{Content: Content{Title: "title"}}
	if e.TitleKey = h.Key(ByTitle).Title; e.SortKey(ByTitle) != computed || !strings.HasSuffix(computed, "-c:t:a") {
		t.Errorf("the keys are %q and %q", computed, e.SortKey(ByTitle))
	}
}

// TestDerive_PutsAndDeletesNoKey: with one timestamp, a deletion would win on some stores.
func TestDerive_PutsAndDeletesNoKey(t *testing.T) {
	h := Header{Content: Content{ID: "c:t:a", Title: "a", Visibility: principal.LoggedIn}, State: commit.Live, Seq: 9, MTS: 9, Position: 8,
		Widest: principal.Public, Unsettled: []Superseded{{Position: 7, Widest: principal.Public}}}
	for at, title := range []string{"b", "a", "c"} {
		h.UnsettledTitles = append(h.UnsettledTitles, SupersededTitle{
			At: clock.Instant(at), Title: collation.Of(title), Widest: principal.Public})
	}
	for _, m := range []Member{{Principal: "u:t:m", Role: Viewing, Seq: 1}, {Principal: "u:o:m", Role: Viewing, Seq: 1},
		{Principal: "u:t:m", Seq: 1, Leaving: true}} {
		var d Derived
		(&IndexUpdate{Header: &h, All: true}).Derive(&h, m, &d)
		puts, seen := len(d.Put), map[LibraryKey]bool{}
		for _, k := range append(d.Put, d.Delete...) {
			if seen[k] {
				t.Errorf("%+v: the key %+v is there twice", m, k)
			}
			seen[k] = true
		}
		// 3 buckets, and in each the present and the former position, and three titles.
		if len(seen) != 3*5 || m.Leaving != (puts == 0) {
			t.Errorf("%+v: %d keys, %d of them are put", m, len(seen), puts)
		}
	}
}

// TestPlanTitle_KeepsTheWidestVisibility: a title that is superseded again may still be in the widest bucket.
func TestPlanTitle_KeepsTheWidestVisibility(t *testing.T) {
	h := Header{Content: Content{Title: "a", Visibility: principal.LoggedIn}}
	key := h.Key(ByTitle).Title
	h.UnsettledTitles = []SupersededTitle{{At: 5, Title: key, Widest: principal.Public}}
	after := h
	after.Visibility, after.MTS = principal.Private, 9
	var e commit.Entry
	var c ContentCommit
	planTitle(&h, &after, &e, &c)
	if !e.All || c.SupersedeTitle == nil || *c.SupersedeTitle != (SupersededTitle{At: 9, Title: key, Widest: principal.Public}) {
		t.Errorf("all %v, superseded %+v", e.All, c.SupersedeTitle)
	}
}
