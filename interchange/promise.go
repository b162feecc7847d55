package interchange

import (
	"errors"
	"slices"

	"carrel/principal"
)

// errNoManager is the fault of a group whose members were to follow.
var errNoManager = errors.New("membersFollow: no line of members gives this group a MANAGER")

// promises are the groups whose own lines say that their members follow, and
// that no line of members has given a manager yet. They are few: only groups
// that groups alone manage need it.
type promises struct {
	open map[string]int // the number of the line that made it, by group
}

func newPromises() *promises { return &promises{open: map[string]int{}} }

// hear takes in a line of the file, in its order.
func (p *promises) hear(l *Line, number int) {
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

// broken are the faults of the promises that nobody has kept, in the order of lines.
func (p *promises) broken() []*Fault {
	var faults []*Fault
	for _, number := range p.open {
		faults = append(faults, &Fault{Line: number, Err: errNoManager})
	}
	slices.SortFunc(faults, func(a, b *Fault) int { return a.Line - b.Line })
	return faults
}
