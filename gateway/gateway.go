// Package gateway opens the domain on a store. It knows the kinds of stores, registers the process
// as a user of the store, connects the Services, the journal and the names, finishes the pending
// changes of earlier processes, and runs the background work. `carrel serve` uses it, and so do the
// commands that read or change a store. It knows no GraphQL and does not listen.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"carrel/config"
	"carrel/core/commit"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/headercache"
	"carrel/interchange/archive"
	"carrel/library"
	"carrel/observe"
)

// Gateway is the domain on an open store.
type Gateway struct {
	Store OpenStore
	// Services are the Services of the domains, nil until they are open.
	*domain.Services

	runtime *sched.Real
	journal *journal.Journal
	// stop cancels the background work; stopped is closed when it has returned.
	stop    context.CancelFunc
	stopped chan struct{}
}

// Options configure a Gateway.
type Options struct {
	// HostID is the first part of generated names, and the name of this process for others that use
	// the store. If it is empty, the former is random, and the latter the machine's name.
	HostID string
	Log    *slog.Logger
	// Fatal is called when the store can no longer be written to.
	Fatal func(error)
	// Metrics and Tracing count and trace what happens; both are optional.
	Metrics *observe.Metrics
	Tracing *observe.Tracing
	// Targets is how many principals one mutation may name; 0 means the domain's
	// own maximum.
	Targets int
	// ConfirmedKeys is how many keys of leases a user may hold, confirmed or not; 0 means the domain's default.
	ConfirmedKeys int
	// HeaderCache is the size of the header cache in bytes; 0 for none.
	HeaderCache int
	// Doing is the command of this process, such as "carrel serve", as other
	// processes that use the store see it.
	Doing string
}

// called records a call of the store.
func (o *Options) called(ctx context.Context, c observe.Call) {
	o.Metrics.Call(c)
	o.Tracing.Call(ctx, c)
}

// randomHostLength is the length of a random host id. Names are unique even if two ids are equal.
const randomHostLength = 8

// Limits for retrying to open a store, while a node of the cluster is restarting. After openTimeout
// the error is returned in any case.
const (
	openTries   = 4
	openPause   = time.Second
	openTimeout = 15 * time.Second
)

// retryOpening calls do again as long as target calls its error transient.
func retryOpening[T any](ctx context.Context, log *slog.Logger, target Target, do func() (T, error)) (T, error) {
	began := time.Now()
	for try := 1; ; try++ {
		v, err := do()
		if err == nil || try == openTries || ctx.Err() != nil || time.Since(began) > openTimeout || !target.transient(err) {
			return v, err
		}
		log.WarnContext(ctx, "the store cannot be used yet; trying again", "error", err)
		select {
		case <-time.After(openPause):
		case <-ctx.Done():
			return v, err
		}
	}
}

// Open opens the store that the flag names, and starts a gateway on it.
func Open(ctx context.Context, flag config.StoreFlag, with Options) (*Gateway, error) {
	target, err := TargetOf(flag)
	if err != nil {
		return nil, err
	}
	var alone bool
	store, err := retryOpening(ctx, with.Log, target, func() (OpenStore, error) {
		store, err := target.open(ctx, with)
		if err != nil {
			return OpenStore{}, err
		}
		if alone, err = register(ctx, store, with); err == nil {
			err = archive.RefuseHalfCopied(ctx, store)
		}
		if err != nil {
			return OpenStore{}, errors.Join(fmt.Errorf("opening %s: %w", flag.Store, err), store.Close())
		}
		return store, nil
	})
	if err != nil {
		return nil, err
	}
	return start(ctx, target, store, alone, with)
}

// OpenExclusive opens a store that no other process may use while it is copied. what is the name of
// the store in errors. It does not start a gateway.
func OpenExclusive(ctx context.Context, target Target, what string, with Options) (OpenStore, error) {
	store, err := target.open(ctx, with)
	if err != nil {
		return OpenStore{}, err
	}
	if err := lockExclusive(ctx, what, store, with); err != nil {
		return OpenStore{}, errors.Join(err, store.Close())
	}
	return store, nil
}

