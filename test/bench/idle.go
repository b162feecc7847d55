package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"carrel/library"
	"carrel/principal"
)

// The limits for subscriptions without events.
const (
	idleSubscriptions = 10_000
	wantedIdle        = 500_000_000 // bytes
	// idlePerViewer is less than the default limit for a viewer.
	idlePerViewer = 40
	// idleFor is long enough for each follower to poll its own access once, and for three
	// pings on its connection.
	idleFor = time.Minute
)

// idleOwner is the owner of one of the libraries that are followed.
func idleOwner(n int) principal.ID {
	return principal.UserID("bench", fmt.Sprintf("owner%05d", n))
}

// measureIdle opens 10,000 subscriptions, each to a library of its own, within the
// default limits, and leaves them idle. It measures their resident memory, and the CPU
// that they cost although nothing happens.
func measureIdle(ctx context.Context, o *options, t *table) error {
	dir := filepath.Join(o.dir, "idle")
	if err := o.seedOwners(ctx, dir, idleSubscriptions); err != nil {
		return err
	}
	t.title("%d subscriptions to as many libraries, of %d viewers, while nothing happens (the built gateway)", idleSubscriptions, idleSubscriptions/idlePerViewer)
	for _, w := range subscriberTransports() {
		if err := o.measureIdleBy(ctx, dir, w, t); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// seedOwners creates a store in the directory, with n PUBLIC users.
func (o *options) seedOwners(ctx context.Context, dir string, n int) error {
	g, err := o.fresh(ctx, storeIn(dir), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	return parallel(n, func(i int) error { return g.user(ctx, idleOwner(i)) })
}

// measureIdleBy measures subscriptions on one transport. It starts a gateway for them.
func (o *options) measureIdleBy(ctx context.Context, dir string, w subscriberTransport, t *table) error {
	s, err := o.serveAgain(ctx, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	all, err := s.subscribers(idleSubscriptions, idlePerViewer, idleOwner)
	if err != nil {
		return err
	}
	pid := s.command.Process.Pid
	before, _, err := residentOf(pid)
	if err != nil {
		return err
	}
	a, err := gather(ctx, s, w, all, func([]byte) {})
	if err != nil {
		return err
	}
	defer a.leave()
	used, began := time.Duration(0), time.Now()
	if used, err = cpuOf(pid); err != nil {
		return err
	}
	select {
	case err := <-a.lost:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(idleFor):
	}
	after, err := cpuOf(pid)
	if err != nil {
		return err
	}
	now, peak, err := residentOf(pid)
	if err != nil {
		return err
	}
	t.required(w.name+": resident", mebibytes(now), "<= 477 MiB", now <= wantedIdle)
	t.required("  peak resident memory", mebibytes(peak), "<= 477 MiB", peak <= wantedIdle)
	t.figure("  resident for each of them", fmt.Sprintf("%.1f KiB", float64(now-before)/idleSubscriptions/1024))
	t.figure("  CPU", fmt.Sprintf("%.1f %% of a core", 100*float64(after-used)/float64(time.Since(began))))
	return nil
}

// subscribers returns n subscribers, so many per viewer, who follow the libraries of the
// owners.
func (s *served) subscribers(n, perViewer int, owner func(int) principal.ID) ([]subscriber, error) {
	viewers := make([]principal.ID, n/perViewer)
	for i := range viewers {
		viewers[i] = idleOwner(i)
	}
	tokens, err := s.tokens(viewers)
	if err != nil {
		return nil, err
	}
	all := make([]subscriber, n)
	for i := range all {
		all[i] = subscriber{tokens[i/perViewer], owner(i)}
	}
	return all, nil
}
