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
	"carrel/edge"
	"carrel/principal"
)

// readyWithin is how long the store may take to report whether it is ready. Load
// balancers repeat the request within seconds.
const readyWithin = 2 * time.Second

// ready returns nil if the store can serve requests, and otherwise the reason as
// anybody may read it.
func (g *Gateway) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	_, err := g.Store.ReadPrincipals(ctx, []principal.ID{"u:carrel:ready"})
	if g.Store.shared != nil && err == nil {
		err = g.Store.shared.Ready(ctx)
	}
	return notReady(err)
}

// notReady turns an error of the store into the reason that anybody may read.
func notReady(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cassandra.ErrSchema):
		return edge.NotReady("the schema of the store is not the one of this program")
	case errors.Is(err, cassandra.ErrClock):
		return edge.NotReady("the clock differs too much from the store's")
	}
	// The cause names hosts, and is for the log.
	return fmt.Errorf("%w: %w", edge.NotReady("the store does not answer"), err)
}

// readyFor is how long an answer of the store is reused. Anybody may call /readyz, and each check is
// several reads by quorum. A load balancer checks at most once a second.
const readyFor = 250 * time.Millisecond

// Readiness reports whether a store is ready. Concurrent calls share one check of the store.
type Readiness struct {
	// check asks the store. It returns soon, whatever the store does.
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

// logChanges returns check with a log of its answers. Load balancers check every
// second, so it logs an answer only if it differs from the one before.
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
// that does so waits until the end, because others wait for the same answer; those give up when
// their contexts end.
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