// StartExclusive starts a gateway on a store that OpenExclusive has opened. The gateway closes the
// store, even if it cannot be started.
func StartExclusive(ctx context.Context, target Target, store OpenStore, with Options) (*Gateway, error) {
	return start(ctx, target, store, true, with)
}

// start starts a gateway on an open store. The gateway closes the store, even if it cannot be
// started. alone reports that no other process uses the store.
func start(ctx context.Context, target Target, store OpenStore, alone bool, with Options) (*Gateway, error) {
	g := &Gateway{Store: store, runtime: sched.NewReal(), stopped: make(chan struct{})}
	// Background work continues after the signal that ends the process, to finish the accepted
	// changes first.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	if err := g.connect(ctx, life, target, with); err != nil {
		close(g.stopped)
		return nil, errors.Join(err, g.Close(life))
	}
	g.run(ctx, life, alone, with)
	return g, nil
}

// connect creates the journal and the Services on the open store.
func (g *Gateway) connect(ctx, life context.Context, target Target, with Options) error {
	hostID := with.HostID
	if hostID == "" {
		// Names are public, and the machine's name is not for everybody.
		hostID = strings.ToLower(rand.Text()[:randomHostLength])
	}
	names, err := naming.New(g.Store, hostID, naming.DefaultBlockSize)
	if err != nil {
		return config.WrongUsage("host-id", hostID, "a name of at most 108 characters")
	}
	c := domain.Config{Store: g.Store.Store, Runtime: g.runtime, Names: names, Log: with.Log,
		Tuning: library.Tuning{Targets: with.Targets}, ConfirmedKeys: with.ConfirmedKeys,
		HeaderCache: headercache.Config{Bytes: with.HeaderCache}}
	if with.Metrics != nil {
		c.Watch = observe.Watcher{Metrics: with.Metrics, Tracing: with.Tracing}
	}
	if disk := g.Store.embedded; disk != nil {
		c.Room = disk.Room
		if with.Metrics != nil {
			with.Metrics.Disk(disk.Free)
		}
	}
	if shared := g.Store.shared; shared != nil {
		c.Notifier, c.Ahead, c.Remote, c.Linger = shared, shared.Ahead, true, 2*headercache.MaxAge
		if with.Metrics != nil {
			with.Metrics.Cluster(shared.Load)
			with.Metrics.Skew(func() (time.Duration, bool) {
				skew, known := shared.Skew()
				return skew.Ahead, known
			})
		}
	}
	g.journal = journal.New(life, c.Store.Journal, g.runtime, with.Log)
	if with.Metrics != nil {
		with.Metrics.Journal(g.journal.Stats)
	}
	c.Journal = with.Tracing.Journal(g.journal)
	g.Services, err = retryOpening(ctx, with.Log, target, func() (*domain.Services, error) { return domain.Open(ctx, c) })
	if err != nil {
		return fmt.Errorf("starting the service: %w", err)
	}
	if with.HeaderCache > 0 && with.Metrics != nil {
		with.Metrics.Copies(g.Headers.Stats)
	}
	return nil
}

// run finishes the pending changes of earlier processes, and begins the background work.
func (g *Gateway) run(ctx, life context.Context, alone bool, with Options) {
	if alone {
		// All in-flight lists belong to dead processes. If other processes use the store, the
		// journal finds out later which of them are dead, and takes over their lists.
		if err := g.journal.Recover(ctx, g.Background()); err != nil {
			// The rest stays in the in-flight lists, and the journal tries again. The gateway
			// starts anyway, because it may be needed to solve the problem, such as to free space
			// on a full disk.
			with.Log.WarnContext(ctx, "not all pending changes could be finished yet", "error", err)
		}
	}
	go func() {
		defer close(g.stopped)
		g.journal.Run(life, with.Tracing.Background(g.Background()))
	}()
}

// Close finishes the pending changes and closes the store. Work that takes longer
// than commit.EndTimeout stays in the journal and is finished at the next start.
// The Services must not be called any more.
func (g *Gateway) Close(ctx context.Context) error {
	var drained error
	if g.Services != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commit.EndTimeout)
		defer cancel()
		g.Engine.End()
		drained = g.journal.Drain(ctx, g.Background())
	}
	g.stop()
	<-g.stopped
	g.runtime.Close()
	return errors.Join(drained, g.Store.Close())
}
