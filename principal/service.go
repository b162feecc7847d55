package principal

import (
	"context"
	"log/slog"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/id"
	"carrel/core/sched"
)

// Config is what the Service of users and groups needs.
type Config struct {
	Engine    *commit.Engine
	Store     Store
	Directory DirectoryStore
	Runtime   sched.Runtime
	Journal   commit.Journal
	Log       *slog.Logger
	Cursors   *cursor.Sealer
	// Targets is how many members one mutation may name.
	Targets int
	// Created is called for a new user or group before its creation is answered. It may
	// be called again.
	Created func(ctx context.Context, h *Header) error
	// Searchable returns an error while the directory is not complete.
	Searchable func(ctx context.Context) error
	// Without switches a rule off; for the simulator alone.
	Without commit.Ablation
}

// Service holds the rules of users and groups: who they are, who is in which
// group, and who may see whom. It is safe for concurrent use.
type Service struct {
	*commit.Engine
	store      Store
	directory  DirectoryStore
	rt         sched.Runtime
	journal    commit.Journal
	log        *slog.Logger
	seals      *cursor.Sealer
	targets    int
	created    func(ctx context.Context, h *Header) error
	searchable func(ctx context.Context) error
	without    commit.Ablation
}

// New returns the Service of users and groups, and makes it the handler of
// their changes.
func New(c Config) *Service {
	s := &Service{
		Engine: c.Engine, store: c.Store, directory: c.Directory, rt: c.Runtime, journal: c.Journal, log: c.Log, seals: c.Cursors,
		targets: c.Targets, created: c.Created, searchable: c.Searchable, without: c.Without,
	}
	s.Handle(commit.Principal, commit.Handler{Resume: s.resume})
	s.Creates(id.User, s.principalPartition)
	s.Creates(id.Group, s.principalPartition)
	return s
}
