package feed

import (
	"context"
	"log/slog"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Service tells those who follow a library in this process what happens in it, and
// announces to other processes what this one changes. It has all that the Service of
// libraries has, too.
type Service struct {
	*library.Service
	store        library.Store
	rt           sched.Runtime
	log          *slog.Logger
	watch        library.Watcher
	snapshotPage int
	without      commit.Ablation

	bulletin  library.Bulletin // nil: no other process uses the store
	announcer *announcer       // nil likewise
	feeds     feeds
	// life is for what no request asks for; its end cancels nothing.
	life context.Context
}

// New makes the Service of libraries, and is the Publisher of it. It reads the
// cursor keys from the store, and makes them where the store is new. Where that fails it
// may be repeated.
func New(ctx context.Context, c library.Config) (*Service, error) {
	c = c.WithDefaults()
	s := &Service{
		store: c.Store, rt: c.Runtime, log: c.Log, watch: c.Watch, snapshotPage: c.Tuning.SnapshotPage, without: c.Tuning.Without,
		bulletin: c.Bulletin, life: c.Runtime.Detach(ctx),
		feeds: feeds{open: map[principal.ID]*libraryFeed{}, updates: map[library.ContentID]bool{}},
	}
	c.Publisher = s
	var err error
	if s.Service, err = library.New(ctx, c); err != nil {
		return nil, err
	}
	if s.bulletin != nil {
		s.announcer = newAnnouncer(s)
	}
	return s, nil
}

// Stamp implements Publisher.
func (s *Service) Stamp(now clock.Instant) clock.Instant { return s.feeds.stampNow(now) }
