package pebblestore

import (
	"hash/maphash"
	"sync"
)

// stripes is how many locks the keys share. Two of 500 keys written at once
// meet in one by chance and wait for each other's sync, no more.
const stripes = 1024

// locks are the locks of partitions and single rows, by their key. A lock is
// held from the reading of a condition until the outcome of the write is
// decided: for a synced one until it is durable, so that whoever is refused is
// refused by something that lasts. No call holds two of them.
type locks struct {
	seed   maphash.Seed
	once   sync.Once
	stripe [stripes]sync.Mutex
}

// of is the lock of a key.
func (l *locks) of(key []byte) *sync.Mutex {
	l.once.Do(func() { l.seed = maphash.MakeSeed() })
	return &l.stripe[maphash.Bytes(l.seed, key)%stripes]
}
