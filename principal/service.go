package principal

import (
	"context"
	"log/slog"
	"time"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/id"
	"carrel/core/sched"
)

// Config contains what the Service of users and groups needs.
type Config struct {
	Engine    *commit.Engine
	Store     Store
	Headers   Headers
	Directory DirectoryStore
	Claims    claim.Store
	Runtime   sched.Runtime
	Journal   commit.Journal
	Log       *slog.Logger
	Cursors   *cursor.Sealer
	// Targets is how many members one mutation may name.
	Targets int
	// AnswerWithin is how long a deletion waits for the removal of what belongs to the
	// principal.
	AnswerWithin time.Duration
	// Linger is how long a change of a user or a group stays on the in-flight list after it has
	// ended, if it alters what pages show; 0 if no process has copies of headers of principals.
	Linger time.Duration
	// Created is called for each new user or group before its creation is answered. It may be called more
	// than once for the same one.
	Created func(ctx context.Context, h *Header) error
	// Deleted is called for each deleted user or group, and removes what other packages keep for it. It may
	// be called more than once for the same one, and must return an error if something may be left.
	Deleted func(ctx context.Context, h *Header) error
}

// Service holds the rules of users and groups: who they are, who is in which
// group, and who may see whom. It is safe for concurrent use.
type Service struct {
	engine    *commit.Engine
	store     Store
	headers   Headers
	directory DirectoryStore
	claims    *claim.Claims
	rt        sched.Runtime
	journal   commit.Journal
	log       *slog.Logger
	seals     *cursor.Sealer
	Upkeep    Upkeep
	Paging    Paging
	targets   int
	// removals limits how many removals this process carries out at once for its mutations.
	removals     *sched.Permits
	answerWithin time.Duration
	lingers      bool
	created      func(ctx context.Context, h *Header) error // see Config.Created
	deleted      func(ctx context.Context, h *Header) error // see Config.Deleted
}

// Upkeep is what imports, repairs and exports do with users and groups, without a viewer.
type Upkeep struct{ s *Service }

// Paging is what pages ask of users and groups.
type Paging struct{ s *Service }

// New returns the Service of users and groups.
func New(c Config) *Service {
	s := &Service{
		engine: c.Engine, store: c.Store, headers: c.Headers, directory: c.Directory, rt: c.Runtime, journal: c.Journal,
		log: c.Log, seals: c.Cursors,
		targets: c.Targets, removals: sched.NewPermits(c.Runtime, removalsAtOnce), answerWithin: c.AnswerWithin, lingers: c.Linger > 0,
		created: c.Created, deleted: c.Deleted,
	}
	if s.lingers {
		s.journal.Linger(commit.Principal, c.Linger)
	}
	s.Upkeep, s.Paging = Upkeep{s}, Paging{s}
	s.claims = claim.New(c.Claims, c.Runtime, claim.Records{byte(id.User): EmailRecord(s)})
	return s
}

// Handler returns what the Service does for changes of users and groups in the background.
func (s *Service) Handler() commit.Handler { return commit.Handler{Resume: s.resume} }
