package library

import (
	"context"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/principal"
)

// accessTo decides who sees an item. Look-ups by id, mutations, pages and subscriptions all call
// it. Only the feed of public content does not (publicNow): everybody sees all of its items.
// docs/visibility.md has the rules.
//
// h is the header that was read for id, and own the member row through which the viewer has a
// role. own is the zero Member if there is no such row or the viewer is not signed in. With
// roleOnly only roles count, neither visibility nor administration.
func accessTo(v *principal.Viewer, id ContentID, h *Header, own Member, roleOnly bool, now clock.Instant) principal.Access {
	exists := h.Exists(now)
	switch {
	case exists && !roleOnly && visibleTo(v, id, h):
		return principal.Granted
	case exists && own.Active():
		return principal.UnlessDeleted
	case !v.SignedIn() || !roleOnly && v.Administers(id.Tenant()):
		return principal.Denied
	case exists:
		return principal.IfMember
	}
	return principal.DeniedAfterGroups
}

// visibleTo reports whether v sees an item that exists without any role on it.
func visibleTo(v *principal.Viewer, id ContentID, h *Header) bool {
	return v.Administers(id.Tenant()) || VisibilityShows(h.Visibility, id, v.User)
}

// VisibilityShows reports whether a visibility shows an item to a user without any role on it. user
// is empty for a viewer that is not signed in, who belongs to no tenant.
func VisibilityShows(visibility principal.Visibility, id ContentID, user principal.ID) bool {
	switch visibility {
	case principal.Public:
		return true
	case principal.LoggedIn:
		return user.Tenant() == id.Tenant()
	}
	return false
}

// resolveByGroups resolves the decisions that depend on the viewer's groups or on whether its user
// was deleted. The viewer sees the items on which its groups have a role and, unless its user was
// deleted, those on which it has a role itself. of returns the state of the item of a decision.
func (s *Service) resolveByGroups(ctx context.Context, v *principal.Viewer, decisions []principal.Access, of func(i int) state) error {
	if err := s.resolveByDeletion(ctx, v, decisions); err != nil {
		return err
	}
	var open []int
	var states []state
	for i, d := range decisions {
		if d.Depends() {
			open, states = append(open, i), append(states, of(i))
		}
	}
	roles, err := s.rolesThroughGroups(ctx, v, states)
	if err != nil {
		return err
	}
	for n, i := range open {
		if decisions[i] == principal.IfMember && roles[n] != NoRole {
			decisions[i] = principal.Granted
		} else {
			decisions[i] = principal.Denied
		}
	}
	return nil
}

// resolveByDeletion resolves the decisions that depend on whether the viewer's user was deleted.
func (s *Service) resolveByDeletion(ctx context.Context, v *principal.Viewer, decisions []principal.Access) error {
	if !slices.Contains(decisions, principal.UnlessDeleted) {
		return nil
	}
	deleted, err := s.people.IsDeleted(ctx, v)
	if err != nil {
		return err
	}
	decided := principal.Granted
	if deleted {
		decided = principal.Denied
	}
	for i, d := range decisions {
		if d == principal.UnlessDeleted {
			decisions[i] = decided
		}
	}
	return nil
}

// granted resolves one decision.
func (s *Service) granted(ctx context.Context, v *principal.Viewer, st state, d principal.Access) (bool, error) {
	if !d.Depends() {
		return d == principal.Granted, nil
	}
	one := []principal.Access{d}
	err := s.resolveByGroups(ctx, v, one, func(int) state { return st })
	return err == nil && one[0] == principal.Granted, err
}

// sees reports whether v sees an item. h is the item's header, and own v's member row of the
// same reading.
func (s *Service) sees(ctx context.Context, v *principal.Viewer, id ContentID, h *Header, own Member) (bool, error) {
	return s.granted(ctx, v, stateOf(id, h), accessTo(v, id, h, own, false, s.engine.Now()))
}

// seesEach is sees for rows that readContents has read for ids.
func (s *Service) seesEach(ctx context.Context, v *principal.Viewer, ids []ContentID, rows []ContentRows) ([]bool, error) {
	now := s.engine.Now()
	decisions := make([]principal.Access, len(rows))
	for i := range rows {
		decisions[i] = accessTo(v, ids[i], &rows[i].Header, ownRow(v, &rows[i]), false, now)
	}
	return s.seen(ctx, v, decisions, func(i int) state { return stateOf(ids[i], &rows[i].Header) })
}

