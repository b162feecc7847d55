package feed

import (
	"context"
	"fmt"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// reading is who the follower is at this moment. RESYNC where it reads another
// bucket than when it began: what it holds is of the one before.
func (f *Follower) reading(ctx context.Context) (*library.Reading, error) {
	v := &principal.Viewer{User: f.user, Admin: f.admin, GlobalAdmin: f.global, Bill: &f.resolved}
	h, err := f.s.VisiblePrincipal(ctx, v, f.owner)
	if err != nil {
		return nil, err
	}
	r, err := f.s.StartReading(ctx, v, h.ID, &library.LibraryQuery{})
	if err != nil {
		return nil, err
	}
	if r.Bucket != f.bucket || r.AsOwner != f.asOwner {
		return nil, resync("what you may read of this library has changed")
	}
	return r, nil
}

// tell is what news mean to the follower as things are now; nil: nothing that
// it does not know. The item is read first, and then who the follower is: so it
// is never shown what the item became after it had lost its rights.
func (f *Follower) tell(ctx context.Context, n *pending) (library.LibraryChange, error) {
	rows, err := f.s.contents.ReadMany(ctx, []library.ContentID{n.Content}, f.members)
	if err != nil {
		return nil, fmt.Errorf("read the item of a change: %w", err)
	}
	r, err := f.reading(ctx)
	if err != nil {
		return nil, err
	}
	h := &rows[0].Header
	sees, err := r.Sees(ctx, &rows[0])
	if err != nil {
		return nil, err
	}
	if sees {
		was, known := f.told.find(n.Content)
		if known && was.placed && n.MTS <= was.enforced && n.updated <= was.state {
			return nil, nil
		}
		f.told.put(n.Content, delivery{placed: true, state: h.MTS, enforced: max(n.MTS, was.enforced)})
		r.ReadAt = n.At // what was told up to here
		return &library.LibraryEntryPlaced{Edge: &library.LibraryEdge{Node: &h.Content, Role: rows[0].Members[0].Role, Place: &cursor.Sealed{
			Sealer: f.s.Seals, Bound: r.Bound,
			Place: cursor.Place{Order: cursor.AnyOrder, Position: h.Position, ID: string(h.ID), Read: r.ReadAt},
		}}}, nil
	}
	gone, err := f.gone(ctx, r, n, &rows[0])
	if err != nil || !gone {
		return nil, err
	}
	f.told.put(n.Content, delivery{state: h.MTS})
	return &library.LibraryEntryRemoved{ContentID: n.Content}, nil
}

// gone tells whether the follower may hold an item that it does not see now:
// from what it was told, or from a page.
func (f *Follower) gone(ctx context.Context, r *library.Reading, n *pending, rows *library.ContentRows) (bool, error) {
	was, known := f.told.find(n.Content)
	switch {
	case !known:
		return r.Showed(ctx, n.Change, rows)
	case was.placed:
		return true, nil
	case n.stood > was.state:
		was.back = max(was.back, n.stood)
		f.told.put(n.Content, was)
	}
	if was.back == 0 || n.left <= was.back {
		return false, nil
	}
	return r.Showed(ctx, n.Change, rows)
}

// BillTo counts what resolving the follower's groups has cost since the last call
// as work for v, the viewer of one event.
func (f *Follower) BillTo(v *principal.Viewer) {
	f.resolved.MoveTo(v)
}
