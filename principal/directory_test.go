package principal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// TestFind_PrefixMatchesBeginningsOfWords checks which prefixes find a name.
func TestFind_PrefixMatchesBeginningsOfWords(t *testing.T) {
	for _, c := range []struct {
		name         string
		found, other []string // prefixes
	}{
		{"Ann Smith", []string{"a", "ANN", "ann s", "ann  S", " ann ", "smith", "SMITH", "n1", "N1"},
			[]string{"nn", "mith", "ann t", "smith a", "ann smithe", "1"}},
		{"ludwig  van\u00a0der\u2003Rohe", []string{"ludwig van der rohe", "van d", "der r", "rohe"}, []string{"an der", "ludwig der"}},
		{"Jean-Luc O'Hara (Zed)", []string{"jean-l", "luc o", "o'h", "hara", "zed", "hara (zed)"}, []string{"uc", "ed", "(z"}},
		{"\u00d6zil Stra\u00dfe", []string{"\u00f6", "O\u0308zil", "strasse", "STRASSE", "stra\u00dfe", "STRA\u1e9eE"},
			[]string{"o", "ozil", "trasse"}},
		{"\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2", []string{"\u03c3\u0399\u0301", "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3"},
			[]string{"\u03b9"}},
		{"\u202eAnn\u200bB", []string{"annb", "\u2066ann", "\ufeff"}, []string{"b"}},
		{"\u4e2d\u6587 \u540d", []string{"\u4e2d", "\u540d"}, []string{"\u6587"}},
		{"\U0001f389 Party 2026", []string{"\U0001f389", "party", "2026"}, []string{"026"}},
		{"I\u0307stanbul \u0130zmir", []string{"i\u0307s", "\u0130st", "i\u0307z", "is", "IZ", "\u0130", "i"}, nil},
		{"\u0130brahim", []string{"ib", "IB", "\u0130b", "I\u0307b"}, []string{"\u0131b", "ab"}},
		{"Ibrahim", []string{"ib", "\u0130B"}, []string{"\u0131b"}},
		{"\u0116l\u0117 \u017baneta", []string{"\u0117l", "\u017c"}, []string{"el", "z"}},
		{strings.Repeat("a", 79) + "\u00e9" + strings.Repeat("b", 99), []string{strings.Repeat("A", 79) + "\u00c9",
			strings.Repeat("a", 79) + "\u00e9bb"}, []string{strings.Repeat("a", 79) + "\u00e9c", strings.Repeat("a", 80)}},
		{strings.Repeat("w ", 30) + "last", []string{"w", "w w w w w w w w w w w w w w w w w"}, []string{"last", "l"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.New(t, nil)
			h.UserNamed("u:acme:n1", c.name, principal.Public)
			h.UserNamed("u:acme:quiet", "qq", principal.Public)
			for _, p := range c.found {
				if got := h.Find(domaintest.As("u:acme:who"), "ACME", p); !slices.Contains(got, "u:acme:n1") {
					t.Errorf("%+q does not find %+q", p, c.name)
				} else if strings.Count(strings.Join(got, " "), "n1") > 1 {
					t.Errorf("%+q finds it more than once: %q", p, got)
				}
			}
			for _, p := range c.other {
				if got := h.Find(domaintest.As("u:acme:who"), "acme", p); slices.Contains(got, "u:acme:n1") {
					t.Errorf("%+q finds %+q", p, c.name)
				}
			}
		})
	}
}

// TestFind_OrderIsByNameThenID checks the order: by the name that starts with the prefix, then by
// id.
func TestFind_OrderIsByNameThenID(t *testing.T) {
	h := domaintest.New(t, nil)
	h.UserNamed("u:acme:zoe", "Ann Beta", principal.Public)
	h.UserNamed("u:acme:bob", "Ann Beta", principal.Public)
	h.UserNamed("u:acme:ann", "Zed Ann", principal.Public)
	h.UserNamed("u:acme:beta", "Carl", principal.Public)
	h.UserNamed("u:acme:x", "annabel", principal.Public)
	h.UserNamed("u:other:ann", "Ann", principal.Public)
	h.Group("g:acme:ann", "u:acme:x", principal.Public)
	h.WantFound(domaintest.As("u:acme:who"), "", "g:acme:ann", "bob", "zoe", "x", "beta", "ann")
	h.WantFound(domaintest.As("u:acme:who"), "ann", "g:acme:ann", "ann", "bob", "zoe", "x")
	h.WantFound(domaintest.As("u:acme:who"), "ann ", "g:acme:ann", "ann", "bob", "zoe", "x")
	h.WantFound(domaintest.As("u:acme:who"), "b", "beta", "bob", "zoe")
	h.WantFound(domaintest.As("u:acme:who"), "beta", "beta", "bob", "zoe")
	h.WantFound(domaintest.As("u:acme:who"), "zz")
}

