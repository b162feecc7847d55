package simulator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/feed"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// fillFeeds lists the public content that exists at the start.
func (r *run) fillFeeds() error {
	feeds := feed.New(feed.Config{Store: NewClient(r.st, nil).Feeds, Runtime: sched.NewReal()})
	for _, c := range r.st.contents {
		h := &c.header
		if h.Visibility != principal.Public {
			continue
		}
		e := feed.Entry{Created: h.CreatedAt, ID: string(c.id)}
		if err := feeds.Put(r.ctx, feed.Feed("content:"+c.id.Tenant()), e, h.MTS); err != nil {
			return err
		}
	}
	return nil
}

// readNewest reads the newest public content of each tenant to its end, when nothing
// changes, and compares it with the headers.
func (r *run) readNewest(ctx context.Context, p *process) {
	for _, tenant := range []string{"t", "o"} {
		got, err := r.newestOf(ctx, p, tenant)
		if err != nil {
			r.report(wrongFeed, "reading the newest content of %s: %v", tenant, err)
			continue
		}
		if want := r.expectNewest(tenant); !slices.Equal(got, want) {
			r.report(wrongFeed, "the newest content of %s is %v, not %v", tenant, got, want)
		}
	}
}

// newestOf reads the newest public content of a tenant, the newest first.
func (r *run) newestOf(ctx context.Context, p *process, tenant string) ([]library.ContentID, error) {
	size, backward := 1+r.s.pick(2), r.s.chance(512)
	return readToEnd(size, backward, func(args cursor.PageArgs) (ids []library.ContentID, info cursor.PageInfo, err error) {
		page, err := p.svc.Library.LatestContent(ctx, &principal.Viewer{}, tenant, args)
		if err != nil {
			return nil, info, err
		}
		for _, e := range page.Edges {
			ids = append(ids, e.Node.ID)
		}
		return ids, page.PageInfo, nil
	})
}

// readToEnd reads a connection page by page, from its first edge on or backward from the last one.
func readToEnd[T any](size int, backward bool, read func(cursor.PageArgs) ([]T, cursor.PageInfo, error)) (all []T, err error) {
	var from *string
	for range 60 {
		args := cursor.PageArgs{First: &size, After: from}
		if backward {
			args = cursor.PageArgs{Last: &size, Before: from}
		}
		part, info, err := read(args)
		if err != nil {
			return nil, err
		}
		more := info.HasNextPage
		if from = info.EndCursor(); backward {
			more, from = info.HasPreviousPage, info.StartCursor()
			all = append(part, all...)
		} else {
			all = append(all, part...)
		}
		if !more || from == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the list has no end: %v", all)
}

// expectNewest returns the public content of a tenant that exists now, newest first.
func (r *run) expectNewest(tenant string) []library.ContentID {
	var found []*contentPart
	for _, c := range r.st.contents {
		h := &c.header
		if h.State == commit.Live && h.Visibility == principal.Public && c.id.Tenant() == tenant && h.Exists(clock.Of(epoch.Add(r.s.now))) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *contentPart) int {
		return -cmp.Or(cmp.Compare(a.header.CreatedAt, b.header.CreatedAt), cmp.Compare(a.id, b.id))
	})
	var ids []library.ContentID
	for _, c := range found {
		ids = append(ids, c.id)
	}
	return ids
}
