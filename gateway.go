package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"carrel/config"
	"carrel/core/commit"
	"carrel/core/journal"
	"carrel/core/naming"
	"carrel/core/sched"
	"carrel/library"
	"carrel/observe"
)

// gateway is the domain on an open store, with all that was under way when the
// store was last closed, or its process died, finished.
type gateway struct {
	store   backend
	runtime *sched.Real
	journal *journal.Journal
	service *library.Service
	// stop ends the background work, and stopped says that it has ended.
	stop    context.CancelFunc
	stopped chan struct{}
}

// surroundings are what a gateway takes from its process.
type surroundings struct {
	hostID string // of generated names; the machine's name where it is empty
	log    *slog.Logger
	// fatal is told when the store can no longer write.
	fatal func(error)
	// metrics count what happens; nil: nobody asks for figures.
	metrics *observe.Metrics
	// tracing makes spans of what happens; nil: nobody asks for them.
	tracing *observe.Tracing
	// targets is how many principals one mutation may name; 0: as many as any may.
	targets int
	// doing is what other processes are told that this one does, such as "carrel
	// serve".
	doing string
	// alone tells that no other process uses the store.
	alone bool
	// passes tells whether an error of the store may be over in a moment.
	passes func(error) bool
}

// A gateway that starts while a node of its cluster goes away, or comes back,
// looks again before it gives up, unless so much time has passed that its
// operator should be told.
const (
	openTries  = 4
	openPause  = time.Second
	openWithin = 15 * time.Second
)

// patiently calls do again where what went wrong may be over in a moment.
func patiently[T any](ctx context.Context, log *slog.Logger, passes func(error) bool, do func() (T, error)) (T, error) {
	began := time.Now()
	for try := 1; ; try++ {
		v, err := do()
		if err == nil || try == openTries || ctx.Err() != nil || time.Since(began) > openWithin || !passes(err) {
			return v, err
		}
		log.WarnContext(ctx, "the store cannot be used yet, and is tried again", "error", err)
		select {
		case <-time.After(openPause):
		case <-ctx.Done():
			return v, err
		}
	}
}

// openGateway opens the store that s names.
func openGateway(ctx context.Context, s config.StoreFlag, with surroundings) (*gateway, error) {
	place, err := storePlace(s)
	if err != nil {
		return nil, err
	}
	with.passes = place.passes
	var alone bool
	store, err := patiently(ctx, with.log, place.passes, func() (backend, error) {
		store, err := place.open(ctx, with)
		if err != nil {
			return nil, err
		}
		if alone, err = join(ctx, store, with); err == nil {
			err = refuseHalfCopied(ctx, store)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening %s: %w", s.Store, err), store.Close())
		}
		return store, nil
	})
	if err != nil {
		return nil, err
	}
	with.alone = alone
	return startGateway(ctx, store, with)
}

// startGateway makes the domain on an open store, which it closes with itself,
// also where it fails.
func startGateway(ctx context.Context, store backend, with surroundings) (*gateway, error) {
	g := &gateway{store: store, runtime: sched.NewReal(), stopped: make(chan struct{})}
	// Background work outlives the signal that ends the process: what was
	// accepted is finished first.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.stop = stop
	if err := g.start(ctx, life, with); err != nil {
		close(g.stopped)
		return nil, errors.Join(err, g.close(life))
	}
	return g, nil
}

// start plugs the domain together, finishes what was under way, and begins the
// background work.
func (g *gateway) start(ctx, life context.Context, with surroundings) error {
	hostID, err := with.host()
	if err != nil {
		return err
	}
	names, err := naming.New(g.store, hostID, naming.DefaultBlockSize)
	if err != nil {
		return config.WrongUsage("host-id", hostID, "a name of at most 108 characters")
	}
	c := library.Config{Store: g.store, Runtime: g.runtime, Names: names, Log: with.log, Tuning: library.Tuning{Targets: with.targets}}
	if bulletin, ok := g.store.(library.Bulletin); ok {
		c.Bulletin = bulletin
	}
	if with.metrics != nil {
		c.Store, c.Watch = with.metrics.Store(g.store, with.tracing), observe.Watcher{Metrics: with.metrics, Tracing: with.tracing}
	}
	if shared, ok := g.store.(sharedStore); ok {
		c.Ahead, c.Remote = shared.Ahead, true
		if with.metrics != nil {
			with.metrics.Cluster(shared.Load)
			with.metrics.Skew(func() (time.Duration, bool) {
				skew, known := shared.Skew()
				return skew.Ahead, known
			})
		}
	}
	g.journal = journal.New(life, c.Store, g.runtime, with.log, commit.WholeProtocol)
	if with.metrics != nil {
		with.metrics.Journal(g.journal.Stats)
	}
	c.Journal = g.journal
	g.service, err = patiently(ctx, with.log, with.passes, func() (*library.Service, error) { return library.New(ctx, c) })
	if err != nil {
		return fmt.Errorf("starting the service: %w", err)
	}
	if with.alone {
		// Whoever left a lane here is dead. Among others the journal finds out who
		// is, and takes over what they leave.
		if err := g.journal.Recover(ctx, g.service); err != nil {
			// What is left stays on its lane, and the journal tries again: a disk
			// that is full, say, must not keep out whoever could make room.
			with.log.WarnContext(ctx, "not all that was under way could be finished yet", "error", err)
		}
	}
	go func() {
		defer close(g.stopped)
		g.journal.Run(life, with.tracing.Background(g.service))
	}()
	g.runtime.Go(func() {
		// At once done, but on a store that was made before there was a directory.
		// Where it fails the first look-up tries again.
		if err := g.service.FillDirectory(life); err != nil && life.Err() == nil {
			with.log.WarnContext(life, "the directory could not be filled yet", "error", err)
		}
	})
	return nil
}

// close finishes what is under way and closes the store. What is not done within
// commit.EndWithin is in the journal, and done at the next start. Nobody may call
// the service any more.
func (g *gateway) close(ctx context.Context) error {
	var drained error
	if g.service != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commit.EndWithin)
		defer cancel()
		g.service.End()
		drained = g.journal.Drain(ctx, g.service)
	}
	g.stop()
	<-g.stopped
	g.runtime.Close()
	return errors.Join(drained, g.store.Close())
}
