package backend

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/core/timeline"
	"carrel/lease"
	"carrel/library"
	"carrel/library/exchange"
	"carrel/library/feed"
	"carrel/library/listing"
	"carrel/library/repair"
	"carrel/page"
	"carrel/paste"
	"carrel/principal"
)

// Config configures the Services.
type Config struct {
	Store   Store
	Runtime sched.Runtime
	Journal commit.Journal
	Names   library.Namer
	Log     *slog.Logger    // if nil, nothing is logged
	Watch   library.Watcher // if nil, nothing is counted
	// Ahead returns a lower bound of how far this process's clock is ahead of its store's clock; it
	// is negative if this clock is behind. If nil, both use the same clock.
	Ahead func() time.Duration
	// Notifier is where the processes that use the store announce their changes. If nil, no other
	// process uses it.
	Notifier library.Notifier
	// Remote reports that a call of the store takes a round trip. Independent calls are then made
	// concurrently.
	Remote bool
	// Room returns UNAVAILABLE while the store has no room for changes that may let it grow. If nil,
	// it always has.
	Room func() error
	// Linger is how long a change of a user or a group stays on the in-flight list after it has
	// ended, if it alters what pages show: twice copies.MaxAge if processes keep copies of headers,
	// and 0 if none does.
	Linger time.Duration
	// HeaderCache sets how many headers are cached to serve pages on remote stores.
	HeaderCache listing.HeaderCache
	Tuning      library.Tuning
	// ConfirmedKeys is how many keys of leases a user may hold, confirmed or not; 0: the default of package lease.
	ConfirmedKeys int
}

// Services are the Services of all domains on one store. They share an Engine, which
// does their background work.
type Services struct {
	Engine   *commit.Engine
	People   *principal.Service
	Library  *library.Service
	Listing  *listing.Service
	Feed     *feed.Service
	Repair   *repair.Service
	Pages    *page.Service
	Pastes   *paste.Service
	Leases   *lease.Service
	Exchange *exchange.Service
}

// Open creates the Services of all domains on a store. It reads settings from the store, and writes
// those that are missing. If Open fails, it may be called again.
func Open(ctx context.Context, c Config) (*Services, error) {
	c = c.withDefaults()
	cursors, err := cursor.NewSealer(ctx, c.Store.Registers, c.Runtime)
	if err != nil {
		return nil, fmt.Errorf("reading the cursor keys: %w", err)
	}
	engine := commit.NewEngine(commit.Config{
		Runtime: c.Runtime, Journal: c.Journal, Registers: c.Store.Registers, Ahead: c.Ahead, Remote: c.Remote, Room: c.Room,
	})
	claims := claim.New(c.Store.Claims, c.Runtime)
	people := principal.New(principal.Config{
		Engine: engine, Store: c.Store.Principals, Directory: c.Store.Directory, Claims: claims, Runtime: c.Runtime, Journal: c.Journal, Log: c.Log,
		Cursors: cursors, Targets: c.Tuning.Targets, AnswerWithin: c.Tuning.AnswerWithin, Linger: c.Linger,
	})
	leases := lease.New(lease.Config{
		Engine: engine, People: people, Store: c.Store.Leases, Dues: c.Store.Journal, Claims: claims, Runtime: c.Runtime, Log: c.Log,
		ConfirmedKeys: c.ConfirmedKeys,
	})
	feeds := timeline.New(timeline.Config{Store: c.Store.Feeds, Runtime: c.Runtime, Remote: c.Remote})
	pastes := paste.New(ctx, paste.Config{
		Engine: engine, People: people, Store: c.Store.Pastes, Dues: c.Store.Journal, Feeds: feeds, Cursors: cursors, Journal: c.Journal,
		Runtime: c.Runtime, Log: c.Log, Shared: c.Notifier != nil,
	})
	libraries, err := library.New(ctx, library.Config{
		Engine: engine, People: people, Contents: c.Store.Contents, Libraries: c.Store.Libraries, Principals: c.Store.Principals, InFlightLists: c.Store.Journal, Registers: c.Store.Registers, Claims: claims,
		Runtime: c.Runtime, Journal: c.Journal, Names: c.Names, Log: c.Log, Watch: c.Watch,
		Cursors: cursors, Feeds: feeds, Tuning: c.Tuning,
	})
	if err != nil {
		return nil, err
	}
	pages := page.New(page.Config{Engine: engine, People: people, Library: libraries, Contents: c.Store.Contents, Store: c.Store.Texts, Runtime: c.Runtime, Cursors: cursors})
	listings := listing.New(ctx, listing.Config{
		Engine: engine, People: people, Library: libraries, Contents: c.Store.Contents, Libraries: c.Store.Libraries, InFlightLists: c.Store.Journal,
		Runtime: c.Runtime, Journal: c.Journal, Log: c.Log, Watch: c.Watch, Remote: c.Remote, HeaderCache: c.HeaderCache,
	})
	following := feed.New(ctx, feed.Config{
		Engine: engine, People: people, Library: libraries, Listing: listings, Contents: c.Store.Contents, Libraries: c.Store.Libraries, Notifier: c.Notifier,
		Runtime: c.Runtime, Log: c.Log, Watch: c.Watch, SnapshotPage: c.Tuning.SnapshotPage,
	})
	exports := exchange.New(exchange.Config{Engine: engine, People: people, Principals: c.Store.Principals, Contents: c.Store.Contents, Library: libraries, Pages: pages, Pastes: pastes, Runtime: c.Runtime})
	repairs := repair.New(repair.Config{
		Engine: engine, People: people, Library: libraries, Listing: listings, Contents: c.Store.Contents, Libraries: c.Store.Libraries, Principals: c.Store.Principals, Directory: c.Store.Directory, InFlightLists: c.Store.Journal, Claims: claims,
		Leases: leases, Pastes: pastes, Pages: pages, Runtime: c.Runtime, Log: c.Log,
	})
	for _, check := range []func() error{people.CheckHooks, libraries.CheckHooks, listings.CheckHooks} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return &Services{
		Engine: engine, People: people, Library: libraries, Listing: listings, Feed: following, Repair: repairs, Pages: pages, Pastes: pastes, Leases: leases, Exchange: exports,
	}, nil
}

// withDefaults returns c with defaults for the fields that are not set.
func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Watch == nil {
		c.Watch = library.Unwatched{}
	}
	c.Tuning = c.Tuning.WithDefaults()
	return c
}
