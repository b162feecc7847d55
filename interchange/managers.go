package interchange

import (
	"errors"
	"slices"

	"carrel/exchange"
	"carrel/principal"
)

// errNoManager is the fault of a group with membersFollow for which no manager followed.
var errNoManager = errors.New("membersFollow: no line of members gives this group a MANAGER")

// awaitedManagers are the groups with membersFollow for which no line of members has named a
// manager yet. There are few of them: only groups whose managers are all groups need membersFollow.
type awaitedManagers struct {
	open map[string]int // the number of the group's line, by group
}

func newAwaitedManagers() *awaitedManagers { return &awaitedManagers{open: map[string]int{}} }

// see processes the next line of the file.
func (p *awaitedManagers) see(l *exchange.Line, number int) {
	switch {
	case l.Type == exchange.TypeGroup && l.Group.MembersFollow:
		p.open[l.Group.ID] = number
	case l.Type == exchange.TypeMembers && slices.ContainsFunc(l.Members.Group, manages):
		delete(p.open, l.Members.ID)
	}
}

func manages(c principal.GroupMemberChange) bool {
	return c.Role != nil && *c.Role == principal.GroupManager
}

// missing returns the faults of the groups without a manager, in the order of lines.
func (p *awaitedManagers) missing() []*Fault {
	var faults []*Fault
	for _, number := range p.open {
		faults = append(faults, &Fault{Line: number, Err: errNoManager})
	}
	slices.SortFunc(faults, func(a, b *Fault) int { return a.Line - b.Line })
	return faults
}
