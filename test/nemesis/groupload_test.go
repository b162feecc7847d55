package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

const (
	newGroup        = `mutation($in: CreateGroupInput!) { createGroup(input: $in) { group { id } userErrors { code message } } }`
	updateGroup     = `mutation($in: UpdateGroupInput!) { updateGroup(input: $in) { group { id } userErrors { code message } } }`
	setGroupMembers = `mutation($in: SetGroupMembersInput!) { setGroupMembers(input: $in) { group { id } userErrors { code message } } }`
	readGroup       = `query($id: ID!) { group(id: $id) { visibility members(first: 100) { nodes { id } } } }`
)

// groupsAtOnce is how many groups are changed at a time. Each round has its own groups, because a
// page shows everything that is shared with a group.
const groupsAtOnce = 4

// throughGroups counts reads whose result depends on a membership alone.
type throughGroups struct {
	Members, Strangers atomic.Int64 // shown to members, hidden from strangers
	Between            atomic.Int64 // the membership was being changed
}

func (g *throughGroups) count(s access) {
	switch {
	case s.must:
		g.Members.Add(1)
	case s.may:
		g.Between.Add(1)
	default:
		g.Strangers.Add(1)
	}
}

func (g *throughGroups) String() string {
	return fmt.Sprintf("%d as members, %d as strangers, %d in between", g.Members.Load(), g.Strangers.Load(), g.Between.Load())
}

// requireGroups fails the test if the run has not changed groups and checked what their
// members and strangers see.
func (f *figures) requireGroups(t *testing.T) {
	t.Helper()
	for _, g := range []*throughGroups{&f.ByID, &f.Libraries} {
		if g.Members.Load() == 0 || g.Strangers.Load() == 0 {
			t.Errorf("too little was read through groups: %s", g)
		}
	}
	if f.GroupChanges.Load() == 0 {
		t.Error("no group was changed")
	}
}

// prepareGroups creates the groups of the next round.
func (l *load) prepareGroups(t *testing.T) {
	t.Helper()
	known := len(l.ledger.allGroups())
	made := make([]*group, groupsAtOnce)
	for n := range made {
		name := fmt.Sprintf("group%d", known+n)
		g := &group{id: "g:acme:" + name, owner: l.owners[n%len(l.owners)], managers: l.owners, readers: map[string]*fact{}}
		g.public.is = n%2 == 0
		var others []vars
		for _, o := range l.owners {
			if o != g.owner {
				others = append(others, vars{"principalId": o, "role": "MANAGER"})
			}
		}
		for _, r := range l.readers {
			g.readers[r] = new(fact)
		}
		// Between two rounds the cluster may still be busy with recovery.
		for _, step := range []struct {
			query string
			in    vars
		}{
			{newGroup, vars{"tenant": "acme", "name": name, "displayName": name, "visibility": visibility(g.public.is), "idempotencyKey": name}},
			{setGroupMembers, vars{"groupId": g.id, "members": others, "idempotencyKey": name + "-managers"}},
		} {
			until(t, runTimeout, "a group to share with", func() bool {
				return l.gateways[0].post(l.tokens[g.owner], step.query, vars{"in": step.in}).verdict == done
			})
		}
		made[n] = g
	}
	l.ledger.addGroups(made)
}

// groupChange is a change of one fact. It is repeated with the same key as long as its
// outcome is unknown.
type groupChange struct {
	group  *group
	fact   *fact
	next   bool
	reader string // whose membership it is; empty: the group's visibility
	by     string
	query  string
	field  string
	in     vars
	resent bool // it was sent before
}

// organizer is a writer that changes groups.
type organizer struct {
	load    *load
	owner   string
	readers []string // whose memberships it changes
	keys    int
	open    []*groupChange // of unknown outcome
	last    *groupChange   // acknowledged
}

func (l *load) organizer(owner string) *organizer {
	o := &organizer{load: l, owner: owner}
	for n, r := range l.readers {
		if l.owners[n%len(l.owners)] == owner {
			o.readers = append(o.readers, r)
		}
	}
	return o
}

