package follow

import (
	"context"
	"fmt"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// reading returns what the follower may read now. It returns RESYNC if the follower reads another
// bucket than at its start, because what it has is from the former bucket.
func (f *Follower) reading(ctx context.Context) (*library.Reading, error) {
	v := &principal.Viewer{User: f.user, Admin: f.admin, GlobalAdmin: f.global, Bill: &f.resolved}
	if err := f.s.people.EndAdmin(ctx, v); err != nil {
		return nil, err
	}
	h, err := f.s.people.VisiblePrincipal(ctx, v, f.owner)
	if err != nil {
		return nil, err
	}
	r, err := f.s.library.StartReading(ctx, v, h.ID, &library.LibraryQuery{})
	if err != nil {
		return nil, err
	}
	if r.Bucket != f.bucket || r.AsOwner != f.asOwner {
		return nil, resync("what you may read of this library has changed")
	}
	return r, nil
}

// changeFor returns what a pending change means to the follower now; nil if that is nothing new. It
// reads the item first, and then what the follower may read, so that the follower never sees a
// state of the item from after it lost access.
func (f *Follower) changeFor(ctx context.Context, n *pending) (library.LibraryChange, error) {
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
		was, known := f.delivered.Peek(n.Content)
		if known && was.placed && n.MTS <= was.applied && n.updated <= was.state {
			return nil, nil
		}
		f.delivered.Add(n.Content, delivery{placed: true, state: h.MTS, applied: max(n.MTS, was.applied)})
		r.ReadAt = n.At // the time up to which changes were delivered
		return &library.LibraryEntryPlaced{Cause: n.Cause.OfPlaced(), Edge: &library.LibraryEdge{Node: &h.Content,
			Position: h.Position, OrderTitle: h.OrderTitle(), Role: rows[0].Members[0].Role, SealedCursor: &cursor.Sealed{
				Sealer: f.s.library.Seals, Binding: r.Binding,
				Position: cursor.Position{Order: cursor.AnyOrder, At: h.Position, ID: string(h.ID), Read: r.ReadAt},
			}}}, nil
	}
	gone, err := f.gone(ctx, r, n, &rows[0])
	if err != nil || !gone {
		return nil, err
	}
	f.delivered.Add(n.Content, delivery{state: h.MTS})
	removed := &library.LibraryEntryRemoved{ContentID: n.Content}
	if r.ShowsRemovals(n.Content) {
		removed.Cause = n.Cause.OfRemoved()
	}
	return removed, nil
}

// gone reports whether the follower may still have, from an earlier event or a page, an item that
// it does not see now.
func (f *Follower) gone(ctx context.Context, r *library.Reading, n *pending, rows *library.ContentRows) (bool, error) {
	was, known := f.delivered.Peek(n.Content)
	switch {
	case !known:
		return r.Showed(ctx, n.Change, rows)
	case was.placed:
		return true, nil
	case n.present > was.state:
		was.back = max(was.back, n.present)
		f.delivered.Add(n.Content, was)
	}
	if was.back == 0 || n.removed <= was.back {
		return false, nil
	}
	return r.Showed(ctx, n.Change, rows)
}

// BillTo charges to v, the viewer of one event, what resolving the follower's groups has cost since
// BillTo was last called.
func (f *Follower) BillTo(v *principal.Viewer) {
	f.resolved.MoveTo(v)
}
