package library

import (
	"context"
	"fmt"
)

// maxRoomWalk bounds how many members of a group that becomes a member are
// looked at, themselves and theirs. Beyond it a mutation does not foresee
// whose closure grows too large; closureOf then counts no group past the bound.
const maxRoomWalk = 2_000

// room tells whether principals may become members of one group: nobody is in
// more than maxDirectGroups groups directly, nor in more than maxGroups in all.
type room struct {
	s     *Service
	group PrincipalID
	// above are the group and all that it is in, once read: what whoever comes
	// in gets into.
	above []PrincipalID
}

func newRoom(s *Service, group PrincipalID) *room { return &room{s: s, group: group} }

// check is TOO_MANY where p cannot become a member.
func (r *room) check(ctx context.Context, p PrincipalID) error {
	direct, err := r.s.directClaims(ctx, p, func(m Membership) bool { return m.Group != r.group })
	if err != nil {
		return fmt.Errorf("counting the groups of %s: %w", p, err)
	}
	if len(direct) >= maxDirectGroups {
		return TooManyf(nil, "this principal is a member of %d groups, which is as many as may be; take it out of another first", len(direct))
	}
	if r.above == nil {
		groups, err := r.s.closureOf(ctx, r.group)
		if err != nil {
			return err
		}
		r.above = append(inOrder(groups), r.group)
	}
	grows, err := r.checkClosure(ctx, p)
	if err != nil || !grows || !p.IsGroup() {
		return err
	}
	return r.checkBelow(ctx, p)
}

// checkClosure is TOO_MANY where p would be in too many groups in all. It tells
// whether p would get into any group that it is not in.
func (r *room) checkClosure(ctx context.Context, p PrincipalID) (grows bool, err error) {
	groups, err := r.s.closureOf(ctx, p)
	if err != nil {
		return false, err
	}
	total := len(groups)
	for _, g := range r.above {
		if _, in := groups[g]; !in && g != p {
			total++
		}
	}
	if total > maxGroups && total > len(groups) {
		return true, TooManyf(nil, "%s would be in %d groups, directly and through others; at most %d are possible", p, total, maxGroups)
	}
	return total > len(groups), nil
}

// checkBelow checks everybody who is in p, directly or through others: they get
// into the group along with it.
func (r *room) checkBelow(ctx context.Context, p PrincipalID) error {
	seen := map[PrincipalID]bool{p: true}
	walked := 0
	for queue := []PrincipalID{p}; len(queue) > 0; queue = queue[1:] {
		var after PrincipalID
		for {
			page, err := r.s.store.GroupMembersPage(ctx, queue[0], after, r.s.tune.SnapshotPage, false)
			if err != nil {
				return fmt.Errorf("reading the members of %s: %w", queue[0], err)
			}
			for _, m := range page.Members {
				if !m.Active() || seen[m.Principal] {
					continue
				}
				seen[m.Principal] = true
				if walked++; walked > maxRoomWalk {
					return nil
				}
				if m.Principal.IsGroup() {
					queue = append(queue, m.Principal)
				}
				if _, err := r.checkClosure(ctx, m.Principal); CodeOf(err) == Exhausted {
					// Who that is the actor may have no right to know.
					return TooManyf(nil, "somebody in %s would be in more than %d groups, directly and through others", p, maxGroups)
				} else if err != nil {
					return err
				}
			}
			if len(page.Members) < r.s.tune.SnapshotPage {
				break
			}
			after = page.Members[len(page.Members)-1].Principal
		}
	}
	return nil
}
