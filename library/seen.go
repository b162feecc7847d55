package library

import (
	"context"

	"carrel/principal"
)

// Sees tells whether the viewer may see an item in this library now, by rows
// read with r.members.
func (r *Reading) Sees(ctx context.Context, rows *ContentRows) (bool, error) {
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

// Showed tells whether a page of this reader's may have shown an item before
// the change, though it does not now: the item has left the bucket. An
// administrator was shown of another tenant's items only those that it could
// see: the PUBLIC ones, and those on which it has a role.
func (r *Reading) Showed(ctx context.Context, c Change, rows *ContentRows) (bool, error) {
	if r.Bucket != principal.Private || r.AsOwner || r.v.Administers(c.Content.Tenant()) {
		return c.Left.Has(r.Bucket), nil
	}
	if c.Left.Has(principal.Public) || !c.Left.Has(principal.Private) {
		return c.Left.Has(principal.Public), nil
	}
	sees, err := r.s.seesContent(ctx, r.v, c.Content, &rows.Header, r.ownRow(rows))
	return sees, err
}
