package session

import (
	"context"
	"sync"
	"time"
)

// background holds the goroutines that run until a Session is closed.
type background struct {
	mu    sync.Mutex
	stops []context.CancelFunc
	tasks sync.WaitGroup
}

// Background runs do in a goroutine until the Session is closed, which cancels its context.
func (s *Session) Background(ctx context.Context, do func(context.Context)) {
	s.background.begin(ctx, do)
}

// begin runs do until end is called, which cancels its context.
func (b *background) begin(ctx context.Context, do func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = append(b.stops, stop)
	b.tasks.Go(func() { do(ctx) })
}

// end cancels all goroutines and waits for them.
func (b *background) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, stop := range b.stops {
		stop()
	}
	b.stops = nil
	b.tasks.Wait()
}

// Pause waits for a duration or until the context ends.
func Pause(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
