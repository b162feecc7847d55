package nemesis

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// fact is something that is true or false, and that a single client changes, one change
// at a time: that a user is a member of a group, or that a group is PUBLIC.
type fact struct {
	mu sync.Mutex
	is bool
	// next is the value after the open change: the one in flight, or one of unknown
	// outcome, which stays open until its outcome is known.
	open, unknown, next bool
	// changes counts the starts and ends of changes, as that of an item does.
	changes int
}

func (f *fact) begin(next bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.next = true, next
	f.changes++
}

// end records what is known after an answer. After a refusal the outcome is still unknown if an
// earlier attempt with the same key may succeed.
func (f *fact) end(v verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes++
	switch {
	case v == done:
		f.is, f.open, f.unknown = f.next, false, false
	case v == refused && !f.unknown:
		f.open = false
	default:
		f.unknown = true
	}
}

// factState is what is known about a fact at one moment.
type factState struct {
	is, open bool
	changes  int
}

// state returns what is known about a fact now. A fact that was never recorded is false.
func (f *fact) state() factState {
	if f == nil {
		return factState{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return factState{f.is, f.open, f.changes}
}

// access says what a read may show, and what it must show.
type access struct{ may, must bool }

func exactly(is bool) access { return access{is, is} }

func (s access) or(o access) access { return access{s.may || o.may, s.must || o.must} }

// between returns what a read may and must find of a fact, by what was known of the fact before
// the read was sent and after it was answered. While the fact was being changed, both values are
// right.
func between(before, after factState) access {
	if before.open || before.changes != after.changes {
		return access{may: true}
	}
	return exactly(before.is)
}

// verdictOnRead is the result of the check of a read.
type verdictOnRead byte

const (
	right  verdictOnRead = iota
	leak                 // shown to a viewer without access
	hidden               // hidden from a viewer with access
)

func (s access) check(shown bool) verdictOnRead {
	switch {
	case shown && !s.may:
		return leak
	case !shown && s.must:
		return hidden
	}
	return right
}

// group is a group that all writers manage. Each of them changes only the memberships of its own
// readers, so that many clients change the group, but only one changes each fact.
type group struct {
	id, owner string
	public    fact
	managers  []string
	readers   map[string]*fact // the map itself does not change
}

// relation is what is known about one viewer and one group.
type relation struct{ member, public factState }

// relations returns what is known about one viewer and each group, by the ids of the groups.
func (l *ledger) relations(viewer string) map[string]relation {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]relation, len(l.groups))
	for _, g := range l.groups {
		all[g.id] = relation{g.readers[viewer].state(), g.public.state()}
	}
	return all
}

// readWindow is what was known about a viewer's groups before a read was sent, and after it was
// answered.
type readWindow struct{ before, after map[string]relation }

// member returns what the read may and must find of the viewer's membership.
func (s readWindow) member(group string) access {
	return between(s.before[group].member, s.after[group].member)
}

// shows returns whether the read may and must find the group itself.
func (s readWindow) shows(group string) access {
	return s.member(group).or(between(s.before[group].public, s.after[group].public))
}

// of describes what was known of some groups, for a message.
func (s readWindow) of(groups ...string) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "; %s: %+v, then %+v", g, s.before[g], s.after[g])
	}
	return b.String()
}

func (l *ledger) addGroups(gs []*group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups = append(l.groups, gs...)
}

func (l *ledger) allGroups() []*group {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.groups)
}

// anyGroup returns one of the groups that are being changed.
func (l *ledger) anyGroup(random *rand.Rand) *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[len(l.groups)-1-random.IntN(groupsAtOnce)]
}

// checkGroup compares a group with its state at the end, when nothing is in flight any
// more.
func (l *ledger) checkGroup(f *figures, g *group, public bool, members []string) {
	within := func(what string, fact *fact, found bool) {
		at := fact.state()
		switch between(at, at).check(found) {
		case leak:
			f.report(&f.Leaks, "%s is %s at the end: known %+v", g.id, what, at)
		case hidden:
			f.report(&f.Lost, "%s is not %s at the end: known %+v", g.id, what, at)
		}
	}
	within("PUBLIC", &g.public, public)
	for _, reader := range slices.Sorted(maps.Keys(g.readers)) {
		within("a group of "+reader, g.readers[reader], slices.Contains(members, reader))
	}
	for _, m := range g.managers {
		if !slices.Contains(members, m) {
			f.report(&f.Lost, "%s has lost its manager %s", g.id, m)
		}
	}
	for n, m := range members {
		if g.readers[m] == nil && !slices.Contains(g.managers, m) {
			f.report(&f.Wrong, "%s has a member that nobody added: %s", g.id, m)
		}
		if slices.Contains(members[:n], m) {
			f.report(&f.Duplicates, "%s has %s twice", g.id, m)
		}
	}
}
