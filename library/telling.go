package library

import (
	"context"
	"fmt"
)

// reading is who the follower is at this moment. RESYNC where it reads another
// bucket than when it began: what it holds is of the one before.
func (f *Following) reading(ctx context.Context) (*reading, error) {
	v := &Viewer{User: f.user, Admin: f.admin, GlobalAdmin: f.global}
	h, err := f.s.visiblePrincipal(ctx, v, f.owner)
	if err != nil {
		return nil, err
	}
	r, err := f.s.startReading(ctx, v, h, &LibraryQuery{})
	if err != nil {
		return nil, err
	}
	if r.bucket != f.bucket || r.asOwner != f.asOwner {
		return nil, resync("what you may read of this library has changed")
	}
	return r, nil
}

// tell is what a change means to the follower as things are now; nil: nothing
// that it does not know.
func (f *Following) tell(ctx context.Context, c Change) (LibraryChange, error) {
	r, err := f.reading(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := f.s.store.ReadMany(ctx, []ContentID{c.Content}, r.members)
	if err != nil {
		return nil, fmt.Errorf("read the item of a change: %w", err)
	}
	h := &rows[0].Header
	sees, err := r.sees(ctx, &rows[0])
	if err != nil {
		return nil, err
	}
	was, known := f.told.find(c.Content)
	if sees {
		if known && was.placed && was.mts >= h.MTS {
			return nil, nil
		}
		f.told.put(c.Content, tale{h.MTS, true})
		r.readAt = c.At // what was told up to here
		at := EntryKey{h.Position, h.ID}
		return &LibraryEntryPlaced{Edge: &LibraryEdge{Node: &h.Content, Role: rows[0].Members[0].Role, seal: func() string {
			return f.s.seals.seal(r.bound, place{Order: orderAny, At: at, Read: r.readAt})
		}}}, nil
	}
	gone := known && was.placed
	if !known {
		if gone, err = r.showed(ctx, c, &rows[0]); err != nil {
			return nil, err
		}
	}
	if !gone {
		return nil, nil
	}
	f.told.put(c.Content, tale{h.MTS, false})
	return &LibraryEntryRemoved{ContentID: c.Content}, nil
}

// sees tells whether the viewer may see an item in this library now, by rows
// read with r.members.
func (r *reading) sees(ctx context.Context, rows *ContentRows) (bool, error) {
	h, now := &rows.Header, r.s.now()
	if !h.Exists(now) || !rows.Members[0].Active() || !StandsIn(r.source, h.Visibility, h.ID, r.owner) {
		return false, nil
	}
	switch r.sightOf(rows, now) {
	case seen:
		return true, nil
	case unseen:
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
	if r.bucket != Private || r.asOwner || r.v.Administers(c.Content.Tenant()) {
		return c.Left.Has(r.bucket), nil
	}
	if c.Left.Has(Public) || !c.Left.Has(Private) {
		return c.Left.Has(Public), nil
	}
	sees, err := r.s.seesContent(ctx, r.v, &rows.Header, r.ownRow(rows))
	return sees, err
}
