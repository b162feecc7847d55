package pebblestore

import (
	"hash/maphash"
	"sync"
)

// stripes is the number of locks that all keys share. Two of 500 concurrently written keys may
// share a lock by chance; then one write waits for the sync of the other, which does no harm.
const stripes = 1024

// locks are the locks of partitions and single rows, by key. A lock is held from reading a
// condition until the outcome of the write is decided, which for a synced write is when it is
// durable. So a refused write was refused by durable data. No call holds two locks.
type locks struct {
	seed   maphash.Seed
	once   sync.Once
	stripe [stripes]sync.Mutex
}

// of returns the lock of a key.
func (l *locks) of(key []byte) *sync.Mutex {
	l.once.Do(func() { l.seed = maphash.MakeSeed() })
	return &l.stripe[maphash.Bytes(l.seed, key)%stripes]
}
