package simulator

import (
	"slices"

	"carrel/core/commit"
	"carrel/principal"
)

// deleted reports whether a principal was deleted.
func (st *Store) deleted(id principal.ID) bool {
	p := st.principal(id)
	return p != nil && p.header.State == commit.Deleted
}

func (st *Store) anyDeleted() bool {
	return slices.ContainsFunc(st.principals, func(p *principalPart) bool { return p.header.State == commit.Deleted })
}

// auditDeleted reports rows that remain of deleted principals, and members that remain in one.
func (st *Store) auditDeleted(p *principalPart, report func(kind, format string, args ...any)) {
	for _, m := range p.members {
		if st.deleted(m.Principal) || p.header.State == commit.Deleted {
			report(leftOver, "%s: a member row of %s, and one of them was deleted", p.id, m.Principal)
		}
	}
	if p.header.State != commit.Deleted {
		return
	}
	if p.header.DisplayName != "" || p.header.Email != "" {
		report(leftOver, "%s: deleted, but not reduced", p.id)
	}
	if lib := st.library(p.id); lib.built.live || lib.recorded.live || lib.rebuild.live {
		report(leftOver, "%s: deleted, but its library has marks", p.id)
	}
	for _, c := range st.contents {
		for _, m := range c.members {
			if m.Principal == p.id {
				report(leftOver, "%s: a member row of %s, which was deleted", c.id, p.id)
			}
		}
	}
}

// alive reports whether a principal may have existed at some moment of an operation.
func (h *History) alive(id principal.ID, start, end int) bool {
	states := h.ofPrincipal(id).states
	if len(states) == 0 || states[0].step > start {
		return true // as it was at the start
	}
	return slices.ContainsFunc(h.ofPrincipal(id).during(start, end), func(s principalState) bool { return s.header.State != commit.Deleted })
}

// deletedBy reports whether a principal was deleted at a step.
func (h *History) deletedBy(id principal.ID, step int) bool {
	return slices.ContainsFunc(h.ofPrincipal(id).states, func(s principalState) bool {
		return s.step <= step && s.header.State == commit.Deleted
	})
}
