package principal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
)

// Limits of memberships (docs/visibility.md). Mutations refuse to exceed them. A race may exceed one
// all the same; the excess is ignored.
const (
	// maxLevels is the number of levels of groups through which a membership counts. The groups
	// that a principal is in directly are the first level.
	maxLevels = 8
	// maxGroups is the maximum number of groups in a closure.
	maxGroups = 2000
	// maxOwnGroups and maxOtherGroups are the maximum numbers of direct memberships of a principal
	// in groups of its own tenant, and of other tenants. They are separate so that strangers
	// cannot use up a principal's quota.
	maxOwnGroups   = 1000
	maxOtherGroups = 100
	// maxOwnRows and maxOtherRows are how many memberships are read for one closure: of the
	// principal and of groups of its tenant, and of groups of other tenants. They limit the cost
	// if many groups are nested into the same ones.
	maxOwnRows   = 20_000
	maxOtherRows = 5_000
)

// Closure is the set of groups that a principal is in, directly or through
// others. A nil Closure is empty.
type Closure struct {
	groups map[ID]groupAt
	// direct are the direct memberships in the reverse index, within the limits.
	direct []Membership
}

// groupAt is a group of a closure: the principal's strongest role in it, and the
// lowest level at which it was found, from 1 to maxLevels.
type groupAt struct {
	role  GroupRole
	level int
	// first is the membership by which it was found, of a principal of a lower level. strongest is the
	// one that gives the role.
	first, strongest confirmed
}

// confirmed is a membership that the group's own row has confirmed.
type confirmed struct {
	member ID
	seq    int64 // of the row
}

// chain appends the memberships through which p is in a group, from the group down to p.
func (c *Closure) chain(to []MemberOf, seqs []int64, p, group ID) ([]MemberOf, []int64) {
	for at := c.groups[group].strongest; ; at = c.groups[group].first {
		to, seqs = append(to, MemberOf{Group: group, Member: at.member}), append(seqs, at.seq)
		if at.member == p {
			return to, seqs
		}
		group = at.member
	}
}

// isDirect reports whether p is a member of each of the groups itself.
func (c *Closure) isDirect(p ID, groups []ID) bool {
	for _, g := range groups {
		if c.groups[g].strongest.member != p {
			return false
		}
	}
	return true
}

// Role returns the strongest Role in a group.
func (c *Closure) Role(group ID) GroupRole {
	if c == nil {
		return NotInGroup
	}
	return c.groups[group].role
}

