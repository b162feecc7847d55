package simulator

import (
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// checkRights checks who has made what, according to docs/visibility.md: every state was made
// by somebody who had the right to in the state before, and nobody was refused who had it
// throughout.
func (h *History) checkRights(ops []*Operation, report func(kind, format string, args ...any)) {
	for _, c := range h.contents {
		for i := 1; i < len(c.states); i++ {
			if err := h.permitted(ops, &c.states[i-1], &c.states[i]); err != nil {
				report(lostChange, "%s at seq %d: %v", c.id, c.states[i].header.Seq, err)
			}
		}
	}
	for _, p := range h.principals {
		for i := 1; i < len(p.states); i++ {
			if err := h.permittedInGroup(&p.states[i-1], &p.states[i]); err != nil {
				report(lostChange, "%s at seq %d: %v", p.id, p.states[i].header.Seq, err)
			}
		}
	}
	for _, o := range ops {
		if o.outcome == refused && o.lease == nil && o.page == nil && o.paste == nil && h.wronglyRefused(o) {
			report(lostChange, "%v was refused with %v, though it was allowed throughout", o, o.err)
		}
	}
}

// permitted checks one step of a live item.
func (h *History) permitted(ops []*Operation, before, after *contentState) error {
	a, b, o := &before.header, &after.header, after.op
	if a.State != commit.Live || o == nil || o.kind.imports() {
		return nil
	}
	needed := library.NoRole
	switch {
	case b.State != commit.Live:
		if o.kind != opDelete {
			return nil // it had expired: see mayEnd
		}
		needed = library.Manages
	case a.Visibility != b.Visibility, a.CanonicalURL != b.CanonicalURL, !sameInstant(a.ExpiresAt, b.ExpiresAt):
		needed = library.Manages
	case a.Title != b.Title, o.editsPage() && !samePage(before, after):
		needed = library.Editing
	}
	if o.expected != nil && needed != library.NoRole && a.Version != *o.expected {
		return fmt.Errorf("made from version %d by %v, which expected %d", a.Version, o, *o.expected)
	}
	if role := before.roleThrough(o.viewer, h.groupsOf(o.viewer, o.start, after.step)); role < needed {
		return fmt.Errorf("made by %v, whose role was %q", o, role)
	}
	if b.State != commit.Live {
		return nil
	}
	for _, p := range changedMembers(before, after) {
		if !h.mayChangeMember(ops, before, after, p) {
			return fmt.Errorf("the role of %s became %q by %v", p, after.role(p), o)
		}
	}
	return nil
}

func sameInstant(a, b *clock.Instant) bool { return a == b || a != nil && b != nil && *a == *b }

// changedMembers returns the principals whose roles differ between two states.
func changedMembers(before, after *contentState) []principal.ID {
	var changed []principal.ID
	for _, s := range []*contentState{before, after} {
		for _, m := range s.members {
			if before.role(m.Principal) != after.role(m.Principal) && !slices.Contains(changed, m.Principal) {
				changed = append(changed, m.Principal)
			}
		}
	}
	return changed
}

// mayChangeMember reports whether the operation that made a state, or a share that it carried,
// may have changed the role of a principal.
func (h *History) mayChangeMember(ops []*Operation, before, after *contentState, p principal.ID) bool {
	o := after.op
	if after.role(p) == library.NoRole && h.deletedBy(p, after.step) {
		return true
	}
	role := func(o *Operation) library.ContentRole {
		return before.roleThrough(o.viewer, h.groupsOf(o.viewer, o.start, after.step))
	}
	switch o.kind {
	case opMembers:
		leaves := len(o.members) == 1 && p == o.viewer && after.role(p) == library.NoRole
		return o.names(p, after.role(p)) && (leaves || role(o) == library.Manages)
	case opRemove:
		return o.names(p, library.NoRole) && after.role(p) == library.NoRole && (p == o.viewer || h.mayManageGroup(o, p, after.step))
	case opShare:
		for _, shared := range ops {
			if shared.kind != opShare || shared.content != o.content || shared.start == 0 || shared.start > after.step ||
				shared.outcome == refused || !shared.names(p, after.role(p)) {
				continue
			}
			if role(shared) == library.Manages || before.header.Visibility != principal.Private && after.role(p) == library.Viewing {
				return true
			}
		}
	}
	return false
}

// names reports whether the operation requests a role for a principal.
func (o *Operation) names(p principal.ID, role library.ContentRole) bool {
	return slices.ContainsFunc(o.members, func(m library.Member) bool { return m.Principal == p && m.Role == role })
}

// mayManageGroup reports whether the actor of an operation may have managed a group at some
// moment up to a step, directly or through a group that does.
func (h *History) mayManageGroup(o *Operation, group principal.ID, step int) bool {
	through := append(h.groupsOf(o.viewer, o.start, step), o.viewer)
	for _, st := range h.ofPrincipal(group).during(o.start, step) {
		if slices.ContainsFunc(through, func(g principal.ID) bool { return st.role(g) == principal.GroupManager }) {
			return true
		}
	}
	return false
}

// permittedInGroup checks one step of a group.
func (h *History) permittedInGroup(before, after *principalState) error {
	o := after.op
	if o == nil || o.kind != opGroup {
		return nil
	}
	for _, m := range o.groupRows {
		leaves := len(o.groupRows) == 1 && m.Principal == o.viewer && m.Role == principal.NotInGroup
		if before.role(m.Principal) != after.role(m.Principal) && !h.deletedBy(m.Principal, after.step) && !leaves &&
			!h.mayManageGroup(o, o.group, after.step) {
			return fmt.Errorf("made by %v, who did not manage it", o)
		}
	}
	return nil
}

// wronglyRefused reports whether an operation was refused because of rights or of its version,
// though its actor managed the item, or the item had that version, in every state while it ran.
func (h *History) wronglyRefused(o *Operation) bool {
	byVersion := fault.ReasonOf(o.err) == fault.ReasonVersion
	if !byVersion && fault.CodeOf(o.err) != fault.Forbidden && fault.CodeOf(o.err) != fault.NotFound {
		return false
	}
	switch o.kind {
	case opTitle, opVisibility, opMove, opExpire, opDelete, opShare, opMembers:
	default:
		return false
	}
	if h.deletedBy(o.viewer, o.end) || slices.ContainsFunc(o.members, func(m library.Member) bool { return h.deletedBy(m.Principal, o.end) }) {
		return false
	}
	for i, s := range h.of(o.content).during(o.start, o.end) {
		switch {
		case i == 0 && s.step > o.start: // it was created meanwhile
			return false
		case s.header.State != commit.Live, s.header.ExpiresAt != nil,
			byVersion && s.header.Version != *o.expected,
			!byVersion && s.role(o.viewer) != library.Manages:
			return false
		}
	}
	return true
}
