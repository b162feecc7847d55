// Package lru keeps the values that were used last, within limits of their number and weight. It must not know
// what they are.
package lru

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache is a cache that evicts the values that were not used for the longest time. It is safe for concurrent
// use.
type Cache[K comparable, V any] struct {
	maxWeight int
	weigh     func(V) int

	mu     sync.Mutex
	values *simplelru.LRU[K, V]
	weight int // of all values
}

// New returns an empty cache of at most maxValues values, at least one, which weigh at most maxWeight together,
// such as bytes. The weight of a value does not change. If evicted is not nil, Put calls it with each value that it
// removes.
func New[K comparable, V any](maxValues, maxWeight int, weigh func(V) int, evicted func(V)) *Cache[K, V] {
	c := &Cache[K, V]{maxWeight: maxWeight, weigh: weigh}
	c.values, _ = simplelru.NewLRU(max(1, maxValues), func(_ K, v V) { // the size is valid
		c.weight -= weigh(v)
		if evicted != nil {
			evicted(v)
		}
	})
	return c
}

// Get returns the value of a key, and whether there is one.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values.Get(key)
}

// Put sets the value of a key. A value above the weight of the cache empties it.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values.Remove(key)
	c.values.Add(key, value)
	c.weight += c.weigh(value)
	for c.weight > c.maxWeight && c.values.Len() > 0 {
		c.values.RemoveOldest()
	}
}

// Size returns the number of values, and their weight.
func (c *Cache[K, V]) Size() (values, weight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.values.Len(), c.weight
}

// Recent remembers a value for each of a limited number of keys, those that were added last. It is not safe for
// concurrent use. Peek does not change what is remembered.
type Recent[K comparable, V any] = simplelru.LRU[K, V]

// NewRecent returns an empty Recent of at most limit keys, at least one.
func NewRecent[K comparable, V any](limit int) *Recent[K, V] {
	r, _ := simplelru.NewLRU[K, V](max(1, limit), nil) // the size is valid
	return r
}
