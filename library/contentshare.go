package library

import (
	"context"
	"slices"
	"strconv"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/principal"
)

// sharesAtOnce is how many principals of one share are checked at once.
const sharesAtOnce = 8

// ShareContent gives principals a role on an item. It never demotes.
func (s *Service) ShareContent(ctx context.Context, v *principal.Viewer, in ShareContent) (*ContentOutcome, error) {
	defer v.Forget()
	id, ps, indexes, faults := in.check(s.tune.Targets)
	m, err := s.people.BeginAsActor(v, id.Tenant(), commit.Call{Name: "shareContent", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	j := &shareJob{contentChange: contentChange{Mutation: m, v: v, id: id, path: "contentId", named: ps}, role: in.Role, indexes: indexes}
	if err := s.share(ctx, j); err != nil {
		return nil, err
	}
	if j.err != nil {
		return nil, commit.TimeoutToUnavailable(ctx, j.err)
	}
	var out *ContentOutcome
	if j.first != nil {
		out, err = s.repeatedAnswer(ctx, v, id, j.first)
	} else {
		complete := j.fan == nil || s.fanOuts.wait(ctx, j.fan)
		out, err = s.outcome(ctx, v, id, j.decided, FanOut{Complete: complete, Libraries: j.libraries})
	}
	if err != nil {
		return nil, err
	}
	if err := s.shareEdges(ctx, v, out, ps); err != nil {
		if !j.decided {
			return nil, err
		}
		// The share is decided. That its edges cannot be read now does not undo it.
		out.Edges = nil
		s.warnNotReadBack(ctx, id, err)
	}
	return out, nil
}

// check returns the item, the principals without repetitions, the index of each in the input,
// and the errors of the input except those of its idempotency key.
func (in *ShareContent) check(limit int) (ContentID, []principal.ID, []int, fault.List) {
	var faults fault.List
	id, err := ParseContentID(in.Content)
	faults.Add(err, "contentId")
	ps, indexes, more := checkTargets(in.Principals, in.Role, limit)
	return id, ps, indexes, append(faults, more...)
}

// checkTargets returns the principals to share with, without repetitions, the index of each in
// the input, and the faults of these and of the role.
func checkTargets(principals []string, role ContentRole, limit int) (ps []principal.ID, indexes []int, faults fault.List) {
	if role < Viewing || role > Manages {
		faults = append(faults, fault.Invalidf([]string{"role"}, "a role is VIEWER, EDITOR or MANAGER"))
	}
	if len(principals) == 0 {
		faults = append(faults, fault.Emptyf([]string{"principalIds"}, "name at least one principal to share with"))
	}
	if len(principals) > limit {
		faults = append(faults, fault.TooManyf([]string{"principalIds"}, "at most %d principals at once; send the rest in further calls", limit))
		return nil, nil, faults
	}
	for i, given := range principals {
		p, err := principal.ParseID(given)
		faults.Add(err, "principalIds", strconv.Itoa(i))
		if err == nil && !slices.Contains(ps, p) {
			ps, indexes = append(ps, p), append(indexes, i)
		}
	}
	return ps, indexes, faults
}

// checkShare checks existence, visibility and rights of a share. Everyone who sees a PUBLIC or
// LOGGEDIN item may share it, but only with principals that could see it anyway. Only managers
// may share a PRIVATE item.
func (s *Service) checkShare(ctx context.Context, v *principal.Viewer, t *target, role ContentRole, ps []principal.ID,
	indexes []int) error {
	pathOf := func(i int) []string { return []string{"principalIds", strconv.Itoa(indexes[i])} }
	faults, err := s.people.PrincipalsFor(ctx, v, ps, noneKnown, pathOf)
	if err != nil {
		return err
	}
	if err := faults.OrNil(); err != nil {
		return err
	}
	own, err := s.effectiveRole(ctx, v, &t.header, t.own, Manages)
	if err != nil || own == Manages {
		return err
	}
	if t.header.Visibility == principal.Private {
		return fault.Forbiddenf([]string{"contentId"}, "only a manager may share a PRIVATE item")
	}
	if role != Viewing {
		faults = append(faults, fault.Forbiddenf([]string{"role"}, "only a manager may give another role than VIEWER"))
	}
	sees := make([]bool, len(ps))
	err = sched.ForEach(ctx, s.rt, len(ps), sharesAtOnce, func(i int) (err error) {
		sees[i], err = s.seesAnyway(ctx, v, ps[i], t, t.named[i])
		return err
	})
	if err != nil {
		return err
	}
	for i := range ps {
		if !sees[i] {
			faults = append(faults, fault.Forbiddenf(pathOf(i), "only a manager may share the item with somebody who could not see it otherwise"))
		}
	}
	return faults.OrNil()
}

// seesAnyway reports whether a principal could see an item without the role that this share grants.
// A user signed in to the item's tenant could see a LOGGEDIN item. A group never counts as signed
// in: it may have members of other tenants, now or later, who would see the item only through the
// group's role. Principals that have a role through a group could see the item anyway, too.
func (s *Service) seesAnyway(ctx context.Context, actor *principal.Viewer, p principal.ID, t *target, row Member) (bool, error) {
	v, h := actor.As(p), &t.header
	roleOnly := p.IsGroup() && h.Visibility != principal.Public
	access := accessTo(v, h.ID, h, row, roleOnly, s.engine.Now())
	if access == principal.UnlessDeleted {
		return true, nil // p exists, because the sharer sees it
	}
	return s.granted(ctx, v, stateOf(h.ID, h), access)
}

// shareEdges reads the item's edges in the libraries of those it was shared with, in the bucket
// that the actor reads of each. When a share is repeated, the actor may no longer see one of them.
func (s *Service) shareEdges(ctx context.Context, v *principal.Viewer, out *ContentOutcome, ps []principal.ID) error {
	if out.Content == nil {
		return nil
	}
	rows, err := s.readState(ctx, out.ID, ps, nil)
	if err != nil {
		return err
	}
	headers, err := s.principals.ReadPrincipals(ctx, ps)
	if err != nil {
		return err
	}
	for i, p := range ps {
		sees, err := s.people.Sees(ctx, v, p, &headers[i])
		if err != nil {
			return err
		}
		if m := rows.Members[i]; sees && m.Active() {
			bucket, err := s.bucketFor(ctx, v, p)
			if err != nil {
				return err
			}
			out.Edges = append(out.Edges, s.edgeFor(p, bucket, &rows.Header, m.Role))
		}
	}
	return nil
}
