package repair

import (
	"context"
	"errors"
	"sync"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library/listing"
	"carrel/principal"
)

// A reader of a missing library waits this long for its rebuild. After that it gets an error
// with the number of seconds after which to retry.
const (
	rebuildWait = 2 * time.Second
)

// rebuildAnswerTimeout is how long rebuildLibrary waits for its rebuild, which may take minutes.
// About 20,000 entries are rebuilt in that time.
const rebuildAnswerTimeout = 8 * time.Second

// Limits of rebuilds that readers and rebuildLibrary have started: how many run in this process at
// a time, so that they leave capacity for other requests, and how many may wait or have failed just
// now. Beyond that, callers get an error and may retry.
const (
	rebuildsAtOnce = 4
	rebuildsKnown  = 1000
)

// rebuildTable holds one rebuild for each principal in this process.
type rebuildTable struct {
	mu      sync.Mutex
	running map[principal.ID]*rebuildRun
	// done are rebuilds that ended after a mutation that waited for them had been answered: the
	// next mutation returns their outcome.
	done map[principal.ID]*rebuildRun
}

type rebuildRun struct {
	ended sched.Latch
	// After ended.
	err               error
	restored, removed int
	unread            bool // a mutation was answered before the end; guarded by the table
}

var (
	errManyRebuilds = errors.New("many other libraries are being rebuilt")
)

// RebuildMissing starts the rebuild of a library that is missing, unless it runs already, and
// waits a little for it.
func (s *Service) RebuildMissing(ctx context.Context, p principal.ID) error {
	run, start := s.rebuilds.join(p, s.rt.Latch())
	if run == nil {
		return listing.BeingRebuilt(errManyRebuilds)
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
		return listing.BeingRebuilt(listing.ErrNotRebuilt)
	case run.err != nil:
		return listing.BeingRebuilt(run.err)
	}
	return nil
}

// join returns the running rebuild of p's library, or a new one, which the caller must run; nil if
// there are too many.
func (t *rebuildTable) join(p principal.ID, ended sched.Latch) (run *rebuildRun, start bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.joinLocked(p, ended)
}

// takeOrJoin returns an unread outcome, and removes it, or else does what join does.
func (t *rebuildTable) takeOrJoin(p principal.ID, ended sched.Latch) (run *rebuildRun, start bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run = t.done[p]; run != nil {
		delete(t.done, p)
		return run, false
	}
	return t.joinLocked(p, ended)
}

// joinLocked is join for a caller that holds mu.
func (t *rebuildTable) joinLocked(p principal.ID, ended sched.Latch) (run *rebuildRun, start bool) {
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

// forget removes a rebuild, so that the next reader may start another.
func (t *rebuildTable) forget(p principal.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := t.running[p]
	delete(t.running, p)
	if run != nil {
		t.keep(p, run)
	}
}

// runRebuild runs a rebuild when its turn comes. After a failure no other is started until
// readers may retry.
func (s *Service) runRebuild(ctx context.Context, p principal.ID, run *rebuildRun) {
	run.restored, run.removed, run.err = s.rebuildInTurn(ctx, p)
	if run.err != nil {
		s.log.ErrorContext(ctx, "a library could not be rebuilt", "principal", string(p), "error", run.err)
		run.ended.Open()
		_ = s.engine.Pause(ctx, listing.RebuildRetryAfter*time.Second)
	}
	s.rebuilds.forget(p)
	run.ended.Open()
}

func (s *Service) rebuildInTurn(ctx context.Context, p principal.ID) (restored, removed int, err error) {
	if err := s.rebuildTurns.Take(ctx, ""); err != nil {
		return 0, 0, err
	}
	defer s.rebuildTurns.Give("")
	if s.engine.Ending() {
		// Hundreds may wait for their turn, and each would read the store.
		return 0, 0, commit.ErrEnding
	}
	restored, removed, err = s.Rebuild(ctx, p)
	if err == nil {
		s.log.WarnContext(ctx, "a library was rebuilt", "principal", string(p), "restored", restored, "removed", removed)
	}
	return restored, removed, err
}

// rebuildOnRequest rebuilds a library for a mutation. It waits for the rebuild for a while.
// After that the rebuild continues, and the error says so. A repetition waits for the same
// rebuild, or returns its outcome.
func (s *Service) rebuildOnRequest(ctx context.Context, p principal.ID) (restored, removed int, err error) {
	run, start := s.rebuilds.takeOrJoin(p, s.rt.Latch())
	if run == nil {
		return 0, 0, listing.BeingRebuilt(errManyRebuilds)
	}
	if start {
		background := s.rt.Detach(ctx)
		s.rt.Go(func() { s.runRebuild(background, p, run) })
	}
	ended, err := s.rt.Wait(ctx, run.ended, rebuildAnswerTimeout)
	if err == nil && ended {
		s.rebuilds.take(p) // callers that were told to repeat the request start a new rebuild
		return run.restored, run.removed, run.err
	}
	s.rebuilds.markUnread(p, run)
	if err != nil {
		return 0, 0, err
	}
	return 0, 0, &fault.Error{Code: fault.Unavailable, RetryAfter: listing.RebuildRetryAfter, Err: listing.ErrNotRebuilt,
		Msg: "the rebuild continues; repeat rebuildLibrary to get its outcome"}
}

// markUnread records that a caller was answered before the end of a rebuild.
func (t *rebuildTable) markUnread(p principal.ID, run *rebuildRun) {
	t.mu.Lock()
	defer t.mu.Unlock()
	run.unread = true
	t.keep(p, run)
}

// keep keeps the outcome of a successful rebuild until its caller reads it. The caller holds mu.
func (t *rebuildTable) keep(p principal.ID, run *rebuildRun) {
	if t.running[p] == run || run.err != nil || !run.unread {
		return
	}
	if len(t.done) >= rebuildsKnown {
		clear(t.done) // the callers whose outcome is dropped start another rebuild
	}
	t.done[p] = run
}

// take removes and returns an unread outcome; nil if there is none.
func (t *rebuildTable) take(p principal.ID) *rebuildRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := t.done[p]
	delete(t.done, p)
	return run
}
