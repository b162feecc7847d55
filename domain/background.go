package domain

import (
	"context"

	"carrel/core/commit"
	"carrel/repair"
)

// Background is the work of the Services that a journal starts. It implements journal.Service.
type Background struct {
	commit.Handlers
	repair *repair.Service
}

// Background returns the background work of the Services.
func (s *Services) Background() Background {
	content := s.Library.Handler()
	content.Repair = s.Repair.RepairRow
	return Background{commit.Handlers{
		commit.Content: content, commit.Principal: s.People.Handler(), commit.Lease: s.Leases.Handler(),
		commit.Paste: s.Pastes.Handler(),
	}, s.Repair}
}

// Scrub checks all stored rows (journal.Service).
func (b Background) Scrub(ctx context.Context, rest func(commit.ScrubStep) (context.Context, error)) error {
	return b.repair.Scrub(ctx, rest)
}
