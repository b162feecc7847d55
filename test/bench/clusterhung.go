package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
	"carrel/domain"
	"carrel/library"
	"carrel/principal"
)

const (
	hungReaders, hungWriters = 6, 4
	// hungFor is how long each part of the measurement lasts.
	hungFor = 10 * time.Second
)

// The required figures while a node hangs, starting one second after it began.
const (
	wantedOfHung  = 0.7 // of the throughput before
	wantedSlowest = 2 * time.Second
)

// measureHungNode starts three nodes and makes one of them hang, once. It prints the throughput of a gateway before
// and during that time, and of a gateway that starts during it.
func measureHungNode(ctx context.Context, _ *options, t *table) (err error) {
	c, err := cassandratest.StartWith(ctx, 3, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	o := session.Options{Hosts: c.Hosts, Keyspace: "bench_hung"}
	if err := cassandra.Migrate(ctx, o, nil); err != nil {
		return err
	}
	first, err := openHung(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	if err := first.createLibrary(ctx, libraryOwner(0), librarySize); err != nil {
		return err
	}
	t.title("A gateway on three nodes, of which one hangs (%d readers, %d writers; one run)", hungReaders, hungWriters)
	w := first.beginWork(ctx)
	before, err := w.during(ctx, hungFor) // the first period warms up
	if err == nil {
		before, err = w.during(ctx, hungFor)
	}
	if err != nil {
		return err
	}
	before.print(t, "all nodes answer", nil)
	if err := c.Pause(1); err != nil {
		return err
	}
	if _, err := w.during(ctx, time.Second); err != nil {
		return err
	}
	for _, name := range []string{"one hangs, 10 s after the first second", "one hangs, the next 10 s"} {
		d, err := w.during(ctx, hungFor)
		if err != nil {
			return err
		}
		d.print(t, name, before)
	}
	w.end()
	return startBesideHung(ctx, o, t, before)
}

// startBesideHung measures a gateway that starts while a node hangs.
func startBesideHung(ctx context.Context, o session.Options, t *table, before *done) (err error) {
	began := time.Now()
	second, err := openHung(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.close()) }()
	t.figure("until a gateway that starts meanwhile is ready", millis(time.Since(began)))
	w := second.beginWork(ctx)
	defer w.end()
	d, err := w.during(ctx, hungFor)
	if err == nil {
		d.print(t, "its first 10 s", before)
	}
	return err
}

func openHung(ctx context.Context, o session.Options) (*gateway, error) {
	store, err := cassandra.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return assemble(ctx, store, domain.Config{Store: store.Store, Remote: true})
}

// work runs readers and writers, and counts their operations.
type work struct {
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu  sync.Mutex
	now *done
}

// done counts the operations of a period: pages and updates.
type done struct {
	over   time.Duration
	took   [2][]time.Duration
	failed [2]int
}

func (g *gateway) beginWork(ctx context.Context) *work {
	ctx, stop := context.WithCancel(ctx)
	w := &work{stop: stop, now: new(done)}
	owner := libraryOwner(0)
	read := func(int) error {
		_, err := g.service.Listing.Library(ctx, &principal.Viewer{User: owner}, owner, library.LibraryQuery{Descending: true})
		return err
	}
	change := func(n int) error { return g.retitle(ctx, owner, itemID(owner, n), n) }
	for n := range hungReaders + hungWriters {
		what, do := 0, read
		if n >= hungReaders {
			what, do = 1, change
		}
		w.ended.Go(func() {
			for ctx.Err() == nil {
				begin := time.Now()
				if err := do(n); ctx.Err() == nil {
					w.add(what, time.Since(begin), err)
				}
			}
		})
	}
	return w
}

// end stops the readers and writers. It may be called more than once.
func (w *work) end() {
	w.stop()
	w.ended.Wait()
}

func (w *work) add(what int, took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.now.failed[what]++
	}
	w.now.took[what] = append(w.now.took[what], took)
}

func (w *work) next() *done {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.now
	w.now = new(done)
	return d
}

// during returns the operations within the given time from now on.
func (w *work) during(ctx context.Context, d time.Duration) (*done, error) {
	w.next()
	began := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	all := w.next()
	all.over = time.Since(began)
	for what := range all.took {
		slices.Sort(all.took[what])
	}
	return all, nil
}

// rate returns how many operations succeeded per second.
func (d *done) rate(what int) float64 {
	return float64(len(d.took[what])-d.failed[what]) / d.over.Seconds()
}

// print prints the counts, compared with those before if given.
func (d *done) print(t *table, name string, before *done) {
	t.figure(name, "")
	for what, of := range []string{"pages", "updates"} {
		took, rate := d.took[what], d.rate(what)
		line := fmt.Sprintf("  %s, %d failed", of, d.failed[what])
		var slowest time.Duration
		if n := len(took); n > 0 {
			slowest = took[n-1]
			line += fmt.Sprintf(", median %s, 99 of 100 in %s", millis(took[n/2]), millis(took[n*99/100]))
		}
		if before == nil {
			t.figure(line, fmt.Sprintf("%.1f/s", rate))
			t.figure("    the slowest", millis(slowest))
			continue
		}
		of := rate / before.rate(what)
		t.required(line, fmt.Sprintf("%.1f/s, %.2f x", rate, of), fmt.Sprintf(">= %.1f x", wantedOfHung), of >= wantedOfHung)
		t.required("    the slowest", millis(slowest), "<= "+millis(wantedSlowest), slowest <= wantedSlowest)
	}
}
