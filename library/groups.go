package library

import (
	"context"
	"fmt"
	"slices"
)

// Bounds of memberships, from BEHAVIOUR.md section 2. Mutations refuse what
// goes beyond; where a race got beyond all the same, what lies past the bound
// does not count.
const (
	maxDirectGroups = 1000
	maxGroups       = 2000
)

// closureWidth is how many principals' memberships are read at once.
const closureWidth = 8

// groupsOf are the groups that the viewer is in, directly or through others,
// with its strongest role in each. They are resolved once for a viewer, which
// serves one request, until forget.
func (s *Service) groupsOf(ctx context.Context, v *Viewer) (map[PrincipalID]GroupRole, error) {
	if !v.SignedIn() {
		return nil, nil
	}
	for {
		groups, busy, mine := v.memo.take(s.rt)
		if mine {
			return s.resolveGroups(ctx, v, busy)
		}
		if busy == nil {
			return groups, nil
		}
		if _, err := s.rt.Wait(ctx, busy, 0); err != nil {
			return nil, fmt.Errorf("resolve groups: %w", err)
		}
	}
}

// resolveGroups resolves them for everybody who waits for busy to open. Where
// it fails, one of those tries again on its own time.
func (s *Service) resolveGroups(ctx context.Context, v *Viewer, busy Latch) (map[PrincipalID]GroupRole, error) {
	known := false
	var groups map[PrincipalID]GroupRole
	// Also where the store panics: who waits must not do so for good.
	defer func() {
		v.memo.put(busy, groups, known)
		busy.Open()
	}()
	groups, err := s.closureOf(ctx, v.User)
	known = err == nil
	return groups, err
}

// take gives the groups where they are known, else the latch of whoever
// resolves them; mine tells the caller that this is now its task.
func (m *groupMemo) take(rt Runtime) (groups map[PrincipalID]GroupRole, busy Latch, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known {
		return m.groups, nil, false
	}
	if m.busy != nil {
		return nil, m.busy, false
	}
	m.busy = rt.Latch()
	return nil, m.busy, true
}

// put keeps what was resolved under busy, unless that was forgotten meanwhile.
func (m *groupMemo) put(busy Latch, groups map[PrincipalID]GroupRole, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy != busy {
		return
	}
	m.busy = nil
	if known {
		m.known, m.groups = true, groups
	}
}

// forget drops what was read for the viewer, also what is being read just now:
// a mutation may change it.
func (v *Viewer) forget() {
	v.shown.forget()
	v.ahead.forget()
	v.memo.mu.Lock()
	defer v.memo.mu.Unlock()
	v.memo.known, v.memo.groups, v.memo.busy = false, nil, nil
}

// closureOf are the groups that p is in, directly or through others, with its
// strongest role in each: who is in a group that manages G manages G. Every
// membership is verified in the group's own partition; the reverse index only
// says where to look. p itself is not among them, whatever cycle it is in.
func (s *Service) closureOf(ctx context.Context, p PrincipalID) (map[PrincipalID]GroupRole, error) {
	groups := map[PrincipalID]GroupRole{}
	for level := []PrincipalID{p}; len(level) > 0; {
		claims, err := s.claimsOf(ctx, level, func(m Membership) bool {
			return m.Group != p && m.Role > groups[m.Group]
		})
		if err != nil {
			return nil, err
		}
		level = level[:0:0]
		for batch := range slices.Chunk(claims, MaxList) {
			rows, err := s.store.Confirm(ctx, batch)
			if err != nil {
				return nil, fmt.Errorf("confirm memberships: %w", err)
			}
			for i, row := range rows {
				role, known := groups[batch[i].Group]
				if !row.Active() || row.Role <= role || !known && len(groups) == maxGroups {
					continue
				}
				if !known {
					level = append(level, batch[i].Group)
				}
				groups[batch[i].Group] = row.Role
			}
		}
	}
	return groups, nil
}

// claimsOf are the memberships that the reverse index tells of principals, as
// far as wanted, in the order of principals and then of groups.
func (s *Service) claimsOf(ctx context.Context, principals []PrincipalID, wanted func(Membership) bool) ([]MemberOf, error) {
	each := make([][]MemberOf, len(principals))
	err := s.eachAtOnce(ctx, len(principals), closureWidth, func(i int) error {
		var err error
		each[i], err = s.directClaims(ctx, principals[i], wanted)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	return slices.Concat(each...), nil
}

func (s *Service) directClaims(ctx context.Context, p PrincipalID, wanted func(Membership) bool) ([]MemberOf, error) {
	var claims []MemberOf
	after := PrincipalID("")
	for n := 0; n < maxDirectGroups; n += MaxList {
		ms, err := s.store.Memberships(ctx, p, after, MaxList)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if wanted(m) {
				claims = append(claims, MemberOf{Group: m.Group, Member: p})
			}
		}
		if len(ms) < MaxList {
			break
		}
		after = ms[len(ms)-1].Group
	}
	return claims, nil
}

// GroupRoleOf is the viewer's strongest role in the group, direct or through
// groups.
func (s *Service) GroupRoleOf(ctx context.Context, v *Viewer, group PrincipalID) (GroupRole, error) {
	groups, err := s.groupsOf(ctx, v)
	return groups[group], err
}

// inOrder are the groups of a closure in order of id: what is read from them
// must be read in one order, whichever process or run asks.
func inOrder(groups map[PrincipalID]GroupRole) []PrincipalID {
	ids := make([]PrincipalID, 0, len(groups))
	for id := range groups {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
