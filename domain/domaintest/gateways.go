package domaintest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/clock"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/library"
	"carrel/test/simulator"
)

// GatewayClock is the real runtime with a wall clock that the test sets, and with short
// pauses only.
type GatewayClock struct {
	*sched.Real
	at atomic.Int64
	// Later is how far the monotonic clock was advanced.
	Later atomic.Int64
	kept  atomic.Pointer[Held]
}

// Held is a call of Wait that the test holds until it closes Free.
type Held struct {
	Waits, Free chan struct{} // Waits is closed when the call starts; the test closes Free
}

// heldKey is the key of contexts for the call that is held.
type heldKey struct{}

// Keep returns a context for an operation, and holds the next call of Wait that the operation makes.
func (d *GatewayClock) Keep(ctx context.Context) (context.Context, *Held) {
	k := &Held{make(chan struct{}), make(chan struct{})}
	d.kept.Store(k)
	return context.WithValue(ctx, heldKey{}, k), k
}

// Wait implements sched.Runtime.
func (d *GatewayClock) Wait(ctx context.Context, l sched.Latch, within time.Duration) (bool, error) {
	k := d.kept.Load()
	if k == nil || ctx.Value(heldKey{}) != k {
		return d.Real.Wait(ctx, l, within)
	}
	d.kept.Store(nil)
	close(k.Waits)
	opened, err := d.Real.Wait(ctx, l, within)
	<-k.Free
	return opened, err
}

// Elapsed implements sched.Runtime.
func (d *GatewayClock) Elapsed() time.Duration {
	return d.Real.Elapsed() + time.Duration(d.Later.Load())
}

// Now implements sched.Runtime.
func (d *GatewayClock) Now() time.Time { return clock.Instant(d.at.Load()).Time() }

// Set sets the wall clock.
func (d *GatewayClock) Set(at time.Time) { d.at.Store(int64(clock.Of(at))) }

// After implements sched.Runtime.
func (d *GatewayClock) After(ctx context.Context, pause time.Duration) error {
	return d.Real.After(ctx, min(pause, 5*time.Millisecond))
}

// Gateways opens gateways on one store that several processes may use.
type Gateways struct {
	T     *testing.T
	Store *simulator.Client
	Start time.Time // the beginning of a minute, at which the clocks start
	// Notifier and Through are the notifier and the store of the gateways that Open opens from now
	// on. Initially both are Store.
	Notifier library.Notifier
	Through  domain.Store
}

// NewGateways returns Gateways on an empty simulated store.
func NewGateways(t *testing.T) *Gateways {
	store := simulator.NewClient(simulator.NewStore(nil), nil)
	return &Gateways{t, store, time.Now().Truncate(time.Minute), store, store.Store}
}

// Open opens a gateway whose clock is ahead of the store's by a known duration. A mute gateway
// announces none of its changes.
func (g *Gateways) Open(ahead time.Duration, mute bool) (*Fixture, *GatewayClock) {
	g.T.Helper()
	clock := &GatewayClock{Real: sched.NewReal()}
	g.T.Cleanup(clock.Close)
	clock.Set(g.Start.Add(ahead))
	h := &Fixture{T: g.T, Store: g.Through, Runtime: clock.Real}
	h.Journal = journal.New(g.T.Context(), g.Through.Journal, clock, nil)
	c := domain.Config{Store: g.Through, Runtime: clock, Journal: h.Journal, Names: &CountingNames{}, Remote: true,
		Ahead: func() time.Duration { return ahead }}
	if !mute {
		c.Notifier = g.Notifier
	}
	h.Services = Open(g.T, c)
	return h, clock
}
