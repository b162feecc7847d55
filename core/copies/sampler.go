package copies

import (
	"sync/atomic"
	"time"

	"carrel/core/sched"
)

// The defaults of a Sampler.
const (
	sampleEvery = 100
	samplePause = 50 * time.Millisecond
)

// Sampler chooses which served copies are compared with their rows, to find wrong copies. It is safe
// for concurrent use.
type Sampler struct {
	rt     sched.Runtime
	every  int64
	pause  time.Duration
	served atomic.Int64
	next   atomic.Int64 // when the next copy may be chosen, on the monotonic clock
}

// NewSampler returns a Sampler that chooses every n-th copy, where n is every. If every is 0, it
// chooses each hundredth, but at most 20 a second, because each comparison reads a row.
func NewSampler(rt sched.Runtime, every int) *Sampler {
	if every == 0 {
		return &Sampler{rt: rt, every: sampleEvery, pause: samplePause}
	}
	return &Sampler{rt: rt, every: int64(every)}
}

// Choose counts a served copy, and reports whether to compare it.
func (s *Sampler) Choose() bool {
	if s.served.Add(1)%s.every != 0 {
		return false
	}
	now, next := int64(s.rt.Elapsed()), s.next.Load()
	return now >= next && s.next.CompareAndSwap(next, now+int64(s.pause))
}
