package principal

import (
	"context"
	"fmt"

	"carrel/core/sched"
)

// GroupsOf returns the groups that the viewer is in, directly or through others. They are
// resolved once for a viewer, which serves one request, until Forget.
func (s *Service) GroupsOf(ctx context.Context, v *Viewer) (*Closure, error) {
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
	v.kept.forget()
	v.inFlight.forget()
	v.memo.mu.Lock()
	defer v.memo.mu.Unlock()
	v.memo.known, v.memo.groups, v.memo.busy = false, nil, nil
}

// GroupRoleOf returns the viewer's strongest role in the group, direct or through groups.
func (s *Service) GroupRoleOf(ctx context.Context, v *Viewer, group ID) (GroupRole, error) {
	groups, err := s.GroupsOf(ctx, v)
	return groups.Role(group), err
}
