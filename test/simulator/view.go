package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// view is a viewer, the owner of the library that it reads, and how it reads it.
type view struct {
	viewer, owner principal.ID // no viewer: anonymous
	admin         bool         // the viewer administers its tenant
	shared        bool         // includeShared
	filtered      bool         // by filterText
}

func (s view) String() string {
	how := ""
	if s.admin {
		how = ", an administrator,"
	}
	if s.shared {
		how += " with includeShared"
	}
	if s.filtered {
		how += " with a filter"
	}
	return fmt.Sprintf("%q%s in the library of %s", s.viewer, how, s.owner)
}

// filterText is what filtered pages search for: the beginning of the titles that have it.
const filterText = "fourth"

// matches reports whether an item in a state is not filtered out.
func (s view) matches(h *library.Header) bool {
	return !s.filtered || strings.HasPrefix(strings.ToLower(h.Title), filterText)
}

// clockSlack is how far the clock of a process may go back while it reads.
const clockSlack = 100 * time.Millisecond

// mayHaveSeen reports whether the viewer might be shown the item in the owner's library at some
// moment while the page was read.
func (h *History) mayHaveSeen(p *readPage, id library.ContentID) bool {
	return h.mayHaveSeenAs(p, id, func(*contentState) bool { return true })
}

// mayHaveSeenAs is mayHaveSeen for the states for which as returns true.
func (h *History) mayHaveSeenAs(p *readPage, id library.ContentID, as func(*contentState) bool) bool {
	states := h.of(id).during(p.start, p.end)
	if !h.alive(p.owner, p.start, p.end) {
		return false
	}
	for i := range states {
		st := &states[i]
		if !as(st) || !p.matches(&st.header) || st.header.State != commit.Live || st.role(p.owner) == library.NoRole || st.expired(p.from) {
			continue
		}
		if h.sees(p, st, states[i:]) {
			return true
		}
	}
	return false
}

// expired reports whether the item had certainly expired by the clock of the process that
// served it.
func (s *contentState) expired(clock time.Time) bool {
	at := s.header.ExpiresAt
	return at != nil && !clock.IsZero() && !clock.Before(at.Time().Add(clockSlack))
}

// mustHaveSeen reports whether the item was unchanged, and had to be shown, from the first page
// of a walk to the last. By title, also an item that was changed but stayed at its place.
func (h *History) mustHaveSeen(r *reader, id library.ContentID) bool {
	all := readPage{view: r.view, start: r.pages[0].start, end: r.last()}
	for _, p := range h.principals {
		if len(p.during(all.start, all.end)) > 1 {
			return false
		}
	}
	states := h.of(id).during(all.start, all.end)
	if len(states) == 1 {
		return h.mayHaveSeen(&all, id)
	}
	// With includeShared the entries may be in another library after the change.
	return r.byTitle && !r.shared && h.alive(r.owner, all.start, all.end) && !slices.ContainsFunc(states, func(s contentState) bool {
		return s.header.State != commit.Live || s.header.ExpiresAt != nil || s.role(r.owner) == library.NoRole || !r.matches(&s.header) ||
			orderTitle(&s.header) != orderTitle(&states[0].header) || !h.sees(&all, &s, []contentState{s})
	})
}

// orderTitle returns the title by which an item is ordered: the former one while a move is deferred.
func orderTitle(h *library.Header) string { return cmp.Or(h.FormerTitle, h.Title) }

// sees implements docs/visibility.md for libraries. The owner, or the members of the group that is
// the owner, see all items; an administrator of the tenant, those that it may see itself; users of
// the tenant, its own LOGGEDIN items; everybody, PUBLIC items. With includeShared viewers also see
// the items that they have a role on. Roles through groups are read after the item, so they may be
// of a later state of it.
func (h *History) sees(p *readPage, st *contentState, later []contentState) bool {
	switch {
	case st.header.Visibility == principal.Public:
		return true
	case p.viewer == "":
		return false
	case p.viewer == p.owner:
		return true
	}
	of := h.groupsOf(p.viewer, p.start, p.end)
	if slices.Contains(of, p.owner) {
		return true
	}
	here, at, mine := tenant(string(p.owner)), tenant(string(st.header.ID)), tenant(string(p.viewer))
	reads := p.admin && mine == here
	switch {
	case reads && at == mine:
		return true
	case (reads || p.shared) && slices.ContainsFunc(later, func(s contentState) bool { return s.roleThrough(p.viewer, of) != library.NoRole }):
		return true
	}
	return st.header.Visibility == principal.LoggedIn && mine == here && here == at
}

// groupsOf returns the groups that a principal may have been in at some moment,
// directly or through others.
func (h *History) groupsOf(id principal.ID, start, end int) []principal.ID {
	var groups []principal.ID
	for grown := h.alive(id, start, end); grown; {
		grown = false
		for _, p := range h.principals {
			if !p.id.IsGroup() || slices.Contains(groups, p.id) {
				continue
			}
			for _, st := range p.during(start, end) {
				if st.has(id) || slices.ContainsFunc(groups, st.has) {
					groups, grown = append(groups, p.id), true
					break
				}
			}
		}
	}
	return groups
}

// has reports whether a principal is a member in a state of a group.
func (s *principalState) has(p principal.ID) bool {
	return s.header.State != commit.Deleted && s.role(p) != principal.NotInGroup
}

// roleThrough returns the strongest role of a principal and of groups in a state.
func (s *contentState) roleThrough(p principal.ID, groups []principal.ID) library.ContentRole {
	role := s.role(p)
	for _, g := range groups {
		role = max(role, s.role(g))
	}
	return role
}
