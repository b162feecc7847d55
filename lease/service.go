package lease

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"carrel/core/claim"
	"carrel/core/commit"
	"carrel/core/id"
	"carrel/core/sched"
	"carrel/principal"
)

// dueStore keeps reminders. commit.JournalStore implements it.
type dueStore interface {
	PutReminder(ctx context.Context, d commit.Reminder) error
}

// Config is what the Service of leases needs.
type Config struct {
	Engine  *commit.Engine
	People  *principal.Service
	Store   Store
	Dues    dueStore
	Claims  claim.Store
	Runtime sched.Runtime
	Log     *slog.Logger
	// ConfirmedKeys is how many keys a user may hold, confirmed or not; 0: DefaultConfirmedKeys.
	ConfirmedKeys int
}

// Service implements the rules of leases. It is safe for concurrent use.
type Service struct {
	engine *commit.Engine
	people *principal.Service
	store  Store
	dues   dueStore
	claims *claim.Claims
	rt     sched.Runtime
	log    *slog.Logger

	confirmedKeys int
	looks         looks
}

// New returns the Service of leases.
func New(c Config) *Service {
	s := &Service{
		engine: c.Engine, people: c.People, store: c.Store, dues: c.Dues, rt: c.Runtime, log: c.Log,
		confirmedKeys: cmp.Or(c.ConfirmedKeys, DefaultConfirmedKeys), looks: looks{next: map[ID]*look{}},
	}
	s.claims = claim.New(c.Claims, c.Runtime, claim.Records{byte(id.Lease): Record(s)})
	return s
}

// Handler returns what the Service does for leases in the background.
func (s *Service) Handler() commit.Handler { return commit.Handler{Expire: s.expire} }

// read returns a lease, or nil if there is none.
func (s *Service) read(ctx context.Context, id ID) (*Lease, error) {
	row, err := s.store.ReadRow(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading the lease: %w", err)
	}
	return leaseOf(row)
}

// write returns the attempt that stores a state of a lease.
func (s *Service) write(l *Lease) *commit.Attempt {
	before := l.Writers[:len(l.Writers):len(l.Writers)]
	return &commit.Attempt{
		Entry:     commit.Entry{Kind: commit.Lease, Key: string(l.ID), Base: l.Seq - 1},
		Withdraws: l.Ended(),
		Commit: func(ctx context.Context, writer commit.EntryID) (commit.Verdict, error) {
			l.Writers = append(before, writer)
			row := l.row()
			stored, err := s.store.CommitRow(ctx, row)
			if err != nil {
				return commit.Verdict{}, err
			}
			return verdict(row, stored)
		},
	}
}

// ended returns the ended state of a lease. It still names the keys, so that their claims can be
// released, but has no values.
func (l *Lease) ended(as State) *Lease {
	after := *l
	after.Seq, after.State = l.Seq+1, as
	after.Documents = make([]Document, len(l.Documents))
	for i := range l.Documents {
		after.Documents[i] = Document{Key: l.Documents[i].Key}
	}
	if as == Refused {
		after.Request = nil
	}
	return &after
}
