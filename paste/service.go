package paste

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"

	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/feed"
	"carrel/core/lru"
	"carrel/core/sched"
	"carrel/principal"
)

// feedName names the feed of the public pastes.
const feedName feed.Feed = "pastes"

// dueStore keeps reminders. commit.JournalStore implements it.
type dueStore interface {
	PutReminder(ctx context.Context, d commit.Reminder) error
}

// Config is what the Service of pastes needs.
type Config struct {
	Engine *commit.Engine
	// People knows which users were deleted.
	People  *principal.Service
	Store   Store
	Dues    dueStore
	Feeds   *feed.Timelines
	Cursors *cursor.Sealer
	Journal commit.Journal
	Runtime sched.Runtime
	Log     *slog.Logger
	// Shared reports that other processes may use the store.
	Shared bool
}

// Service implements the rules of pastes. It is safe for concurrent use.
type Service struct {
	engine  *commit.Engine
	people  *principal.Service
	store   Store
	dues    dueStore
	feeds   *feed.Timelines
	cursors *cursor.Sealer
	journal commit.Journal
	rt      sched.Runtime
	log     *slog.Logger
	// life is the context of background work. It does not end with a request.
	life     context.Context
	arrivals arrivals
}

// New returns the Service of pastes. The values of ctx are those of its background work, which does not end with ctx.
func New(ctx context.Context, c Config) *Service {
	s := &Service{
		engine: c.Engine, people: c.People, store: c.Store, dues: c.Dues, feeds: c.Feeds, cursors: c.Cursors, journal: c.Journal,
		rt: c.Runtime, log: c.Log,
		life: c.Runtime.Detach(ctx),
	}
	s.arrivals = arrivals{s: s, shared: c.Shared, seen: lru.NewRecent[ID, struct{}](maxSeen)}
	return s
}

// Handler returns what the Service does for pastes in the background.
func (s *Service) Handler() commit.Handler {
	return commit.Handler{Resume: s.resume, Expire: s.tidyDue, Repair: s.repair}
}

// read returns the last decided state of a paste, or nil if there is none.
func (s *Service) read(ctx context.Context, id ID) (*Paste, error) {
	row, err := s.store.ReadRow(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading the paste: %w", err)
	}
	return pasteOf(row)
}

// write returns the attempt that stores a state of a paste. If the feed must be updated too, that
// happens even if the process dies.
func (s *Service) write(p *Paste, relists bool) *commit.Attempt {
	a := &commit.Attempt{Entry: commit.Entry{Kind: commit.Paste, Key: string(p.ID), Base: p.Seq - 1}, Withdraws: p.State == commit.Deleted}
	if relists {
		a.Entry.Reach = updatesFeed
	}
	before := p.Writers
	if n := len(before) - (commit.MaxWriters - 1); n > 0 {
		before = before[n:]
	}
	before = before[:len(before):len(before)]
	a.Commit = func(ctx context.Context, writer commit.EntryID) (commit.Verdict, error) {
		p.Writers = append(before, writer)
		row := p.Row()
		stored, err := s.store.CommitRow(ctx, row)
		if err != nil {
			return commit.Verdict{}, err
		}
		return verdict(row, stored)
	}
	if p.Body.stored != nil {
		a.Restore = func(ctx context.Context) error { return s.putBody(ctx, p) }
	}
	return a
}

// newID returns the id of a new paste, of 128 random bits.
func (s *Service) newID() ID {
	var b [16]byte
	s.rt.Random(b[:])
	return ID("p:" + hex.EncodeToString(b[:]))
}

// A secret has 256 random bits, and secretLength characters.
const (
	secretBytes  = 32
	secretLength = (secretBytes*8 + 5) / 6
)

// newSecret returns a new secret.
func (s *Service) newSecret() string {
	var b [secretBytes]byte
	s.rt.Random(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// noSuchPaste returns the error of a change of a paste that does not exist.
func noSuchPaste() *fault.Error {
	return fault.NotFoundf([]string{"id"}, "there is no such paste; it may have expired or been deleted")
}
