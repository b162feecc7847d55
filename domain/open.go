package domain

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/feed"
	"carrel/core/id"
	"carrel/core/sched"
	"carrel/exchange"
	"carrel/headercache"
	"carrel/lease"
	"carrel/library"
	"carrel/library/follow"
	"carrel/library/listing"
	"carrel/note"
	"carrel/paste"
	"carrel/principal"
	"carrel/repair"
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
	// ended, if it alters what pages show: twice headercache.MaxAge if processes cache headers,
	// and 0 if none does.
	Linger      time.Duration
	HeaderCache headercache.Config
	Tuning      library.Tuning
	// ConfirmedKeys is how many keys of leases a user may hold, confirmed or not; 0: the default of package lease.
	ConfirmedKeys int
}

// Services are the Services of all domains on one store. They share an Engine, which
// does their background work.
type Services struct {
	Engine   *commit.Engine
	Headers  Headers
	People   *principal.Service
	Library  *library.Service
	Listing  *listing.Service
	Feed     *follow.Service
	Repair   *repair.Service
	Notes    *note.Service
	Pastes   *paste.Service
	Leases   *lease.Service
	Exchange *exchange.Service
}

// Headers are the Stores that the domains read headers by.
type Headers interface {
	library.ContentStore
	principal.Store
	principal.Headers
	listing.Items
	Stats() headercache.Stats
}

// cacheHeaders returns the Stores of headers, with a cache.
func cacheHeaders(ctx context.Context, c Config) Headers {
	if !c.Remote || c.HeaderCache.Bytes == 0 {
		return headercache.NewExact(c.Store.Contents, c.Store.Principals, c.HeaderCache.Bytes)
	}
	return headercache.NewChecked(ctx, headercache.CheckedConfig{Config: c.HeaderCache, Contents: c.Store.Contents,
		Principals: c.Store.Principals, Libraries: c.Store.Libraries, InFlightLists: c.Store.Journal, Runtime: c.Runtime,
		Log: c.Log, Watch: c.Watch})
}

// Open creates the Services of all domains on a store. A Service gets those that it calls when it is made; what
// it calls of a later one is a function that is set here. Open reads settings from the store, and writes
// those that are missing. If Open fails, it may be called again.
func Open(ctx context.Context, c Config) (*Services, error) {
	c = c.withDefaults()
	cursors, err := cursor.NewSealer(ctx, c.Store.Registers, c.Runtime)
	if err != nil {
		return nil, fmt.Errorf("reading the cursor keys: %w", err)
	}
	s, st := &Services{}, c.Store
	s.Engine = commit.NewEngine(commit.Config{
		Runtime: c.Runtime, Journal: c.Journal, Registers: st.Registers, Ahead: c.Ahead, Remote: c.Remote, Room: c.Room,
		Partition: s.partition,
	})
	s.Headers = cacheHeaders(ctx, c)
	texts := note.NewTexts(s.Engine, st.Texts, c.Runtime)
	s.People = principal.New(principal.Config{
		Engine: s.Engine, Store: s.Headers, Headers: s.Headers, Directory: st.Directory, Claims: st.Claims, Runtime: c.Runtime,
		Journal: c.Journal, Log: c.Log,
		Cursors: cursors, Targets: c.Tuning.Targets, AnswerWithin: c.Tuning.AnswerWithin, Linger: c.Linger,
		Created: func(ctx context.Context, h *principal.Header) error { return s.Library.CompleteNew(ctx, h) },
		Deleted: func(ctx context.Context, h *principal.Header) error { return s.removeOwned(ctx, h, texts) },
	})
	s.Leases = lease.New(lease.Config{
		Engine: s.Engine, People: s.People, Store: st.Leases, Dues: st.Journal, Claims: st.Claims, Runtime: c.Runtime, Log: c.Log,
		ConfirmedKeys: c.ConfirmedKeys,
	})
	feeds := feed.New(feed.Config{Store: st.Feeds, Runtime: c.Runtime, Remote: c.Remote})
	s.Pastes = paste.New(ctx, paste.Config{
		Engine: s.Engine, People: s.People, Store: st.Pastes, Dues: st.Journal, Feeds: feeds, Cursors: cursors, Journal: c.Journal,
		Runtime: c.Runtime, Log: c.Log, Shared: c.Notifier != nil,
	})
	publisher := follow.NewPublisher(ctx, follow.Config{
		Engine: s.Engine, Contents: s.Headers, Libraries: st.Libraries, Notifier: c.Notifier,
		Runtime: c.Runtime, Log: c.Log, Watch: c.Watch, SnapshotPage: c.Tuning.SnapshotPage,
	})
	s.Library, err = library.New(ctx, library.Config{
		Engine: s.Engine, People: s.People, Contents: s.Headers, Libraries: st.Libraries, Principals: s.Headers,
		InFlightLists: st.Journal, Registers: st.Registers, Claims: st.Claims,
		Runtime: c.Runtime, Journal: c.Journal, Names: c.Names, Log: c.Log, Watch: c.Watch,
		Cursors: cursors, Feeds: feeds, Tuning: c.Tuning, Publish: publisher, Pages: texts,
	})
	if err != nil {
		return nil, err
	}
	s.Feed = follow.New(publisher, s.People, s.Library)
	s.Notes = note.New(note.Config{
		Engine: s.Engine, People: s.People, Library: s.Library, Contents: s.Headers, Store: st.Texts, Texts: texts, Runtime: c.Runtime,
		Cursors: cursors,
	})
	s.openReaders(c)
	return s, nil
}

