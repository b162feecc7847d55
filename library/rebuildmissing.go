package library

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A reader of a missing library waits this long for its rebuild, and is told
// to come back after as many seconds.
const (
	rebuildWait       = 2 * time.Second
	rebuildRetryAfter = 5
)

// Rebuilds that readers have asked for: so many run in this process at a time,
// so that regenerating them leaves room for what is served, and so many may
// wait or have failed just now. Beyond that readers are told to come back.
const (
	rebuildsAtOnce = 4
	rebuildsKnown  = 1000
)

// rebuildTable holds one rebuild a principal in this process.
type rebuildTable struct {
	mu      sync.Mutex
	running map[PrincipalID]*rebuildRun
}

type rebuildRun struct {
	ended Latch
	err   error // after ended
}

var (
	errNotRebuilt   = errors.New("the rebuild is not done yet")
	errManyRebuilds = errors.New("many other libraries are being rebuilt")
)

// rebuildMissing starts the rebuild of a library that is not there, unless it
// runs already, and waits a little for it.
func (s *Service) rebuildMissing(ctx context.Context, p PrincipalID) error {
	run, start := s.rebuilds.join(p, s.rt.Latch())
	if run == nil {
		return beingRebuilt(errManyRebuilds)
	}
	if start {
		background := s.rt.Detach(ctx)
		s.rt.Go(func() { s.runRebuild(background, p, run) })
	}
	ended, err := s.rt.Wait(ctx, run.ended, rebuildWait)
	switch {
	case err != nil:
		return err
	case !ended:
		return beingRebuilt(errNotRebuilt)
	case run.err != nil:
		return beingRebuilt(run.err)
	}
	return nil
}

// beingRebuilt is what readers of a library that is missing are told.
func beingRebuilt(cause error) *Error {
	return &Error{Code: Unavailable, RetryAfter: rebuildRetryAfter, Err: cause,
		Msg: "this library is being rebuilt; try again in a few seconds"}
}

// join gives the rebuild of p's library that is known, or a new one, which the
// caller must run; nil where too many are known.
func (t *rebuildTable) join(p PrincipalID, ended Latch) (run *rebuildRun, start bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run = t.running[p]; run != nil {
		return run, false
	}
	if len(t.running) >= rebuildsKnown {
		return nil, false
	}
	run = &rebuildRun{ended: ended}
	t.running[p] = run
	return run, true
}

// forget lets the next reader begin another rebuild.
func (t *rebuildTable) forget(p PrincipalID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, p)
}

// runRebuild rebuilds when its turn comes. After a failure nobody begins
// another one before readers were told to come back.
func (s *Service) runRebuild(ctx context.Context, p PrincipalID, run *rebuildRun) {
	run.err = s.rebuildInTurn(ctx, p)
	if run.err != nil {
		s.log.ErrorContext(ctx, "rebuilding a library", "principal", string(p), "error", run.err)
		run.ended.Open()
		_, _ = s.rt.Wait(ctx, s.ending, rebuildRetryAfter*time.Second)
	}
	s.rebuilds.forget(p)
	run.ended.Open()
}

func (s *Service) rebuildInTurn(ctx context.Context, p PrincipalID) error {
	if err := s.rebuildTurns.take(ctx); err != nil {
		return err
	}
	defer s.rebuildTurns.give()
	if s.ending.IsOpen() {
		// Hundreds may wait for their turn, and each would ask the store.
		return errEnding
	}
	restored, removed, err := s.Rebuild(ctx, p)
	if err == nil {
		s.log.WarnContext(ctx, "a library was missing and has been rebuilt", "principal", string(p), "restored", restored, "removed", removed)
	}
	return err
}
