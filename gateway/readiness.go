package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"carrel/cassandra"
	"carrel/core/fault"
	"carrel/edge"
	"carrel/principal"
)

// readyTimeout is how long the store may take to report whether it is ready. Load
// balancers repeat the request within seconds.
const readyTimeout = 2 * time.Second

// ready returns nil if the store can serve requests, and otherwise an error with a public reason.
func (g *Gateway) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	_, err := g.Store.Principals.ReadPrincipals(ctx, []principal.ID{"u:carrel:ready"})
	if g.Store.shared != nil && err == nil {
		err = g.Store.shared.Ready(ctx)
	}
	if g.Store.embedded != nil && err == nil {
		err = g.Store.embedded.Room()
	}
	return notReady(err)
}

// notReady wraps an error of the store with a public reason.
func notReady(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cassandra.ErrSchema):
		return edge.NotReady("the schema of the store is not the one of this program")
	case errors.Is(err, cassandra.ErrClock):
		return edge.NotReady("the clock differs too much from the store's")
	case fault.ReasonOf(err) == fault.ReasonFull:
		return edge.NotReady("the disk of the store is almost full; only changes that free space or withdraw access are made")
	}
	// The cause names hosts, and is for the log.
	return fmt.Errorf("%w: %w", edge.NotReady("the store does not answer"), err)
}

// readyFor is how long an answer of the store is reused. Anybody may call /readyz, and each check
// makes several reads at QUORUM. Load balancers check about once a second.
const readyFor = 250 * time.Millisecond

// Readiness reports whether a store is ready. Concurrent calls share one check of the store.
type Readiness struct {
	// check asks the store whether it is ready. It has a timeout.
	check func(ctx context.Context) error

	mu     sync.Mutex
	latest *readyAnswer
}

// readyAnswer is an answer of the store, or a running check.
type readyAnswer struct {
	done  chan struct{} // closed when the answer has arrived
	err   error
	until time.Time // when the answer expires; zero while the check is running
}

// Readiness returns the readiness of the gateway's store. It logs each change of
// the reason for not being ready.
func (g *Gateway) Readiness(log *slog.Logger) *Readiness {
	return &Readiness{check: logChanges(log, g.ready)}
}

// logChanges returns a function that calls check and logs its answer if it differs from the one
// before. Load balancers check every second.
func logChanges(log *slog.Logger, check func(context.Context) error) func(context.Context) error {
	var logged atomic.Value // the last reason, "" for ready
	return func(ctx context.Context) error {
		err := check(ctx)
		reason := ""
		if err != nil {
			reason = err.Error()
		}
		switch was := logged.Swap(reason); {
		case reason != "" && was != reason:
			log.WarnContext(ctx, "not ready", "reason", reason)
		case reason == "" && was != nil && was != "":
			log.InfoContext(ctx, "ready again")
		}
		return err
	}
}

// Check returns the latest answer if it has not expired, and otherwise checks the store. The caller
// that checks the store waits for the answer even if its context ends, because others wait for the
// same answer. The others give up when their contexts end.
func (r *Readiness) Check(ctx context.Context) error {
	r.mu.Lock()
	a := r.latest
	if a == nil || !a.until.IsZero() && !time.Now().Before(a.until) {
		a = &readyAnswer{done: make(chan struct{})}
		r.latest = a
		r.mu.Unlock()
		return r.answer(ctx, a)
	}
	r.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return notReady(ctx.Err())
	}
}

// answer checks the store, and passes the answer to all waiting callers.
func (r *Readiness) answer(ctx context.Context, a *readyAnswer) error {
	err := error(edge.NotReady("the store does not answer")) // if check panics
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.err, a.until = err, time.Now().Add(readyFor)
		close(a.done)
	}()
	err = r.check(context.WithoutCancel(ctx))
	return err
}