// TestFind_ReturnsVisiblePrincipals checks that viewers find exactly the principals that they may
// see.
func TestFind_ReturnsVisiblePrincipals(t *testing.T) {
	h := domaintest.New(t, nil)
	h.UserNamed("u:acme:pub", "same", principal.Public)
	h.UserNamed("u:acme:log", "same", principal.LoggedIn)
	h.UserNamed("u:acme:pri", "same", principal.Private)
	h.UserNamed("u:acme:mem", "member", principal.Private)
	h.UserNamed("u:far:far", "same", principal.Public)
	h.Group("g:acme:same", "u:acme:pub", principal.Private)
	h.Group("g:acme:same2", "u:acme:pub", principal.LoggedIn)
	h.Group("g:acme:inner", "u:acme:pub", principal.Private)
	h.MustSet(domaintest.As("u:acme:pub"), "g:acme:same", "g:acme:inner=MEMBER")
	h.MustSet(domaintest.Admin("u:acme:boss"), "g:acme:inner", "u:acme:mem=MEMBER", "u:far:far=MEMBER")
	for _, c := range []struct {
		name string
		v    *principal.Viewer
		want []string
	}{
		{"of the tenant", domaintest.As("u:acme:log"), []string{"g:acme:same2", "log", "pub"}},
		{"itself", domaintest.As("u:acme:pri"), []string{"g:acme:same2", "log", "pri", "pub"}},
		{"a token without a user", domaintest.As("u:acme:nobody"), []string{"g:acme:same2", "log", "pub"}},
		{"in a group in it", domaintest.As("u:acme:mem"), []string{"g:acme:same", "g:acme:same2", "log", "pub"}},
		{"administrator", domaintest.Admin("u:acme:boss"), []string{"g:acme:same", "g:acme:same2", "log", "pri", "pub"}},
		{"global administrator", domaintest.Global("u:other:root"), []string{"g:acme:same", "g:acme:same2", "log", "pri", "pub"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := *h
			h.T = t
			slices.SortFunc(c.want, func(a, b string) int { return strings.Compare(nameAndID(a), nameAndID(b)) })
			h.WantFound(c.v, "SAME", c.want...)
		})
	}
}

// TestFind_OtherTenantsFindNobody checks that viewers of other tenants find nobody, not even PUBLIC
// principals, and do not learn whether the tenant exists.
func TestFind_OtherTenantsFindNobody(t *testing.T) {
	h := domaintest.New(t, nil)
	h.UserNamed("u:acme:pub", "same", principal.Public)
	h.UserNamed("u:far:far", "same", principal.Public)
	h.Group("g:acme:g", "u:acme:pub", principal.Public)
	h.MustSet(domaintest.As("u:acme:pub"), "g:acme:g", "u:far:far=MEMBER")
	for _, c := range []struct {
		name string
		v    *principal.Viewer
		code fault.Code
	}{
		{"anonymous", domaintest.As(""), fault.Unauthenticated},
		{"of another tenant", domaintest.As("u:other:o"), fault.Forbidden},
		{"of another tenant, in a group in it", domaintest.As("u:far:far"), fault.Forbidden},
		{"administrator elsewhere", domaintest.Admin("u:other:boss"), fault.Forbidden},
	} {
		for _, tenant := range []string{"acme", "ACME", "nobody"} {
			t.Run(c.name+" of "+tenant, func(t *testing.T) {
				_, err := domaintest.Search(h.Services, tenant, domaintest.Ptr("same"))(t.Context(), c.v, cursor.PageArgs{})
				domaintest.WantReason(t, err, c.code, "")
			})
		}
	}
	if got := h.Find(domaintest.As("u:far:far"), "Far", "same"); !slices.Equal(got, []string{"u:far:far"}) {
		t.Errorf("a viewer of the tenant finds %q", got)
	}
}

