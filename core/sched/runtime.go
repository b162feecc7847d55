// Package sched is where the domains get concurrency, time and randomness from, so
// that the simulator can run the same code step by step. It knows no domain.
package sched

import (
	"context"
	"time"

	"carrel/core/fault"
)

// Runtime is where the domain gets concurrency, time and randomness from. In
// production it is Real; the simulator drives the same code with a
// seeded scheduler that runs one task at a time. Waiting for anything but a
// Store call goes through it.
type Runtime interface {
	// Now is this process's wall clock.
	Now() time.Time
	// Elapsed is this process's monotonic clock, from an arbitrary start.
	Elapsed() time.Duration
	// Go starts a task. Close, where the Runtime has it, waits for all of them.
	Go(task func())
	// Latch is a new one-shot signal, shut.
	Latch() Latch
	// Wait blocks until the latch opens (true), d has passed (false; d <= 0
	// waits without end), or ctx ends (its error).
	Wait(ctx context.Context, l Latch, d time.Duration) (bool, error)
	// Lock is a mutex named by key. At most queue callers wait for it; one more
	// gets ErrQueueFull. It is released by calling unlock once.
	Lock(ctx context.Context, key string, queue int) (unlock func(), err error)
	// After blocks for d, or until ctx ends (its error).
	After(ctx context.Context, d time.Duration) error
	// Deadline bounds ctx by d.
	Deadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Detach keeps ctx's values without its cancellation: for what was decided
	// and must be finished whoever is gone.
	Detach(ctx context.Context) context.Context
	// Random fills b from a source fit for ids and keys.
	Random(b []byte)
}

// Latch opens once and stays open. Open may be called by anyone, repeatedly.
type Latch interface {
	Open()
	IsOpen() bool
}

// ErrQueueFull is what Lock answers when too many wait already.
var ErrQueueFull = &fault.Error{Code: fault.Unavailable, Reason: fault.ReasonContention, Msg: "too many changes of this item are waiting; try again", RetryAfter: 1}
