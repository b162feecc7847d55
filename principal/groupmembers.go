package principal

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
)

// SetGroupMembers sets, changes and removes roles in a group. Effective managers and
// administrators may call it. Any member may remove itself, and may be removed by the administrators
// of its tenant and, if it is a group, by its managers.
func (s *Service) SetGroupMembers(ctx context.Context, v *Viewer, in SetGroupMembers) (*Group, error) {
	defer v.Forget()
	var faults fault.List
	id, err := parseOf(id.Group, in.Group)
	faults.Add(err, "groupId")
	changes := parseMemberChanges(id, in.Members, s.targets, &faults)
	m, err := s.BeginAsActor(v, id.Tenant(), commit.Call{Name: "setGroupMembers", Input: &in, Key: &in.IdempotencyKey, Faults: faults})
	if err != nil {
		return nil, err
	}
	var joining []ID
	for i, p := range changes.Principals {
		if changes.Roles[i] != NotInGroup {
			joining = append(joining, p)
		}
	}
	members := append([]ID{v.User}, changes.Principals...)
	rows, err := s.changePrincipal(ctx, m, id, members, joining, func(ctx context.Context, rows *Rows) (*changePlan, error) {
		return s.planGroupMembers(ctx, v, id, rows, changes)
	})
	if err != nil {
		return nil, err
	}
	v.Forget()
	if removesItself(v, changes) && !rows.Members[0].Active() {
		return shownAfterLeaving(v, rows), nil
	}
	return s.shownGroupOf(ctx, v, rows)
}

// shownAfterLeaving returns the group that the viewer has left, nil unless the viewer sees it
// without being in it. It does not resolve whether the viewer is in it through another group.
func shownAfterLeaving(v *Viewer, rows *Rows) *Group {
	if accessTo(v, rows.Header.ID, &rows.Header) != Granted {
		return nil
	}
	return &Group{rows.Header}
}

// parseMemberChanges checks the form of a list of changes.
func parseMemberChanges(group ID, list []GroupMemberChange, limit int, faults *fault.List) (changes Roles[GroupRole]) {
	switch {
	case len(list) == 0:
		faults.Add(fault.Emptyf(nil, "name at least one member to change"), "members")
		return changes
	case len(list) > limit:
		faults.Add(fault.TooManyf(nil, "at most %d members are changed at once; this names %d", limit, len(list)), "members")
		return changes
	}
	return ParseRoles(list, faults, func(p ID, again bool, role *GroupRole) (badID, badRole error) {
		switch {
		case again:
			badID = fault.Repeatedf(nil, "%s is named twice; name it once, with the role that it should have", p)
		case p == group:
			badID = fault.NotApplicablef(nil, "a group cannot be a member of itself")
		}
		if role != nil && *role != GroupMember && *role != GroupManager {
			badRole = fault.Invalidf(nil, "a role in a group is MEMBER or MANAGER; null removes the member")
		}
		return badID, badRole
	})
}

// planGroupMembers plans a list of changes on the rows that were read: rows.Members[0] is the
// actor's, the others are those of the changes.
func (s *Service) planGroupMembers(ctx context.Context, v *Viewer, id ID, rows *Rows, changes Roles[GroupRole]) (*changePlan, error) {
	if leaves(v, rows, changes) {
		return s.applyMembers(ctx, v, rows, changes)
	}
	if err := s.requireGroup(ctx, v, id, rows, "groupId"); err != nil {
		return s.takeOut(ctx, v, rows, changes, err)
	}
	refused := s.requireGroupManager(ctx, v, rows, "groupId")
	if refused != nil && fault.CodeOf(refused) != fault.Forbidden {
		return nil, refused
	}
	if err := s.requireAddable(ctx, v, rows, changes, refused == nil); err != nil {
		return nil, err
	}
	if refused != nil && !removesItself(v, changes) {
		return s.takeOut(ctx, v, rows, changes, refused)
	}
	return s.applyMembers(ctx, v, rows, changes)
}

// takeOut plans changes that only remove members for which the viewer is responsible: users and groups of a
// tenant that it administers, and groups that it manages. It needs no role in the group, and need not see
// it, because others can add members without asking them. For all other changes it returns refused.
func (s *Service) takeOut(ctx context.Context, v *Viewer, rows *Rows, changes Roles[GroupRole], refused error) (*changePlan, error) {
	if code := fault.CodeOf(refused); code != fault.NotFound && code != fault.Forbidden {
		return nil, refused
	}
	members := rows.Header.State == commit.Live
	for i, p := range changes.Principals {
		members = members && rows.Members[i+1].Active()
		switch {
		case changes.Roles[i] != NotInGroup || !p.IsGroup() && !v.Administers(p.Tenant()):
			return nil, refused
		case v.Administers(p.Tenant()):
			continue
		}
		group, err := s.readMembers(ctx, p, []ID{v.User}, nil)
		if err == nil {
			err = s.requireGroupManager(ctx, v, group, "groupId")
		}
		switch {
		case fault.CodeOf(err) == fault.Forbidden || err == nil && group.Header.State != commit.Live:
			return nil, refused
		case err != nil:
			return nil, err
		}
	}
	if !members {
		return nil, refused
	}
	return s.applyMembers(ctx, v, rows, changes)
}