// nameAndID returns the position of a principal of TestFind_ReturnsVisiblePrincipals.
func nameAndID(id string) string {
	if strings.HasPrefix(id, "g:") {
		return strings.TrimPrefix(id, "g:acme:") + " " + id
	}
	return "same u:acme:" + id
}

// TestFind_RenamedPrincipalIsFoundByTheNewName checks that once a mutation is answered, its
// principal is found by its new name, and no longer by the former one.
func TestFind_RenamedPrincipalIsFoundByTheNewName(t *testing.T) {
	h := domaintest.New(t, nil)
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	for _, name := range []string{"Bravo", "Alfa", "Alfa Bravo", "Charlie"} {
		if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:u"),
			principal.UpdateUser{ID: "u:acme:u", DisplayName: input.Some(&name)}); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"alfa", "bravo", "charlie"} {
			var want []string
			if strings.Contains(strings.ToLower(name), other) {
				want = []string{"u"}
			}
			h.WantFound(domaintest.As("u:acme:who"), other, want...)
		}
	}
	private := principal.Private
	if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:u"),
		principal.UpdateUser{ID: "u:acme:u", Visibility: input.Some(&private)}); err != nil {
		t.Fatal(err)
	}
	h.WantFound(domaintest.As("u:acme:who"), "")
	h.WantFound(domaintest.As("u:acme:u"), "", "u")
	h.Group("g:acme:g", "u:acme:u", principal.Public)
	name := "Delta"
	if _, err := h.People.UpdateGroup(t.Context(), domaintest.As("u:acme:u"),
		principal.UpdateGroup{ID: "g:acme:g", DisplayName: input.Some(&name)}); err != nil {
		t.Fatal(err)
	}
	h.WantFound(domaintest.As("u:acme:who"), "delta", "g:acme:g")
	h.WantAudited()
}

// TestFind_InvalidArgumentsAreRefused checks what cannot be searched for.
func TestFind_InvalidArgumentsAreRefused(t *testing.T) {
	h := domaintest.New(t, nil)
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	n := func(n int) *int { return &n }
	for _, c := range []struct {
		name   string
		q      principal.Search
		reason fault.Reason
	}{
		{"no tenant", principal.Search{}, fault.ReasonBadInput},
		{"malformed tenant", principal.Search{Tenant: "a b"}, fault.ReasonBadInput},
		{"an id for a tenant", principal.Search{Tenant: "u:acme:u"}, fault.ReasonBadInput},
		{"long prefix", principal.Search{Tenant: "acme", Prefix: domaintest.Ptr(strings.Repeat("\u00e9", 201))}, fault.ReasonBadInput},
		{"control character", principal.Search{Tenant: "acme", Prefix: domaintest.Ptr("a\x00")}, fault.ReasonBadInput},
		{"tab", principal.Search{Tenant: "acme", Prefix: domaintest.Ptr("\ta")}, fault.ReasonBadInput},
		{"not UTF-8", principal.Search{Tenant: "acme", Prefix: domaintest.Ptr("\xff")}, fault.ReasonBadInput},
		{"too many", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{First: n(101)}}, fault.ReasonBadInput},
		{"negative", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{First: n(-1)}}, fault.ReasonBadInput},
		{"empty cursor", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{After: domaintest.Ptr("")}}, fault.ReasonBadCursor},
		{"malformed cursor", principal.Search{Tenant: "acme", PageArgs: cursor.PageArgs{After: domaintest.Ptr("abc")}}, fault.ReasonBadCursor},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.People.FindPrincipals(t.Context(), domaintest.As("u:acme:who"), c.q)
			domaintest.WantReason(t, err, fault.Invalid, c.reason)
		})
	}
	h.WantFound(domaintest.As("u:acme:who"), strings.Repeat("\u00e9", 200))
	if got := h.Find(domaintest.Global("u:acme:root"), "nobody", ""); got != nil {
		t.Errorf("%v in a tenant without principals", got)
	}
}

