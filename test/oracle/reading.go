package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// readSomething compares what one viewer reads of one library and one item.
func (g *game) readSomething() {
	if g.hot {
		g.doDeferred()
	}
	owner := one(g, slices.Concat(g.users, g.groups))
	v := g.viewer(func(v viewer) bool { return g.w.sees(v, owner) })
	q := library.LibraryQuery{
		Order: g.order(), Descending: g.rarely(2), IncludeShared: g.rarely(2), WithPermissions: g.rarely(2), OtherSide: true,
	}
	if g.rarely(2) {
		q.Filter = g.filter()
	}
	g.readLibrary(v, owner, q, g.rarely(2), one(g, []int{1, 2, 3, 20}))
	g.readLists(v, owner)
	if id, err := library.ParseContentID(g.contentID()); err == nil {
		g.readItem(v, id)
	}
	g.readByURL(v, g.url(), one(g, []string{g.home, g.away}))
}

// readEverything compares what every viewer reads of everything.
func (g *game) readEverything() {
	for n, v := range g.viewers {
		for i, owner := range slices.Concat(g.users, g.groups) {
			// Copies serve pages without permissions.
			q := library.LibraryQuery{OtherSide: true, WithPermissions: g.served == nil || (n+i)%2 == 0, Descending: i%2 == 0,
				IncludeShared: i%3 == 0, Order: g.order()}
			g.readLibrary(v, owner, q, i%4 < 2, 3)
			q.Filter, q.Order = g.filter(), g.order()
			g.readLibrary(v, owner, q, i%3 < 1, 2)
			g.readLists(v, owner)
		}
		for _, tenant := range []string{g.home, g.away} {
			for _, u := range urls {
				g.readByURL(v, u.form, tenant)
			}
			for i, prefix := range typed {
				g.find(v, tenant, prefix, 1+i%4)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(g.w.items)) {
			g.readItem(v, id)
		}
	}
}

// order draws an order of libraries.
func (g *game) order() library.Order { return one(g, library.AllOrders[:]) }

// readLibrary walks through a library and compares each page.
func (g *game) readLibrary(v viewer, owner principal.ID, q library.LibraryQuery, backwards bool, size int) {
	g.Helper()
	want, count := g.w.library(v, owner, q.IncludeShared)
	if q.Filter != nil {
		want = slices.DeleteFunc(want, func(c *item) bool { return !g.w.matches(v, owner, c, q.Filter) })
	}
	if q.Order == library.ByTitle {
		slices.SortFunc(want, func(a, b *item) int {
			return cmp.Or(cmp.Compare(slices.Index(titles, a.title), slices.Index(titles, b.title)), cmp.Compare(a.id, b.id))
		})
	}
	if q.Descending {
		slices.Reverse(want)
	}
	what := fmt.Sprintf("the library of %s for %+v, %+v", owner, v, q)
	var refused faults
	switch {
	case isBad(q.Filter):
		refused.add(true, "BAD_USER_INPUT")
	case !g.w.sees(v, owner):
		refused.add(true, "NOT_FOUND")
	}
	if refused != nil {
		q.PageArgs = pageArgs(nil, backwards, size)
		_, err := g.readPage(v, owner, q)
		g.agrees("library", what, v, refused, err)
		return
	}
	walk(g, what, g.entries(v, owner, want, q), backwards, size, func(args cursor.PageArgs) ([]entry, cursor.PageInfo, error) {
		q.PageArgs = args
		page, err := g.readPage(v, owner, q)
		if err != nil {
			return nil, cursor.PageInfo{}, err
		}
		if args.After == nil && args.Before == nil {
			g.sameCount(page, count)
		}
		var got []entry
		for _, e := range page.Edges {
			got = append(got, entry{plainContent(e.Node), e.Role, e.Permissions})
		}
		return got, page.PageInfo, nil
	})
}

// readPage reads a page of a library.
func (g *game) readPage(v viewer, owner principal.ID, q library.LibraryQuery) (*library.LibraryConnection, error) {
	g.Helper()
	as := v.fresh()
	if g.rarely(2) {
		// A page whose owner was read is not begun before it is read.
		if _, err := g.svc.People.Principals(g.ctx, as, []principal.ID{owner}); err != nil {
			g.Fatal(err)
		}
	}
	page, err := g.svc.Listing.Library(g.ctx, as, owner, q)
	if err != nil {
		return nil, err
	}
	if page.Bucket != g.w.bucket(v, owner) {
		g.Fatalf("%+v reads the bucket %s of %s, want %s", v, page.Bucket, owner, g.w.bucket(v, owner))
	}
	if len(page.Edges) == 0 && q.After == nil && q.Before == nil && page.PageInfo.EndCursor() != nil {
		g.Fatalf("an empty page of the library of %s has a cursor", owner)
	}
	return page, nil
}

// entry is an edge as the model knows it.
type entry struct {
	Item        plainItem
	Role        library.ContentRole
	Permissions *library.Permissions
}

// entries returns the edges of items in owner's library, as v is shown them.
func (g *game) entries(v viewer, owner principal.ID, items []*item, q library.LibraryQuery) []entry {
	all := make([]entry, len(items))
	for i, c := range items {
		all[i] = entry{Item: c.plain(), Role: c.members[owner]}
		if q.WithPermissions {
			all[i].Permissions = g.w.permissions(v, c)
		}
	}
	return all
}

func (g *game) sameCount(page *library.LibraryConnection, want int) {
	g.Helper()
	n, err := g.svc.Listing.LibraryCount(g.ctx, page)
	if err != nil || !n.Exact || n.Value != want {
		g.Fatalf("the bucket %s of %s counts %+v, %v; want %d", page.Bucket, page.Owner, n, err, want)
	}
}

// permissions returns what v may do with an item that it sees.
func (w *world) permissions(v viewer, c *item) *library.Permissions {
	s := &library.Permissions{Role: w.role(v.user, c)}
	s.CanManage = v.administers(c.id.Tenant()) || w.stored(v) && s.Role == library.Manages
	s.CanEdit = s.CanManage || w.stored(v) && (s.Role == library.Editing || s.Role == library.Manages)
	s.CanShare = s.CanManage || w.stored(v) && c.visibility != principal.Private
	return s
}

// readItem compares an item, what the viewer may do with it, and its members.
func (g *game) readItem(v viewer, id library.ContentID) {
	g.Helper()
	c := g.w.items[id]
	sees := c != nil && g.w.reads(v, c)
	got, err := g.svc.Library.Contents(g.ctx, v.fresh(), []library.ContentID{id})
	if err != nil || (got[0] != nil) != sees {
		g.Fatalf("%+v sees %s: %t, but is shown %+v, %v", v, id, sees, got, err)
	}
	members, err := g.svc.Library.Members(g.ctx, v.fresh(), id, cursor.PageArgs{})
	if err != nil || !sees && len(members.Edges) > 0 {
		g.Fatalf("members of %s by %+v: %+v, %v", id, v, members, err)
	}
	if !sees {
		return
	}
	g.same("item", c.plain(), plainContent(got[0]))
	permissions, err := g.svc.Library.PermissionsOf(g.ctx, v.fresh(), []library.ContentID{id})
	if err != nil {
		g.Fatalf("permissions of %+v on %s: %v", v, id, err)
	}
	g.same("permissions", []*library.Permissions{g.w.permissions(v, c)}, permissions)
	seen := membersSeen(g.w, v, c.members)
	if g.w.permissions(v, c).CanManage {
		seen = slices.Sorted(maps.Keys(c.members))
	}
	want, shown := listing(seen, c.members), []listed{}
	for _, e := range members.Edges {
		shown = append(shown, listed{e.Node.PrincipalID(), e.Role.String()})
	}
	g.same("members of "+string(id)+" for "+string(v.user), want, shown)
}

// listed is a principal with its role.
type listed struct {
	ID   principal.ID
	Role string
}

func listing[R fmt.Stringer](ids []principal.ID, roles map[principal.ID]R) []listed {
	all := []listed{}
	for _, id := range ids {
		all = append(all, listed{id, roles[id].String()})
	}
	return all
}

// readLists compares a principal, its groups or members, and the viewer's role.
func (g *game) readLists(v viewer, id principal.ID) {
	g.Helper()
	role, err := g.svc.People.GroupRoleOf(g.ctx, v.fresh(), id)
	if err != nil || role != g.w.groups(v.user)[id] {
		g.Fatalf("%+v is %q in %s, but gets %q, %v", v, g.w.groups(v.user)[id], id, role, err)
	}
	sees := g.w.sees(v, id)
	got, err := g.svc.People.Principals(g.ctx, v.fresh(), []principal.ID{id})
	if err != nil || (got[0] != nil) != sees {
		g.Fatalf("%+v sees %s: %t, but is shown %+v, %v", v, id, sees, got, err)
	}
	if !sees {
		return
	}
	p := g.w.principals[id]
	g.same("principal", p.plain(), plainHeader(*got[0].Head()))
	var want []listed
	shown := []listed{}
	if id.IsGroup() {
		seen := membersSeen(g.w, v, p.members)
		if g.w.managesGroup(v, id) {
			seen = slices.Sorted(maps.Keys(p.members))
		}
		want = listing(seen, p.members)
		members, err := g.svc.People.GroupMembers(g.ctx, v.fresh(), id, cursor.PageArgs{})
		if err != nil {
			g.Fatalf("members of %s by %+v: %v", id, v, err)
		}
		for _, e := range members.Edges {
			shown = append(shown, listed{e.Node.PrincipalID(), e.Role.String()})
		}
	} else {
		in := map[principal.ID]principal.GroupRole{}
		for gid, group := range g.w.principals {
			if role, member := group.members[id]; member {
				in[gid] = role
			}
		}
		want = listing(membersSeen(g.w, v, in), in)
		groups, err := g.svc.People.Groups(g.ctx, v.fresh(), id, cursor.PageArgs{})
		if err != nil {
			g.Fatalf("groups of %s by %+v: %v", id, v, err)
		}
		for _, e := range groups.Edges {
			shown = append(shown, listed{e.Node.PrincipalID(), e.Role.String()})
		}
	}
	g.same("lists of "+string(id)+" for "+string(v.user), want, shown)
}
