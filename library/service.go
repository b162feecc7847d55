package library

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/feed"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// Namer generates the names of items that are created without one.
type Namer interface {
	// ContentName returns "<host>/<n>", each name only once.
	ContentName(ctx context.Context) (string, error)
}

// Tuning holds the parameters of the write protocol that an operator may set. Zero fields mean
// the defaults.
type Tuning struct {
	// HotMoves is how often an item may move within an hour before its moves are deferred (30),
	// HotPause how long a hot item keeps its position (1 minute).
	HotMoves int
	HotPause time.Duration
	// AnswerWithin is how long a mutation waits for its fan-out (250 ms).
	AnswerWithin time.Duration
	// MaxUnsettled is the number of unsettled positions from which on moves are deferred until
	// these are cleaned up (16).
	MaxUnsettled int
	// SnapshotPage is the number of member rows read at once (500).
	SnapshotPage int
	// FanOutWidth is the number of concurrent index updates for one change (64), ProcessWidth that
	// of the whole process (512).
	FanOutWidth, ProcessWidth int
	// Targets is how many principals one mutation may name, at most MaxList.
	Targets int
}

// Config contains what the Service of libraries needs.
type Config struct {
	Engine        *commit.Engine
	People        *principal.Service
	Contents      ContentStore
	Libraries     LibraryStore
	Principals    principal.Store
	InFlightLists commit.JournalStore
	Registers     commit.RegisterStore
	Claims        claim.Store
	Runtime       sched.Runtime
	Journal       commit.Journal
	Names         Namer
	Log           *slog.Logger
	Watch         Watcher
	Cursors       *cursor.Sealer
	Feeds         *feed.Timelines
	Tuning        Tuning // see Tuning.WithDefaults
	// Publish is notified of everything that is written into libraries.
	Publish Publisher
	Pages   Pages
}

// Service holds every rule of the domain. It is safe for concurrent use.
type Service struct {
	engine        *commit.Engine
	people        *principal.Service
	contents      ContentStore
	libraries     LibraryStore
	principals    principal.Store
	inFlightLists commit.JournalStore
	claims        *claim.Claims
	rt            sched.Runtime
	journal       commit.Journal
	names         Namer
	log           *slog.Logger
	watch         Watcher
	tune          Tuning
	Seals         *cursor.Sealer
	Upkeep        Upkeep
	permits       *sched.Permits // of index updates, for the process

	feeds    *feed.Timelines
	listed   listedContent
	fanOuts  fanOutQueues
	deciding deciding
	shares   shareTable

	publish Publisher
	pages   Pages

	// changesSince is since when the store has the changes of its libraries.
	changesSince clock.Instant
}

// Upkeep is what imports, repairs and exports do with content, without a viewer.
type Upkeep struct{ s *Service }

// New returns the Service of libraries. It reads a setting of the store, and stores it if the store
// has none.
func New(ctx context.Context, c Config) (*Service, error) {
	s := &Service{
		engine: c.Engine, people: c.People, contents: c.Contents, libraries: c.Libraries, principals: c.Principals,
		inFlightLists: c.InFlightLists,
		rt:            c.Runtime, journal: c.Journal, names: c.Names, log: c.Log, watch: c.Watch, tune: c.Tuning,
		Seals: c.Cursors, feeds: c.Feeds,
		publish: c.Publish, pages: c.Pages,
	}
	s.Upkeep = Upkeep{s}
	s.claims = claim.New(c.Claims, c.Runtime, claim.Records{byte(id.Content): URLRecord(s)})
	var err error
	if s.changesSince, err = readChangesSince(ctx, c, s.engine.StoreNow()); err != nil {
		return nil, fmt.Errorf("read since when changes are kept: %w", err)
	}
	s.permits = sched.NewPermits(s.rt, s.tune.ProcessWidth)
	s.fanOuts = fanOutQueues{s: s, waiting: map[ContentID][]*fanOut{}}
	s.shares.waiting = map[ContentID][]*shareJob{}
	return s, nil
}

// Handler returns what the Service does for changes of content in the background.
func (s *Service) Handler() commit.Handler {
	return commit.Handler{Resume: s.resume, RunDue: s.runDue, Expire: s.expire}
}

// WithDefaults returns t with each field that is zero set to its default.
func (t Tuning) WithDefaults() Tuning {
	orDefault := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	orDefault(&t.HotMoves, 30)
	orDefault(&t.MaxUnsettled, 16)
	orDefault(&t.SnapshotPage, 500)
	orDefault(&t.FanOutWidth, 64)
	orDefault(&t.Targets, input.MaxList)
	orDefault(&t.ProcessWidth, 512)
	if t.HotPause == 0 {
		t.HotPause = time.Minute
	}
	if t.AnswerWithin == 0 {
		t.AnswerWithin = 250 * time.Millisecond
	}
	return t
}

// CompleteNew marks the library of a new principal, which is empty, as complete.
func (s *Service) CompleteNew(ctx context.Context, h *principal.Header) error {
	err := s.engine.Retry(ctx, func() error { return s.libraries.SetBuilt(ctx, h.ID, emptySince(h)) })
	if err != nil {
		return fmt.Errorf("mark the library of %s: %w", h.ID, err)
	}
	return nil
}

// emptySince returns a time at which the library of a new principal was complete, because it was
// empty. The creation time that an import sets may be wrong, so it counts only if it is before the
// timestamp of the state.
func emptySince(h *principal.Header) clock.Instant { return min(h.CreatedAt, h.MTS) }

// ChangesSince returns since when the store has the changes of its libraries.
func (s *Service) ChangesSince() clock.Instant { return s.changesSince }
