package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/cassandra"
	"carrel/cassandra/cassandratest"
	"carrel/cassandra/session"
	"carrel/library"
	"carrel/principal"
)

const (
	hungReaders, hungWriters = 6, 4
	// hungFor is how long each part of the measurement lasts.
	hungFor = 10 * time.Second
)

// measureHungNode starts three nodes of its own, has one of them hang, and tells
// what a gateway gets done before, meanwhile and afterwards.
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
	counts := newTally()
	o.Observe = counts.observe
	store, err := cassandra.Open(ctx, o)
	if err != nil {
		return err
	}
	g, err := above(ctx, store, true, library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.shelf(ctx, shelfOwner(0), shelfSize); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	w := g.beginWork(ctx)
	defer w.done.Wait()
	defer stop()
	t.title("A gateway on three nodes, of which one hangs (%d readers, %d writers)", hungReaders, hungWriters)
	parts := []struct {
		name   string
		before func() error
	}{
		{"warming up", nil},
		{"all nodes answer", nil},
		{"one hangs, the first 10 s", func() error { return c.Pause(1) }},
		{"one hangs, the next 10 s", nil},
		{"it goes on, the first 10 s", func() error { return c.Resume(1) }},
		{"it goes on, the next 10 s", nil},
	}
	for n, part := range parts {
		if part.before != nil {
			if err := part.before(); err != nil {
				return err
			}
		}
		w.take()
		counts.take()
		if err := g.runtime.After(ctx, hungFor); err != nil {
			return err
		}
		if n > 0 {
			w.tell(t, part.name, counts)
		}
	}
	return nil
}

// work is what readers and writers have got done.
type work struct {
	done sync.WaitGroup

	mu     sync.Mutex
	began  time.Time
	took   [2][]time.Duration // of pages, of updates
	failed [2]int
}

func (g *gateway) beginWork(ctx context.Context) *work {
	w := &work{began: time.Now()}
	owner := shelfOwner(0)
	read := func(int) error {
		_, err := g.service.Library(ctx, &principal.Viewer{User: owner}, owner, library.LibraryQuery{Descending: true})
		return err
	}
	change := func(n int) error { return g.retitle(ctx, owner, itemID(owner, n), n) }
	for n := range hungReaders + hungWriters {
		what, do := 0, read
		if n >= hungReaders {
			what, do = 1, change
		}
		w.done.Go(func() {
			for ctx.Err() == nil {
				begin := time.Now()
				err := do(n)
				w.add(what, time.Since(begin), err)
			}
		})
	}
	return w
}

func (w *work) add(what int, took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed[what]++
	}
	w.took[what] = append(w.took[what], took)
}

// take gives what was done since the last time.
func (w *work) take() (took [2][]time.Duration, failed [2]int, over time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	took, failed, over = w.took, w.failed, time.Since(w.began)
	w.took, w.failed, w.began = [2][]time.Duration{}, [2]int{}, time.Now()
	return took, failed, over
}

func (w *work) tell(t *table, name string, counts *tally) {
	took, failed, over := w.take()
	statements, _ := counts.take()
	t.figure(name, fmt.Sprintf("%d statements", sum(statements)))
	for what, of := range []string{"pages", "updates"} {
		slices.Sort(took[what])
		rest := []string{fmt.Sprintf("%d failed", failed[what])}
		if n := len(took[what]); n > 0 {
			rest = append(rest, fmt.Sprintf("median %s, 99 of 100 in %s, slowest %s", millis(took[what][n/2]), millis(took[what][n*99/100]), millis(took[what][n-1])))
		}
		t.figure("  "+strings.Join(append([]string{of}, rest...), ", "), fmt.Sprintf("%.1f/s", float64(len(took[what])-failed[what])/over.Seconds()))
	}
}
