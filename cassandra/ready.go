package cassandra

import (
	"context"
	"errors"
	"time"
)

// readySkew is the difference of clocks, either way, beyond which a gateway is
// not ready. It is right all the same; but what it changes stands out of order
// by as much, and what expires is seen for as much longer or shorter.
const readySkew = 500 * time.Millisecond

// Why a store that answers is not ready to be served.
var (
	ErrSchema = errors.New("the keyspace does not have the schema of this program any more")
	ErrClock  = errors.New("the clock differs from the nodes' by 500 ms or more")
)

// Ready is nil where the store can be served, ErrSchema or ErrClock where it
// should not be, and another error where the cluster does not answer.
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
