package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/principal"
)

// bucketFor is the bucket of owner's library that v reads.
func (s *Service) bucketFor(ctx context.Context, v *principal.Viewer, owner principal.ID) (Bucket, error) {
	bucket, _, err := s.bucketAndWhy(ctx, v, owner)
	return bucket, err
}

// bucketAndWhy is bucketFor; asOwner tells that v reads the PRIVATE bucket as
// the owner or a member of it, so that the owner's role on an item is v's too.
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
		groups, err := s.GroupsOf(ctx, v)
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

// sightOf decides from the header of id and the viewer's own member row alone.
func sightOf(v *principal.Viewer, id ContentID, h *Header, own Member, now clock.Instant) principal.Sight {
	exists := h.Exists(now)
	switch {
	case exists && (h.Visibility == principal.Public || v.Administers(id.Tenant())):
		return principal.Seen
	case exists && v.SignedIn() && (h.Visibility == principal.LoggedIn && v.User.Tenant() == id.Tenant() || own.Active()):
		return principal.Seen
	case !v.SignedIn() || v.Administers(id.Tenant()):
		return principal.Unseen
	case exists:
		return principal.SeenByMembers
	}
	return principal.UnseenByAll
}

// seesContent tells whether v may see the item of that id; own is v's own member
// row, of the same reading. The groups are asked only where that does not decide.
func (s *Service) seesContent(ctx context.Context, v *principal.Viewer, id ContentID, h *Header, own Member) (bool, error) {
	sight := sightOf(v, id, h, own, s.Now())
	if sight == principal.Unseen || sight == principal.Seen {
		return sight == principal.Seen, nil
	}
	role, err := s.roleThroughGroups(ctx, v, id)
	return sight == principal.SeenByMembers && role != NoRole, err
}

// seesContents is seesContent for readings of ids, made with v's own member row as
// the first one, where v is signed in. Groups are asked for all of them at once.
func (s *Service) seesContents(ctx context.Context, v *principal.Viewer, ids []ContentID, rows []ContentRows) ([]bool, error) {
	sees := make([]bool, len(rows))
	now := s.Now()
	var open []int
	var asked []ContentID
	sights := make([]principal.Sight, len(rows))
	for i := range rows {
		sights[i] = sightOf(v, ids[i], &rows[i].Header, ownRow(v, &rows[i]), now)
		sees[i] = sights[i] == principal.Seen
		if sights[i] == principal.SeenByMembers || sights[i] == principal.UnseenByAll {
			open, asked = append(open, i), append(asked, ids[i])
		}
	}
	roles, err := s.rolesThroughGroups(ctx, v, asked)
	if err != nil {
		return nil, err
	}
	for n, role := range roles {
		i := open[n]
		sees[i] = sights[i] == principal.SeenByMembers && role != NoRole
	}
	return sees, nil
}

// ownRow is the viewer's row of a reading that asked for it first.
func ownRow(v *principal.Viewer, rows *ContentRows) Member {
	if !v.SignedIn() {
		return Member{}
	}
	return rows.Members[0]
}

func idsAt(rows []ContentRows, at []int) []ContentID {
	ids := make([]ContentID, len(at))
	for n, i := range at {
		ids[n] = rows[i].Header.ID
	}
	return ids
}

// roleThroughGroups is the strongest role that v's groups have on the item.
func (s *Service) roleThroughGroups(ctx context.Context, v *principal.Viewer, id ContentID) (ContentRole, error) {
	roles, err := s.rolesThroughGroups(ctx, v, []ContentID{id})
	if err != nil {
		return NoRole, err
	}
	return roles[0], nil
}

// rolesThroughGroups is roleThroughGroups for items, in the order of ids.
func (s *Service) rolesThroughGroups(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]ContentRole, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	closure, err := s.GroupsOf(ctx, v)
	if err != nil {
		return nil, err
	}
	roles := make([]ContentRole, len(ids))
	groups := closure.All()
	for from := 0; from < len(ids); from += input.MaxList {
		some := ids[from:min(from+input.MaxList, len(ids))]
		for list := range slices.Chunk(groups, input.MaxList) {
			rows, err := s.contents.ReadMany(ctx, some, list)
			if err != nil {
				return nil, fmt.Errorf("read roles of groups: %w", err)
			}
			for i := range rows {
				roles[from+i] = max(roles[from+i], strongest(&rows[i]))
			}
		}
	}
	return roles, nil
}

// strongest is the strongest role of the active members of a reading.
func strongest(rows *ContentRows) ContentRole {
	role := NoRole
	if rows.Header.State != commit.Live {
		return role
	}
	for _, m := range rows.Members {
		if m.Active() {
			role = max(role, m.Role)
		}
	}
	return role
}

// Standings tells what v may do with items, in the order of ids; nil for those
// that it may not see.
func (s *Service) Standings(ctx context.Context, v *principal.Viewer, ids []ContentID) ([]*Standing, error) {
	items, err := s.Items(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	standings := make([]*Standing, len(ids))
	for i, it := range items {
		if it != nil {
			standings[i] = &it.Standing
		}
	}
	return standings, nil
}

// standingOf asks for the viewer's standing with an item that it sees; own is
// its own member row.
type standingOf struct {
	header *Header
	own    Member
}

// standings answers in the order of the items.
func (s *Service) standings(ctx context.Context, v *principal.Viewer, items []standingOf) ([]Standing, error) {
	found := make([]Standing, len(items))
	if len(items) == 0 || !v.SignedIn() && !v.GlobalAdmin {
		return found, nil
	}
	var open []int
	var ids []ContentID
	for i, it := range items {
		if it.own.Active() {
			found[i].Role = it.own.Role
		}
		if found[i].Role != Manages && v.SignedIn() {
			open, ids = append(open, i), append(ids, it.header.ID)
		}
	}
	roles, err := s.rolesThroughGroups(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	for n, role := range roles {
		found[open[n]].Role = max(found[open[n]].Role, role)
	}
	stored, err := s.isStored(ctx, v)
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		found[i].grant(v, stored, it.header)
	}
	return found, nil
}

// grant fills in what the role allows. Administrators need no stored user;
// everybody else does.
func (t *Standing) grant(v *principal.Viewer, stored bool, h *Header) {
	t.CanManage = v.Administers(h.Tenant()) || stored && t.Role == Manages
	t.CanEdit = t.CanManage || stored && t.Role >= Editing
	t.CanShare = t.CanManage || stored && h.Visibility != principal.Private
}

// isStored tells whether the viewer's user exists.
func (s *Service) isStored(ctx context.Context, v *principal.Viewer) (bool, error) {
	u, err := s.ViewerUser(ctx, v)
	return u != nil, err
}
