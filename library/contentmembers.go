package library

import (
	"context"
	"slices"
	"strconv"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/principal"
)

// SetContentMembers sets, changes and removes roles on an item.
func (s *Service) SetContentMembers(ctx context.Context, v *principal.Viewer, in SetContentMembers) (*ContentOutcome, error) {
	defer v.Forget()
	var faults fault.List
	id, err := ParseContentID(in.Content)
	faults.Add(err, "contentId")
	wanted := parseRoles(in.Members, s.tune.Targets, false, &faults)
	m, err := s.people.BeginAsActor(v, id.Tenant(), commit.Call{Name: "setContentMembers", Input: &in, Key: &in.IdempotencyKey,
		Faults: faults})
	if err != nil {
		return nil, err
	}
	c := contentChange{Mutation: m, v: v, id: id, path: "contentId", named: wanted.Principals}
	return s.changeContent(ctx, c, func(ctx context.Context, t *target) (*attempt, int, error) {
		if err := s.checkSetMembers(ctx, v, t, wanted); err != nil {
			return nil, 0, err
		}
		return s.planRoles(t, wanted, m.Request)
	})
}

// noneKnown accepts no principal that the viewer does not see (PrincipalsFor).
func noneKnown(int, *principal.Header) bool { return false }

// checkSetMembers checks existence, visibility and rights. A manager may change members that it
// does not see, unless they were deleted; members that are removed need no check. The answer
// reveals to nobody else whether an unseen principal is a member.
func (s *Service) checkSetMembers(ctx context.Context, v *principal.Viewer, t *target, wanted roles) error {
	refused := s.requireContentManager(ctx, v, t, "contentId")
	if refused != nil && fault.CodeOf(refused) != fault.Forbidden {
		return refused
	}
	faults, err := s.people.PrincipalsFor(ctx, v, wanted.Principals,
		func(i int, h *principal.Header) bool {
			return wanted.Roles[i] == NoRole || refused == nil && t.named[i].Active() && h.State != commit.Deleted
		},
		func(i int) []string { return []string{"members", strconv.Itoa(i), "principalId"} })
	if err != nil {
		return err
	}
	if err := faults.OrNil(); err != nil {
		return err
	}
	if leavesItself := len(wanted.Roles) == 1 && wanted.Principals[0] == v.User && wanted.Roles[0] == NoRole; leavesItself {
		return nil
	}
	return refused
}

