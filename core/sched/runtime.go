// Package sched provides the domains with concurrency, time and randomness, so that the
// simulator can run the same code step by step. It knows no domain.
package sched

import (
	"context"
	"time"

	"carrel/core/fault"
)

// Runtime provides concurrency, time and randomness. In production it is Real; the simulator
// runs the same code with a seeded scheduler that runs one task at a time. All waiting except
// for calls of a Store goes through it.
type Runtime interface {
	// Now returns the time of this process's wall clock.
	Now() time.Time
	// Elapsed returns the time of this process's monotonic clock, from an arbitrary start.
	Elapsed() time.Duration
	// Go starts a task. Close, if the Runtime has it, waits for all tasks.
	Go(task func())
	// Latch returns a new one-shot signal that is not open.
	Latch() Latch
	// Wait blocks until the latch opens (true), d has passed (false; d <= 0
	// waits without limit), or ctx ends (its error).
	Wait(ctx context.Context, l Latch, d time.Duration) (bool, error)
	// Lock locks a mutex named by key. At most queue callers wait for it; the next one gets
	// ErrQueueFull. It is unlocked by calling unlock once.
	Lock(ctx context.Context, key string, queue int) (unlock func(), err error)
	// After blocks for d, or until ctx ends (its error).
	After(ctx context.Context, d time.Duration) error
	// Deadline returns ctx with a deadline in d.
	Deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Detach returns a context with ctx's values but without its cancellation, for work that
	// must be finished although its caller is gone.
	Detach(ctx context.Context) context.Context
	// Random fills b with random bytes that are suitable for ids and keys.
	Random(b []byte)
}

// Latch opens once and stays open. Open may be called by anyone, repeatedly.
type Latch interface {
	Open()
	IsOpen() bool
}

// ErrQueueFull is the error of Lock if too many callers are waiting.
var ErrQueueFull = &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention,
	Msg: "too many changes of the same object are waiting; try again", RetryAfter: 1}
