package journal

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/core/sched"
)

// How many background tasks run at once. Tasks that have failed before have workers of
// their own, so that they do not delay the others, however long they take.
const (
	healthyWorkers = 32
	failingWorkers = 16
)

// workers runs background tasks.
type workers struct {
	rt sched.Runtime

	mu               sync.Mutex
	healthy, failing int         // reserved or busy
	idle             sched.Latch // opens when no worker is busy; nil if nobody waits for that
	errs             []error
}

func newWorkers(rt sched.Runtime) *workers { return &workers{rt: rt} }

// reserve reserves a worker for a task, for which start must be called. It reports
// whether one was free.
func (w *workers) reserve(failing bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	busy, limit := &w.healthy, healthyWorkers
	if failing {
		busy, limit = &w.failing, failingWorkers
	}
	if *busy >= limit {
		return false
	}
	*busy++
	return true
}

// start runs a task on its reserved worker.
func (w *workers) start(failing bool, task func() error) {
	w.rt.Go(func() {
		err := task()
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil && len(w.errs) < maxErrors {
			w.errs = append(w.errs, err)
		}
		if failing {
			w.failing--
		} else {
			w.healthy--
		}
		if w.healthy+w.failing == 0 && w.idle != nil {
			w.idle.Open()
			w.idle = nil
		}
	})
}

// maxErrors is how many errors of tasks are kept for failed.
const maxErrors = 10

// wait waits until all tasks have ended. They observe the end of ctx themselves.
func (w *workers) wait(ctx context.Context) { w.waitFor(ctx, 0) }

// waitFor is like wait, but waits at most for a time; 0 means no limit.
func (w *workers) waitFor(ctx context.Context, limit time.Duration) {
	w.mu.Lock()
	if w.healthy+w.failing == 0 {
		w.mu.Unlock()
		return
	}
	if w.idle == nil {
		w.idle = w.rt.Latch()
	}
	idle := w.idle
	w.mu.Unlock()
	_, _ = w.rt.Wait(w.rt.Detach(ctx), idle, limit) // ctx is detached, so it cannot end
}

// failed returns the errors of the tasks since its last call.
func (w *workers) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.errs...)
	w.errs = nil
	return err
}
