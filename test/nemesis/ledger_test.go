package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// figures are what a run found, and what it did.
type figures struct {
	Acknowledged, Refused, Unknown atomic.Int64 // mutations
	Reads, FailedReads             atomic.Int64
	Judged                         atomic.Int64 // readings of something that stood still
	GroupChanges                   atomic.Int64 // mutations of groups among the acknowledged
	Settled, Repeated              atomic.Int64 // of these: asked again, of unknown outcome and acknowledged
	ByID, Libraries                throughGroups
	Lost, Duplicates, Leaks, Wrong atomic.Int64

	mu    sync.Mutex
	tales []string
}

// tell notes what is wrong; counted in n.
func (f *figures) tell(n *atomic.Int64, format string, args ...any) {
	n.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.tales) < 30 {
		f.tales = append(f.tales, fmt.Sprintf(format, args...))
	}
}

// judged counts a reading that can be wrong.
func (f *figures) judged(s sight) {
	if s.may == s.must {
		f.Judged.Add(1)
	}
}

func (f *figures) count(v verdict) {
	switch v {
	case done:
		f.Acknowledged.Add(1)
	case refused:
		f.Refused.Add(1)
	case unknown:
		f.Unknown.Add(1)
	}
}

func (f *figures) String() string {
	return fmt.Sprintf("mutations: %d acknowledged, %d refused, %d unknown; readings: %d, %d refused, %d judged; lost %d, duplicates %d, leaks %d, wrong %d\n"+
		"groups: %d changes acknowledged, %d of them when asked again, %d repeated; items read through groups: %s; libraries: %s",
		f.Acknowledged.Load(), f.Refused.Load(), f.Unknown.Load(), f.Reads.Load(), f.FailedReads.Load(), f.Judged.Load(),
		f.Lost.Load(), f.Duplicates.Load(), f.Leaks.Load(), f.Wrong.Load(),
		f.GroupChanges.Load(), f.Settled.Load(), f.Repeated.Load(), &f.ByID, &f.Libraries)
}

// standing is what is known of an item.
type standing struct {
	exists  bool
	version int
	title   string
	public  bool
	members []string // beside the owner, in order; users and groups
}

func (s standing) with(member string) standing {
	s.members = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(s.members), member))))
	return s
}

func (s standing) without(member string) standing {
	s.members = slices.DeleteFunc(slices.Clone(s.members), func(m string) bool { return m == member })
	return s
}

// groups are those among the members.
func (s standing) groups() []string {
	return slices.DeleteFunc(slices.Clone(s.members), func(m string) bool { return !strings.HasPrefix(m, "g:") })
}

func (s standing) same(o standing) bool {
	return !s.exists && !o.exists ||
		s.exists == o.exists && s.version == o.version && s.title == o.title && s.public == o.public && slices.Equal(s.members, o.members)
}

// item is one that a single client changes, one change at a time. After a
// change of unknown outcome, which may still happen much later, it is left alone.
type item struct {
	id, owner string

	mu  sync.Mutex
	now standing
	// next is what stands if the change under way, or of unknown outcome, happens.
	next *standing
	// changes counts what began and what ended: nobody changed the item between
	// two equal counts of which the change is not under way.
	changes int
	unknown bool
	places  map[string]place // in the libraries of its owner and of groups
}

// place is what is known of an entry in a library. listed: it stands where
// everybody may read, so that a page that starts at the newest end shows it, also
// while it moves. placed: it stands at its place, so that every page shows it.
type place struct{ listed, placed bool }

// view is an item as a reader of a library knows it before asking.
type view struct {
	standing
	changes int
	still   bool
	place
	held bool // by the library
}

func (i *item) view(library string) view {
	i.mu.Lock()
	defer i.mu.Unlock()
	return view{i.now, i.changes, i.next == nil && !i.unknown, i.places[library],
		i.now.exists && (i.owner == library || slices.Contains(i.now.members, library))}
}

func (i *item) begin(next standing) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = &next
	i.changes++
}

// fanOut is what an answer says of the libraries that a change concerns: those
// of all members, or those of whom it gives a role and of whom it takes it.
type fanOut struct{ membersOnly, complete bool }

func (i *item) end(v verdict, f fanOut) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.changes++
	switch v {
	case done:
		i.settle(f)
	case refused:
		i.next = nil
	case unknown:
		i.unknown = true
	}
}

// settle takes the change for one that happened.
func (i *item) settle(f fanOut) {
	widened := i.next.public && !i.now.public
	before := i.places
	i.now, i.next, i.places = *i.next, nil, map[string]place{}
	for _, library := range append(i.now.groups(), i.owner) {
		was, known := before[library]
		switch {
		case f.membersOnly && known:
			i.places[library] = was
		case f.membersOnly:
			i.places[library] = place{f.complete, f.complete}
		default:
			i.places[library] = place{f.complete || was.listed && !widened, f.complete}
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

// judge compares an item with what is found at the end, when everything that
// was under way has been finished.
func (l *ledger) judge(f *figures, i *item, found standing) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case found.same(i.now):
	case i.unknown && found.same(*i.next):
	case found.exists && found.version > i.now.version && (i.next == nil || found.version > i.next.version):
		f.tell(&f.Duplicates, "%s has more changes than were asked for: %+v, known %+v, next %+v", i.id, found, i.now, i.next)
	default:
		f.tell(&f.Lost, "%s: found %+v, known %+v, next %+v", i.id, found, i.now, i.next)
	}
}