// openReaders creates the Services that read, repair, export and import what the others keep.
func (s *Services) openReaders(c Config) {
	st := c.Store
	s.Repair = repair.New(repair.Config{
		Engine: s.Engine, People: s.People, Library: s.Library, Contents: st.Contents, Libraries: st.Libraries,
		Principals: st.Principals, Directory: st.Directory, InFlightLists: st.Journal,
		Claims: claim.New(st.Claims, c.Runtime, claim.Records{
			byte(id.Content): library.URLRecord(s.Library), byte(id.User): principal.EmailRecord(s.People), byte(id.Lease): lease.Record(s.Leases),
		}),
		Leases: s.Leases, Pastes: s.Pastes, Pages: s.Notes.Upkeep, Runtime: c.Runtime, Log: c.Log,
	})
	s.Listing = listing.New(listing.Config{
		Engine: s.Engine, People: s.People, Library: s.Library, Contents: s.Headers, Items: s.Headers, Libraries: st.Libraries,
		Runtime: c.Runtime, Journal: c.Journal, Log: c.Log, Watch: c.Watch, Remote: c.Remote, Rebuild: s.Repair.RebuildMissing,
	})
	s.Exchange = exchange.New(exchange.Config{
		Engine: s.Engine, People: s.People, Principals: st.Principals, Contents: st.Contents, Library: s.Library, Pages: s.Notes.Upkeep,
		Pastes: s.Pastes, Runtime: c.Runtime,
	})
}

// removeOwned removes what belongs to a deleted user or group.
func (s *Services) removeOwned(ctx context.Context, h *principal.Header, texts *note.Texts) error {
	for _, remove := range []func(context.Context, *principal.Header) error{
		s.Leases.EndOwned, s.Library.RemoveLibrary, texts.RemoveDrafts,
	} {
		if err := remove(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// partition reads the partition of an id for its creation.
func (s *Services) partition(ctx context.Context, globalID string, key *commit.RequestKey) (*commit.Partition, error) {
	switch id.KindOf(globalID) {
	case id.User, id.Group:
		return s.People.Partition(ctx, globalID, key)
	case id.Content:
		return s.Library.Partition(ctx, globalID, key)
	case id.Lease:
		return s.Leases.Partition(ctx, globalID, key)
	case id.Paste:
		return s.Pastes.Partition(ctx, globalID, key)
	}
	return nil, fmt.Errorf("the id %q reserved for a creation is not of a known kind", globalID)
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