// removesItself reports whether the changes only remove the viewer.
func removesItself(v *Viewer, changes Roles[GroupRole]) bool {
	return len(changes.Roles) == 1 && changes.Principals[0] == v.User && changes.Roles[0] == NotInGroup
}

// leaves reports whether a direct member removes itself, which every member may do. No groups
// are resolved for it, so that leaving works whatever is wrong with them. rows.Members[0] is
// the viewer's own row.
func leaves(v *Viewer, rows *Rows, changes Roles[GroupRole]) bool {
	return removesItself(v, changes) && rows.Header.State == commit.Live && rows.Members[0].Active()
}

// requireAddable returns NOT_FOUND for each new member that the actor may not see. A manager may
// give a current member another role even if it has become invisible, unless it was deleted. The
// answer reveals to nobody else that it is a member.
func (s *Service) requireAddable(ctx context.Context, v *Viewer, rows *Rows, changes Roles[GroupRole], manages bool) error {
	faults, err := s.PrincipalsFor(ctx, v, changes.Principals,
		func(i int, h *Header) bool {
			return changes.Roles[i] == NotInGroup || manages && rows.Members[i+1].Active() && h.State != commit.Deleted
		},
		func(i int) []string { return []string{"members", strconv.Itoa(i), "principalId"} })
	if err != nil {
		return err
	}
	return faults.OrNil()
}

// checkJoining returns TOO_MANY for each new member that would exceed a limit. before are the rows of those that are
// changed.
func (s *Service) checkJoining(ctx context.Context, v *Viewer, group ID, before []GroupMemberRow,
	changes Roles[GroupRole]) (fault.List, error) {
	var at []int
	var joining []ID
	for i, p := range changes.Principals {
		if changes.Roles[i] != NotInGroup && !before[i].Active() {
			at, joining = append(at, i), append(joining, p)
		}
	}
	refused, err := s.checkAdditions(ctx, v, group, joining)
	if err != nil {
		return nil, err
	}
	var faults fault.List
	for n, err := range refused {
		faults.Add(err, "members", strconv.Itoa(at[n]), "principalId")
	}
	return faults, nil
}

// applyMembers plans the rows, under the rules that apply to everybody: a group keeps a
// manager, and nobody is in too many groups. The last rows that were read are those of the changes.
func (s *Service) applyMembers(ctx context.Context, v *Viewer, rows *Rows, changes Roles[GroupRole]) (*changePlan, error) {
	p := &changePlan{after: rows.Header}
	before := rows.Members[len(rows.Members)-len(changes.Roles):]
	faults, err := s.checkJoining(ctx, v, rows.Header.ID, before, changes)
	if err != nil {
		return nil, err
	}
	var demoted []int // changes that remove a manager
	granted := false
	for i, role := range changes.Roles {
		old := before[i]
		was, since := NotInGroup, clock.Instant(0)
		if old.Active() {
			was, since = old.Role, old.Since
		}
		if was == role {
			if old.Active() {
				p.found = append(p.found, old)
			}
			continue
		}
		if was == GroupManager {
			p.after.Managers--
			demoted = append(demoted, i)
		}
		if role == GroupManager {
			p.after.Managers++
		}
		granted = granted || role > was
		switch {
		case was == NotInGroup:
			p.after.Members++
		case role == NotInGroup:
			p.after.Members--
		}
		p.rows = append(p.rows, GroupMemberRow{Principal: changes.Principals[i], Role: role, Leaving: role == NotInGroup, Since: since})
	}
	if p.after.Managers < 1 {
		for _, i := range demoted {
			faults.Add(&fault.Error{Code: fault.Conflict, Reason: fault.ReasonLastManager,
				Msg: "a group keeps at least one manager; make another principal a manager first"}, "members", strconv.Itoa(i))
		}
	}
	if err := faults.OrNil(); err != nil {
		return nil, err
	}
	slices.SortFunc(p.rows, func(a, b GroupMemberRow) int { return cmp.Compare(a.Principal, b.Principal) })
	p.changed = len(p.rows) > 0
	p.withdraws = p.changed && !granted
	return p, nil
}

// shownGroupOf is shownGroup if the actor's own row, the first one, is known.
func (s *Service) shownGroupOf(ctx context.Context, v *Viewer, rows *Rows) (*Group, error) {
	if rows.Header.State == commit.Live && rows.Members[0].Active() {
		return &Group{rows.Header}, nil
	}
	return s.shownGroup(ctx, v, rows.Header)
}
