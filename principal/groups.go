package principal

import (
	"context"
	"fmt"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
)

// GroupsOf returns the groups that the viewer is in, directly or through others. They are
// resolved once for a viewer, which serves one request, until Forget.
func (s *Service) GroupsOf(ctx context.Context, v *Viewer) (*Closure, error) {
	groups, _, err := s.groupsOf(ctx, v)
	return groups, err
}

// groupsOf is GroupsOf, and reports whether their resolution may have begun before the call.
func (s *Service) groupsOf(ctx context.Context, v *Viewer) (c *Closure, earlier bool, err error) {
	if !v.SignedIn() {
		return nil, false, nil
	}
	for {
		groups, busy, mine := v.memo.take(s.rt)
		if mine {
			groups, err := s.resolveGroups(ctx, v, busy)
			return groups, false, err
		}
		if busy == nil {
			return groups, true, nil
		}
		if _, err := s.rt.Wait(ctx, busy, 0); err != nil {
			return nil, false, fmt.Errorf("resolve groups: %w", err)
		}
	}
}

// ByGroups decides by the viewer's groups about something that was read before the call. decide returns
// the groups through which it grants access. They are confirmed by what is read after the call: groups
// that were resolved before are read again, and so are memberships through other groups, which were not
// all read at the same time. If they have changed, ByGroups calls decide again with the groups of now.
func (s *Service) ByGroups(ctx context.Context, v *Viewer, decide func(c *Closure) (through []ID, err error)) error {
	for range commit.MaxTries {
		c, earlier, err := s.groupsOf(ctx, v)
		if err != nil {
			return err
		}
		through, err := decide(c)
		if err != nil || len(through) == 0 || !earlier && c.isDirect(v.User, through) {
			return err
		}
		if still, err := s.confirmAgain(ctx, v, c, through); err != nil || still {
			return err
		}
		v.Forget()
	}
	return groupsChange()
}

// StillIn reports whether the viewer, who was in a group when its groups were resolved, still is in it,
// by what is read after the call. If not, it drops what was read for the viewer.
func (h Paging) StillIn(ctx context.Context, v *Viewer, group ID) (bool, error) {
	c, _, err := h.s.groupsOf(ctx, v)
	if err != nil || c.Role(group) == NotInGroup {
		return false, err
	}
	still, err := h.s.confirmAgain(ctx, v, c, []ID{group})
	if err == nil && !still {
		v.Forget()
	}
	return still, err
}

// confirmAgain reports whether the memberships through which the viewer is in groups have not changed
// since c was resolved, and its user was not deleted. Then all of them existed at the same time: before
// the first of them was read again.
func (s *Service) confirmAgain(ctx context.Context, v *Viewer, c *Closure, groups []ID) (bool, error) {
	var chain []MemberOf
	var seqs []int64
	for _, g := range groups {
		chain, seqs = c.chain(chain, seqs, v.User, g)
	}
	var rows []GroupMemberRow
	deleted := false
	err := s.engine.Together(ctx, []func() error{
		func() (err error) {
			rows, err = s.store.Confirm(ctx, chain)
			return err
		},
		func() (err error) {
			deleted, err = s.isDeleted(ctx, v.User)
			return err
		},
	})
	if err != nil {
		return false, fmt.Errorf("confirm memberships: %w", err)
	}
	for i, row := range rows {
		if !row.Active() || row.Seq != seqs[i] {
			return false, nil
		}
	}
	return !deleted, nil
}

// groupsChange returns the error for a viewer whose groups change all the time.
func groupsChange() error {
	return &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, RetryAfter: 1,
		Msg: "your memberships change too often at the moment; try again"}
}

// resolveGroups resolves them for all callers that wait for busy to open. If it fails, one of
// those tries again within its own time limit.
func (s *Service) resolveGroups(ctx context.Context, v *Viewer, busy sched.Latch) (*Closure, error) {
	known := false
	var groups *Closure
	// Even if the store panics, those who wait must not wait for ever.
	defer func() {
		v.memo.put(busy, groups, known)
		busy.Open()
	}()
	groups, err := s.closureOf(ctx, v.User, v.billed())
	known = err == nil
	return groups, err
}

// take returns the groups if they are known, otherwise the latch of the caller that resolves
// them; mine means that this is now the caller's task.
func (m *groupMemo) take(rt sched.Runtime) (groups *Closure, busy sched.Latch, mine bool) {
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

// put stores what was resolved under busy, unless it was forgotten meanwhile.
func (m *groupMemo) put(busy sched.Latch, groups *Closure, known bool) {
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

// Forget drops what was read for the viewer, including what is being read now: a mutation may
// change it.
func (v *Viewer) Forget() {
	v.shown.forget()
	v.inFlight.Store(nil) // what the request shows after a mutation must contain that mutation
	v.memo.mu.Lock()
	defer v.memo.mu.Unlock()
	v.memo.known, v.memo.groups, v.memo.busy = false, nil, nil
}

// GroupRoleOf returns the viewer's strongest role in the group, direct or through groups.
func (s *Service) GroupRoleOf(ctx context.Context, v *Viewer, group ID) (GroupRole, error) {
	groups, err := s.GroupsOf(ctx, v)
	return groups.Role(group), err
}
