package feed

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
)

const (
	// headKept is how long a process keeps the head of a feed.
	headKept = time.Second
	// ShownWithin is the time after which an entry that another process has put is on the newest page.
	ShownWithin = headKept + bucketsKept
	// headSize is how many entries are read for a head: more than twice as many as the largest page needs.
	headSize = 256
	// maxPuts is how many entries that this process has put may be added to a head before it is read again.
	maxPuts = 256
	// maxHeads is how many heads a process keeps. Each takes at most 50 KB.
	maxHeads = 100
)

// head has the newest entries of a feed, the newest first. The newest page is made from it. Otherwise each such page
// would read past all entries that have expired or were removed.
type head struct {
	entries []Entry
	// end is the position up to which the feed was read; nil if it was read to its end.
	end *Entry
	// readAt is when the read began, by the monotonic clock. known is false until it has ended, or if it has failed.
	readAt time.Duration
	known  bool
	// puts are the entries that this process has put since then, at most maxPuts+1, in that order.
	puts []Entry
}

// heads keeps the heads of feeds.
type heads struct {
	rt    sched.Runtime
	mu    sync.Mutex
	feeds map[Feed]*head
}

// of returns the head of a feed. It calls read if none is kept, but only one caller at a time does so for a feed. The
// head has what this process had put before the call, and what others had put headKept before it.
func (c *heads) of(ctx context.Context, feed Feed, read func(ctx context.Context) (entries []Entry, end *Entry, err error)) (head, error) {
	called := c.rt.Elapsed()
	if h, ok := c.kept(feed, called); ok {
		return h, nil
	}
	unlock, err := c.rt.Lock(ctx, "head of "+string(feed), math.MaxInt)
	if err != nil {
		return head{}, err
	}
	defer unlock()
	if h, ok := c.kept(feed, called); ok {
		return h, nil
	}
	h := &head{readAt: c.rt.Elapsed()}
	c.mu.Lock()
	if len(c.feeds) >= maxHeads {
		clear(c.feeds) // a head that is being read is not kept then
	}
	c.feeds[feed] = h
	c.mu.Unlock()
	entries, end, err := read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	h.entries, h.end, h.known = entries, end, err == nil
	return *h, err
}

// kept returns the kept head for a call that began at a time. ok is false if there is none, or if it is too old, many
// entries were put since, or most of its entries have expired. A head that was read since the call is used in any
// case, so that nobody waits for a third read.
func (c *heads) kept(feed Feed, called time.Duration) (h head, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.feeds[feed]
	if k == nil || !k.known {
		return head{}, false
	}
	fresh := called-k.readAt < headKept && len(k.puts) <= maxPuts && !k.dwindled(clock.Of(c.rt.Now()))
	return *k, k.readAt > called || fresh
}

// dwindled reports whether more than half of the entries have expired, and others may follow.
func (h *head) dwindled(now clock.Instant) bool {
	expired := 0
	for _, e := range h.entries {
		if e.expired(now) {
			expired++
		}
	}
	return h.end != nil && 2*expired > len(h.entries)
}

// put adds an entry that this process has put into the store.
func (c *heads) put(feed Feed, e Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.feeds[feed]; h != nil && len(h.puts) <= maxPuts {
		// The store may have ignored this put, so only the row tells when the entry expires.
		h.puts = append(h.puts, Entry{Created: e.Created, ID: e.ID})
	}
}

// sources returns the entries of the head for a walk. Of two equal entries, the walk passes the one that was put
// first, because its source comes last.
func (h *head) sources() []*source {
	puts := slices.Clone(h.puts)
	if h.end != nil { // the last entry of the head may have been put again with another expiry
		puts = slices.DeleteFunc(puts, func(e Entry) bool { return Compare(e, *h.end) < 0 })
	}
	slices.SortFunc(puts, func(a, b Entry) int { return Compare(b, a) })
	return []*source{{pending: h.entries, ended: true}, {pending: puts, ended: true}}
}
