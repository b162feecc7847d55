package library_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library/repair"
	"carrel/principal"
)

// called creates a user of a display name by its own token.
func (h *house) called(id, name string, visibility principal.Visibility) {
	h.t.Helper()
	p := principal.ID(id)
	_, err := h.svc.CreateUser(h.t.Context(), as(id), principal.CreateUser{
		Tenant: p.Tenant(), Name: p.Name(), DisplayName: name, Email: "x@example.com", Visibility: visibility,
	})
	if err != nil {
		h.t.Fatalf("creating %s: %v", id, err)
	}
}

// find is who a prefix finds, in order; no page is cut short.
func (h *house) find(v *principal.Viewer, tenant, prefix string) []string {
	h.t.Helper()
	c, err := h.svc.FindPrincipals(h.t.Context(), v, principal.Search{Tenant: tenant, Prefix: &prefix})
	if err != nil {
		h.t.Fatalf("finding %q: %v", prefix, err)
	}
	var ids []string
	for _, p := range c.Nodes() {
		ids = append(ids, string(p.PrincipalID()))
	}
	return ids
}

// wantFound compares who a prefix finds in tenant acme.
func (h *house) wantFound(v *principal.Viewer, prefix string, want ...string) {
	h.t.Helper()
	for i, w := range want {
		if !strings.Contains(w, ":") {
			want[i] = "u:acme:" + w
		}
	}
	if diff := cmp.Diff(want, h.find(v, "acme", prefix)); diff != "" {
		h.t.Errorf("%q (-want +got):\n%s", prefix, diff)
	}
}

// search reads a page by a prefix.
func search(svc *repair.Service, tenant string, prefix *string) func(ctx context.Context, v *principal.Viewer, args cursor.PageArgs) (*principal.Connection, error) {
	return func(ctx context.Context, v *principal.Viewer, args cursor.PageArgs) (*principal.Connection, error) {
		return svc.FindPrincipals(ctx, v, principal.Search{PageArgs: args, Tenant: tenant, Prefix: prefix})
	}
}

// TestFindByName: what a prefix finds a name by.
func TestFindByName(t *testing.T) {
	for _, c := range []struct {
		name         string
		found, other []string // prefixes
	}{
		{"Ann Smith", []string{"a", "ANN", "ann s", "ann  S", " ann ", "smith", "SMITH", "n1", "N1"}, []string{"nn", "mith", "ann t", "smith a", "ann smithe", "1"}},
		{"ludwig  van\u00a0der\u2003Rohe", []string{"ludwig van der rohe", "van d", "der r", "rohe"}, []string{"an der", "ludwig der"}},
		{"Jean-Luc O'Hara (Zed)", []string{"jean-l", "luc o", "o'h", "hara", "zed", "hara (zed)"}, []string{"uc", "ed", "(z"}},
		{"\u00d6zil Stra\u00dfe", []string{"\u00f6", "O\u0308zil", "strasse", "STRASSE", "stra\u00dfe", "STRA\u1e9eE"}, []string{"o", "ozil", "trasse"}},
		{"\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2", []string{"\u03c3\u0399\u0301", "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3"}, []string{"\u03b9"}},
		{"\u202eAnn\u200bB", []string{"annb", "\u2066ann", "\ufeff"}, []string{"b"}},
		{"\u4e2d\u6587 \u540d", []string{"\u4e2d", "\u540d"}, []string{"\u6587"}},
		{"\U0001f389 Party 2026", []string{"\U0001f389", "party", "2026"}, []string{"026"}},
		{"\u00ad", []string{"n", ""}, []string{"x"}},
		{"I\u0307stanbul \u0130zmir", []string{"i\u0307s", "\u0130st", "i\u0307z"}, nil},
		{strings.Repeat("a", 79) + "\u00e9" + strings.Repeat("b", 99), []string{strings.Repeat("A", 79) + "\u00c9", strings.Repeat("a", 79) + "\u00e9bb"}, []string{strings.Repeat("a", 79) + "\u00e9c", strings.Repeat("a", 80)}},
		{strings.Repeat("w ", 30) + "last", []string{"w", "w w w w w w w w w w w w w w w w w"}, []string{"last", "l"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.called("u:acme:n1", c.name, principal.Public)
			h.called("u:acme:quiet", "qq", principal.Public)
			for _, p := range c.found {
				if got := h.find(as("u:acme:who"), "ACME", p); !slices.Contains(got, "u:acme:n1") {
					t.Errorf("%+q does not find %+q", p, c.name)
				} else if strings.Count(strings.Join(got, " "), "n1") > 1 {
					t.Errorf("%+q finds it more than once: %q", p, got)
				}
			}
			for _, p := range c.other {
				if got := h.find(as("u:acme:who"), "acme", p); slices.Contains(got, "u:acme:n1") {
					t.Errorf("%+q finds %+q", p, c.name)
				}
			}
		})
	}
}

