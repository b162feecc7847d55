package nemesis

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// figures are what a run found, and what it did.
type figures struct {
	Acknowledged, Refused, Unknown atomic.Int64 // mutations
	Reads, FailedReads             atomic.Int64
	Judged                         atomic.Int64 // readings of something that stood still
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
	return fmt.Sprintf("mutations: %d acknowledged, %d refused, %d unknown; readings: %d, %d refused, %d judged; lost %d, duplicates %d, leaks %d, wrong %d",
		f.Acknowledged.Load(), f.Refused.Load(), f.Unknown.Load(), f.Reads.Load(), f.FailedReads.Load(), f.Judged.Load(),
		f.Lost.Load(), f.Duplicates.Load(), f.Leaks.Load(), f.Wrong.Load())
}

// standing is what is known of an item.
type standing struct {
	exists  bool
	version int
	title   string
	public  bool
	members []string // beside the owner, in order
}

func (s standing) with(member string) standing {
	s.members = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(s.members), member))))
	return s
}

func (s standing) without(member string) standing {
	s.members = slices.DeleteFunc(slices.Clone(s.members), func(m string) bool { return m == member })
	return s
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
	// listed: some entry of it is known to stand where everybody may read, so that
	// a page that starts at the newest end shows it, also while it moves. placed:
	// it is known to stand at its place, so that every page shows it.
	listed, placed bool
}

// view is an item as a reader knows it before asking.
type view struct {
	standing
	changes        int
	still          bool
	listed, placed bool
}

func (i *item) view() view {
	i.mu.Lock()
	defer i.mu.Unlock()
	return view{i.now, i.changes, i.next == nil && !i.unknown, i.listed, i.placed}
}

func (i *item) begin(next standing) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.next = &next
	i.changes++
}

// fanOut is what an answer says of the libraries of all members. A change of
// members concerns their own alone.
type fanOut byte

const (
	membersOnly fanOut = iota
	running
	complete
)

func (i *item) end(v verdict, f fanOut) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.changes++
	switch v {
	case done:
		widened := i.next.public && !i.now.public
		i.now, i.next = *i.next, nil
		if f != membersOnly {
			i.listed, i.placed = f == complete || i.listed && !widened, f == complete
		}
	case refused:
		i.next = nil
	case unknown:
		i.unknown = true
	}
}

// ledger holds all items of a run.
type ledger struct {
	mu    sync.Mutex
	items []*item
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
