package principal

import (
	"context"
	"fmt"

	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/sched"
)

const (
	// additionsAtOnce is how many principals of one mutation are checked at once.
	additionsAtOnce = 8
	// descentWidth is how many groups' members are read at once.
	descentWidth = 64
	// firstMembers is how many member rows of a group are read first: few groups contain more
	// groups than that.
	firstMembers = 20
)

// checkAdditions checks whether each of principals can become a member of a group: no principal
// may be in too many groups, and groups must not nest too deep. It returns TOO_MANY for those
// that cannot, nil for the others.
//
// The number of rounds of reads does not depend on the number of principals. The check reads the
// groups above the group, and the groups above and below each principal, but not the members of
// those below (ADR 29).
func (s *Service) checkAdditions(ctx context.Context, v *Viewer, group ID, principals []ID) ([]error, error) {
	if len(principals) == 0 {
		return nil, nil
	}
	closure, err := s.closureOf(ctx, group, v.billed())
	if err != nil {
		return nil, err
	}
	a := &additions{s: s, meter: v.billed(), group: group, above: closure.levelsOf(group), imports: !v.SignedIn()}
	refused := make([]error, len(principals))
	err = sched.ForEach(ctx, s.rt, len(principals), additionsAtOnce, func(i int) (err error) {
		refused[i], err = a.check(ctx, principals[i])
		return err
	})
	return refused, err
}

// additions checks principals that are to become members of one group.
type additions struct {
	s     *Service
	meter *Meter
	group ID
	// above are the group and the groups that it is in, each with the level at which a new member
	// reaches it.
	above map[ID]int
	// imports: there is no viewer, and the members come from an export. Additions at the same time may have
	// exceeded the limits of direct memberships there, and a file that was exported can be imported.
	imports bool
}

// check returns why p cannot become a member; refused is nil if it can.
func (a *additions) check(ctx context.Context, p ID) (refused, err error) {
	if p.IsGroup() {
		a.meter.resolutions.Add(1) // of the groups below it, whether they are read or not
	}
	closure, err := a.s.closureOf(ctx, p, a.meter)
	if err != nil {
		return nil, err
	}
	own := p.Tenant() == a.group.Tenant()
	if refused := a.checkDirect(p, own, closure); refused != nil && !a.imports {
		return refused, nil
	}
	if refused := a.checkSize(p, own, closure); refused != nil {
		return refused, nil
	}
	if !p.IsGroup() {
		return nil, nil
	}
	deepest := a.deepest(p, closure)
	if deepest == 0 {
		return nil, nil
	}
	deeper, err := a.reachesBelow(ctx, p, maxLevels-deepest)
	if err != nil || !deeper {
		return nil, err
	}
	return fault.TooManyf(nil, "groups nest through at most %d levels; with %s in %s they would nest deeper", maxLevels, p, a.group), nil
}

// checkDirect returns TOO_MANY if p has as many direct memberships as allowed. If own, the group is
// in p's own tenant, and only memberships in groups of that tenant count; otherwise only those in
// groups of other tenants.
func (a *additions) checkDirect(p ID, own bool, c *Closure) error {
	n := 0
	for _, m := range c.direct {
		if (m.Group.Tenant() == p.Tenant()) == own && m.Group != a.group {
			n++
		}
	}
	switch {
	case own && n >= maxOwnGroups:
		return fault.TooManyf(nil, "%s is a member of %d groups of its tenant, which is the maximum; remove it from another one first", p, n)
	case !own && n >= maxOtherGroups:
		return fault.TooManyf(nil, "%s is a member of %d groups of other tenants, which is the maximum", p, n)
	}
	return nil
}

// checkSize counts the closure that p would have. In a group of p's own tenant, only the groups of
// that tenant count: groups of other tenants give way to them, so strangers cannot prevent p from
// joining.
func (a *additions) checkSize(p ID, own bool, c *Closure) error {
	counts := func(g ID) bool { return !own || g.Tenant() == p.Tenant() }
	total, more := 0, 0
	for g, at := range c.groups { // counts, in any order
		if at.role != NotInGroup && counts(g) {
			total++
		}
	}
	for g, level := range a.above { // counts, in any order
		if g != p && level <= maxLevels && counts(g) && c.Role(g) == NotInGroup {
			more++
		}
	}
	if more > 0 && total+more > maxGroups {
		return fault.TooManyf(nil, "%s would be in %d groups, directly and through others; at most %d are possible", p, total+more, maxGroups)
	}
	return nil
}

// deepest returns the highest level among the groups that a member of p would reach for the first
// time, or at a lower level than before; 0 if there are none. Groups of other tenants above a.group
// do not count: their managers can add a.group without consent, and must not be able to prevent
// others from nesting groups.
func (a *additions) deepest(p ID, c *Closure) int {
	deepest := 0
	for g, level := range a.above { // the maximum does not depend on the order
		if g == p || g != a.group && g.Tenant() != a.group.Tenant() {
			continue
		}
		if known := c.groups[g]; known.role != NotInGroup && known.level <= level {
			continue
		}
		deepest = max(deepest, level)
	}
	return deepest
}

// reachesBelow reports whether groups nest below p through more than the given number of levels, of
// which p is the first. Groups above a.group do not count, because they form a cycle with it. It
// reads at most maxGroups groups.
func (a *additions) reachesBelow(ctx context.Context, p ID, levels int) (bool, error) {
	seen := map[ID]bool{p: true}
	for level := []ID{p}; len(level) > 0; levels-- {
		if levels <= 0 {
			for _, g := range level {
				if _, above := a.above[g]; !above {
					return true, nil
				}
			}
			return false, nil
		}
		below, err := a.s.groupsIn(ctx, level)
		if err != nil {
			return false, err
		}
		level = level[:0:0]
		for _, g := range below {
			// Groups below the group itself already reach the groups above it.
			if !seen[g] && g != a.group && len(seen) < maxGroups {
				seen[g] = true
				level = append(level, g)
			}
		}
	}
	return false, nil
}

// groupsIn returns the groups that are direct members of groups.
func (s *Service) groupsIn(ctx context.Context, groups []ID) ([]ID, error) {
	each := make([][]ID, len(groups))
	err := sched.ForEach(ctx, s.rt, len(groups), descentWidth, func(i int) (err error) {
		each[i], err = s.groupsInGroup(ctx, groups[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []ID
	for _, in := range each {
		all = append(all, in...)
	}
	return all, nil
}

// groupsInGroup reads member rows up to the first user: ids of groups sort before those of
// users.
func (s *Service) groupsInGroup(ctx context.Context, group ID) ([]ID, error) {
	var in []ID
	after := ID("")
	for rows, limit := 0, firstMembers; rows < maxGroups; limit = input.MaxList {
		page, err := s.store.GroupMembersPage(ctx, group, after, limit, false)
		if err != nil {
			return nil, fmt.Errorf("read the members of %s: %w", group, err)
		}
		for _, m := range page.Members {
			if !m.Principal.IsGroup() {
				return in, nil
			}
			if m.Active() {
				in = append(in, m.Principal)
			}
		}
		if len(page.Members) < limit {
			break
		}
		rows += len(page.Members)
		after = page.Members[len(page.Members)-1].Principal
	}
	return in, nil
}