// RemoveFromLibrary removes an item from a library, by removing the membership that put it
// there.
func (s *Service) RemoveFromLibrary(ctx context.Context, v *principal.Viewer, in RemoveFromLibrary) (*ContentOutcome, error) {
	defer v.Forget()
	var faults fault.List
	p, err := principal.ParseID(in.Principal)
	faults.Add(err, "principalId")
	id, err := ParseContentID(in.Content)
	faults.Add(err, "contentId")
	m, err := s.people.BeginAsActor(v, p.Tenant(), commit.Call{Name: "removeFromLibrary", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	c := contentChange{Mutation: m, v: v, id: id, path: "contentId", named: []principal.ID{p}}
	return s.changeContent(ctx, c, func(ctx context.Context, t *target) (*attempt, int, error) {
		return s.planRemove(ctx, v, t, p, m.Request)
	})
}

func (s *Service) planRemove(ctx context.Context, v *principal.Viewer, t *target, p principal.ID, r *commit.Request) (*attempt,
	int, error) {
	faults, err := s.people.PrincipalsFor(ctx, v, []principal.ID{p}, noneKnown, func(int) []string { return []string{"principalId"} })
	if err != nil {
		return nil, 0, err
	}
	if err := faults.OrNil(); err != nil {
		return nil, 0, err
	}
	may := p == v.User || v.Administers(p.Tenant())
	if !may && p.IsGroup() {
		groups, err := s.people.GroupsOf(ctx, v)
		if err != nil {
			return nil, 0, err
		}
		may = groups.Role(p) == principal.GroupManager
	}
	if !may {
		return nil, 0, fault.Forbiddenf([]string{"principalId"},
			"only the user, a manager of the group or an administrator may take something out of this library")
	}
	if !t.named[0].Active() {
		return nil, 0, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonNotAMember, Path: []string{"contentId"},
			Msg: "the item is not in this library"}
	}
	return s.planRoles(t, roles{Principals: []principal.ID{p}, Roles: []ContentRole{NoRole}}, r)
}

// roles are roles on an item.
type roles = principal.Roles[ContentRole]

// parseRoles reads a list of role changes. With creation a null role is an error, and the list may be empty.
func parseRoles(changes []ContentMemberChange, limit int, creation bool, faults *fault.List) (given roles) {
	if len(changes) == 0 && !creation {
		faults.Add(fault.Emptyf(nil, "name at least one principal"), "members")
	}
	if len(changes) > limit {
		faults.Add(fault.TooManyf(nil, "at most %d principals at once; send the rest in further calls", limit), "members")
		return given
	}
	return principal.ParseRoles(changes, faults, func(_ principal.ID, again bool, role *ContentRole) (badID, badRole error) {
		if again {
			badID = fault.Repeatedf(nil, "this principal is named twice")
		}
		if role == nil && creation {
			badRole = fault.Emptyf(nil, "a role is needed: the item has no members yet whose role could be removed")
		}
		return badID, badRole
	})
}

// planRoles plans a change of member rows only, and returns the number of rows that it changes. It
// refuses to remove the last manager.
func (s *Service) planRoles(t *target, wanted roles, r *commit.Request) (*attempt, int, error) {
	before := slices.Clone(t.named)
	for i := range before {
		before[i].Principal = wanted.Principals[i]
	}
	after := t.header
	changeRows(&after, before, wanted.Roles)
	if after.Managers == 0 && t.header.Managers > 0 {
		return nil, 0, &fault.Error{Code: fault.Conflict, Reason: fault.ReasonLastManager,
			Msg: "an item needs at least one manager: make another principal a manager first"}
	}
	a, changed := s.planRows(&t.header, before, wanted.Roles, r)
	return a, changed, nil
}

// planRows plans a change of member rows, even if the item has no manager after it. It returns the
// number of rows that change.
func (s *Service) planRows(h *Header, before []Member, to []ContentRole, r *commit.Request) (*attempt, int) {
	after := *h
	after.Seq, after.MTS = h.Seq+1, s.engine.MTS(h.MTS)
	changed := changeRows(&after, before, to)
	if len(changed) == 0 && r == nil {
		return nothingToChange, 0
	}
	var e inFlight
	if len(changed) > 0 {
		e.Scope, e.Principals, e.All = commit.ScopeListed, principalsOf(changed), true
		e.Causes = reasonsOfRoles(&after, changed)
	}
	a := s.contentAttempt(e, &ContentCommit{
		ID: h.ID, Base: h.Seq, Header: after, Members: changed,
		Request: r.Row(s.engine.Now(), keptAnswer{Libraries: len(changed), Seq: after.Seq}.encode()),
	})
	a.withdraws = len(changed) > 0 && !grants(before, to)
	return a, len(changed)
}

// grants reports whether role changes give any principal a role that is stronger than its own.
func grants(before []Member, to []ContentRole) bool {
	for i, m := range before {
		if !m.Active() && to[i] > NoRole || to[i] > m.Role {
			return true
		}
	}
	return false
}

// changeRows applies role changes to the member rows of a header that has its new Seq. It
// returns the rows to write, and updates the header's counts.
func changeRows(h *Header, before []Member, to []ContentRole) (changed []Member) {
	for i, m := range before {
		if m.Active() && m.Role == to[i] || !m.Active() && to[i] == NoRole {
			continue
		}
		if m.Active() {
			h.Members--
			if m.Role == Manages {
				h.Managers--
			}
		}
		if to[i] != NoRole {
			h.Members++
			if to[i] == Manages {
				h.Managers++
			}
		}
		changed = append(changed, h.nextMember(m, to[i]))
	}
	return changed
}

// absentRows returns rows without a Seq for principals that have none yet.
func absentRows(ps []principal.ID) []Member {
	rows := make([]Member, len(ps))
	for i, p := range ps {
		rows[i].Principal = p
	}
	return rows
}

// principalsOf returns the principals of rows, in order of id.
func principalsOf(rows []Member) []string {
	ps := make([]string, len(rows))
	for i, m := range rows {
		ps[i] = string(m.Principal)
	}
	slices.Sort(ps)
	return ps
}
