package cassandra

import (
	"context"
	"time"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/domain"
	"carrel/lease"
	"carrel/paste"
)

// Store is a domain.Store on a cluster, with the reservation of generated names. It is safe for
// concurrent use.
type Store struct {
	domain.Store
	session *session.Session
	now     func() clock.Instant // the clock of the options
	// apart reports that several data centres decide independently, so that in-flight lists of
	// other data centres may be missing here.
	apart bool
}

// Open connects to a cluster that Migrate has prepared. Its errors tell the operator in one line
// what is wrong: no node answers, the password is refused, the keyspace does not exist, or its
// schema is older than this program.
func Open(ctx context.Context, o session.Options) (*Store, error) {
	connected, err := session.Connect(ctx, &o, o.Keyspace)
	if err != nil {
		return nil, err
	}
	s := newStore(connected)
	if err := s.checkCluster(ctx, &o); err != nil {
		connected.Close()
		return nil, err
	}
	return s, nil
}

func newStore(connected *session.Session) *Store {
	s := &Store{session: connected, now: connected.Now}
	s.Store = domain.Store{
		Journal: journalStore{s}, Registers: registers{s}, Claims: claims{s}, Principals: principals{s}, Directory: directory{s},
		Contents: contents{s}, Libraries: libraries{s}, Texts: texts{s}, Feeds: feeds{s},
		Pastes: pastes{rows[paste.ID]{s, pasteTable()}}, Leases: rows[lease.ID]{s, leaseTable()},
	}
	return s
}

// Load returns the number of requests in flight and the number that wait to be sent.
func (s *Store) Load() (inFlight, waiting int) { return s.session.Load() }

// WatchClock compares the clock of the options with those of the nodes, now and
// every few seconds until the Store is closed.
func (s *Store) WatchClock(ctx context.Context) { s.session.WatchClock(ctx) }

// Skew returns the last measured difference of clocks. known is false if it is too old.
func (s *Store) Skew() (skew session.Skew, known bool) { return s.session.Skew() }

// Ahead returns by how much this process's clock is certainly ahead of the nodes'. It is negative
// if the clock is behind, and 0 if that is not known.
func (s *Store) Ahead() time.Duration { return s.session.Ahead() }

// Close closes the connections. Requests in flight fail.
func (s *Store) Close() error {
	s.session.Close()
	return nil
}