// TestFindInOrder: by the name that the prefix begins, then by id.
func TestFindInOrder(t *testing.T) {
	h := newHouse(t, nil)
	h.called("u:acme:zoe", "Ann Beta", principal.Public)
	h.called("u:acme:bob", "Ann Beta", principal.Public)
	h.called("u:acme:ann", "Zed Ann", principal.Public)
	h.called("u:acme:beta", "Carl", principal.Public)
	h.called("u:acme:x", "annabel", principal.Public)
	h.called("u:other:ann", "Ann", principal.Public)
	h.group("g:acme:ann", "u:acme:x", principal.Public)
	h.wantFound(as("u:acme:who"), "", "g:acme:ann", "bob", "zoe", "x", "beta", "ann")
	h.wantFound(as("u:acme:who"), "ann", "g:acme:ann", "ann", "bob", "zoe", "x")
	h.wantFound(as("u:acme:who"), "ann ", "g:acme:ann", "ann", "bob", "zoe", "x")
	h.wantFound(as("u:acme:who"), "b", "beta", "bob", "zoe")
	h.wantFound(as("u:acme:who"), "beta", "beta", "bob", "zoe")
	h.wantFound(as("u:acme:who"), "zz")
}

// TestFindTheVisible: who is found is who may be seen, by whomever.
func TestFindTheVisible(t *testing.T) {
	h := newHouse(t, nil)
	h.called("u:acme:pub", "same", principal.Public)
	h.called("u:acme:log", "same", principal.LoggedIn)
	h.called("u:acme:pri", "same", principal.Private)
	h.called("u:acme:mem", "member", principal.Private)
	h.called("u:far:far", "same", principal.Public)
	h.group("g:acme:same", "u:acme:pub", principal.Private)
	h.group("g:acme:same2", "u:acme:pub", principal.LoggedIn)
	h.group("g:acme:inner", "u:acme:pub", principal.Private)
	h.mustSet(as("u:acme:pub"), "g:acme:same", "g:acme:inner=MEMBER")
	h.mustSet(admin("u:acme:boss"), "g:acme:inner", "u:acme:mem=MEMBER", "u:far:far=MEMBER")
	for _, c := range []struct {
		name string
		v    *principal.Viewer
		want []string
	}{
		{"of the tenant", as("u:acme:log"), []string{"g:acme:same2", "log", "pub"}},
		{"itself", as("u:acme:pri"), []string{"g:acme:same2", "log", "pri", "pub"}},
		{"a token without a user", as("u:acme:nobody"), []string{"g:acme:same2", "log", "pub"}},
		{"in a group in it", as("u:acme:mem"), []string{"g:acme:same", "g:acme:same2", "log", "pub"}},
		{"administrator", admin("u:acme:boss"), []string{"g:acme:same", "g:acme:same2", "log", "pri", "pub"}},
		{"global administrator", global("u:other:root"), []string{"g:acme:same", "g:acme:same2", "log", "pri", "pub"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := *h
			h.t = t
			slices.SortFunc(c.want, func(a, b string) int { return strings.Compare(nameAndID(a), nameAndID(b)) })
			h.wantFound(c.v, "SAME", c.want...)
		})
	}
}