// within returns the groups of the first levels, in order of id, so that every process and
// every run reads them in the same order.
func (c *Closure) within(levels int) []ID {
	if c == nil {
		return nil
	}
	ids := make([]ID, 0, len(c.groups))
	for id, g := range c.groups { // sorted below
		if g.level <= levels {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// All returns the groups, in order of id.
func (c *Closure) All() []ID { return c.within(maxLevels) }

// Meter counts the work of resolving groups, for which the edge charges the caller.
type Meter struct {
	rounds, groups atomic.Int64
}

// read counts a round of reads of some groups.
func (m *Meter) read(groups int) {
	m.rounds.Add(1)
	m.groups.Add(int64(groups))
}

// MoveTo moves what was counted to the meter of a viewer.
func (m *Meter) MoveTo(v *Viewer) {
	v.resolved.rounds.Add(m.rounds.Swap(0))
	v.resolved.groups.Add(m.groups.Swap(0))
}

// closureOf resolves the groups of p, level by level, one round of reads for each. A group that
// is reached in several ways counts with its lowest level, and with the strongest role of those
// through which it is reached: a member of a group that manages G manages G. p itself is not in
// its closure, whatever cycle it is in.
//
// The reverse index is only a hint: every membership is confirmed by the group's own partition.
// The groups of p's own tenant are resolved first and within limits of their own, so those of
// other tenants never displace them. A deleted principal has no groups, whatever rows remain of
// it.
func (s *Service) closureOf(ctx context.Context, p ID, m *Meter) (*Closure, error) {
	a := &ascent{s: s, p: p, meter: m, roles: map[ID]groupAt{}, ownRows: maxOwnRows, otherRows: maxOtherRows}
	var edges []edge
	if err := a.read(ctx, []ID{p}, &a.ownRows, &edges); err != nil {
		return nil, err
	}
	m.read(0)
	c := &Closure{groups: a.roles, direct: make([]Membership, len(edges))}
	for i, e := range edges {
		c.direct[i] = e.Membership
	}
	if len(edges) == 0 {
		return c, nil
	}
	deleted := false
	err := s.engine.Together(ctx, []func() error{
		func() (err error) {
			deleted, err = s.isDeleted(ctx, p)
			return err
		},
		func() (err error) {
			for level := 1; err == nil && level <= maxLevels && len(edges) > 0; level++ {
				edges, err = a.climb(ctx, level, edges)
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	if deleted {
		return &Closure{}, nil
	}
	// Both kinds were resolved up to the limit; together they must not exceed it.
	for _, g := range a.others[max(0, min(len(a.others), maxGroups-len(a.own))):] {
		delete(a.roles, g)
	}
	return c, nil
}

// ascent is the state of closureOf.
type ascent struct {
	s     *Service
	p     ID
	meter *Meter
	roles map[ID]groupAt
	// own and others are the groups found so far, of p's tenant and of others, in
	// the order found.
	own, others []ID
	// ownRows and otherRows are how many memberships may still be read.
	ownRows, otherRows int
}

// edge is a membership of a member, as the reverse index lists it.
type edge struct {
	member ID
	Membership
}

// candidate is a group that p may be in, with the memberships that lead to it, the strongest
// first.
type candidate struct {
	group ID
	edges []edge
}

// climb confirms the memberships that lead to the groups of a level and returns those of the groups
// themselves. It confirms the former while it reads the latter: this takes one round, and rarely
// reads a group unnecessarily.
func (a *ascent) climb(ctx context.Context, level int, edges []edge) ([]edge, error) {
	own, others := len(a.own), len(a.others)
	candidates := a.candidates(edges)
	if len(candidates) == 0 {
		return nil, nil
	}
	a.meter.read(len(candidates))
	var ofOwn, ofOthers []edge
	tasks := []func() error{func() error { return a.confirm(ctx, level, candidates) }}
	if fresh := a.own[own:]; level < maxLevels && len(fresh) > 0 {
		tasks = append(tasks, func() error { return a.read(ctx, fresh, &a.ownRows, &ofOwn) })
	}
	if fresh := a.others[others:]; level < maxLevels && len(fresh) > 0 {
		tasks = append(tasks, func() error { return a.read(ctx, fresh, &a.otherRows, &ofOthers) })
	}
	if err := a.s.engine.Together(ctx, tasks); err != nil {
		return nil, err
	}
	up := append(ofOwn, ofOthers...)
	return slices.DeleteFunc(up, func(e edge) bool { return a.roles[e.member].role == NotInGroup }), nil
}

// read appends the memberships of principals, as far as the remaining rows allow.
func (a *ascent) read(ctx context.Context, principals []ID, remaining *int, into *[]edge) error {
	lists, err := a.s.store.MembershipsOf(ctx, MembershipsQuery{
		Principals: principals, Own: maxOwnGroups, Others: maxOtherGroups, Rows: *remaining,
	})
	if err != nil {
		return fmt.Errorf("read memberships: %w", err)
	}
	for i, list := range lists {
		*remaining -= len(list)
		for _, m := range list {
			*into = append(*into, edge{principals[i], m})
		}
	}
	return nil
}

// candidates returns the groups that edges lead to and in which they may give p a stronger role
// than is known, in the order of edges. Groups that were not known are added to those found, up
// to the limit.
func (a *ascent) candidates(edges []edge) []candidate {
	var all []candidate
	at := make(map[ID]int, len(edges))
	for _, e := range edges {
		known := a.roles[e.Group].role
		if e.Group == a.p || e.Role <= known {
			continue
		}
		i, met := at[e.Group]
		if !met {
			if known == NotInGroup && !a.find(e.Group) {
				continue
			}
			i = len(all)
			at[e.Group] = i
			all = append(all, candidate{group: e.Group})
		}
		all[i].edges = append(all[i].edges, e)
	}
	for i := range all {
		slices.SortStableFunc(all[i].edges, func(e, f edge) int { return cmp.Compare(f.Role, e.Role) })
	}
	return all
}

// find adds a group to those found. It returns false at the limit.
func (a *ascent) find(group ID) bool {
	found := &a.others
	if group.Tenant() == a.p.Tenant() {
		found = &a.own
	}
	if len(*found) == maxGroups {
		return false
	}
	*found = append(*found, group)
	return true
}

// confirm reads the groups' own rows. One confirmed membership of each candidate is enough;
// another is tried only if the first is not as the index lists it.
func (a *ascent) confirm(ctx context.Context, level int, candidates []candidate) error {
	for first := true; len(candidates) > 0; first = false {
		if !first {
			a.meter.read(len(candidates))
		}
		claims := make([]MemberOf, len(candidates))
		for i, c := range candidates {
			claims[i] = MemberOf{Group: c.group, Member: c.edges[0].member}
		}
		rows, err := a.s.store.Confirm(ctx, claims)
		if err != nil {
			return fmt.Errorf("confirm memberships: %w", err)
		}
		again := candidates[:0]
		for i, c := range candidates {
			now := a.roles[c.group]
			if row := rows[i]; row.Active() && row.Role > now.role {
				by := confirmed{c.edges[0].member, row.Seq}
				if now.role == NotInGroup {
					now.level, now.first = level, by
				}
				now.role, now.strongest = row.Role, by
				a.roles[c.group] = now
			}
			c.edges = slices.DeleteFunc(c.edges[1:], func(e edge) bool { return e.Role <= now.role })
			if len(c.edges) > 0 {
				again = append(again, c)
			}
		}
		candidates = again
	}
	return nil
}

// levelsOf returns group itself, at level 1, and the groups of its closure, each with the level at
// which a member of group would reach it.
func (c *Closure) levelsOf(group ID) map[ID]int {
	levels := make(map[ID]int, len(c.groups)+1)
	for id, g := range c.groups { // into a map, in any order
		levels[id] = g.level + 1
	}
	levels[group] = 1
	return levels
}
