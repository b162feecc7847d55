package listing

import (
	"context"
	"log/slog"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Service reads the pages of libraries. It contains the Service of libraries.
type Service struct {
	engine    *commit.Engine
	people    *principal.Service
	library   *library.Service
	contents  library.ContentStore
	libraries library.LibraryStore
	rt        sched.Runtime
	journal   commit.Journal
	log       *slog.Logger
	watch     library.Watcher
	remote    bool
	items     Items
	folding   *folding

	missing func(ctx context.Context, owner principal.ID) error // see Config.Rebuild
}

// Config contains what the Service of pages needs.
type Config struct {
	Engine    *commit.Engine
	People    *principal.Service
	Library   *library.Service
	Contents  library.ContentStore
	Items     Items
	Libraries library.LibraryStore
	Runtime   sched.Runtime
	Journal   commit.Journal
	Log       *slog.Logger
	Watch     library.Watcher
	// Remote reports that a call of the store takes a round trip. Only then are pages opened in the background.
	Remote bool
	// Rebuild is called for a library that is not in the store. It returns nil once the library is complete,
	// and an UNAVAILABLE error until then.
	Rebuild func(ctx context.Context, owner principal.ID) error
}

// New returns the Service of pages.
func New(c Config) *Service {
	return &Service{
		engine: c.Engine, people: c.People, library: c.Library, contents: c.Contents, items: c.Items, libraries: c.Libraries, rt: c.Runtime,
		journal: c.Journal, log: c.Log, watch: c.Watch, remote: c.Remote, folding: new(folding), missing: c.Rebuild,
	}
}
