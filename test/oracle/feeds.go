package oracle

import (
	"cmp"
	"slices"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/feed"
	"carrel/principal"
)

// position is a position in a feed. A feed is ordered newest first; of two entries with the same
// time, the one with the greater id comes first.
type position struct {
	created clock.Instant
	id      string
}

func newestFirst(a, b position) int {
	return -cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
}

// readLatestPastes walks through the public pastes.
func (g *game) readLatestPastes(backwards bool, size int) {
	g.Helper()
	var want []position
	for _, p := range g.w.pastes {
		if g.w.readable(p) && !p.isPrivate {
			want = append(want, position{p.created, string(p.id)})
		}
	}
	g.walkFeed("latestPastes", want, backwards, size, func(args cursor.PageArgs) ([]string, cursor.PageInfo, error) {
		page, err := g.pastes.Latest(g.ctx, args)
		if err != nil {
			return nil, cursor.PageInfo{}, err
		}
		var ids []string
		for _, p := range page.Nodes() {
			ids = append(ids, string(p.ID))
			g.samePaste(p)
		}
		return ids, page.PageInfo, nil
	})
}

// readLatestContent walks through the PUBLIC items of a tenant.
func (g *game) readLatestContent(v viewer, tenant string, backwards bool, size int) {
	g.Helper()
	var want []position
	for _, c := range g.w.items {
		if g.w.exists(c) && c.visibility == principal.Public && c.id.Tenant() == tenant {
			want = append(want, position{c.created, string(c.id)})
		}
	}
	g.walkFeed("latestContent", want, backwards, size, func(args cursor.PageArgs) ([]string, cursor.PageInfo, error) {
		page, err := g.svc.Library.LatestContent(g.ctx, v.fresh(), tenant, args)
		if err != nil {
			return nil, cursor.PageInfo{}, err
		}
		var ids []string
		for _, c := range page.Nodes() {
			ids = append(ids, string(c.ID))
			g.same("item", g.w.items[c.ID].plain(), plainContent(c))
		}
		return ids, page.PageInfo, nil
	})
}

// walkFeed walks through a feed and compares each page. If there are several gateways, it waits until each of them
// shows what the others have put.
func (g *game) walkFeed(what string, want []position, backwards bool, size int,
	read func(cursor.PageArgs) ([]string, cursor.PageInfo, error)) {
	g.Helper()
	if len(g.gateways) > 1 {
		g.runtime.ahead.Add(int64(feed.ShownWithin))
	}
	slices.SortFunc(want, newestFirst)
	ids := make([]string, len(want))
	for i, p := range want {
		ids[i] = p.id
	}
	walk(g, what, ids, backwards, size, read)
}

// walk walks through a connection and compares each page. want are all its entries, in the order of the first page
// first if it is read forwards.
func walk[T any](g *game, what string, want []T, backwards bool, size int, read func(cursor.PageArgs) ([]T, cursor.PageInfo, error)) {
	g.Helper()
	if backwards {
		slices.Reverse(want)
	}
	var next *string
	for seen, first := 0, true; first || seen < len(want); first = false {
		got, info, err := read(pageArgs(next, backwards, size))
		if err != nil {
			g.Fatalf("%s: %v", what, err)
		}
		due := slices.Clone(want[seen:min(seen+size, len(want))])
		seen += len(due)
		if backwards {
			slices.Reverse(due)
		}
		if len(due)+len(got) > 0 {
			g.same("a page of "+what, due, got)
		}
		start, end := info.StartCursor(), info.EndCursor()
		ahead, behind := info.HasNextPage, info.HasPreviousPage
		if next = end; backwards {
			ahead, behind, next = behind, ahead, start
		}
		if ahead != (seen < len(want)) || behind == first || len(due) > 0 && (start == nil || end == nil) {
			g.Fatalf("%s: after %d of %d the flags are %+v, and there are cursors: %t and %t",
				what, seen, len(want), info, start != nil, end != nil)
		}
	}
}

// pageArgs returns the arguments that request the page from a cursor on, which is nil for the first page.
func pageArgs(from *string, backwards bool, size int) cursor.PageArgs {
	if backwards {
		return cursor.PageArgs{Last: &size, Before: from}
	}
	return cursor.PageArgs{First: &size, After: from}
}
