package principal

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
)

// ViewerUser returns the viewer's own stored user, nil if there is none.
func (s *Service) ViewerUser(ctx context.Context, v *Viewer) (*User, error) {
	if !v.User.IsUser() {
		return nil, nil
	}
	// Everybody may see their own user, so it may be in the memo.
	own := []*Header{nil}
	missing, age := v.shown.known([]ID{v.User}, own)
	if len(missing) > 0 {
		hs, err := s.headers.ReadHeaders(ctx, missing, v.inFlight.Load())
		if err != nil {
			return nil, fmt.Errorf("read the viewer: %w", err)
		}
		if hs[0].State != commit.Live {
			return nil, nil
		}
		own[0] = hs[0]
		v.shown.keep(own, age)
	}
	return &User{*own[0]}, nil
}

// IsDeleted reports whether the viewer's user was deleted. Such a viewer may read as much as
// one whose user does not exist.
func (s *Service) IsDeleted(ctx context.Context, v *Viewer) (bool, error) {
	if !v.SignedIn() {
		return false, nil
	}
	own := []*Header{nil}
	missing, age := v.shown.known([]ID{v.User}, own)
	if len(missing) == 0 {
		return false, nil
	}
	hs, err := s.store.ReadPrincipals(ctx, missing)
	if err != nil {
		return false, fmt.Errorf("read the viewer: %w", err)
	}
	if hs[0].State == commit.Live {
		v.shown.keep([]*Header{&hs[0]}, age)
	}
	return hs[0].State == commit.Deleted, nil
}

// Email returns the user's address, for itself and for administrators of its tenant; nil for
// everybody else.
func (s *Service) Email(v *Viewer, u *User) *string {
	if u.Email == "" || v.User != u.ID && !v.Administers(u.Tenant()) {
		return nil // an imported user may have none
	}
	email := u.Email
	return &email
}

// Principals returns principals in the order of ids, nil for those that v may not see.
func (s *Service) Principals(ctx context.Context, v *Viewer, ids []ID) ([]Principal, error) {
	hs, err := s.visiblePrincipals(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	ps := make([]Principal, len(ids))
	users := make([]User, 0, len(ids)) // in one allocation: most principals are users
	for i, h := range hs {
		switch {
		case h == nil:
		case h.ID.IsGroup():
			ps[i] = &Group{*h}
		default:
			users = append(users, User{*h})
			ps[i] = &users[len(users)-1]
		}
	}
	return ps, nil
}

// visiblePrincipals returns the headers of ids, in their order, nil for those that v may not
// see.
func (s *Service) visiblePrincipals(ctx context.Context, v *Viewer, ids []ID) ([]*Header, error) {
	visible := make([]*Header, len(ids))
	missing, age := v.shown.known(ids, visible)
	if len(missing) == 0 {
		return visible, nil
	}
	shown := make([]*Header, 0, len(missing))
	for list := range slices.Chunk(missing, input.MaxList) {
		hs, err := s.headers.ReadHeaders(ctx, list, v.inFlight.Load())
		if err != nil {
			return nil, fmt.Errorf("read principals: %w", err)
		}
		sees, err := s.seesEach(ctx, v, list, hs)
		if err != nil {
			return nil, err
		}
		for i := range hs {
			if sees[i] {
				shown = append(shown, hs[i])
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

// Shown reports whether v was shown a principal in this request. Then it costs nothing to read it
// again.
func (h Paging) Shown(v *Viewer, id ID) bool {
	missing, _ := v.shown.known([]ID{id}, []*Header{nil})
	return len(missing) == 0
}

// VisiblePrincipal returns one header; NOT_FOUND if v may not see it.
func (s *Service) VisiblePrincipal(ctx context.Context, v *Viewer, id ID) (*Header, error) {
	hs, err := s.visiblePrincipals(ctx, v, []ID{id})
	if err != nil {
		return nil, err
	}
	if hs[0] == nil {
		return nil, fault.NotFoundf(nil, "there is no such user or group, or it may not be seen")
	}
	return hs[0], nil
}

// PrincipalsFor reads the principals that a mutation names. It returns a NOT_FOUND error for
// each that does not exist or may not be seen, at the path that pathOf returns for its index.
// known reports which ones to accept unseen, by their index and header.
func (s *Service) PrincipalsFor(ctx context.Context, v *Viewer, ids []ID, known func(i int, h *Header) bool,
	pathOf func(i int) []string) (fault.List, error) {
	var faults fault.List
	for base := 0; base < len(ids); base += input.MaxList {
		part := ids[base:min(base+input.MaxList, len(ids))]
		headers, err := s.store.ReadPrincipals(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range headers {
			if known(base+i, &headers[i]) {
				continue
			}
			sees, err := s.Sees(ctx, v, part[i], &headers[i])
			if err != nil {
				return nil, err
			}
			if !sees {
				faults = append(faults, fault.NotFoundf(pathOf(base+i), "there is no such user or group, or you may not see it"))
			}
		}
	}
	return faults, nil
}
