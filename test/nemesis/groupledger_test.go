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

// end records what is known after an answer. A refusal does not settle the outcome while
// an earlier attempt with the same key may still succeed.
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

// glance is what is known about a fact at one moment.
type glance struct {
	is, open bool
	changes  int
}

// A fact that was never recorded is false.
func (f *fact) glance() glance {
	if f == nil {
		return glance{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return glance{f.is, f.open, f.changes}
}

// access says what a read may show, and what it must show.
type access struct{ may, must bool }

func exactly(is bool) access { return access{is, is} }

func (s access) or(o access) access { return access{s.may || o.may, s.must || o.must} }

// between returns what a read may and must find of a fact if it was sent after one glance
// at the fact and answered before another. While the fact was being changed, both values
// are right.
func between(before, after glance) access {
	if before.open || before.changes != after.changes {
		return access{may: true}
	}
	return exactly(before.is)
}

// ruling is the result of the check of a read.
type ruling byte

const (
	right  ruling = iota
	leak          // shown to a viewer without access
	hidden        // hidden from a viewer with access
)

func (s access) check(shown bool) ruling {
	switch {
	case shown && !s.may:
		return leak
	case !shown && s.must:
		return hidden
	}
	return right
}

// group is one that all writers manage. Each of them changes only the memberships of its
// own readers, so that many clients change the group, but only one changes each fact.
type group struct {
	id, owner string
	public    fact
	managers  []string
	readers   map[string]*fact // the map itself does not change
}

// tie is what is known about one viewer and one group.
type tie struct{ member, public glance }

// ties has the ties of one viewer with all groups, at one moment.
func (l *ledger) ties(viewer string) map[string]tie {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]tie, len(l.groups))
	for _, g := range l.groups {
		all[g.id] = tie{g.readers[viewer].glance(), g.public.glance()}
	}
	return all
}

// span is what was known about a viewer's groups before a read was sent, and after it was
// answered.
type span struct{ before, after map[string]tie }

// member returns what the read may and must find of the viewer's membership.
func (s span) member(group string) access {
	return between(s.before[group].member, s.after[group].member)
}

// shows returns whether the read may and must find the group itself.
func (s span) shows(group string) access {
	return s.member(group).or(between(s.before[group].public, s.after[group].public))
}

// of describes what was known of some groups, for a message.
func (s span) of(groups ...string) string {
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
	return l.groups[len(l.groups)-1-random.IntN(circles)]
}

// checkGroup compares a group with its state at the end, when nothing is in flight any
// more.
func (l *ledger) checkGroup(f *figures, g *group, public bool, members []string) {
	within := func(what string, fact *fact, found bool) {
		at := fact.glance()
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
