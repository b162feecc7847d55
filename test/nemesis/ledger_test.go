package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// figures counts the operations and the errors of a run.
type figures struct {
	Acknowledged, Refused, Unknown atomic.Int64 // mutations
	Reads, FailedReads             atomic.Int64
	Checked                        atomic.Int64 // reads of something that did not change meanwhile
	GroupChanges                   atomic.Int64 // mutations of groups among the acknowledged
	Resent, Repeated               atomic.Int64 // of these: repeated after an unknown outcome, and after an acknowledgement
	ByID, Libraries                throughGroups
	Lost, Duplicates, Leaks, Wrong atomic.Int64

	mu       sync.Mutex
	messages []string
	answered []answered // all mutations
}

// report records an error and counts it in n.
func (f *figures) report(n *atomic.Int64, format string, args ...any) {
	n.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.messages) < 30 {
		f.messages = append(f.messages, fmt.Sprintf(format, args...))
	}
}

// checked counts a read whose result was checked.
func (f *figures) checked(s access) {
	if s.may == s.must {
		f.Checked.Add(1)
	}
}

// count counts a mutation that was sent at began and has just been answered.
func (f *figures) count(v verdict, began time.Time) {
	f.mu.Lock()
	f.answered = append(f.answered, answered{span{began, time.Now()}, v})
	f.mu.Unlock()
	switch v {
	case done:
		f.Acknowledged.Add(1)
	case refused:
		f.Refused.Add(1)
	case unknown:
		f.Unknown.Add(1)
	}
}

// mutations returns all mutations that were answered.
func (f *figures) mutations() []answered {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.answered)
}

func (f *figures) String() string { return f.totals() + "\n" + f.groupTotals() }

// totals describes the figures of all operations, and groupTotals those of groups.
func (f *figures) totals() string {
	return fmt.Sprintf("mutations: %d acknowledged, %d refused, %d unknown; reads: %d, %d refused, %d checked; lost "+
		"%d, duplicates %d, leaks %d, wrong %d",
		f.Acknowledged.Load(), f.Refused.Load(), f.Unknown.Load(), f.Reads.Load(), f.FailedReads.Load(), f.Checked.Load(),
		f.Lost.Load(), f.Duplicates.Load(), f.Leaks.Load(), f.Wrong.Load())
}

func (f *figures) groupTotals() string {
	return fmt.Sprintf("groups: %d changes acknowledged, %d of them by repetition, %d repeated; items read through groups: %s; libraries: %s",
		f.GroupChanges.Load(), f.Resent.Load(), f.Repeated.Load(), &f.ByID, &f.Libraries)
}

// itemState is what is known about an item.
type itemState struct {
	exists  bool
	version int
	title   string
	public  bool
	members []string // without the owner, in order; users and groups
}

func (s itemState) with(member string) itemState {
	s.members = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(s.members), member))))
	return s
}

func (s itemState) without(member string) itemState {
	s.members = slices.DeleteFunc(slices.Clone(s.members), func(m string) bool { return m == member })
	return s
}

// groups returns the groups among the members.
func (s itemState) groups() []string {
	return slices.DeleteFunc(slices.Clone(s.members), func(m string) bool { return !strings.HasPrefix(m, "g:") })
}

func (s itemState) same(o itemState) bool {
	return !s.exists && !o.exists ||
		s.exists == o.exists && s.version == o.version && s.title == o.title && s.public == o.public && slices.Equal(s.members, o.members)
}

// item is changed by a single client, one change at a time. After a change of unknown
// outcome, which may still happen much later, it is not changed any more.
type item struct {
	id, owner string

	mu  sync.Mutex
	now itemState
	// next is the state after the change in flight, or after the change of unknown
	// outcome.
	next *itemState
	// changes counts the starts and ends of changes. If two counts are equal and no
	// change is in flight, nobody changed the item in between.
	changes  int
	unknown  bool
	listings map[string]listing // by library, of its owner and of groups
}

// listing is what is known of an entry in a library. If it is listed, it is in the bucket
// that everybody may read, so that a page from the newest end shows it, even while it
// moves. If it is placed, it is at its current position, so that every page shows it.
type listing struct{ listed, placed bool }

// view is what a reader of a library knows of an item before it reads.
type view struct {
	itemState
	changes int
	stable  bool
	listing
	held bool // the library contains it
}

func (i *item) view(library string) view {
	i.mu.Lock()
	defer i.mu.Unlock()
	return view{i.now, i.changes, i.next == nil && !i.unknown, i.listings[library],
		i.now.exists && (i.owner == library || slices.Contains(i.now.members, library))}
}

func (i *item) begin(next itemState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = &next
	i.changes++
}

// fanOut says which libraries a change reaches, those of all members or only those of
// members that it adds and removes, and whether the answer reported the fan-out as
// complete.
type fanOut struct{ membersOnly, complete bool }

func (i *item) end(v verdict, f fanOut) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.changes++
	switch v {
	case done:
		i.apply(f)
	case refused:
		i.next = nil
	case unknown:
		i.unknown = true
	}
}

// apply records that the change has happened.
func (i *item) apply(f fanOut) {
	widened := i.next.public && !i.now.public
	before := i.listings
	i.now, i.next, i.listings = *i.next, nil, map[string]listing{}
	for _, library := range append(i.now.groups(), i.owner) {
		was, known := before[library]
		switch {
		case f.membersOnly && known:
			i.listings[library] = was
		case f.membersOnly:
			i.listings[library] = listing{f.complete, f.complete}
		default:
			i.listings[library] = listing{f.complete || was.listed && !widened, f.complete}
		}
	}
}

// ledger holds all items and groups of a run.
type ledger struct {
	mu     sync.Mutex
	items  []*item
	groups []*group
}

func (l *ledger) add(i *item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, i)
}

func (l *ledger) all() []*item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.items)
}

// check compares an item with its state at the end, when nothing is in flight any more.
func (l *ledger) check(f *figures, i *item, found itemState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case found.same(i.now):
	case i.unknown && found.same(*i.next):
	case found.exists && found.version > i.now.version && (i.next == nil || found.version > i.next.version):
		f.report(&f.Duplicates, "%s has more changes than were made: %+v, known %+v, next %+v", i.id, found, i.now, i.next)
	default:
		f.report(&f.Lost, "%s: found %+v, known %+v, next %+v", i.id, found, i.now, i.next)
	}
}
