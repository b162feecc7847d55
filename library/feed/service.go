package feed

import (
	"context"
	"log/slog"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/library/listing"
	"carrel/principal"
)

// Service delivers the changes of libraries to their followers in this process, and announces
// to other processes what this one changes. It contains the Service of libraries.
type Service struct {
	engine       *commit.Engine
	people       *principal.Service
	library      *library.Service
	listing      *listing.Service
	contents     library.ContentStore
	libraries    library.LibraryStore
	rt           sched.Runtime
	log          *slog.Logger
	watch        library.Watcher
	snapshotPage int

	notifier  library.Notifier // nil: no other process uses the store
	publisher *publisher       // nil if notifier is
	feeds     feeds
	// life is the context of background work. It never ends.
	life context.Context
}

// Config contains what the Service of feeds needs.
type Config struct {
	Engine    *commit.Engine
	People    *principal.Service
	Library   *library.Service
	Listing   *listing.Service
	Contents  library.ContentStore
	Libraries library.LibraryStore
	Runtime   sched.Runtime
	Log       *slog.Logger
	Watch     library.Watcher
	// Notifier passes announcements between the processes that use the store; nil: only this
	// process uses it.
	Notifier library.Notifier
	// SnapshotPage is the number of member rows that are read at once.
	SnapshotPage int
}

// New returns the Service of feeds, and makes it the Publisher of the libraries. Its background
// work gets the values of ctx, and does not end with ctx.
func New(ctx context.Context, c Config) *Service {
	s := &Service{
		engine: c.Engine, people: c.People, library: c.Library, listing: c.Listing, contents: c.Contents, libraries: c.Libraries, rt: c.Runtime, log: c.Log, watch: c.Watch,
		snapshotPage: c.SnapshotPage, notifier: c.Notifier, life: c.Runtime.Detach(ctx),
		feeds: feeds{open: map[principal.ID]*libraryFeed{}, updates: map[library.ContentID]bool{}},
	}
	if s.notifier != nil {
		s.publisher = newPublisher(s)
	}
	s.library.PublishTo(s)
	return s
}

// Stamp implements Publisher.
func (s *Service) Stamp(now clock.Instant) clock.Instant { return s.feeds.stampNow(now) }
