package library

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// Namer makes the names of content that was given none.
type Namer interface {
	// ContentName is "<host>/<n>", never given out twice.
	ContentName(ctx context.Context) (string, error)
}

// Tuning holds what an operator may set of the write protocol. Zero fields
// mean the defaults.
type Tuning struct {
	// HotMoves is how often an item may move within an hour before its moves
	// are deferred (30), HotPause how long a hot item stays in place (1 minute).
	HotMoves int
	HotPause time.Duration
	// AnswerWithin is how long a mutation waits for its fan-out (250 ms).
	AnswerWithin time.Duration
	// MaxUnsettled is the number of unsettled positions from which on moves are
	// deferred until they are settled (16).
	MaxUnsettled int
	// SnapshotPage is the number of member rows read at once (500).
	SnapshotPage int
	// FanOutWidth is the number of enforcements at once for one change (64),
	// ProcessWidth that of the process (512).
	FanOutWidth, ProcessWidth int
	// Targets is how many principals one mutation may name (MaxList), no more.
	Targets int
	// Without switches a rule off; for the simulator alone.
	Without commit.Ablation
}

// Config is what a Service is made of.
type Config struct {
	Store   Store
	Runtime sched.Runtime
	Journal commit.Journal
	Names   Namer
	Log     *slog.Logger
	Watch   Watcher // nil: nobody watches
	// Ahead is how far this process's clock is ahead of its store's, as far as
	// that is certain, and negative where it is behind; nil: they have one clock.
	Ahead func() time.Duration
	// Bulletin is where the processes announce what they change that use the
	// store beside this one; nil: there are none.
	Bulletin Bulletin
	// Remote tells that what is asked of the store takes a round trip: what can be
	// asked at once is worth a task of its own.
	Remote bool
	Tuning Tuning

	// Publisher is told what is written into libraries. Package feed sets it.
	Publisher Publisher

	// What follows is set by package repair, which repairs what is stored.

	// Missing has a library that is not there rebuilt. It returns nil when it is
	// complete, and an error that is UNAVAILABLE while it is not.
	Missing func(ctx context.Context, owner principal.ID) error
	// Searchable returns an error while the directory is not complete.
	Searchable func(ctx context.Context) error
	// Repair brings an entry in line that a reader has found to be wrong.
	Repair func(ctx context.Context, r commit.Repair) error
}

// Service holds every rule of the domain. It is safe for concurrent use.
type Service struct {
	*principal.Service
	store   Store
	rt      sched.Runtime
	journal commit.Journal
	names   Namer
	log     *slog.Logger
	watch   Watcher
	remote  bool
	tune    Tuning
	Seals   *cursor.Sealer
	permits *sched.Permits // of enforcements, for the process

	fans   fanTable
	shares shareTable
	// missing has a library that is not there rebuilt.
	missing func(ctx context.Context, owner principal.ID) error

	publish Publisher
	// changesSince is from when on the store has the changes of its libraries.
	changesSince clock.Instant
}

// New makes the Service. It reads the cursor keys from the store, and makes
// them where the store is new. Where that fails it may be repeated.
func New(ctx context.Context, c Config) (*Service, error) {
	c = c.WithDefaults()
	seals, isNew, err := cursor.NewSealer(ctx, c.Store, c.Runtime)
	if err != nil {
		return nil, fmt.Errorf("reading the cursor keys: %w", err)
	}
	s := &Service{
		Seals: seals,
		store: c.Store, rt: c.Runtime, journal: c.Journal, names: c.Names,
		log: c.Log, watch: c.Watch, remote: c.Remote, tune: c.Tuning,
		publish: c.Publisher, missing: c.Missing,
	}
	engine := commit.NewEngine(commit.Config{
		Runtime: c.Runtime, Journal: c.Journal, Registers: c.Store, Ahead: c.Ahead, Remote: c.Remote, Without: s.tune.Without,
	})
	s.Service = principal.New(principal.Config{
		Engine: engine, Store: c.Store, Directory: c.Store, Runtime: c.Runtime, Journal: c.Journal, Log: c.Log, Cursors: seals,
		Targets: s.tune.Targets, Created: s.completeNew, Searchable: c.Searchable, Without: s.tune.Without,
	})
	if s.changesSince, err = readChangesSince(ctx, c.Store, c.Runtime, s.StoreNow(), isNew); err != nil {
		return nil, fmt.Errorf("reading since when changes are kept: %w", err)
	}
	s.permits = sched.NewPermits(s.rt, s.tune.ProcessWidth)
	s.fans.jobs = map[ContentID]*fanQueue{}
	s.shares.waiting = map[ContentID][]*shareJob{}
	s.Creates(id.Content, s.contentPartition)
	s.Handle(commit.Content, commit.Handler{Resume: s.resume, RunDue: s.runDue, Expire: s.expire, Repair: c.Repair})
	return s, nil
}

// WithDefaults fills in what was left out.
func (c Config) WithDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Watch == nil {
		c.Watch = Unwatched{}
	}
	c.Tuning = c.Tuning.withDefaults()
	return c
}

func (t Tuning) withDefaults() Tuning {
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

// completeNew marks the library of a new principal as complete, which it is because it
// is empty.
func (s *Service) completeNew(ctx context.Context, h *principal.Header) error {
	err := s.Insist(ctx, func() error { return s.store.SetBuilt(ctx, h.ID, emptySince(h)) })
	if err != nil {
		return fmt.Errorf("marking the library of %s: %w", h.ID, err)
	}
	return nil
}

// emptySince is when the library of a new principal was complete, because it was
// empty. An import tells when a principal came to be, and may be wrong; the
// state itself is not older than its own timestamp.
func emptySince(h *principal.Header) clock.Instant { return min(h.CreatedAt, h.MTS) }

// ChangesSince returns from when on the store has the changes of its libraries.
func (s *Service) ChangesSince() clock.Instant { return s.changesSince }
