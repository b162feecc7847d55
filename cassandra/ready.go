package cassandra

import (
	"context"
	"errors"
	"time"
)

// readySkew is the clock difference, in either direction, at which a gateway stops being ready. The
// gateway still works correctly, but the order of its changes is wrong by that much, and expired
// items disappear that much too late or too early.
const readySkew = 500 * time.Millisecond

// The reasons why a store that answers is not ready.
var (
	ErrSchema = errors.New("the keyspace does not have the schema of this program any more")
	ErrClock  = errors.New("the clock differs from the nodes' by 500 ms or more")
)

// Ready returns nil if the store can serve requests, ErrSchema or ErrClock if it should not, and
// another error if the cluster does not answer.
func (s *Store) Ready(ctx context.Context) error {
	current, err := s.schemaCurrent(ctx)
	if err != nil {
		return err
	}
	if !current {
		return ErrSchema
	}
	if skew, known := s.session.Skew(); known && skew.Ahead.Abs()-skew.Within >= readySkew {
		return ErrClock
	}
	return nil
}
