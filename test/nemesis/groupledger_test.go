package nemesis

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// fact is something that is so or is not, and that a single client changes, one
// change at a time: that somebody is in a group, that a group is PUBLIC.
type fact struct {
	mu sync.Mutex
	is bool
	// next is what is so once the open change has happened: the one under way, or
	// the one of unknown outcome, which stays open until it is settled.
	open, unknown, next bool
	// changes counts what began and what ended, as that of an item does.
	changes int
}

func (f *fact) begin(next bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open, f.next = true, next
	f.changes++
}

// end keeps what is known after an answer. An attempt that was refused settles
// nothing while an earlier one with the same key may still happen.
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

// glance is a fact as it is known at one moment.
type glance struct {
	is, open bool
	changes  int
}

// glance of what was never a fact is that it is not so.
func (f *fact) glance() glance {
	if f == nil {
		return glance{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return glance{f.is, f.open, f.changes}
}

// sight is what a reading may show, and what it must.
type sight struct{ may, must bool }

func exactly(is bool) sight { return sight{is, is} }

func (s sight) or(o sight) sight { return sight{s.may || o.may, s.must || o.must} }

// between is what a reading finds of a fact that was sent after one glance at
// it and answered before another one: either, where it was being changed.
func between(before, after glance) sight {
	if before.open || before.changes != after.changes {
		return sight{may: true}
	}
	return exactly(before.is)
}

// ruling is what becomes of a reading.
type ruling byte

const (
	right  ruling = iota
	leak          // shown to whom it must not be
	hidden        // and not shown to whom it must be
)

func (s sight) judge(shown bool) ruling {
	switch {
	case shown && !s.may:
		return leak
	case !shown && s.must:
		return hidden
	}
	return right
}

// group is one that all writers manage. Each of them changes the memberships of
// its own readers, so that many change the group, and one each fact.
type group struct {
	id, owner string
	public    fact
	managers  []string
	readers   map[string]*fact // the map itself does not change
}

// tie is what is known of one viewer and one group.
type tie struct{ member, public glance }

// ties are those of one viewer with all groups, at one moment.
func (l *ledger) ties(viewer string) map[string]tie {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]tie, len(l.groups))
	for _, g := range l.groups {
		all[g.id] = tie{g.readers[viewer].glance(), g.public.glance()}
	}
	return all
}

// span is what was known of a viewer's groups before a reading was sent, and
// after it was answered.
type span struct{ before, after map[string]tie }

// member is what the reading finds of the viewer's membership.
func (s span) member(group string) sight {
	return between(s.before[group].member, s.after[group].member)
}

// shows is whether it finds the group itself.
func (s span) shows(group string) sight {
	return s.member(group).or(between(s.before[group].public, s.after[group].public))
}

// of tells what was known of some groups, for a message.
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

// anyGroup is one of those that are changed now.
func (l *ledger) anyGroup(random *rand.Rand) *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[len(l.groups)-1-random.IntN(circles)]
}

// judgeGroup compares a group with what is found at the end, when everything
// that was under way has been finished.
func (l *ledger) judgeGroup(f *figures, g *group, public bool, members []string) {
	within := func(what string, fact *fact, found bool) {
		at := fact.glance()
		switch between(at, at).judge(found) {
		case leak:
			f.tell(&f.Leaks, "%s is %s at the end: known %+v", g.id, what, at)
		case hidden:
			f.tell(&f.Lost, "%s is not %s at the end: known %+v", g.id, what, at)
		}
	}
	within("PUBLIC", &g.public, public)
	for _, reader := range slices.Sorted(maps.Keys(g.readers)) {
		within("a group of "+reader, g.readers[reader], slices.Contains(members, reader))
	}
	for _, m := range g.managers {
		if !slices.Contains(members, m) {
			f.tell(&f.Lost, "%s has lost its manager %s", g.id, m)
		}
	}
	for n, m := range members {
		if g.readers[m] == nil && !slices.Contains(g.managers, m) {
			f.tell(&f.Wrong, "%s has a member that nobody made one: %s", g.id, m)
		}
		if slices.Contains(members[:n], m) {
			f.tell(&f.Duplicates, "%s has %s twice", g.id, m)
		}
	}
}
