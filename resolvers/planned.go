package resolvers

import (
	"context"

	"carrel/graph"
	"carrel/library"
	"carrel/principal"
)

// written returns a page written by its plan. If there is no plan, or anything is unexpected, it
// returns conn, and the generated code writes the page and reports errors.
func (r *Root) written(ctx context.Context, conn *library.LibraryConnection) any {
	plan := graph.CurrentPage(ctx).Plan
	if plan.Unplanned {
		return conn
	}
	page, err := r.fill(ctx, conn, plan, loadCreators)
	if err != nil {
		return conn
	}
	if written, ok := plan.Write(page, graph.ExecutionOf(ctx).Body); ok {
		return written
	}
	return conn
}

// fill loads what the plan needs in addition to the edges. It loads creators by calling creators.
// Loaders cache results and errors, so nothing is read twice if the generated code has to write the
// page.
func (r *Root) fill(ctx context.Context, conn *library.LibraryConnection, want *graph.PagePlan,
	creators func(context.Context, []graph.Row) error) (page *graph.Page, err error) {
	page = &graph.Page{LibraryConnection: conn, Rows: make([]graph.Row, len(conn.Edges))}
	for i, e := range conn.Edges {
		page.Rows[i].LibraryEdge = e
	}
	if want.Creators && len(page.Rows) > 0 {
		if err := creators(ctx, page.Rows); err != nil {
			return nil, err
		}
	}
	for i := 0; want.Permissions && i < len(page.Rows); i++ {
		if page.Rows[i].Permissions, err = permissionsItem(ctx, conn.Edges[i]); err != nil {
			return nil, err
		}
	}
	if err := r.fillTexts(ctx, page, want); err != nil {
		return nil, err
	}
	if want.Count {
		page.Count, err = r.Listing.LibraryCount(ctx, conn)
	}
	return page, err
}

// permissionsItem returns the viewer's permissions on the item of an edge. Most edges contain them.
func permissionsItem(ctx context.Context, e *library.LibraryEdge) (*library.Permissions, error) {
	if e.Permissions != nil {
		return e.Permissions, nil
	}
	return permissions(ctx, e.Node)
}

// loadCreators loads the creators of rows by the loader, because other fields of the operation may
// need them too.
func loadCreators(ctx context.Context, rows []graph.Row) (err error) {
	for i := range rows {
		if rows[i].Creator, err = creator(ctx, rows[i].Node); err != nil {
			return err
		}
	}
	return nil
}

// creator returns the creator of an item, or nil if the viewer may not see the creator.
func creator(ctx context.Context, c *library.Content) (*principal.User, error) {
	return user(ctx, c.Creator)
}

// fillTexts loads the texts that the plan needs.
func (r *Root) fillTexts(ctx context.Context, page *graph.Page, want *graph.PagePlan) error {
	for _, field := range want.Texts {
		q, err := graph.TextQueryOf(ctx, field)
		if err != nil {
			return err
		}
		for i := range page.Rows {
			row := &page.Rows[i]
			text, err := r.text(ctx, row.Node, q)
			if err != nil {
				return err
			}
			row.Texts = append(row.Texts, text)
		}
	}
	return nil
}
