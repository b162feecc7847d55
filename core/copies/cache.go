// Package copies keeps copies of rows that were read, and says whether one may be served
// in the place of a reading. It knows no domain: what a copy is of, and whether a change of it
// is under way, its caller knows.
package copies

import (
	"container/list"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
)

// MaxAge is the age from which on a copy is not served any more.
const MaxAge = 5 * time.Minute

// Cache holds the copies that were used last, of at most so much weight. It is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	rt    sched.Runtime
	limit int
	weigh func(V) int

	mu     sync.Mutex
	copies map[K]*list.Element // of *copied[K, V]
	used   *list.List          // the one that was used last is the first
	weight int                 // of all copies
}

// copied is a copy.
type copied[K comparable, V any] struct {
	key   K
	value V
	mts   clock.Instant
	at    Time
}

// Time is a moment by both clocks of a process. The monotonic clock of a machine that is suspended
// stands still, and a wall clock may be set back: a copy is as old as the older of the two
// says.
type Time struct {
	elapsed time.Duration
	wall    time.Time
}

// Now returns the present moment.
func Now(rt sched.Runtime) Time { return Time{rt.Elapsed(), rt.Now()} }

// age is how long ago then was, at t.
func (t Time) age(then Time) time.Duration {
	return max(t.elapsed-then.elapsed, t.wall.Sub(then.wall))
}

// NewCache returns an empty cache of at most limit copies of weight 1. weigh returns the weight
// of a copy, which is at least 1.
func NewCache[K comparable, V any](rt sched.Runtime, limit int, weigh func(V) int) *Cache[K, V] {
	return &Cache[K, V]{rt: rt, limit: limit, weigh: weigh, copies: map[K]*list.Element{}, used: list.New()}
}

// Get returns the copy of a key, if there is one of the state of mts or a later one that is
// younger than MaxAge. refused reports that there is a copy, and that it does not serve.
func (c *Cache[K, V]) Get(key K, mts clock.Instant, now Time) (value V, ok, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.copies[key]
	if e == nil {
		return value, false, false
	}
	found := e.Value.(*copied[K, V])
	if found.mts < mts || now.age(found.at) >= MaxAge {
		return value, false, true
	}
	c.used.MoveToFront(e)
	return found.value, true, false
}

// Put keeps a copy of the state of mts, whose reading began at a moment, unless there is one
// of a later state.
func (c *Cache[K, V]) Put(key K, value V, mts clock.Instant, at Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.copies[key]; e != nil {
		if mts < e.Value.(*copied[K, V]).mts {
			return
		}
		c.drop(e)
	}
	c.weight += c.weigh(value)
	c.copies[key] = c.used.PushFront(&copied[K, V]{key, value, mts, at})
	for c.weight > c.limit {
		c.drop(c.used.Back())
	}
}

// drop takes a copy out. The caller holds mu.
func (c *Cache[K, V]) drop(e *list.Element) {
	gone := e.Value.(*copied[K, V])
	c.weight -= c.weigh(gone.value)
	delete(c.copies, gone.key)
	c.used.Remove(e)
}

// Len is the number of copies.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used.Len()
}
