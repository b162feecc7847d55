package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"carrel/cassandra"
	"carrel/edge"
	"carrel/library"
)

// readyWithin is how long the store may take to show that it is there. Whoever
// balances load asks again within seconds.
const readyWithin = 2 * time.Second

// ready tells why the gateway should get no requests, as whoever asks may know
// it; nil: it should.
func (g *gateway) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	_, err := g.store.ReadPrincipals(ctx, []library.PrincipalID{"u:carrel:ready"})
	if shared, ok := g.store.(sharedStore); ok && err == nil {
		err = shared.Ready(ctx)
	}
	return notReady(err)
}

// notReady is what whoever asks may know of the store's reason for not being
// ready.
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

// readyFor is how long an answer of the store stands. Anybody may ask for
// readiness, and each question is readings by a quorum; a balancer asks once a
// second at most.
const readyFor = 250 * time.Millisecond

// readiness is the answer of a store, shared by all who ask at about the same
// time.
type readiness struct {
	// ask asks the store. It ends by itself, and soon.
	ask func(ctx context.Context) error

	mu     sync.Mutex
	latest *readyAnswer
}

// readyAnswer is an answer, or one that is waited for.
type readyAnswer struct {
	had   chan struct{} // closed when the answer is there
	err   error
	until time.Time // it is good for; zero while it is waited for
}

// check is the answer that stands, or that of a question under way, or of one
// more question. Who asks it waits for it to the end, because others wait too;
// they wait no longer than their contexts.
func (r *readiness) check(ctx context.Context) error {
	r.mu.Lock()
	a := r.latest
	if a == nil || !a.until.IsZero() && !time.Now().Before(a.until) {
		a = &readyAnswer{had: make(chan struct{})}
		r.latest = a
		r.mu.Unlock()
		return r.answer(ctx, a)
	}
	r.mu.Unlock()
	select {
	case <-a.had:
		return a.err
	case <-ctx.Done():
		return notReady(ctx.Err())
	}
}

// answer asks the store and tells all who wait for it.
func (r *readiness) answer(ctx context.Context, a *readyAnswer) error {
	err := error(edge.NotReady("the store does not answer")) // it panics
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.err, a.until = err, time.Now().Add(readyFor)
		close(a.had)
	}()
	err = r.ask(context.WithoutCancel(ctx))
	return err
}
