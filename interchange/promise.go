package interchange

import (
	"errors"
	"slices"

	"carrel/principal"
)

// errNoManager is the fault of a group with membersFollow for which no manager followed.
var errNoManager = errors.New("membersFollow: no line of members gives this group a MANAGER")

// promises are the groups with membersFollow for which no line of members has named a manager yet.
// They are few: only groups that are managed only by groups need it.
type promises struct {
	open map[string]int // the number of the group's line, by group
}

func newPromises() *promises { return &promises{open: map[string]int{}} }

// process handles a line of the file, in order.
func (p *promises) process(l *Line, number int) {
	switch {
	case l.Type == TypeGroup && l.Group.MembersFollow:
		p.open[l.Group.ID] = number
	case l.Type == TypeMembers && slices.ContainsFunc(l.Members.Group, manages):
		delete(p.open, l.Members.ID)
	}
}

func manages(c principal.GroupMemberChange) bool {
	return c.Role != nil && *c.Role == principal.GroupManager
}

// broken returns the faults of the groups without a manager, in the order of lines.
func (p *promises) broken() []*Fault {
	var faults []*Fault
	for _, number := range p.open {
		faults = append(faults, &Fault{Line: number, Err: errNoManager})
	}
	slices.SortFunc(faults, func(a, b *Fault) int { return a.Line - b.Line })
	return faults
}
