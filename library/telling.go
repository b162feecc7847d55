package library

import (
	"context"
	"fmt"

	"carrel/core/cursor"
	"carrel/principal"
)

// reading is who the follower is at this moment. RESYNC where it reads another
// bucket than when it began: what it holds is of the one before.
func (f *Following) reading(ctx context.Context) (*reading, error) {
	v := &principal.Viewer{User: f.user, Admin: f.admin, GlobalAdmin: f.global, Bill: &f.resolved}
	h, err := f.s.VisiblePrincipal(ctx, v, f.owner)
	if err != nil {
		return nil, err
	}
	r, err := f.s.startReading(ctx, v, h.ID, &LibraryQuery{})
	if err != nil {
		return nil, err
	}
	if r.bucket != f.bucket || r.asOwner != f.asOwner {
		return nil, resync("what you may read of this library has changed")
	}
	return r, nil
}

// tell is what news mean to the follower as things are now; nil: nothing that
// it does not know. The item is read first, and then who the follower is: so it
// is never shown what the item became after it had lost its rights.
func (f *Following) tell(ctx context.Context, n *news) (LibraryChange, error) {
	rows, err := f.s.store.ReadMany(ctx, []ContentID{n.Content}, f.members)
	if err != nil {
		return nil, fmt.Errorf("read the item of a change: %w", err)
	}
	r, err := f.reading(ctx)
	if err != nil {
		return nil, err
	}
	h := &rows[0].Header
	sees, err := r.sees(ctx, &rows[0])
	if err != nil {
		return nil, err
	}
	if sees {
		was, known := f.told.find(n.Content)
		if known && was.placed && n.MTS <= was.enforced && n.updated <= was.state {
			return nil, nil
		}
		f.told.put(n.Content, tale{placed: true, state: h.MTS, enforced: max(n.MTS, was.enforced)})
		r.readAt = n.At // what was told up to here
		return &LibraryEntryPlaced{Edge: &LibraryEdge{Node: &h.Content, Role: rows[0].Members[0].Role, seal: func() string {
			return f.s.seals.Seal(r.bound, cursor.Place{Order: cursor.AnyOrder, Position: h.Position, ID: string(h.ID), Read: r.readAt})
		}}}, nil
	}
	gone, err := f.gone(ctx, r, n, &rows[0])
	if err != nil || !gone {
		return nil, err
	}
	f.told.put(n.Content, tale{state: h.MTS})
	return &LibraryEntryRemoved{ContentID: n.Content}, nil
}

// gone tells whether the follower may hold an item that it does not see now:
// from what it was told, or from a page.
func (f *Following) gone(ctx context.Context, r *reading, n *news, rows *ContentRows) (bool, error) {
	was, known := f.told.find(n.Content)
	switch {
	case !known:
		return r.showed(ctx, n.Change, rows)
	case was.placed:
		return true, nil
	case n.stood > was.state:
		was.back = max(was.back, n.stood)
		f.told.put(n.Content, was)
	}
	if was.back == 0 || n.left <= was.back {
		return false, nil
	}
	return r.showed(ctx, n.Change, rows)
}

// sees tells whether the viewer may see an item in this library now, by rows
// read with r.members.
func (r *reading) sees(ctx context.Context, rows *ContentRows) (bool, error) {
	h, now := &rows.Header, r.s.Now()
	if !h.Exists(now) || !rows.Members[0].Active() || !StandsIn(r.source, h.Visibility, h.ID, r.owner) {
		return false, nil
	}
	switch r.sightOf(rows, now) {
	case principal.Seen:
		return true, nil
	case principal.Unseen:
		return false, nil
	}
	role, err := r.s.roleThroughGroups(ctx, r.v, h.ID)
	return role != NoRole, err
}

// showed tells whether a page of this reader's may have shown an item before
// the change, though it does not now: the item has left the bucket. An
// administrator was shown of another tenant's items only those that it could
// see: the PUBLIC ones, and those on which it has a role.
func (r *reading) showed(ctx context.Context, c Change, rows *ContentRows) (bool, error) {
	if r.bucket != principal.Private || r.asOwner || r.v.Administers(c.Content.Tenant()) {
		return c.Left.Has(r.bucket), nil
	}
	if c.Left.Has(principal.Public) || !c.Left.Has(principal.Private) {
		return c.Left.Has(principal.Public), nil
	}
	sees, err := r.s.seesContent(ctx, r.v, c.Content, &rows.Header, r.ownRow(rows))
	return sees, err
}

// BillTo counts what resolving the follower's groups has cost since the last call
// as work for v, the viewer of one event.
func (f *Following) BillTo(v *principal.Viewer) {
	f.resolved.MoveTo(v)
}