// seen completes decisions, and reports which of the items v sees.
func (s *Service) seen(ctx context.Context, v *principal.Viewer, decisions []principal.Access, of func(i int) state) ([]bool, error) {
	if err := s.resolveByGroups(ctx, v, decisions, of); err != nil {
		return nil, err
	}
	sees := make([]bool, len(decisions))
	for i, d := range decisions {
		sees[i] = d == principal.Granted
	}
	return sees, nil
}

// ownRow returns the viewer's member row from rows that readContents has read.
func ownRow(v *principal.Viewer, rows *ContentRows) Member {
	if !v.SignedIn() {
		return Member{}
	}
	return rows.Members[0]
}

// bucketFor returns the bucket of owner's library that v reads.
func (s *Service) bucketFor(ctx context.Context, v *principal.Viewer, owner principal.ID) (Bucket, error) {
	bucket, _, err := s.bucketAndWhy(ctx, v, owner)
	return bucket, err
}

// bucketAndWhy is bucketFor that also returns the reason: asOwner reports that v reads the PRIVATE
// bucket as the owner or as a member of it, so that the owner's role on an item is v's too.
func (s *Service) bucketAndWhy(ctx context.Context, v *principal.Viewer, owner principal.ID) (b Bucket, asOwner bool, err error) {
	switch {
	case !v.SignedIn() && !v.GlobalAdmin:
		return principal.Public, false, nil
	case v.User == owner:
		return principal.Private, true, nil
	case v.Administers(owner.Tenant()):
		return principal.Private, false, nil
	}
	if owner.IsGroup() {
		groups, err := s.people.GroupsOf(ctx, v)
		if err != nil {
			return 0, false, err
		}
		if groups.Role(owner) != principal.NotInGroup {
			return principal.Private, true, nil
		}
	}
	if v.User.Tenant() == owner.Tenant() {
		return principal.LoggedIn, false, nil
	}
	return principal.Public, false, nil
}

// Holds reports whether an item belongs in the bucket whose entries are read, even if it has
// expired. rows were read with r.Members.
func (r *Reading) Holds(rows *ContentRows) bool {
	h := &rows.Header
	return h.State == commit.Live && rows.Members[0].Active() && InBucket(r.Source, h.Visibility, h.ID, r.Owner)
}

// access decides whether the viewer sees an item in this library. rows were read with
// r.Members.
func (r *Reading) access(rows *ContentRows, now clock.Instant) principal.Access {
	h := &rows.Header
	if !h.Exists(now) || !r.Holds(rows) {
		return principal.Denied
	}
	if r.AsOwner {
		return principal.Granted // the owner, which exists, has a role on it
	}
	// includeShared adds to the viewer's bucket only items on which the viewer has a role.
	roleOnly := !InBucket(r.Bucket, h.Visibility, h.ID, r.Owner)
	return accessTo(r.v, h.ID, h, r.ownRow(rows), roleOnly, now)
}

// Sees reports whether the viewer sees an item in this library now. rows were read with
// r.Members.
func (r *Reading) Sees(ctx context.Context, rows *ContentRows) (bool, error) {
	return r.s.granted(ctx, r.v, stateOf(rows.Header.ID, &rows.Header), r.access(rows, r.s.engine.Now()))
}

// SeesEach is Sees for several items.
func (r *Reading) SeesEach(ctx context.Context, rows []*ContentRows) ([]bool, error) {
	now := r.s.engine.Now()
	decisions := make([]principal.Access, len(rows))
	for i := range rows {
		decisions[i] = r.access(rows[i], now)
	}
	return r.s.seen(ctx, r.v, decisions, func(i int) state { return stateOf(rows[i].Header.ID, &rows[i].Header) })
}

// ShowsRemovals reports whether this reader may know why an item has left the library. The owner
// may, because it had a role on the item, and so may an administrator of the item, who sees all its
// states. Others may not know whether an item that they no longer see still exists.
func (r *Reading) ShowsRemovals(id ContentID) bool {
	return r.AsOwner || r.v.Administers(id.Tenant())
}

// Showed reports whether a page of this reader may have shown an item before the change that
// removed it from the bucket. Of the items of another tenant an administrator could see only
// the PUBLIC ones and those on which it has a role.
func (r *Reading) Showed(ctx context.Context, c Change, rows *ContentRows) (bool, error) {
	if r.Bucket != principal.Private || r.AsOwner || r.v.Administers(c.Content.Tenant()) {
		return c.RemovedFrom.Has(r.Bucket), nil
	}
	if c.RemovedFrom.Has(principal.Public) || !c.RemovedFrom.Has(principal.Private) {
		return c.RemovedFrom.Has(principal.Public), nil
	}
	return r.s.sees(ctx, r.v, c.Content, &rows.Header, r.ownRow(rows))
}
