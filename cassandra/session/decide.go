package session

import (
	"context"
	"errors"
	"time"

	"github.com/gocql/gocql"
)

// giveUpAfter is how long a conditional write waits for a node that answers no request while other
// nodes do. So a node that hangs delays a change by no more than this. If the write was only slow
// because of contention, it is sent once more, which is safe and costs a round of Paxos.
const giveUpAfter = 700 * time.Millisecond

// errSilent is the error of a conditional write that was given up. It may have been applied, or may
// be applied later.
var errSilent = errors.New("the node has stopped answering")

// decideBy calls send, which sends a conditional write, once. If the node hangs, it gives up
// earlier than the driver would, so that the caller has time to ask another node whether the write
// was applied.
func (s *Session) decideBy(ctx context.Context, send func(ctx context.Context) error) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	t := &attempt{Context: ctx}
	watch := time.NewTimer(giveUpAfter)
	defer watch.Stop()
	sent := make(chan error, 1)
	go func() {
		_, err := recoverPanic(func() (struct{}, error) { return struct{}{}, send(t) })
		sent <- err
	}()
	for {
		select {
		case err := <-sent:
			if err != nil && context.Cause(ctx) == errSilent {
				return errSilent
			}
			return err
		case <-watch.C:
			if asked := t.lastNode.Load(); asked != nil && s.nodes.isSilent(*asked) && s.nodes.another(*asked) {
				giveUp(errSilent)
			}
			watch.Reset(silentAfter)
		}
	}
}

// Decide applies a batch of conditional statements, all or none. It is sent once: only
// the caller knows whether it may be repeated.
func (s *Session) Decide(ctx context.Context, operation string, c *Batch) (applied bool, err error) {
	applied, _, err = s.DecideReturning(ctx, operation, c)
	return applied, err
}

// DecideReturning is like Decide. If the batch was not applied, it also returns the current values
// of the columns in its conditions, which are empty if there is no row.
func (s *Session) DecideReturning(ctx context.Context, operation string, c *Batch) (applied bool, current map[string]any, err error) {
	current = make(map[string]any)
	err = s.request(ctx, operation, func() (sent, error) {
		err := s.decideBy(ctx, func(ctx context.Context) error {
			b := s.driver.NewBatch(gocql.LoggedBatch).WithContext(ctx).RetryPolicy(nil).SerialConsistency(s.serial)
			b.Cons = s.level
			b.Entries = c.Entries
			ok, iter, err := s.driver.MapExecuteBatchCAS(b, current)
			if err == nil {
				err = iter.Close()
			}
			applied = ok && err == nil
			return err
		})
		return sent{outcome: decisionName(applied, err)}, wrapDecisionError(operation, err)
	})
	return applied, current, err
}

// DecideOne is Decide for one statement. If the statement was not applied, it also returns current
// values: the whole row for IF NOT EXISTS, otherwise only the columns of the condition. They are
// empty if there is no row.
func (s *Session) DecideOne(ctx context.Context, operation, stmt string, args ...any) (applied bool, current map[string]any, err error) {
	err = s.request(ctx, operation, func() (sent, error) {
		current = make(map[string]any)
		err := s.decideBy(ctx, func(ctx context.Context) error {
			q := s.driver.Query(stmt, args...).WithContext(ctx).Consistency(s.level).SerialConsistency(s.serial).RetryPolicy(nil)
			ok, err := q.MapScanCAS(current)
			applied = ok && err == nil
			return err
		})
		return sent{outcome: decisionName(applied, err)}, wrapDecisionError(operation, err)
	})
	return applied, current, err
}
