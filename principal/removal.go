package principal

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/sched"
)

// After a deletion was decided, everything is removed that belongs to the principal: its
// memberships, the rows of its members, its rows in the directory, the claim of its e-mail
// address, and what other packages keep for it (OnDeleted). Its header is reduced last, so
// that the process which resumes an interrupted removal finds in it what remains to be done.
//
// Another change may make the principal a member after the deletion was decided, because it has
// read the principal before. So a change that adds members reads their headers again after it has
// written the derived rows, and takes deleted ones out. The removal begins after the deletion was
// decided: it finds every membership whose derived row was written before.

const (
	// removalsAtOnce is how many removals a process carries out at once for mutations.
	removalsAtOnce = 4
	// leavesAtOnce is how many groups or members one removal works on at once.
	leavesAtOnce = 16
	// removalPage is how many rows a removal reads at once.
	removalPage = 100
)

// Removed reports whether the principal was deleted and nothing that belonged to it is left.
func (h *Header) Removed() bool { return h.State == commit.Deleted && h.DisplayName == "" }

// startRemoval begins to remove what belongs to a principal whose deletion was decided, and waits
// for at most AnswerWithin. It reports whether everything is removed. What fails is left to the
// background.
func (s *Service) startRemoval(ctx context.Context, e commit.Entry) bool {
	done := s.rt.Latch()
	complete := false // set before done opens, and read only after that
	detached := s.rt.Detach(ctx)
	s.rt.Go(func() {
		defer done.Open()
		err := s.removals.Take(detached, "")
		if err == nil {
			err = s.Upkeep.RemoveDeleted(detached, ID(e.Key))
			s.removals.Give("")
		}
		if err != nil {
			s.log.WarnContext(detached, "the removal of what belongs to a deleted principal is left to the background",
				"principal", e.Key, "error", err)
			s.journal.FinishLater(e)
			return
		}
		complete = true
		s.journal.End(e.ID)
	})
	ended, err := s.rt.Wait(ctx, done, s.answerWithin)
	return err == nil && ended && complete
}

// RemoveDeleted removes what belongs to a principal whose deletion was decided. It does nothing for
// any other principal. It may be repeated, and run concurrently with itself.
func (u Upkeep) RemoveDeleted(ctx context.Context, id ID) error {
	rows, err := u.s.store.ReadPrincipal(ctx, id, Query{Serial: true})
	if err != nil {
		return fmt.Errorf("reading %s: %w", id, err)
	}
	h := &rows.Header
	if h.State != commit.Deleted {
		return nil
	}
	if err := u.s.removeMembers(ctx, id); err != nil {
		return fmt.Errorf("removing the members of %s: %w", id, err)
	}
	if err := u.s.leaveGroups(ctx, id); err != nil {
		return fmt.Errorf("taking %s out of groups: %w", id, err)
	}
	if err := u.s.deleted(ctx, h); err != nil {
		return fmt.Errorf("removing what belongs to %s: %w", id, err)
	}
	if h.DisplayName != "" {
		if err := u.ApplyDirectory(ctx, h, h.DisplayName); err != nil {
			return err
		}
	}
	if h.Email != "" {
		if err := u.s.claims.Drop(ctx, claim.Email(id.Tenant(), h.Email), string(id), nil); err != nil {
			return fmt.Errorf("giving up the e-mail address of %s: %w", id, err)
		}
	}
	return u.s.reduce(ctx, id)
}

// removeMembers removes the rows of a deleted group's members, and the rows derived from them. No
// member is added to a group that is deleted.
func (s *Service) removeMembers(ctx context.Context, group ID) error {
	if !group.IsGroup() {
		return nil
	}
	var after ID
	for {
		page, err := s.store.GroupMembersPage(ctx, group, after, removalPage, true)
		if err != nil || len(page.Members) == 0 {
			return err
		}
		if s.engine.Over() {
			return commit.ErrEnding
		}
		err = s.engine.Retry(ctx, func() error {
			return s.store.ApplyGroupIndex(ctx, &GroupIndexUpdate{Header: &page.Header, Rows: page.Members})
		})
		if err != nil {
			return err
		}
		err = s.engine.Retry(ctx, func() error {
			return s.store.CleanUpGroup(ctx, &GroupCleanup{ID: group, Leaving: page.Members, Purge: true})
		})
		if err != nil || len(page.Members) < removalPage {
			return err
		}
		after = page.Members[len(page.Members)-1].Principal
	}
}

