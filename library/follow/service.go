package follow

import (
	"context"
	"log/slog"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Service delivers the changes of libraries to their followers in this process.
type Service struct {
	*Publisher
	people  *principal.Service
	library *library.Service
}

// New returns the Service of the followers of a publisher.
func New(p *Publisher, people *principal.Service, libraries *library.Service) *Service {
	return &Service{p, people, libraries}
}

// Publisher passes what this process changes on to the followers in this process, and announces it to other
// processes. It implements library.Publisher.
type Publisher struct {
	engine       *commit.Engine
	contents     library.ContentStore
	libraries    library.LibraryStore
	rt           sched.Runtime
	log          *slog.Logger
	watch        library.Watcher
	snapshotPage int

	notifier  library.Notifier // nil: no other process uses the store
	announcer *announcer       // nil if notifier is
	feeds     feeds
	// life is the context of background work. It never ends.
	life context.Context
}

// Config contains what a Publisher needs.
type Config struct {
	Engine    *commit.Engine
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

// NewPublisher returns the Publisher of a process. Its background work gets the values of ctx, and
// does not end with ctx.
func NewPublisher(ctx context.Context, c Config) *Publisher {
	s := &Publisher{
		engine: c.Engine, contents: c.Contents, libraries: c.Libraries, rt: c.Runtime, log: c.Log, watch: c.Watch,
		snapshotPage: c.SnapshotPage, notifier: c.Notifier, life: c.Runtime.Detach(ctx),
		feeds: feeds{open: map[principal.ID]*libraryFeed{}, updates: map[library.ContentID]bool{}},
	}
	if s.notifier != nil {
		s.announcer = newAnnouncer(s)
	}
	return s
}

// Stamp implements library.Publisher.
func (s *Publisher) Stamp(now clock.Instant) clock.Instant { return s.feeds.stampNow(now) }
