package principal

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/input"
)

// List is a connection of principals. Members of an item or of a group and groups of a user are in
// order of id; the principals of a directory are in order of name. A List shows those that the
// viewer may see.
type List struct {
	s     *Service
	v     *Viewer
	bound []byte
	read  readList
	// total is the number of rows that the viewer may see, if a page was the whole list.
	total *int
	// budget is how many rows a page scans.
	budget int
	// All shows rows even if the viewer may not see their principals.
	All bool
	// fits reports whether a row is at the position at which its principal must be shown; nil:
	// each is.
	fits func(row *Listed) bool
}

// listSlack is how many more rows than are wanted a page reads at once, because some may be
// hidden.
const listSlack = 4

// readList reads at most limit rows after a position, in the order of the list; ended reports
// that there are no more after them.
type readList func(ctx context.Context, after ListPosition, limit int) (rows []Listed, ended bool, err error)

// ListPosition is a position in a list. Positions compare in the order of the list; by default
// they are the principals' ids. The empty one is before the first row.
type ListPosition string

// Listed is a row of a list.
type Listed struct {
	At     ListPosition
	ID     ID
	Role   uint8 // of the list's kind
	Active bool
	Header *Header // once it was read
}

// NewList returns a list of principals, in order of id, whose cursors are bound to its kind and
// owner.
func (s *Service) NewList(v *Viewer, kind cursor.Kind, owner string, read readList) *List {
	return &List{s: s, v: v, bound: cursor.Binding(kind, 0, owner), read: read, budget: pageBudget}
}

// Cursor returns a function that seals the position of a row.
func (l *List) Cursor(at ListPosition) func() string {
	return func() string {
		return l.s.seals.Seal(l.bound, cursor.Position{Order: cursor.AnyOrder, ID: string(at)})
	}
}

// Page reads the rows of a page, and returns them with their PageInfo.
func (l *List) Page(ctx context.Context, p cursor.Page) ([]Listed, cursor.PageInfo, error) {
	var info cursor.PageInfo
	after := ListPosition("")
	if p.Cursor != nil {
		at, err := l.s.seals.Open(l.bound, cursor.AnyOrder, *p.Cursor)
		if err != nil {
			return nil, info, err
		}
		after = ListPosition(at.ID)
	}
	if err := l.resolve(ctx); err != nil {
		return nil, info, err
	}
	found, last, cut, err := l.scan(ctx, after, p.Size+1, l.budget)
	if err != nil {
		return nil, info, err
	}
	shown := found[:min(len(found), p.Size)]
	info.HasNextPage = cut || len(found) > p.Size
	if p.Cursor == nil && !info.HasNextPage {
		n := len(shown)
		l.total = &n
	}
	if len(shown) > 0 {
		info.Start, info.End = l.Cursor(shown[0].At), l.Cursor(shown[len(shown)-1].At)
	}
	if cut {
		info.End = l.Cursor(last)
		if info.Start == nil {
			info.Start = info.End
		}
	}
	if p.Cursor != nil && info.End == nil {
		// An empty page returns the position from which it was requested.
		info.Start, info.End = l.Cursor(after), l.Cursor(after)
	}
	if p.Cursor != nil {
		info.HasPreviousPage, err = l.anyUpTo(ctx, after)
	}
	return shown, info, err
}

// Total counts the rows that the viewer may see. It is nil for a list of more than totalBudget
// rows, which is not read to its end.
func (l *List) Total(ctx context.Context) (*int, error) {
	if l.total != nil {
		return l.total, nil
	}
	if err := l.resolve(ctx); err != nil {
		return nil, err
	}
	found, _, cut, err := l.scan(ctx, "", totalBudget+1, totalBudget)
	if err != nil || cut {
		return nil, err
	}
	n := len(found)
	return &n, nil
}

// resolve resolves the viewer's groups. They may decide about rows, and what is read and paid must not
// tell whether there are such rows.
func (l *List) resolve(ctx context.Context) error {
	if l.All {
		return nil
	}
	_, err := l.s.GroupsOf(ctx, l.v)
	return err
}

// scan finds rows that the viewer may see, until it has as many as wanted, the list ends or that many
// remaining rows were scanned (cut; last then is the last of them).
func (l *List) scan(ctx context.Context, after ListPosition, want, remaining int) (found []Listed, last ListPosition, cut bool, err error) {
	// If many rows are hidden, each read is larger than the one before, because a read costs more
	// than the rows that it returns.
	minimum := 0
	for last = after; len(found) < want; minimum = min(2*max(minimum, want+listSlack), input.MaxList) {
		if remaining <= 0 {
			beyond, _, err := l.read(ctx, last, 1)
			return found, last, len(beyond) > 0, err
		}
		rows, ended, err := l.read(ctx, last, min(max(want-len(found)+listSlack, minimum), input.MaxList, remaining))
		if err != nil {
			return nil, "", false, err
		}
		if len(rows) > 0 {
			last = rows[len(rows)-1].At
		}
		remaining -= len(rows)
		visible, err := l.visible(ctx, rows)
		if err != nil {
			return nil, "", false, err
		}
		found = append(found, visible...)
		if ended {
			break
		}
	}
	return found[:min(len(found), want)], last, false, nil
}

// visible returns the rows that are active and that the viewer may see.
func (l *List) visible(ctx context.Context, rows []Listed) ([]Listed, error) {
	active := make([]Listed, 0, len(rows))
	ids := make([]ID, 0, len(rows))
	for _, row := range rows {
		if row.Active {
			active, ids = append(active, row), append(ids, row.ID)
		}
	}
	hs, err := l.headers(ctx, ids)
	if err != nil {
		return nil, err
	}
	visible := active[:0]
	for i, row := range active {
		row.Header = hs[i]
		if row.Header != nil && (l.fits == nil || l.fits(&row)) {
			visible = append(visible, row)
		}
	}
	return visible, nil
}

// headers returns the headers of ids, nil for those that the viewer may not see.
func (l *List) headers(ctx context.Context, ids []ID) ([]*Header, error) {
	if !l.All {
		return l.s.visiblePrincipals(ctx, l.v, ids)
	}
	read, err := l.s.store.ReadPrincipals(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read principals: %w", err)
	}
	hs := make([]*Header, len(read))
	for i := range read {
		if read[i].State == commit.Live {
			hs[i] = &read[i]
		}
	}
	return hs, nil
}

// anyUpTo reports whether there is anything to see up to a position, itself included. It reads
// the list from its start, because the first visible row decides.
func (l *List) anyUpTo(ctx context.Context, at ListPosition) (bool, error) {
	found, last, cut, err := l.scan(ctx, "", 1, l.budget)
	switch {
	case err != nil:
		return false, err
	case len(found) > 0:
		return found[0].At <= at, nil
	}
	// The budget was used up before the position was reached: there may be something.
	return cut && last < at, nil
}