// leaveGroups takes a deleted principal out of the groups that its record of memberships names.
func (s *Service) leaveGroups(ctx context.Context, p ID) error {
	read := func(ctx context.Context, after ID, limit int) ([]Membership, error) {
		return s.store.Memberships(ctx, p, after, limit)
	}
	return sched.Pages(ctx, removalPage, read, func(m Membership) ID { return m.Group }, func(ms []Membership) error {
		return sched.ForEach(ctx, s.rt, len(ms), leavesAtOnce, func(i int) error { return s.Upkeep.LeaveGroup(ctx, ms[i].Group, p) })
	})
}

// LeaveGroup takes a deleted principal out of a group. It may be the last manager: the
// administrators of the tenant manage the group then.
func (u Upkeep) LeaveGroup(ctx context.Context, group, p ID) error {
	if u.s.engine.Over() {
		return commit.ErrEnding
	}
	m := commit.Mutation{Budget: u.s.engine.NewBudget()}
	rows, err := u.s.changePrincipal(ctx, m, group, []ID{p}, nil, func(_ context.Context, rows *Rows) (*changePlan, error) {
		plan := &changePlan{after: rows.Header}
		if row := rows.Members[0]; rows.Header.State == commit.Live && row.Active() {
			if plan.after.Members--; row.Role == GroupManager {
				plan.after.Managers--
			}
			plan.rows, plan.changed, plan.withdraws = []GroupMemberRow{{Principal: p, Leaving: true}}, true, true
		}
		return plan, nil
	})
	if err != nil {
		return fmt.Errorf("taking %s out of %s: %w", p, group, err)
	}
	rows.Header.ID = group
	return u.ApplyMembers(ctx, rows)
}

// takeOutDeleted removes from a group those of members that are active although their principals
// are deleted. It is called after the rows derived from members were written.
func (s *Service) takeOutDeleted(ctx context.Context, group ID, members []GroupMemberRow) error {
	var active []ID
	for _, m := range members {
		if m.Active() {
			active = append(active, m.Principal)
		}
	}
	gone, err := s.DeletedOf(ctx, active)
	if err != nil {
		return err
	}
	for _, p := range gone {
		if err := s.Upkeep.LeaveGroup(ctx, group, p); err != nil {
			return err
		}
	}
	return nil
}

// DeletedOf returns those of principals that are deleted.
func (s *Service) DeletedOf(ctx context.Context, ps []ID) (gone []ID, err error) {
	for some := range slices.Chunk(ps, input.MaxList) {
		headers, err := s.store.ReadPrincipals(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("reading whether members are deleted: %w", err)
		}
		for i := range headers {
			if headers[i].State == commit.Deleted {
				gone = append(gone, some[i])
			}
		}
	}
	return gone, nil
}

// isDeleted reports whether a principal is deleted.
func (s *Service) isDeleted(ctx context.Context, p ID) (bool, error) {
	headers, err := s.store.ReadPrincipals(ctx, []ID{p})
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", p, err)
	}
	return headers[0].State == commit.Deleted, nil
}

// reduce removes everything from the header of a deleted principal except that it is deleted, which
// prevents its id from being used again.
func (s *Service) reduce(ctx context.Context, id ID) error {
	_, _, err := s.engine.Decide(ctx, s.engine.NewBudget(), string(id), func(ctx context.Context) (*commit.Attempt, error) {
		rows, err := s.store.ReadPrincipal(ctx, id, Query{Serial: true})
		if err != nil {
			return nil, err
		}
		h := &rows.Header
		if h.State != commit.Deleted || h.Removed() {
			return commit.Nothing, nil
		}
		return s.commits(commit.Reach{}, &Commit{
			ID: id, Base: h.Seq, Header: Header{ID: id, State: commit.Deleted, Seq: h.Seq + 1, MTS: s.engine.MTS(h.MTS)},
		}), nil
	})
	if err != nil {
		return fmt.Errorf("reducing %s: %w", id, err)
	}
	return nil
}
