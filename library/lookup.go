package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
)

// ViewerUser is the viewer's own stored user, nil where there is none.
func (s *Service) ViewerUser(ctx context.Context, v *Viewer) (*User, error) {
	if !v.User.IsUser() {
		return nil, nil
	}
	// Everybody may see their own user, so it is among what was shown.
	own := []*PrincipalHeader{nil}
	missing, age := v.shown.known([]PrincipalID{v.User}, own)
	if len(missing) > 0 {
		hs, err := s.store.ReadPrincipals(ctx, missing)
		if err != nil {
			return nil, fmt.Errorf("read the viewer: %w", err)
		}
		if hs[0].State != commit.Live {
			return nil, nil
		}
		own[0] = &hs[0]
		v.shown.keep(own, age)
	}
	return &User{*own[0]}, nil
}

// Email is the user's address, for itself and for administrators of its
// tenant; nil for everybody else.
func (s *Service) Email(v *Viewer, u *User) *string {
	if u.Email == "" || v.User != u.ID && !v.Administers(u.Tenant()) {
		return nil // an imported user may have none
	}
	email := u.Email
	return &email
}

// Nodes answers global ids of any kind, in their order; nil in the place of
// what is malformed, does not exist or may not be seen.
func (s *Service) Nodes(ctx context.Context, v *Viewer, ids []string) ([]Node, error) {
	if len(ids) > MaxList {
		return nil, fault.BadInputf("%d ids: at most %d can be asked for at once", len(ids), MaxList)
	}
	var (
		principals []PrincipalID
		contents   []ContentID
	)
	kinds := make([]id.Kind, len(ids))
	for i, globalID := range ids {
		switch kinds[i] = id.KindOf(globalID); kinds[i] {
		case id.Content:
			contents = append(contents, ContentID(globalID))
		case id.User, id.Group:
			p, err := ParsePrincipalID(globalID)
			if err != nil {
				return nil, fmt.Errorf("read nodes: %w", err)
			}
			principals = append(principals, p)
		}
	}
	ps, err := s.Principals(ctx, v, principals)
	if err != nil {
		return nil, err
	}
	cs, err := s.Contents(ctx, v, contents)
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(ids))
	for i, kind := range kinds {
		switch kind {
		case id.Content:
			if cs[0] != nil {
				nodes[i] = cs[0]
			}
			cs = cs[1:]
		case id.User, id.Group:
			if ps[0] != nil {
				nodes[i] = ps[0]
			}
			ps = ps[1:]
		}
	}
	return nodes, nil
}

// Principals answers in the order of ids, nil for whom v may not see.
func (s *Service) Principals(ctx context.Context, v *Viewer, ids []PrincipalID) ([]Principal, error) {
	hs, err := s.visiblePrincipals(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	ps := make([]Principal, len(ids))
	for i, h := range hs {
		if h != nil {
			ps[i] = principalOf(*h)
		}
	}
	return ps, nil
}

// visiblePrincipals are the headers of ids, in their order, nil for whom v may
// not see.
func (s *Service) visiblePrincipals(ctx context.Context, v *Viewer, ids []PrincipalID) ([]*PrincipalHeader, error) {
	visible := make([]*PrincipalHeader, len(ids))
	missing, age := v.shown.known(ids, visible)
	if len(missing) == 0 {
		return visible, nil
	}
	shown := make([]*PrincipalHeader, 0, len(missing))
	for list := range slices.Chunk(missing, MaxList) {
		hs, err := s.store.ReadPrincipals(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("read principals: %w", err)
		}
		for i := range hs {
			sees, err := s.seesPrincipal(ctx, v, list[i], &hs[i])
			if err != nil {
				return nil, err
			}
			if sees {
				shown = append(shown, &hs[i])
			}
		}
	}
	v.shown.keep(shown, age)
	next := 0
	for i, id := range ids {
		if visible[i] == nil && next < len(shown) && shown[next].ID == id {
			visible[i] = shown[next]
			next++
		}
	}
	return visible, nil
}

// visiblePrincipal is one of them; NOT_FOUND where v may not see it.
func (s *Service) visiblePrincipal(ctx context.Context, v *Viewer, id PrincipalID) (*PrincipalHeader, error) {
	hs, err := s.visiblePrincipals(ctx, v, []PrincipalID{id})
	if err != nil {
		return nil, err
	}
	if hs[0] == nil {
		return nil, fault.NotFoundf(nil, "there is no such user or group, or it may not be seen")
	}
	return hs[0], nil
}

// Contents answers in the order of ids, nil for what v may not see.
func (s *Service) Contents(ctx context.Context, v *Viewer, ids []ContentID) ([]*Content, error) {
	rows, err := s.readContents(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	sees, err := s.seesContents(ctx, v, ids, rows)
	if err != nil {
		return nil, err
	}
	cs := make([]*Content, len(ids))
	for i := range rows {
		if sees[i] {
			cs[i] = &rows[i].Header.Content
		}
	}
	return cs, nil
}

// readContents reads items with v's own member row, where v is signed in.
func (s *Service) readContents(ctx context.Context, v *Viewer, ids []ContentID) ([]ContentRows, error) {
	var own []PrincipalID
	if v.SignedIn() {
		own = []PrincipalID{v.User}
	}
	var rows []ContentRows
	for list := range slices.Chunk(ids, MaxList) {
		some, err := s.store.ReadMany(ctx, list, own)
		if err != nil {
			return nil, fmt.Errorf("read contents: %w", err)
		}
		if rows == nil {
			rows = some
		} else {
			rows = append(rows, some...)
		}
	}
	return rows, nil
}
