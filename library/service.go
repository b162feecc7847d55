package library

import (
	"context"
	"log/slog"
	"time"
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
	// Without switches a rule off; for the simulator alone.
	Without Ablation
}

// Config is what a Service is made of.
type Config struct {
	Store   Store
	Runtime Runtime
	Journal Journal
	Names   Namer
	Log     *slog.Logger
	Tuning  Tuning
}

// Service holds every rule of the domain. It is safe for concurrent use.
type Service struct {
	store   Store
	rt      Runtime
	journal Journal
	names   Namer
	log     *slog.Logger
	tune    Tuning
	seals   *sealer
	width   chan struct{}
}