// step makes a change, repeats one of unknown outcome, or repeats an acknowledged one,
// which must have no further effect.
func (o *organizer) step(random *rand.Rand) {
	if len(o.open) > 0 && random.IntN(2) == 0 {
		c := o.open[0]
		o.open = o.open[1:]
		o.send(c, random)
		return
	}
	if o.last != nil && random.IntN(8) == 0 {
		o.load.ask(o.last.by, o.last.query, o.last.field, o.last.group.id, o.last.in, random)
		o.load.figures.Repeated.Add(1)
		return
	}
	if c := o.draw(random); !c.fact.state().open {
		o.send(c, random)
	}
}

// draw returns a random change: of a membership, or of the visibility of a group that
// this writer created.
func (o *organizer) draw(random *rand.Rand) *groupChange {
	g := o.load.ledger.anyGroup(random)
	o.keys++
	c := &groupChange{group: g, by: o.owner}
	key := fmt.Sprintf("%s-%d", o.owner, o.keys)
	if g.owner == o.owner && random.IntN(2) == 0 {
		c.fact, c.next = &g.public, !g.public.state().is
		c.query, c.field = updateGroup, "updateGroup"
		c.in = vars{"id": g.id, "visibility": visibility(c.next), "idempotencyKey": key}
		return c
	}
	c.reader = o.readers[random.IntN(len(o.readers))]
	c.fact = g.readers[c.reader]
	c.next = !c.fact.state().is
	c.query, c.field = setGroupMembers, "setGroupMembers"
	member := vars{"principalId": c.reader, "role": nil}
	switch {
	case c.next:
		member["role"] = "MEMBER"
	case random.IntN(3) == 0:
		c.by = c.reader // every member may leave
	}
	c.in = vars{"groupId": g.id, "members": []vars{member}, "idempotencyKey": key}
	return c
}

// send makes a change through some gateway and records what is known after it. An
// acknowledged change is read back at once, through any gateway.
func (o *organizer) send(c *groupChange, random *rand.Rand) {
	l := o.load
	c.fact.begin(c.next)
	a := l.ask(c.by, c.query, c.field, c.group.id, c.in, random)
	c.fact.end(a.verdict)
	if c.fact.state().open {
		c.resent = true
		o.open = append(o.open, c)
	}
	if a.verdict != done {
		return
	}
	o.last = c
	l.figures.GroupChanges.Add(1)
	if c.resent {
		l.figures.Resent.Add(1)
	}
	if c.reader == "" {
		l.lookAtLibrary(l.ledger.all(), c.group.id, o.readers[0], random)
		return
	}
	l.lookThrough(c.group, c.reader, random)
}

// lookThrough reads something that the viewer sees only as a member of a group: an item that is
// shared with the group, or the group's library.
func (l *load) lookThrough(g *group, reader string, random *rand.Rand) bool {
	items := l.ledger.all()
	late := slices.DeleteFunc(items[max(0, len(items)-writers*kept):], func(i *item) bool {
		v := i.view(g.id)
		return !v.stable || !slices.Contains(v.members, g.id) || !v.onlyThroughGroups(reader)
	})
	if len(late) == 0 || random.IntN(2) == 0 {
		return l.lookAtLibrary(l.ledger.all(), g.id, reader, random)
	}
	return l.lookAtItem(late[random.IntN(len(late))], reader, random)
}

// checkGroups compares every group with its state at the end: its list of members, and
// what members and others can see.
func (l *load) checkGroups(t *testing.T) {
	t.Helper()
	random := rand.New(rand.NewPCG(0, 0))
	items := l.ledger.all()
	for n, g := range l.ledger.allGroups() {
		a := l.gateways[n%len(l.gateways)].post(l.tokens[g.owner], readGroup, vars{"id": g.id})
		if a.verdict != done {
			t.Errorf("reading %s at the end: %v", g.id, a)
			continue
		}
		l.ledger.checkGroup(&l.figures, g, a.at("group.visibility") == "PUBLIC", a.nodeIDs("group.members.nodes"))
		for _, viewer := range append([]string{""}, l.readers...) {
			if !l.lookAtLibrary(items, g.id, viewer, random) {
				t.Errorf("the library of %s is not shown to %q at the end", g.id, viewer)
			}
		}
	}
}