// TestFindIsForTheTenant: nobody else looks its people up, not even the PUBLIC
// ones, nor learns whether there is such a tenant.
func TestFindIsForTheTenant(t *testing.T) {
	h := newHouse(t, nil)
	h.called("u:acme:pub", "same", principal.Public)
	h.called("u:far:far", "same", principal.Public)
	h.group("g:acme:g", "u:acme:pub", principal.Public)
	h.mustSet(as("u:acme:pub"), "g:acme:g", "u:far:far=MEMBER")
	for _, c := range []struct {
		name string
		v    *principal.Viewer
		code fault.Code
	}{
		{"anonymous", as(""), fault.Unauthenticated},
		{"of another tenant", as("u:other:o"), fault.Forbidden},
		{"of another tenant, in a group in it", as("u:far:far"), fault.Forbidden},
		{"administrator elsewhere", admin("u:other:boss"), fault.Forbidden},
	} {
		for _, tenant := range []string{"acme", "ACME", "nobody"} {
			t.Run(c.name+" of "+tenant, func(t *testing.T) {
				_, err := search(h.svc, tenant, ptr("same"))(t.Context(), c.v, cursor.PageArgs{})
				wantReason(t, err, c.code, "")
			})
		}
	}
	if got := h.find(as("u:far:far"), "Far", "same"); !slices.Equal(got, []string{"u:far:far"}) {
		t.Errorf("who is of the tenant finds %q", got)
	}
}

// nameAndID is the place of those of TestFindTheVisible.
func nameAndID(id string) string {
	if strings.HasPrefix(id, "g:") {
		return strings.TrimPrefix(id, "g:acme:") + " " + id
	}
	return "same u:acme:" + id
}

// TestFindAfterAChange: with the answer of a mutation who it was about is found
// by what it is called then, and no more by what it was called.
func TestFindAfterAChange(t *testing.T) {
	h := newHouse(t, nil)
	h.called("u:acme:u", "Alfa", principal.Public)
	for _, name := range []string{"Bravo", "Alfa", "Alfa Bravo", "Charlie"} {
		if _, err := h.svc.UpdateUser(t.Context(), as("u:acme:u"), principal.UpdateUser{ID: "u:acme:u", DisplayName: input.Some(&name)}); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"alfa", "bravo", "charlie"} {
			var want []string
			if strings.Contains(strings.ToLower(name), other) {
				want = []string{"u"}
			}
			h.wantFound(as("u:acme:who"), other, want...)
		}
	}
	private := principal.Private
	if _, err := h.svc.UpdateUser(t.Context(), as("u:acme:u"), principal.UpdateUser{ID: "u:acme:u", Visibility: input.Some(&private)}); err != nil {
		t.Fatal(err)
	}
	h.wantFound(as("u:acme:who"), "")
	h.wantFound(as("u:acme:u"), "", "u")
	h.group("g:acme:g", "u:acme:u", principal.Public)
	name := "Delta"
	if _, err := h.svc.UpdateGroup(t.Context(), as("u:acme:u"), principal.UpdateGroup{ID: "g:acme:g", DisplayName: input.Some(&name)}); err != nil {
		t.Fatal(err)
	}
	h.wantFound(as("u:acme:who"), "delta", "g:acme:g")
	h.wantAudited()
}

// wantAudited fails where a change is in flight, or the audit finds anything.
func (h *house) wantAudited() {
	h.t.Helper()
	h.wantSettled()
	report, err := h.svc.Audit(h.t.Context())
	if err != nil || !report.Clean() {
		h.t.Errorf("audit: %+v, %v", report, err)
	}
}

