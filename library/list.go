package library

import (
	"context"
	"fmt"

	"carrel/core/commit"
)

// list is a connection of principals: in order of id the members of an item or
// of a group and the groups of a user, in order of name those of a directory. It
// shows those that the viewer may see.
type list struct {
	s     *Service
	v     *Viewer
	bound []byte
	read  readList
	// all shows rows whatever the viewer may see of their principals.
	all bool
	// fits tells whether a row is where its principal is to be shown; nil: each is.
	fits func(row *listed) bool
}

// readList reads at most limit rows after a place, in the order of the list;
// ended tells that there are no more after them.
type readList func(ctx context.Context, after listPlace, limit int) (rows []listed, ended bool, err error)

// listPlace is a place in a list, in whose order places compare: by default the
// principal's id. The empty one is before the first row.
type listPlace string

// listed is a row of a list.
type listed struct {
	at     listPlace
	id     PrincipalID
	role   uint8 // of the list's kind
	active bool
	header *PrincipalHeader // once it was read
}

func (s *Service) newList(v *Viewer, kind cursorKind, owner string, read readList) *list {
	return &list{s: s, v: v, bound: binding(kind, 0, owner), read: read}
}

// cursor seals the place of a row, when asked for.
func (l *list) cursor(at listPlace) func() string {
	return func() string {
		return l.s.seals.seal(l.bound, place{Order: orderAny, At: EntryKey{Content: ContentID(at)}})
	}
}

// page reads a page with its flags.
func (l *list) page(ctx context.Context, p page) ([]listed, PageInfo, error) {
	var info PageInfo
	after := listPlace("")
	if p.cursor != nil {
		at, err := l.s.seals.open(l.bound, orderAny, *p.cursor)
		if err != nil {
			return nil, info, err
		}
		after = listPlace(at.At.Content)
	}
	found, last, cut, err := l.scan(ctx, after, p.size+1)
	if err != nil {
		return nil, info, err
	}
	shown := found[:min(len(found), p.size)]
	info.HasNextPage = cut || len(found) > p.size
	if len(shown) > 0 {
		info.start, info.end = l.cursor(shown[0].at), l.cursor(shown[len(shown)-1].at)
	}
	if cut {
		info.end = l.cursor(last)
		if info.start == nil {
			info.start = info.end
		}
	}
	if p.cursor != nil && info.end == nil {
		// An empty page has the place that it was requested from.
		info.start, info.end = l.cursor(after), l.cursor(after)
	}
	if p.cursor != nil {
		info.HasPreviousPage, err = l.anyUpTo(ctx, after)
	}
	return shown, info, err
}

// scan finds rows that the viewer may see, until it has as many as wanted, the
// list ends or the budget does (cut; last is the last row scanned then).
func (l *list) scan(ctx context.Context, after listPlace, want int) (found []listed, last listPlace, cut bool, err error) {
	left := listBudget
	// Where much is hidden, slices grow: they cost more than the rows in them.
	least := 0
	for last = after; len(found) < want; least = min(2*max(least, want+sliceSlack), MaxList) {
		if left <= 0 {
			beyond, _, err := l.read(ctx, last, 1)
			return found, last, len(beyond) > 0, err
		}
		rows, ended, err := l.read(ctx, last, min(max(want-len(found)+sliceSlack, least), MaxList, left))
		if err != nil {
			return nil, "", false, err
		}
		if len(rows) > 0 {
			last = rows[len(rows)-1].at
		}
		left -= len(rows)
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

// visible are those of the rows that are in force and that the viewer may see.
func (l *list) visible(ctx context.Context, rows []listed) ([]listed, error) {
	active := make([]listed, 0, len(rows))
	ids := make([]PrincipalID, 0, len(rows))
	for _, row := range rows {
		if row.active {
			active, ids = append(active, row), append(ids, row.id)
		}
	}
	hs, err := l.headers(ctx, ids)
	if err != nil {
		return nil, err
	}
	visible := active[:0]
	for i, row := range active {
		row.header = hs[i]
		if row.header != nil && (l.fits == nil || l.fits(&row)) {
			visible = append(visible, row)
		}
	}
	return visible, nil
}

// headers are those of ids, nil where the viewer is not to be shown one.
func (l *list) headers(ctx context.Context, ids []PrincipalID) ([]*PrincipalHeader, error) {
	if !l.all {
		return l.s.visiblePrincipals(ctx, l.v, ids)
	}
	read, err := l.s.store.ReadPrincipals(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read principals: %w", err)
	}
	hs := make([]*PrincipalHeader, len(read))
	for i := range read {
		if read[i].State == commit.Live {
			hs[i] = &read[i]
		}
	}
	return hs, nil
}

// anyUpTo tells whether there is anything to see up to a place, itself included.
// The list is read from its start, because the first one that can be seen
// decides.
func (l *list) anyUpTo(ctx context.Context, at listPlace) (bool, error) {
	found, last, cut, err := l.scan(ctx, "", 1)
	switch {
	case err != nil:
		return false, err
	case len(found) > 0:
		return found[0].at <= at, nil
	}
	// The budget ended before the place was reached: there may be something.
	return cut && last < at, nil
}
