package journal

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/core/sched"
)

// How many background tasks run at once. Those that have failed before have
// workers of their own: however long they take, the others proceed.
const (
	healthyWorkers = 32
	failingWorkers = 16
)

// workers runs background tasks.
type workers struct {
	rt sched.Runtime

	mu               sync.Mutex
	healthy, failing int         // reserved or at work
	idle             sched.Latch // opens when nobody is at work; nil where nobody waits
	errs             []error
}

func newWorkers(rt sched.Runtime) *workers { return &workers{rt: rt} }

// reserve takes a worker for a task, which start is to be called for. It reports
// whether one was free.
func (w *workers) reserve(failing bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	busy, most := &w.healthy, healthyWorkers
	if failing {
		busy, most = &w.failing, failingWorkers
	}
	if *busy >= most {
		return false
	}
	*busy++
	return true
}

// start runs a task on the worker that was reserved for it.
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

// maxErrors is how many errors of tasks are kept to be returned.
const maxErrors = 10

// wait returns when all tasks have ended, which see the end of ctx themselves.
func (w *workers) wait(ctx context.Context) { w.waitFor(ctx, 0) }

// waitFor is wait for a time at most; 0 is without end.
func (w *workers) waitFor(ctx context.Context, most time.Duration) {
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
	_, _ = w.rt.Wait(w.rt.Detach(ctx), idle, most) // ctx is detached, so it cannot end
}

// failed returns the errors of the tasks since it was called last.
func (w *workers) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.errs...)
	w.errs = nil
	return err
}
