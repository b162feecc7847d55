package backend

import (
	"context"

	"carrel/core/commit"
	"carrel/library/repair"
)

// Background is the work of the Services that a journal starts. It implements journal.Service.
type Background struct {
	*commit.Engine
	repair *repair.Service
}

// Background returns the background work of the Services.
func (s *Services) Background() Background { return Background{s.Engine, s.Repair} }

// Scrub checks a few more stored rows (journal.Service).
func (b Background) Scrub(ctx context.Context) (finished, mismatches int, err error) {
	return b.repair.Scrub(ctx)
}
