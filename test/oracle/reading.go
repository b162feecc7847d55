package oracle

import (
	"cmp"
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
		ids := make([]library.ContentID, 0, len(g.w.items))
		for id := range g.w.items {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
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
	if q.Descending != backwards {
		slices.Reverse(want)
	}
	for read, first := 0, true; first || read < len(want); first = false {
		q.PageArgs = pageArgs(q.PageArgs, backwards, size, first)
		as := v.fresh()
		if g.rarely(2) {
			// A page whose owner was read is not begun before it is read.
			if _, err := g.svc.People.Principals(g.ctx, as, []principal.ID{owner}); err != nil {
				g.Fatal(err)
			}
		}
		page, err := g.svc.Listing.Library(g.ctx, as, owner, q)
		if isBad(q.Filter) {
			g.agrees("library", *q.Filter, v, faults{"BAD_USER_INPUT"}, err)
			return
		}
		if !g.w.sees(v, owner) {
			g.agrees("library", owner, v, faults{"NOT_FOUND"}, err)
			return
		}
		if err != nil {
			g.Fatalf("library of %s by %+v, %+v: %v", owner, v, q, err)
		}
		if page.Bucket != g.w.bucket(v, owner) {
			g.Fatalf("%+v reads the bucket %s of %s, want %s", v, page.Bucket, owner, g.w.bucket(v, owner))
		}
		due := want[read:min(read+size, len(want))]
		g.samePage(v, owner, q, backwards, page, due)
		read += len(due)
		ahead, behind := page.PageInfo.HasNextPage, page.PageInfo.HasPreviousPage
		next := page.PageInfo.EndCursor()
		if backwards {
			ahead, behind, next = behind, ahead, page.PageInfo.StartCursor()
		}
		if ahead != (read < len(want)) || behind == first {
			g.Fatalf("library of %s by %+v, %+v: after %d of %d the flags are %+v", owner, v, q, read, len(want), page.PageInfo)
		}
		if (next == nil) != (first && len(due) == 0) {
			g.Fatalf("library of %s by %+v, %+v: cursor %v of a page of %d", owner, v, q, next, len(due))
		}
		q.After, q.Before = next, next
		if first {
			g.sameCount(page, count)
		}
	}
}

// pageArgs returns the arguments that request the next page; at contains its cursor.
func pageArgs(at cursor.PageArgs, backwards bool, size int, first bool) cursor.PageArgs {
	args := cursor.PageArgs{}
	switch {
	case backwards:
		if args.Last = &size; !first {
			args.Before = at.Before
		}
	default:
		if args.First = &size; !first {
			args.After = at.After
		}
	}
	return args
}

// entry is an edge as the model knows it.
type entry struct {
	Item        plainItem
	Role        library.ContentRole
	Permissions *library.Permissions
}

// samePage compares the edges of a page with those due, which are in the order
// of the walk.
func (g *game) samePage(v viewer, owner principal.ID, q library.LibraryQuery, backwards bool, page *library.LibraryConnection,
	due []*item) {
	g.Helper()
	var want, got []entry
	for _, c := range due {
		e := entry{Item: c.plain(), Role: c.members[owner]}
		if q.WithPermissions {
			e.Permissions = g.w.permissions(v, c)
		}
		want = append(want, e)
	}
	if backwards {
		slices.Reverse(want)
	}
	for _, e := range page.Edges {
		got = append(got, entry{plainContent(e.Node), e.Role, e.Permissions})
	}
	if len(want) > 0 || len(got) > 0 {
		g.same("page of the library of "+string(owner)+" for "+string(v.user), want, got)
	}
	if len(page.Edges) > 0 {
		first, last := page.Edges[0].Cursor(), page.Edges[len(page.Edges)-1].Cursor()
		start, end := page.PageInfo.StartCursor(), page.PageInfo.EndCursor()
		if start == nil || end == nil {
			g.Fatalf("a page with edges but without cursors: %q to %q", first, last)
		}
	}
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
	if !sees {
		g.agrees("members", id, v, faults{"NOT_FOUND"}, err)
		return
	}
	if err != nil {
		g.Fatalf("members of %s by %+v: %v", id, v, err)
	}
	g.same("item", c.plain(), plainContent(got[0]))
	permissions, err := g.svc.Library.PermissionsOf(g.ctx, v.fresh(), []library.ContentID{id})
	if err != nil {
		g.Fatalf("permissions of %+v on %s: %v", v, id, err)
	}
	g.same("permissions", []*library.Permissions{g.w.permissions(v, c)}, permissions)
	var want, shown []listed
	seen := membersSeen(g.w, v, c.members)
	if g.w.permissions(v, c).CanManage {
		seen = slices.Sorted(maps.Keys(c.members))
	}
	for _, p := range seen {
		want = append(want, listed{p, c.members[p].String()})
	}
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
	var want, shown []listed
	if id.IsGroup() {
		for _, m := range membersSeen(g.w, v, p.members) {
			want = append(want, listed{m, p.members[m].String()})
		}
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
		for _, gid := range membersSeen(g.w, v, in) {
			want = append(want, listed{gid, in[gid].String()})
		}
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
