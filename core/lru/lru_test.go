package lru

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newCache(maxValues, maxWeight int) *Cache[string, int] {
	return New[string](maxValues, maxWeight, func(weight int) int { return weight }, nil)
}

func TestCache_EvictsLeastRecentlyUsed(t *testing.T) {
	c := newCache(3, 1<<30)
	for _, key := range []string{"a", "b", "c"} {
		c.Put(key, 1)
	}
	c.Get("a")
	c.Put("d", 1)
	c.Put("c", 2)
	if diff := cmp.Diff([]string{"a", "d", "c"}, c.values.Keys()); diff != "" {
		t.Error(diff)
	}
	if _, ok := c.Get("b"); ok {
		t.Error("b was not evicted")
	}
	if v, ok := c.Get("c"); !ok || v != 2 {
		t.Errorf("c: %d, %t; want the value that was put last", v, ok)
	}
}

func TestCache_IsBoundedByWeight(t *testing.T) {
	c := newCache(1000, 100)
	for i := range 100 {
		c.Put(fmt.Sprint(i%20), 1+i%7)
		if n, weight := c.Size(); weight > 100 || n > 20 {
			t.Fatalf("%d values that weigh %d", n, weight)
		}
	}
	sum := 0
	for _, key := range c.values.Keys() {
		v, _ := c.Get(key)
		sum += v
	}
	if n, weight := c.Size(); weight != sum || n < 14 {
		t.Errorf("%d values that weigh %d, counted as %d", n, sum, weight)
	}
	newCache(1, -1).Put("x", 0) // ends
	c.Put("large", 101)
	if n, weight := c.Size(); n != 0 || weight != 0 {
		t.Errorf("after a value that is too heavy: %d values, weight %d", n, weight)
	}
}

func TestRecent_RemembersTheLastAdded(t *testing.T) {
	r := NewRecent[string, int](2)
	r.Add("a", 1)
	r.Add("b", 2)
	r.Peek("a")
	r.Add("c", 3)
	r.Add("b", 4)
	r.Add("d", 5)
	if diff := cmp.Diff([]string{"b", "d"}, r.Keys()); diff != "" {
		t.Error(diff)
	}
}
