package cassandra

import (
	"context"
	"time"

	"carrel/backend"
	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// Store implements backend.Store, and the blocks of generated names, over a
// cluster. It is safe for concurrent use.
type Store struct {
	session *session.Session
	now     func() clock.Instant // the clock of the options
	dues    dueScan
	// vouching says whether the in-flight lists that are read are all there are.
	vouching vouching

	// Readings of whole headers by several requests at a time.
	contents   *session.SharedReads[contentKey, *library.ContentRows]
	principals *session.SharedReads[principal.ID, *principal.Header]
}

var _ backend.Store = (*Store)(nil)

// Open connects to a cluster that Migrate has prepared. Its errors tell the
// operator in one line what is wrong: no node answers, the password is refused,
// the keyspace is missing, its schema is older than this program.
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
	return &Store{
		session:    connected,
		now:        connected.Now,
		contents:   session.NewSharedReads[contentKey, *library.ContentRows](connected),
		principals: session.NewSharedReads[principal.ID, *principal.Header](connected),
	}
}

// Load returns how many requests the cluster has been sent and has not answered,
// and how many wait to be sent.
func (s *Store) Load() (under, waiting int) { return s.session.Load() }

// WatchClock compares the clock of the options with those of the nodes, now and
// every few seconds until the Store is closed.
func (s *Store) WatchClock(ctx context.Context) { s.session.WatchClock(ctx) }

// Skew returns the difference of clocks that was measured last; known is false
// where that is too long ago.
func (s *Store) Skew() (skew session.Skew, known bool) { return s.session.Skew() }

// Ahead returns by how much this process's clock is ahead of the nodes' at least.
// It is negative where the clock is behind, and 0 where that is not known.
func (s *Store) Ahead() time.Duration { return s.session.Ahead() }

// Close ends the connections. What is under way ends with errors.
func (s *Store) Close() error {
	s.session.Close()
	return nil
}