// TestFindArguments: what cannot be looked for.
func TestFindArguments(t *testing.T) {
	h := newHouse(t, nil)
	h.called("u:acme:u", "Alfa", principal.Public)
	n := func(n int) *int { return &n }
	for _, c := range []struct {
		name   string
		q      principal.Search
		reason fault.Reason
	}{
		{"no tenant", principal.Search{}, fault.ReasonBadInput},
		{"malformed tenant", principal.Search{Tenant: "a b"}, fault.ReasonBadInput},
		{"an id for a tenant", principal.Search{Tenant: "u:acme:u"}, fault.ReasonBadInput},
		{"long prefix", principal.Search{Tenant: "acme", Prefix: ptr(strings.Repeat("\u00e9", 201))}, fault.ReasonBadInput},
		{"control character", principal.Search{Tenant: "acme", Prefix: ptr("a\x00")}, fault.ReasonBadInput},
		{"tab", principal.Search{Tenant: "acme", Prefix: ptr("\ta")}, fault.ReasonBadInput},
		{"not UTF-8", principal.Search{Tenant: "acme", Prefix: ptr("\xff")}, fault.ReasonBadInput},
		{"too many", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{First: n(101)}}, fault.ReasonBadInput},
		{"negative", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{First: n(-1)}}, fault.ReasonBadInput},
		{"empty cursor", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{After: ptr("")}}, fault.ReasonBadCursor},
		{"no cursor", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{After: ptr("abc")}}, fault.ReasonBadCursor},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.svc.FindPrincipals(t.Context(), as("u:acme:who"), c.q)
			wantReason(t, err, fault.Invalid, c.reason)
		})
	}
	h.wantFound(as("u:acme:who"), strings.Repeat("\u00e9", 200))
	if got := h.find(global("u:acme:root"), "nobody", ""); got != nil {
		t.Errorf("%v in a tenant without anybody", got)
	}
}

