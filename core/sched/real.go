package sched

import (
	"context"
	"crypto/rand"
	"sync"
	"time"
)

// Real is the Runtime of a running process: goroutines and real clocks.
type Real struct {
	start time.Time
	tasks sync.WaitGroup

	mu    sync.Mutex
	locks map[string]*keyedLock
}

var _ Runtime = (*Real)(nil)

// NewReal returns a Real whose monotonic clock starts now.
func NewReal() *Real {
	return &Real{start: time.Now(), locks: map[string]*keyedLock{}}
}

// Now returns the time of the wall clock, without a monotonic reading. The difference of two times that
// have one is that of the monotonic clock, which stands still while the machine is suspended.
func (r *Real) Now() time.Time { return time.Now().Round(0) }

// Elapsed returns the time since NewReal.
func (r *Real) Elapsed() time.Duration { return time.Since(r.start) }

// Go starts a goroutine that Close waits for.
func (r *Real) Go(task func()) { r.tasks.Go(task) }

// Close waits for all tasks. The caller must have made them end.
func (r *Real) Close() { r.tasks.Wait() }

type channelLatch struct {
	once sync.Once
	done chan struct{}
}

func (l *channelLatch) Open() { l.once.Do(func() { close(l.done) }) }

func (l *channelLatch) IsOpen() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Latch returns a new one-shot signal.
func (r *Real) Latch() Latch { return &channelLatch{done: make(chan struct{})} }

// Wait blocks until the latch opens, d has passed, or ctx ends.
func (r *Real) Wait(ctx context.Context, l Latch, d time.Duration) (bool, error) {
	done := l.(*channelLatch).done
	var timeout <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-done:
		return true, nil
	default:
	}
	select {
	case <-done:
		return true, nil
	case <-timeout:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// keyedLock is a mutex. It is held while its token is not in the channel.
type keyedLock struct {
	token   chan struct{}
	callers int // holder and waiters
}

// Lock locks the mutex named by key.
func (r *Real) Lock(ctx context.Context, key string, queue int) (func(), error) {
	r.mu.Lock()
	l := r.locks[key]
	if l == nil {
		l = &keyedLock{token: make(chan struct{}, 1)}
		l.token <- struct{}{}
		r.locks[key] = l
	}
	if l.callers > queue {
		r.mu.Unlock()
		return nil, ErrQueueFull
	}
	l.callers++
	r.mu.Unlock()

	leave := func() {
		r.mu.Lock()
		if l.callers--; l.callers == 0 {
			delete(r.locks, key)
		}
		r.mu.Unlock()
	}
	select {
	case <-l.token:
		return func() { l.token <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// After blocks for d, or until ctx ends.
func (r *Real) After(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Deadline returns ctx with a deadline in d.
func (r *Real) Deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// Detach returns a context with ctx's values but without its cancellation.
func (r *Real) Detach(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Random fills b with random bytes of the operating system.
func (r *Real) Random(b []byte) {
	// Read never fails: it ends the process if there is no randomness.
	_, _ = rand.Read(b)
}
