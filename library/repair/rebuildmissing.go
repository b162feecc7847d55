package repair

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// A reader of a missing library waits this long for its rebuild, and is told
// to come back after as many seconds.
const (
	rebuildWait = 2 * time.Second
)

// rebuildAnswerWithin is how long rebuildLibrary waits for its rebuild, which may
// take minutes: some 20,000 entries are rebuilt in that time.
const rebuildAnswerWithin = 8 * time.Second

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
	running map[principal.ID]*rebuildRun
	// done are rebuilds that ended after the mutation that asked for them had been
	// answered: the next one is told their outcome.
	done map[principal.ID]*rebuildRun
}

type rebuildRun struct {
	ended sched.Latch
	// After ended.
	err               error
	restored, removed int
	owed              bool // a mutation was answered before the end; guarded by the table
}

var (
	errManyRebuilds = errors.New("many other libraries are being rebuilt")
)

// rebuildMissing starts the rebuild of a library that is not there, unless it
// runs already, and waits a little for it.
func (s *Service) rebuildMissing(ctx context.Context, p principal.ID) error {
	run, start := s.rebuilds.join(p, s.rt.Latch())
	if run == nil {
		return library.BeingRebuilt(errManyRebuilds)
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
		return library.BeingRebuilt(library.ErrNotRebuilt)
	case run.err != nil:
		return library.BeingRebuilt(run.err)
	}
	return nil
}

// join gives the rebuild of p's library that is known, or a new one, which the
// caller must run; nil where too many are known.
func (t *rebuildTable) join(p principal.ID, ended sched.Latch) (run *rebuildRun, start bool) {
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
func (t *rebuildTable) forget(p principal.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := t.running[p]
	delete(t.running, p)
	if run != nil {
		t.keep(p, run)
	}
}

// runRebuild rebuilds when its turn comes. After a failure nobody begins
// another one before readers were told to come back.
func (s *Service) runRebuild(ctx context.Context, p principal.ID, run *rebuildRun) {
	run.restored, run.removed, run.err = s.rebuildInTurn(ctx, p)
	if run.err != nil {
		s.log.ErrorContext(ctx, "rebuilding a library", "principal", string(p), "error", run.err)
		run.ended.Open()
		_ = s.Pause(ctx, library.RebuildRetryAfter*time.Second)
	}
	s.rebuilds.forget(p)
	run.ended.Open()
}

func (s *Service) rebuildInTurn(ctx context.Context, p principal.ID) (restored, removed int, err error) {
	if err := s.rebuildTurns.Take(ctx); err != nil {
		return 0, 0, err
	}
	defer s.rebuildTurns.Give()
	if s.Ending() {
		// Hundreds may wait for their turn, and each would ask the store.
		return 0, 0, commit.ErrEnding
	}
	restored, removed, err = s.Rebuild(ctx, p)
	if err == nil {
		s.log.WarnContext(ctx, "a library has been rebuilt", "principal", string(p), "restored", restored, "removed", removed)
	}
	return restored, removed, err
}

// rebuildAsked rebuilds a library because somebody has asked for it. It waits for
// the rebuild for a while; after that the rebuild goes on, and the error says so.
// A repetition waits for the same rebuild, or is told its outcome.
func (s *Service) rebuildAsked(ctx context.Context, p principal.ID) (restored, removed int, err error) {
	if run := s.rebuilds.take(p); run != nil {
		return run.restored, run.removed, nil
	}
	run, start := s.rebuilds.join(p, s.rt.Latch())
	if run == nil {
		return 0, 0, library.BeingRebuilt(errManyRebuilds)
	}
	if start {
		background := s.rt.Detach(ctx)
		s.rt.Go(func() { s.runRebuild(background, p, run) })
	}
	ended, err := s.rt.Wait(ctx, run.ended, rebuildAnswerWithin)
	if err == nil && ended {
		s.rebuilds.take(p) // others who were owed the outcome may ask for a new rebuild
		return run.restored, run.removed, run.err
	}
	s.rebuilds.owe(p, run)
	if err != nil {
		return 0, 0, err
	}
	return 0, 0, &fault.Error{Code: fault.Unavailable, RetryAfter: library.RebuildRetryAfter, Err: library.ErrNotRebuilt,
		Msg: "the rebuild goes on; repeat rebuildLibrary to learn its outcome"}
}

// owe notes that somebody was answered before the end of a rebuild.
func (t *rebuildTable) owe(p principal.ID, run *rebuildRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	run.owed = true
	t.keep(p, run)
}

// keep keeps the outcome of a rebuild that is owed, once it has succeeded. The
// caller holds mu.
func (t *rebuildTable) keep(p principal.ID, run *rebuildRun) {
	if t.running[p] == run || run.err != nil || !run.owed {
		return
	}
	if len(t.done) >= rebuildsKnown {
		clear(t.done) // whoever asks again has the library rebuilt again
	}
	t.done[p] = run
}

// take is the outcome that is owed of a rebuild; nil where none is.
func (t *rebuildTable) take(p principal.ID) *rebuildRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := t.done[p]
	delete(t.done, p)
	return run
}
