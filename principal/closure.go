package principal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"carrel/core/clock"
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
	// maxOwnRows and maxOtherRows are how many memberships are read at one level of a closure: of the
	// principal and of groups of its tenant, and of groups of other tenants. They limit the cost
	// if many groups are nested into the same ones.
	maxOwnRows   = 20_000
	maxOtherRows = 5_000
	// raced is how many direct memberships beyond maxOwnGroups and maxOtherGroups are read. Additions that run
	// at the same time may exceed these limits, and the earliest memberships count.
	raced = 1_000
)

// Closure is the set of groups that a principal is in, directly or through
// others. A nil Closure is empty.
type Closure struct {
	// groups also has groups that had to give way, with the role NotInGroup: chains may lead through
	// them.
	groups map[ID]groupAt
	// direct are the direct memberships in the reverse index, within the limits.
	direct []Membership
}

// groupAt is a group of a closure: the principal's strongest role in it, and the
// lowest level at which it was found, from 1 to maxLevels.
type groupAt struct {
	role  GroupRole
	level int
	// since is when the principal came into the group, by the earliest way: the time of the latest
	// membership of a chain that leads to the group.
	since clock.Instant
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
		if g.level <= levels && g.role != NotInGroup {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// All returns the groups, in order of id.
func (c *Closure) All() []ID { return c.within(maxLevels) }

// closureOf resolves the groups of p, level by level, one round of reads for each. A group that
// is reached in several ways counts with its lowest level, and with the strongest role of those
// through which it is reached: a member of a group that manages G manages G. p itself is not in
// its closure, whatever cycle it is in.
//
// The reverse index is only a hint: every membership is confirmed by the group's own partition.
// The groups of p's own tenant are resolved first and within limits of their own, so those of
// other tenants never displace them. Beyond the limits, groups that p came into later give way:
// whatever memberships others add, they displace no group that p is in by earlier ones. A deleted
// principal has no groups, whatever rows remain of it.
func (s *Service) closureOf(ctx context.Context, p ID, m *Meter) (*Closure, error) {
	m.resolutions.Add(1)
	a := &ascent{s: s, p: p, groups: map[ID]groupAt{}, rows: map[ID][]Membership{}}
	if err := a.read(ctx, []ID{p}, maxOwnRows); err != nil {
		return nil, err
	}
	c := &Closure{groups: a.groups, direct: a.rows[p]}
	if len(c.direct) == 0 {
		return c, nil
	}
	deleted := false
	err := s.engine.Together(ctx, []func() error{
		func() (err error) {
			deleted, err = s.isDeleted(ctx, p)
			return err
		},
		func() (err error) {
			edges := a.edges([]ID{p})
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
	if len(a.groups) > maxGroups {
		// Both kinds were resolved up to the limit; together they must not exceed it.
		own, others := a.known()
		a.giveWay(others, maxGroups-len(own))
	}
	return c, nil
}

// ascent is the state of closureOf.
type ascent struct {
	s      *Service
	p      ID
	groups map[ID]groupAt
	// rows are the memberships that were read, of p and of groups.
	rows map[ID][]Membership
	mu   sync.Mutex // of rows
}

// edge is a membership of a member that p is, or is in.
type edge struct {
	member ID
	Membership
	reached clock.Instant // since when p is in the group by this membership
}

// candidate is a group that p may be in, with the memberships that lead to it, the strongest first.
type candidate struct {
	group ID
	edges []edge
	since clock.Instant // the earliest of the edges
}

// climb confirms the memberships that lead to the groups of a level and returns those of the groups
// themselves. It confirms the former while it reads the latter: this takes one round, and rarely
// reads a group unnecessarily. Memberships of groups of lower levels come again if p turns out to be
// in these groups for longer.
func (a *ascent) climb(ctx context.Context, level int, edges []edge) ([]edge, error) {
	candidates, higher := a.candidates(edges)
	var own, others []ID
	for _, c := range candidates {
		if _, read := a.rows[c.group]; read || a.groups[c.group].role != NotInGroup {
			continue
		}
		if c.group.Tenant() == a.p.Tenant() {
			own = append(own, c.group)
		} else {
			others = append(others, c.group)
		}
	}
	tasks := []func() error{func() error { return a.confirm(ctx, level, candidates) }}
	if level < maxLevels && len(own) > 0 {
		tasks = append(tasks, func() error { return a.read(ctx, own, maxOwnRows) })
	}
	if level < maxLevels && len(others) > 0 {
		tasks = append(tasks, func() error { return a.read(ctx, others, maxOtherRows) })
	}
	if err := a.s.engine.Together(ctx, tasks); err != nil {
		return nil, err
	}
	if len(a.groups) > maxGroups {
		own, others := a.known()
		a.giveWay(own, maxGroups)
		a.giveWay(others, maxGroups)
	}
	return a.edges(higher), nil
}

// read reads the memberships of principals, as far as the limit allows: first an equal share of each, so that many
// memberships of some do not hide those of others, then the rest of those that have more, in the order of principals.
func (a *ascent) read(ctx context.Context, principals []ID, limit int) error {
	share := max(limit/len(principals), 2)
	most := MembershipsQuery{Own: maxOwnGroups + raced, Others: maxOtherGroups + raced}
	q := MembershipsQuery{Principals: principals, Own: min(share*9/10, most.Own), Others: min(share-share*9/10, most.Others), Rows: limit}
	lists, err := a.list(ctx, q)
	if err != nil {
		return err
	}
	for i, list := range lists {
		limit -= len(list)
		own := 0
		for _, m := range list {
			if m.Group.Tenant() == principals[i].Tenant() {
				own++
			}
		}
		if own == q.Own && own < most.Own || len(list)-own == q.Others && q.Others < most.Others {
			most.Principals = append(most.Principals, principals[i])
		}
	}
	if most.Rows = limit; limit > 0 && len(most.Principals) > 0 {
		_, err = a.list(ctx, most)
	}
	return err
}

// list reads memberships, and keeps those that count.
func (a *ascent) list(ctx context.Context, q MembershipsQuery) ([][]Membership, error) {
	lists, err := a.s.store.MembershipsOf(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, list := range lists {
		a.rows[q.Principals[i]] = earliest(q.Principals[i], list)
	}
	return lists, nil
}

// earliest returns the memberships of p that count, in order of id: of too many, those that p came into first.
func earliest(p ID, list []Membership) []Membership {
	if len(list) <= maxOtherGroups {
		return list
	}
	byTime := slices.Clone(list)
	slices.SortFunc(byTime, func(m, n Membership) int { return cmp.Or(cmp.Compare(m.Since, n.Since), cmp.Compare(m.Group, n.Group)) })
	own, others := maxOwnGroups, maxOtherGroups
	count := byTime[:0]
	for _, m := range byTime {
		remaining := &others
		if m.Group.Tenant() == p.Tenant() {
			remaining = &own
		}
		if *remaining > 0 {
			*remaining--
			count = append(count, m)
		}
	}
	slices.SortFunc(count, func(m, n Membership) int { return cmp.Compare(m.Group, n.Group) })
	return count
}

// edges returns the memberships of p, or of those of members that p is in.
func (a *ascent) edges(members []ID) []edge {
	n := 0
	for _, id := range members {
		n += len(a.rows[id])
	}
	all := make([]edge, 0, n)
	for _, id := range members {
		at := a.groups[id]
		if id != a.p && at.role == NotInGroup {
			continue
		}
		for _, m := range a.rows[id] {
			all = append(all, edge{id, m, max(at.since, m.Since)})
		}
	}
	return all
}

// candidates returns the groups that edges lead to and in which they may give p a stronger role
// than is known. higher are the groups whose memberships are to be followed next: those that were not
// known, and those that p is in for longer than was known.
func (a *ascent) candidates(edges []edge) (all []candidate, higher []ID) {
	at := make(map[ID]int, len(edges))
	for _, e := range edges {
		known := a.groups[e.Group]
		if e.Group == a.p {
			continue
		}
		if known.role != NotInGroup && e.reached < known.since {
			known.since = e.reached
			a.groups[e.Group] = known
			higher = append(higher, e.Group)
		}
		if e.Role <= known.role {
			continue
		}
		i, met := at[e.Group]
		if !met {
			i = len(all)
			at[e.Group] = i
			all = append(all, candidate{group: e.Group, since: e.reached})
		}
		all[i].edges, all[i].since = append(all[i].edges, e), min(all[i].since, e.reached)
	}
	for i := range all {
		slices.SortStableFunc(all[i].edges, func(e, f edge) int {
			return cmp.Or(cmp.Compare(f.Role, e.Role), cmp.Compare(e.reached, f.reached))
		})
	}
	all = a.early(all)
	for _, c := range all {
		if a.groups[c.group].role == NotInGroup {
			higher = append(higher, c.group)
		}
	}
	slices.Sort(higher)
	return all, slices.Compact(higher)
}

// early returns candidates, the earliest first, without those that are too late for the limit.
func (a *ascent) early(all []candidate) []candidate {
	slices.SortFunc(all, func(c, d candidate) int { return cmp.Or(cmp.Compare(c.since, d.since), cmp.Compare(c.group, d.group)) })
	if len(a.groups)+len(all) <= maxGroups {
		return all
	}
	own, others := a.known()
	newOwn, newOthers := 0, 0
	return slices.DeleteFunc(all, func(c candidate) bool {
		if a.groups[c.group].role != NotInGroup {
			return false
		}
		known, before := others, &newOthers
		if c.group.Tenant() == a.p.Tenant() {
			known, before = own, &newOwn
		}
		notLater := sort.Search(len(known), func(i int) bool { return a.groups[known[i]].since > c.since })
		if notLater+*before >= maxGroups {
			return true
		}
		*before++
		return false
	})
}

// known returns the groups of p's tenant and those of others that p is in, the earliest first.
func (a *ascent) known() (own, others []ID) {
	for id, g := range a.groups { // in any order: sorted below
		switch {
		case g.role == NotInGroup:
		case id.Tenant() == a.p.Tenant():
			own = append(own, id)
		default:
			others = append(others, id)
		}
	}
	earlier := func(g, h ID) int {
		at, other := a.groups[g], a.groups[h]
		return cmp.Or(cmp.Compare(at.since, other.since), cmp.Compare(at.level, other.level), cmp.Compare(g, h))
	}
	slices.SortFunc(own, earlier)
	slices.SortFunc(others, earlier)
	return own, others
}

// giveWay takes p out of the latest of groups, so that n remain.
func (a *ascent) giveWay(groups []ID, n int) {
	for _, id := range groups[min(max(n, 0), len(groups)):] {
		g := a.groups[id]
		g.role = NotInGroup
		a.groups[id] = g
	}
}

// confirm reads the groups' own rows. One confirmed membership of each candidate is enough;
// another is tried only if the first is not as the index lists it.
func (a *ascent) confirm(ctx context.Context, level int, candidates []candidate) error {
	for len(candidates) > 0 {
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
			now := a.groups[c.group]
			if row := rows[i]; row.Active() && row.Role > now.role {
				by := confirmed{c.edges[0].member, row.Seq}
				if now.level == 0 {
					now.level, now.first = level, by
				}
				if now.role == NotInGroup {
					now.since = c.since
				}
				now.role, now.strongest = row.Role, by
				a.groups[c.group] = now
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
		if g.role != NotInGroup {
			levels[id] = g.level + 1
		}
	}
	levels[group] = 1
	return levels
}
