package principal

import (
	"context"
	"errors"
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
	Directory DirectoryStore
	Claims    *claim.Claims
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
}

// Service holds the rules of users and groups: who they are, who is in which
// group, and who may see whom. It is safe for concurrent use.
type Service struct {
	engine    *commit.Engine
	store     Store
	directory DirectoryStore
	claims    *claim.Claims
	rt        sched.Runtime
	journal   commit.Journal
	log       *slog.Logger
	seals     *cursor.Sealer
	targets   int
	// removals limits how many removals this process carries out at once for its mutations.
	removals     *sched.Permits
	answerWithin time.Duration
	lingers      bool
	copies       *headerCopies                                // nil: none are kept
	created      func(ctx context.Context, h *Header) error   // see OnCreated
	deleted      []func(ctx context.Context, h *Header) error // see OnDeleted
}

// New returns the Service of users and groups, and makes it the handler of
// their changes. OnCreated and OnDeleted must be called before its first request.
func New(c Config) *Service {
	s := &Service{
		engine: c.Engine, store: c.Store, directory: c.Directory, claims: c.Claims, rt: c.Runtime, journal: c.Journal, log: c.Log, seals: c.Cursors,
		targets: c.Targets, removals: sched.NewPermits(c.Runtime, removalsAtOnce), answerWithin: c.AnswerWithin, lingers: c.Linger > 0,
	}
	if s.lingers {
		s.journal.Linger(commit.Principal, c.Linger)
	}
	s.engine.Handle(commit.Principal, commit.Handler{Resume: s.resume})
	s.engine.Creates(id.User, s.principalPartition)
	s.engine.Creates(id.Group, s.principalPartition)
	s.claims.Record(byte(id.User), emailRecord{s})
	return s
}

// OnCreated registers done, which is called for each new user or group before its creation is
// answered. It may be called more than once for the same one.
func (s *Service) OnCreated(done func(ctx context.Context, h *Header) error) { s.created = done }

// OnDeleted registers remove, which is called for each deleted user or group and removes what
// another package keeps for it. It may be called more than once for the same one, and must return
// an error if something may be left.
func (s *Service) OnDeleted(remove func(ctx context.Context, h *Header) error) {
	s.deleted = append(s.deleted, remove)
}

// CheckHooks returns an error if the Service lacks a function that it needs and that
// another package registers.
func (s *Service) CheckHooks() error {
	switch {
	case s.created == nil:
		return errors.New("principal: OnCreated was not called")
	case s.deleted == nil:
		return errors.New("principal: OnDeleted was not called")
	}
	return nil
}