// TestFind_CursorIsBoundToItsSearch checks that a cursor belongs to one tenant, one prefix and one
// class of viewers. Spellings of the prefix that find the same are the same.
func TestFind_CursorIsBoundToItsSearch(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, tenant := range []string{"acme", "other"} {
		for _, name := range []string{"ann", "anna", "annabel"} {
			h.UserNamed("u:"+tenant+":"+name, "An "+name, principal.Public)
		}
	}
	first, one := cursor.PageArgs{First: domaintest.Ptr(1)}, domaintest.Ptr("ann")
	c, err := domaintest.Search(h.Services, "acme", one)(t.Context(), domaintest.As("u:acme:who"), first)
	if err != nil || len(c.Edges) != 1 || !c.PageInfo.HasNextPage || *c.PageInfo.EndCursor() != c.Edges[0].Cursor() {
		t.Fatalf("%+v, %v", c, err)
	}
	args := cursor.PageArgs{First: domaintest.Ptr(1), After: c.PageInfo.EndCursor()}
	for _, d := range []struct {
		name, tenant string
		prefix       *string
		v            *principal.Viewer
		fits         bool
	}{
		{"the same", "acme", one, domaintest.As("u:acme:who"), true},
		{"another spelling", "Acme", domaintest.Ptr(" ANN"), domaintest.As("u:acme:ann"), true},
		{"another tenant", "other", one, domaintest.As("u:other:ann"), false},
		{"another prefix", "acme", domaintest.Ptr("an"), domaintest.As("u:acme:who"), false},
		{"no prefix", "acme", nil, domaintest.As("u:acme:who"), false},
		{"administrator", "acme", one, domaintest.Admin("u:acme:ann"), false},
	} {
		t.Run(d.name, func(t *testing.T) {
			c, err := domaintest.Search(h.Services, d.tenant, d.prefix)(t.Context(), d.v, args)
			if !d.fits {
				domaintest.WantReason(t, err, fault.Invalid, fault.ReasonBadCursor)
				return
			}
			if err != nil || len(c.Edges) != 1 || c.Edges[0].Node.PrincipalID() != "u:acme:anna" || !c.PageInfo.HasPreviousPage {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	long := domaintest.Ptr(strings.Repeat("\U0001f389", 200))
	if c, err := domaintest.Search(h.Services, "acme", long)(t.Context(), domaintest.As("u:acme:who"), first); err != nil || len(c.Edges) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	// The longest position possible: a name of 200 characters and a longest id.
	id := "u:" + strings.Repeat("t", 32) + ":" + strings.Repeat("n", 128)
	h.UserNamed(id, strings.Repeat("\U0001f389", 200), principal.Public)
	c, err = domaintest.Search(h.Services, strings.Repeat("t", 32), long)(t.Context(), domaintest.As(id), first)
	if err != nil || len(c.Edges) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	c, err = domaintest.Search(h.Services, strings.Repeat("t", 32), long)(t.Context(), domaintest.As(id),
		cursor.PageArgs{After: c.PageInfo.EndCursor()})
	if err != nil || len(c.Edges) != 0 || !c.PageInfo.HasPreviousPage {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestFind_PagesMatchAModel pages through all principals, of random names and visibilities, by all
// kinds of viewers, and compares the pages with what they see by id.
func TestFind_PagesMatchAModel(t *testing.T) {
	h := domaintest.New(t, nil)
	dice := rand.New(rand.NewPCG(1, 2))
	words := []string{"Ann", "anna", "BOB", "bo", "\u00d6zil", "van"}
	viewers := []func() *principal.Viewer{
		func() *principal.Viewer { return domaintest.As("u:acme:who") },
		func() *principal.Viewer { return domaintest.As("u:acme:n00") },
		func() *principal.Viewer { return domaintest.Global("u:other:o") },
		func() *principal.Viewer { return domaintest.Admin("u:acme:n01") },
	}
	var ids []principal.ID
	for i := range 60 {
		name := words[dice.IntN(len(words))]
		for range dice.IntN(3) {
			name += " " + words[dice.IntN(len(words))]
		}
		id := fmt.Sprintf("u:acme:n%02d", i)
		h.UserNamed(id, name, principal.Visibility(1+dice.IntN(3)))
		ids = append(ids, principal.ID(id))
	}
	for n, viewer := range viewers {
		for _, prefix := range []string{"", "a", "ann", "anna", "b", "\u00f6", "van", "n", "n1", "x"} {
			seen, err := h.People.Principals(t.Context(), viewer(), ids)
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
				got := h.WalkFound(viewer, prefix, size)
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

// begins reports whether a prefix in lower case is the beginning of the name of a principal of
// TestFind_PagesMatchAModel, of a word of it, or of the name in its id.
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
