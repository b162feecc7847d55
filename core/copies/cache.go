// Package copies keeps copies of rows that were read, and decides whether a copy may be served
// instead of reading the row again. It knows no domain: its caller knows what is copied, and
// whether a change of it is pending.
package copies

import (
	"container/list"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/sched"
)

// MaxAge is the age from which a copy is no longer served, unless a test sets another one.
const MaxAge = 5 * time.Minute

// Cache is a least-recently-used cache of copies whose total weight is limited. It is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	rt    sched.Runtime
	limit int
	age   time.Duration // at which a copy is no longer served
	weigh func(V) int

	mu     sync.Mutex
	copies map[K]*list.Element // of *copied[K, V]
	used   *list.List          // most recently used first
	weight int                 // of all copies
}

// copied is a copy of a row.
type copied[K comparable, V any] struct {
	key   K
	value V
	mts   clock.Instant
	at    sched.Moment
}

// NewCache returns an empty cache whose copies have a total weight of at most limit and are served
// until they have the given age. weigh returns the weight of a copy, which is at least 1.
func NewCache[K comparable, V any](rt sched.Runtime, limit int, age time.Duration, weigh func(V) int) *Cache[K, V] {
	return &Cache[K, V]{rt: rt, limit: limit, age: age, weigh: weigh, copies: map[K]*list.Element{}, used: list.New()}
}

// Get returns the copy of a key if it has the state of mts or a later one and is not too old.
// refused reports that there is a copy, but of an earlier state or too old.
func (c *Cache[K, V]) Get(key K, mts clock.Instant, now sched.Moment) (value V, ok, refused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.copies[key]
	if e == nil {
		return value, false, false
	}
	found := e.Value.(*copied[K, V])
	if found.mts < mts || now.Since(found.at) >= c.age {
		return value, false, true
	}
	c.used.MoveToFront(e)
	return found.value, true, false
}

// Put keeps a copy of the state of mts, unless there is already one of a later state. at is when
// the read of the row began.
func (c *Cache[K, V]) Put(key K, value V, mts clock.Instant, at sched.Moment) {
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

// drop removes a copy. The caller holds mu.
func (c *Cache[K, V]) drop(e *list.Element) {
	gone := e.Value.(*copied[K, V])
	c.weight -= c.weigh(gone.value)
	delete(c.copies, gone.key)
	c.used.Remove(e)
}

// Len returns the number of copies.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used.Len()
}
