package library

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/principal"
)

// effectiveRole returns the strongest role of the viewer on an item: from its own row, its
// groups' rows, and administration, which counts as a manager's role. It stops at a role that
// is at least enough.
//
// h is the header that was read with own. The viewer's user was read after it (CheckActor).
func (s *Service) effectiveRole(ctx context.Context, v *principal.Viewer, h *Header, own Member, enough ContentRole) (ContentRole, error) {
	if v.Administers(h.Tenant()) {
		return Manages, nil
	}
	if own.Active() && own.Role >= enough {
		return own.Role, nil
	}
	roles, err := s.rolesThroughGroups(ctx, v, []state{stateOf(h.ID, h)})
	if err != nil {
		return NoRole, err
	}
	if own.Active() {
		return max(roles[0], own.Role), nil
	}
	return roles[0], nil
}

// requireContentManager returns FORBIDDEN for viewers who see the item but do not manage it.
func (s *Service) requireContentManager(ctx context.Context, v *principal.Viewer, t *target, path string) error {
	role, err := s.effectiveRole(ctx, v, &t.header, t.own, Manages)
	if err != nil {
		return err
	}
	if role != Manages {
		return fault.Forbiddenf([]string{path}, "only a manager of the item may do this")
	}
	return nil
}

// state names a state of an item that was read.
type state struct {
	id  ContentID
	seq int64
}

func stateOf(id ContentID, h *Header) state { return state{id, h.Seq} }

// rolesThroughGroups returns the strongest roles that v's groups had on items in the states that were
// read, in the order of states. The groups are confirmed by what is read after the call.
func (s *Service) rolesThroughGroups(ctx context.Context, v *principal.Viewer, states []state) (roles []ContentRole, err error) {
	if len(states) == 0 {
		return nil, nil
	}
	err = s.people.ByGroups(ctx, v, func(closure *principal.Closure) (through []principal.ID, err error) {
		roles, through, err = s.rolesOf(ctx, closure.All(), states)
		return through, err
	})
	return roles, err
}

// rolesOf returns the strongest roles that groups had on items, and for each role a group that had it.
func (s *Service) rolesOf(ctx context.Context, groups []principal.ID, states []state) ([]ContentRole, []principal.ID, error) {
	roles, by := make([]ContentRole, len(states)), make([]principal.ID, len(states))
	for from := 0; from < len(states); from += input.MaxList {
		ids := make([]ContentID, 0, input.MaxList)
		for _, st := range states[from:min(from+input.MaxList, len(states))] {
			ids = append(ids, st.id)
		}
		for list := range slices.Chunk(groups, input.MaxList) {
			rows, err := s.contents.ReadMany(ctx, ids, list)
			if err != nil {
				return nil, nil, fmt.Errorf("read roles of groups: %w", err)
			}
			for i := range rows {
				if m := states[from+i].strongest(&rows[i]); m.Role > roles[from+i] {
					roles[from+i], by[from+i] = m.Role, m.Principal
				}
			}
		}
	}
	slices.Sort(by)
	by = slices.Compact(by)
	return roles, slices.DeleteFunc(by, func(p principal.ID) bool { return p == "" }), nil
}

// strongest returns the active member in rows that had the strongest role in the state: a row that was
// written later gives no role in it.
func (st state) strongest(rows *ContentRows) (strongest Member) {
	if rows.Header.State != commit.Live {
		return strongest
	}
	for _, m := range rows.Members {
		if m.Active() && m.Seq <= st.seq && m.Role > strongest.Role {
			strongest = m
		}
	}
	return strongest
}
