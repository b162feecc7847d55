package repair

import (
	"context"
	"log/slog"

	"carrel/core/sched"
	"carrel/library"
	"carrel/library/feed"
	"carrel/principal"
)

// Service brings derived rows in line with the authoritative ones: what a reader has found
// to be wrong, libraries that are missing, the whole store step by step, and what an
// operator asks for. It has all that the Service of libraries has, too.
type Service struct {
	*feed.Service
	store library.Store
	rt    sched.Runtime
	log   *slog.Logger

	rebuilds rebuildTable
	// rebuildTurns are for the rebuilds that readers have asked for.
	rebuildTurns *sched.Permits
	// directory is what is known of whether it is complete.
	directory directoryRun
	// scrubbed is how far the scrubber has got.
	scrubbed ScrubPlace
}

var _ library.API = (*Service)(nil)

// New makes the Service of libraries, and has it repaired where it needs to be.
// It reads the cursor keys from the store, and makes them where the store is new. Where
// that fails it may be repeated.
func New(ctx context.Context, c library.Config) (*Service, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		store: c.Store, rt: c.Runtime, log: c.Log,
		rebuilds:     rebuildTable{running: map[principal.ID]*rebuildRun{}, done: map[principal.ID]*rebuildRun{}},
		rebuildTurns: sched.NewPermits(c.Runtime, rebuildsAtOnce),
	}
	c.Missing, c.Searchable, c.Repair = s.rebuildMissing, s.requireDirectory, s.repair
	var err error
	s.Service, err = feed.New(ctx, c)
	return s, err
}