// TestFindCursors: a cursor is of one tenant, one prefix and one class of
// viewers; spellings of the prefix that find the same are the same.
func TestFindCursors(t *testing.T) {
	h := newHouse(t, nil)
	for _, tenant := range []string{"acme", "other"} {
		for _, name := range []string{"ann", "anna", "annabel"} {
			h.called("u:"+tenant+":"+name, "An "+name, principal.Public)
		}
	}
	first, one := cursor.PageArgs{First: ptr(1)}, ptr("ann")
	c, err := search(h.svc, "acme", one)(t.Context(), as("u:acme:who"), first)
	if err != nil || len(c.Edges) != 1 || !c.PageInfo.HasNextPage || *c.PageInfo.EndCursor() != c.Edges[0].Cursor() {
		t.Fatalf("%+v, %v", c, err)
	}
	args := cursor.PageArgs{First: ptr(1), After: c.PageInfo.EndCursor()}
	for _, d := range []struct {
		name, tenant string
		prefix       *string
		v            *principal.Viewer
		fits         bool
	}{
		{"the same", "acme", one, as("u:acme:who"), true},
		{"another spelling", "Acme", ptr(" ANN"), as("u:acme:ann"), true},
		{"another tenant", "other", one, as("u:other:ann"), false},
		{"another prefix", "acme", ptr("an"), as("u:acme:who"), false},
		{"no prefix", "acme", nil, as("u:acme:who"), false},
		{"administrator", "acme", one, admin("u:acme:ann"), false},
	} {
		t.Run(d.name, func(t *testing.T) {
			c, err := search(h.svc, d.tenant, d.prefix)(t.Context(), d.v, args)
			if !d.fits {
				wantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
				return
			}
			if err != nil || len(c.Edges) != 1 || c.Edges[0].Node.PrincipalID() != "u:acme:anna" || !c.PageInfo.HasPreviousPage {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	long := ptr(strings.Repeat("\U0001f389", 200))
	if c, err := search(h.svc, "acme", long)(t.Context(), as("u:acme:who"), first); err != nil || len(c.Edges) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	// The longest place there is: a name of 200 characters and a longest id.
	id := "u:" + strings.Repeat("t", 32) + ":" + strings.Repeat("n", 128)
	h.called(id, strings.Repeat("\U0001f389", 200), principal.Public)
	c, err = search(h.svc, strings.Repeat("t", 32), long)(t.Context(), as(id), first)
	if err != nil || len(c.Edges) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	c, err = search(h.svc, strings.Repeat("t", 32), long)(t.Context(), as(id), cursor.PageArgs{After: c.PageInfo.EndCursor()})
	if err != nil || len(c.Edges) != 0 || !c.PageInfo.HasPreviousPage {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestFindPages pages through everybody, of random names and visibilities, by
// all kinds of viewers, and compares with what they see by id.
func TestFindPages(t *testing.T) {
	h := newHouse(t, nil)
	dice := rand.New(rand.NewPCG(1, 2))
	words := []string{"Ann", "anna", "BOB", "bo", "\u00d6zil", "van"}
	viewers := []func() *principal.Viewer{
		func() *principal.Viewer { return as("u:acme:who") },
		func() *principal.Viewer { return as("u:acme:n00") },
		func() *principal.Viewer { return global("u:other:o") },
		func() *principal.Viewer { return admin("u:acme:n01") },
	}
	var ids []principal.ID
	for i := range 60 {
		name := words[dice.IntN(len(words))]
		for range dice.IntN(3) {
			name += " " + words[dice.IntN(len(words))]
		}
		id := fmt.Sprintf("u:acme:n%02d", i)
		h.called(id, name, principal.Visibility(1+dice.IntN(3)))
		ids = append(ids, principal.ID(id))
	}
	for n, viewer := range viewers {
		for _, prefix := range []string{"", "a", "ann", "anna", "b", "\u00f6", "van", "n", "n1", "x"} {
			seen, err := h.svc.Principals(t.Context(), viewer(), ids)
			if err != nil {
				t.Fatal(err)
			}
			want := map[principal.ID]bool{}
			for _, p := range seen {
				if p != nil && begins(p, prefix) {
					want[p.PrincipalID()] = true
				}
			}
			for _, size := range []int{1, 7, 100} {
				got := h.walkFound(viewer, prefix, size)
				for _, id := range got {
					if !want[id] {
						t.Errorf("viewer %d, %q: %s is found", n, prefix, id)
					}
				}
				if len(got) != len(want) {
					t.Errorf("viewer %d, %q by %d: %d found, want %d", n, prefix, size, len(got), len(want))
				}
			}
		}
	}
}

// begins tells whether a prefix in small letters begins the name of one of
// TestFindPages, a word of it, or the name in its id.
func begins(p principal.Principal, prefix string) bool {
	lower := func(s string) string { return strings.ToLower(s) }
	name := lower(p.Head().DisplayName)
	for _, b := range append(strings.Fields(name), name, p.PrincipalID().Name()) {
		if strings.HasPrefix(b, prefix) {
			return true
		}
	}
	return false
}

// walkFound pages through a look-up and checks what every page must keep.
func (h *house) walkFound(viewer func() *principal.Viewer, prefix string, size int) []principal.ID {
	h.t.Helper()
	var all []principal.ID
	var from *string
	for range 100 {
		c, err := search(h.svc, "acme", &prefix)(h.t.Context(), viewer(), cursor.PageArgs{First: &size, After: from})
		if err != nil {
			h.t.Fatal(err)
		}
		if c.PageInfo.HasPreviousPage != (len(all) > 0) {
			h.t.Errorf("hasPreviousPage is %t after %d", c.PageInfo.HasPreviousPage, len(all))
		}
		for _, e := range c.Edges {
			if slices.Contains(all, e.Node.PrincipalID()) {
				h.t.Errorf("%s is met twice", e.Node.PrincipalID())
			}
			all = append(all, e.Node.PrincipalID())
		}
		if !c.PageInfo.HasNextPage {
			return all
		}
		if len(c.Edges) != size {
			h.t.Errorf("a page of %d has %d and says that there are more", size, len(c.Edges))
		}
		from = c.PageInfo.EndCursor()
	}
	h.t.Fatal("the walk does not end")
	return nil
}
