package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/principal"
)

// nameForms maps each display name of a game to the forms that a search compares with a prefix:
// the whole name, and the rest of the name from each later word on. They are written out, so that
// the model does not split names as the Service does.
var nameForms = map[string][]string{
	"x":               {"x"},
	"y":               {"y"},
	"Z":               {"z"},
	"Xenia  ZOO":      {"xenia zoo", "zoo"},
	"\u00d6zil Ann":   {"\u00f6zil ann", "ann"},
	"O'Hara-Xu":       {"o'hara-xu", "hara-xu", "xu"},
	"Stra\u00dfe x y": {"strasse x y", "x y", "y"},
}

// typed are prefixes as a user types them, each with the form in which it is compared.
var typed = [][2]string{
	{"", ""}, {" ", ""}, {"x", "x"}, {"X", "x"}, {"XE", "xe"}, {"xenia\u00a0 Z", "xenia z"}, {"zo", "zo"}, {"\u00d6", "\u00f6"},
	{"O\u0308z", "\u00f6z"},
	{"o", "o"}, {"ann", "ann"}, {"An", "an"}, {"hara", "hara"}, {"STRASSE", "strasse"}, {"stra\u00df", "strass"},
	{"b", "b"}, {"one", "one"}, {"q", "q"},
}

// searchRefusal returns the code with which a search by v for principals of a tenant is refused; 0
// if v may search.
func (v viewer) searchRefusal(tenant string) fault.Code {
	switch {
	case !v.signedIn():
		return fault.Unauthenticated
	case v.user.Tenant() != tenant && !v.global:
		return fault.Forbidden
	}
	return 0
}

// found returns the principals that a prefix finds for v, in order.
func (w *world) found(v viewer, tenant, prefix string) []principal.ID {
	least := map[principal.ID]string{}
	var ids []principal.ID
	for id, p := range w.principals {
		if id.Tenant() != tenant || !w.sees(v, id) {
			continue
		}
		names := slices.Concat(nameForms[p.name], []string{id.Name()})
		if prefix == "" {
			names = names[:1]
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) })
		if len(names) > 0 {
			ids, least[id] = append(ids, id), slices.Min(names)
		}
	}
	slices.SortFunc(ids, func(a, b principal.ID) int { return cmp.Or(cmp.Compare(least[a], least[b]), cmp.Compare(a, b)) })
	return ids
}

// findSomebody searches for principals and compares each page.
func (g *game) findSomebody() {
	tenant := one(g, []string{g.home, g.home, g.away})
	prefix := one(g, typed)
	g.find(g.viewer(func(v viewer) bool { return v.user.Tenant() == tenant }), tenant, prefix, one(g, []int{1, 2, 3, 20}))
}

func (g *game) find(v viewer, tenant string, prefix [2]string, size int) {
	g.Helper()
	what := fmt.Sprintf("finding %q in %s by %+v", prefix, tenant, v)
	q := principal.Search{Tenant: strings.ToUpper(tenant), Prefix: &prefix[0]}
	if code := v.searchRefusal(tenant); code != 0 {
		if _, err := g.svc.People.FindPrincipals(g.ctx, v.fresh(), q); fault.CodeOf(err) != code {
			g.Fatalf("%s: %v, want code %d", what, err, code)
		}
		return
	}
	var want []plainPrincipal
	for _, id := range g.w.found(v, tenant, prefix[1]) {
		want = append(want, g.w.principals[id].plain())
	}
	walk(g, what, want, false, size, func(args cursor.PageArgs) (got []plainPrincipal, info cursor.PageInfo, err error) {
		q.First, q.After = args.First, args.After
		page, err := g.svc.People.FindPrincipals(g.ctx, v.fresh(), q)
		if err != nil {
			return nil, info, err
		}
		for _, p := range page.Nodes() {
			got = append(got, plainHeader(*p.Head()))
		}
		return got, page.PageInfo, nil
	})
}
