package cassandra

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
)

// sent is how a request went.
type sent struct {
	outcome string
	retries int
	hedged  bool
}

// request makes one request of the cluster and tells the observer of it.
func (s *Store) request(ctx context.Context, doing string, send func() (sent, error)) error {
	began := time.Now()
	if err := s.gate.enter(ctx); err != nil {
		s.observe(Observation{Operation: doing, Outcome: outcomeBusy, Took: time.Since(began)})
		return err
	}
	defer s.gate.leave()
	began = time.Now()
	how, err := send()
	s.observe(Observation{Operation: doing, Outcome: how.outcome, Took: time.Since(began), Retries: how.retries, Hedged: how.hedged})
	return err
}

// notBegun is the error of a call whose context ended before anything was sent.
func notBegun(err error) error { return fault("", err) }

// tries counts what the driver has sent of one request.
type tries struct{ n atomic.Int64 }

// beyond is how often it was sent again after a failure.
func (t *tries) beyond(hedged bool) int {
	most := int64(1)
	if hedged {
		most = 2
	}
	return int(max(t.n.Load()-most, 0))
}

// reading is one SELECT.
type reading struct {
	doing  string // what it is for, as errors and metrics tell it
	stmt   string
	args   []any
	serial bool // the last decided state, rather than a quorum's
	page   int  // rows fetched at a time; 0: all, where the statement bounds them
}

// read runs a SELECT and calls row until it has no more rows.
func (s *Store) read(ctx context.Context, r reading, row func(*gocql.Iter) bool) error {
	return s.request(ctx, r.doing, func() (sent, error) {
		var (
			n     tries
			hedge bool
			iter  *gocql.Iter
			once  = func(ctx context.Context) (*gocql.Iter, error) { return s.selectOnce(ctx, &r, &n) }
			err   error
		)
		if r.serial || r.page > 0 {
			// Two serial readings would compete, and the pages that follow the
			// first are fetched in its context.
			iter, err = once(ctx)
		} else {
			iter, hedge, err = hedged(ctx, s.hedges, once)
		}
		if err == nil {
			for row(iter) {
			}
			err = iter.Close()
		}
		return sent{outcomeName(err), n.beyond(hedge), hedge}, fault(r.doing, err)
	})
}

// selectOnce sends a SELECT. The rows of its first page are there when it
// returns.
func (s *Store) selectOnce(ctx context.Context, r *reading, n *tries) (*gocql.Iter, error) {
	level := s.level
	if r.serial {
		level = gocql.Consistency(s.serial)
	}
	q := s.session.Query(r.stmt, r.args...).WithContext(ctx).Consistency(level).PageSize(r.page)
	iter := q.Idempotent(true).RetryPolicy(s.again).Iter()
	n.n.Add(int64(q.Attempts()))
	if len(iter.Columns()) == 0 {
		// Only a failure has none; there is no other way to ask.
		return iter, iter.Close()
	}
	return iter, nil
}

// eachRow runs a SELECT and has each of its rows seen in cells.
func (s *Store) eachRow(ctx context.Context, r reading, cells []any, see func()) error {
	return s.read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(cells...) {
			return false
		}
		see()
		return true
	})
}

// write runs a statement that may be repeated without harm.
func (s *Store) write(ctx context.Context, doing, stmt string, args ...any) error {
	return s.request(ctx, doing, func() (sent, error) {
		var n tries
		q := s.session.Query(stmt, args...).WithContext(ctx).Consistency(s.level)
		err := q.Idempotent(true).RetryPolicy(s.again).Exec()
		n.n.Add(int64(q.Attempts()))
		return sent{outcome: outcomeName(err), retries: n.beyond(false)}, fault(doing, err)
	})
}

// changes are statements of one partition that are applied together.
type changes struct{ entries []gocql.BatchEntry }

func (c *changes) add(stmt string, args ...any) {
	c.entries = append(c.entries, gocql.BatchEntry{Stmt: stmt, Args: args})
}

// writeAll applies changes of one partition, which carry timestamps of their
// own, as one atomic mutation. It may be repeated without harm, and arrive late.
func (s *Store) writeAll(ctx context.Context, doing string, c *changes) error {
	if len(c.entries) == 0 {
		return nil
	}
	for i := range c.entries {
		c.entries[i].Idempotent = true
	}
	return s.request(ctx, doing, func() (sent, error) {
		var n tries
		_, hedge, err := hedged(ctx, s.hedges, func(ctx context.Context) (struct{}, error) {
			b := s.session.NewBatch(gocql.UnloggedBatch).WithContext(ctx).RetryPolicy(s.again)
			b.Cons, b.Entries = s.level, c.entries
			err := s.session.ExecuteBatch(b)
			n.n.Add(int64(b.Attempts()))
			return struct{}{}, err
		})
		return sent{outcomeName(err), n.beyond(hedge), hedge}, fault(doing, err)
	})
}

// decide applies conditional changes of one partition, all or none. It is sent
// once: nobody but the caller may repeat it.
func (s *Store) decide(ctx context.Context, doing string, c *changes) (applied bool, err error) {
	err = s.request(ctx, doing, func() (sent, error) {
		b := s.session.NewBatch(gocql.LoggedBatch).WithContext(ctx).RetryPolicy(nil).SerialConsistency(s.serial)
		b.Cons = s.level
		b.Entries = c.entries
		ok, iter, err := s.session.MapExecuteBatchCAS(b, make(map[string]any))
		if err == nil {
			err = iter.Close()
		}
		applied = ok && err == nil
		return sent{outcome: decisionName(applied, err)}, casFault(doing, err)
	})
	return applied, err
}

// decideOne is decide for one statement, and gives the row whose condition
// failed where it was refused; the row is empty where there was none.
func (s *Store) decideOne(ctx context.Context, doing, stmt string, args ...any) (applied bool, standing map[string]any, err error) {
	err = s.request(ctx, doing, func() (sent, error) {
		standing = make(map[string]any)
		q := s.session.Query(stmt, args...).WithContext(ctx).Consistency(s.level).SerialConsistency(s.serial).RetryPolicy(nil)
		ok, err := q.MapScanCAS(standing)
		applied = ok && err == nil
		return sent{outcome: decisionName(applied, err)}, casFault(doing, err)
	})
	return applied, standing, err
}

// outcomeBusy is how a statement is counted that was not let in.
const outcomeBusy = "busy"

// outcomeName is how an outcome is counted.
func outcomeName(err error) string {
	if err == nil {
		return "ok"
	}
	switch outcomeOf(err) {
	case outcomeUnavailable, outcomeOverloaded:
		return "unavailable"
	case outcomeTimeout, outcomeEnded:
		return "timeout"
	}
	return "failed"
}

// decisionName is how the outcome of a conditional write is counted.
func decisionName(applied bool, err error) string {
	switch {
	case err == nil && applied:
		return "applied"
	case err == nil:
		return "refused"
	case !notApplied(err):
		return "unknown"
	}
	return outcomeName(err)
}
