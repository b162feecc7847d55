package cassandra

import (
	"context"
	"errors"
	"time"

	"github.com/gocql/gocql"
)

// sent is how a request went.
type sent struct {
	outcome  string
	attempts int // of the driver
}

// request makes one request of the cluster and tells the observer of it.
func (s *Store) request(ctx context.Context, doing string, send func() (sent, error)) error {
	o := Observation{Operation: doing}
	t, _ := ctx.(*try)
	o.Hedged = t != nil && t.again
	began := time.Now()
	t.waiting(true)
	err := s.gate.enter(ctx)
	t.waiting(false)
	if err != nil {
		o.Outcome, o.Took = outcomeBusy, time.Since(began)
		s.observe(ctx, o)
		return err
	}
	defer s.gate.leave()
	began = time.Now()
	how, err := guarded(send)
	if errors.Is(err, errPanic) {
		how.outcome, err = outcomeName(err), wrapError(doing, err)
	}
	o.Outcome, o.Took, o.Retries = how.outcome, time.Since(began), max(how.attempts-1, 0)
	s.observe(ctx, o)
	return err
}

// notBegun is the error of a call whose context ended before anything was sent.
func notBegun(err error) error { return wrapError("", err) }

// reading is one SELECT.
type reading struct {
	doing  string // what it is for, as errors and metrics tell it
	stmt   string
	args   []any
	serial bool // the last decided state, rather than a quorum's
	page   int  // rows fetched at a time; 0: all, where the statement bounds them
	// key is that of the partition, where it is one text: with it the driver need
	// not look for it among the arguments, under a lock that all statements share.
	key  string
	from []byte // where its next page begins, as the driver tells it; nil: the first
}

// read runs a SELECT and calls row until it has no more rows; row gives false
// where it has read none, or wants no more. Each page is a statement like any
// other: it waits for a place, is observed, and a second node is asked for it
// where the first one takes long.
func (s *Store) read(ctx context.Context, r reading, row func(*gocql.Iter) bool) error {
	for {
		iter, err := s.fetch(ctx, r)
		if err != nil {
			return err
		}
		seen := 0
		_, err = guarded(func() (struct{}, error) {
			for row(iter) {
				seen++
			}
			return struct{}{}, nil
		})
		if err != nil {
			return wrapError(r.doing, err)
		}
		whole := seen == iter.NumRows()
		r.from = iter.PageState()
		if err := iter.Close(); err != nil || !whole || len(r.from) == 0 {
			return wrapError(r.doing, err)
		}
	}
}

// fetch reads the next page of a SELECT. It has a reading of its own: a try
// that was too slow may still look at it when the page after it is asked for.
func (s *Store) fetch(ctx context.Context, r reading) (*gocql.Iter, error) {
	if r.serial {
		// Two serial readings would compete.
		return s.rows(ctx, &r)
	}
	return hedged(ctx, s.hedges, func(t *try) (*gocql.Iter, error) { return s.rows(t, &r) })
}

// rows sends a SELECT. The rows of its page are there when it returns.
func (s *Store) rows(ctx context.Context, r *reading) (iter *gocql.Iter, err error) {
	err = s.request(ctx, r.doing, func() (sent, error) {
		level := s.level
		if r.serial {
			level = gocql.Consistency(s.serial)
		}
		// With a state, even an empty one, the driver asks for no page by itself.
		q := s.session.Query(r.stmt, r.args...).WithContext(ctx).Consistency(level).PageSize(r.page).PageState(r.from)
		defer q.Release()
		if r.key != "" {
			q.RoutingKey([]byte(r.key))
		}
		iter = q.Idempotent(true).RetryPolicy(s.again).Iter()
		if len(iter.Columns()) > 0 {
			return sent{outcomeOK, q.Attempts()}, nil
		}
		// Only what has failed has none; there is no other way to ask.
		err := iter.Close()
		return sent{outcomeName(err), q.Attempts()}, wrapError(r.doing, err)
	})
	return iter, err
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

// write runs a statement that may be repeated without harm, as long as it does
// not come late.
func (s *Store) write(ctx context.Context, doing, stmt string, args ...any) error {
	return s.request(ctx, doing, func() (sent, error) {
		q := s.session.Query(stmt, args...).WithContext(ctx).Consistency(s.level)
		err := q.Idempotent(true).RetryPolicy(s.again).Exec()
		return sent{outcomeName(err), q.Attempts()}, wrapError(doing, err)
	})
}

// writeStamped is write for a statement that carries a timestamp of its own. It
// may be repeated without harm, and come late.
func (s *Store) writeStamped(ctx context.Context, doing, stmt string, args ...any) error {
	return s.writeEach(ctx, 1, func(ctx context.Context, _ int) error { return s.write(ctx, doing, stmt, args...) })
}

// writeEach has send called for 0 to n-1, readWidth of them at a time. Each
// makes one write that carries a timestamp of its own, and may be called twice.
func (s *Store) writeEach(ctx context.Context, n int, send func(ctx context.Context, i int) error) error {
	once := func(t *try, i int) (struct{}, error) { return struct{}{}, send(t, i) }
	return hedgedAll(ctx, s.hedges, n, readWidth, once, func(int, struct{}) {})
}

// changes are statements of one partition that are applied together.
type changes struct{ entries []gocql.BatchEntry }

func (c *changes) add(stmt string, args ...any) {
	c.entries = append(c.entries, gocql.BatchEntry{Stmt: stmt, Args: args})
}

// writeAll applies changes of one partition, which carry timestamps of their
// own, as one atomic mutation. It may be repeated without harm, and come late.
func (s *Store) writeAll(ctx context.Context, doing string, c *changes) error {
	if len(c.entries) == 0 {
		return nil
	}
	for i := range c.entries {
		c.entries[i].Idempotent = true
	}
	return s.writeEach(ctx, 1, func(ctx context.Context, _ int) error {
		return s.request(ctx, doing, func() (sent, error) {
			b := s.session.NewBatch(gocql.UnloggedBatch).WithContext(ctx).RetryPolicy(s.again)
			b.Cons, b.Entries = s.level, c.entries
			err := s.session.ExecuteBatch(b)
			return sent{outcomeName(err), b.Attempts()}, wrapError(doing, err)
		})
	})
}

// givesUpAfter is how long a conditional write waits for a node that answers
// nothing at all while others do. It is above the 1.8 s after which a node gives up one that
// others compete with.
const givesUpAfter = 2 * time.Second

// errSilent is how a conditional write ends that was given up. It may have been
// applied, and may still be.
var errSilent = errors.New("the node has fallen silent")

// decideBy sends a conditional write, once, and gives it up before the driver
// does where its node hangs: the caller then asks another one whether it was
// applied, while there is time.
func (s *Store) decideBy(ctx context.Context, send func(ctx context.Context) error) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	t := &try{Context: ctx}
	watch := time.NewTimer(givesUpAfter)
	defer watch.Stop()
	sent := make(chan error, 1)
	go func() {
		_, err := guarded(func() (struct{}, error) { return struct{}{}, send(t) })
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
			if asked := t.asked.Load(); asked != nil && s.nodes.isSilent(*asked) && s.nodes.another(*asked) {
				giveUp(errSilent)
			}
			watch.Reset(silence)
		}
	}
}

// decide applies conditional changes of one partition, all or none. It is sent
// once: nobody but the caller may repeat it.
func (s *Store) decide(ctx context.Context, doing string, c *changes) (applied bool, err error) {
	applied, _, err = s.decideOrTell(ctx, doing, c)
	return applied, err
}

// decideOrTell is decide, and gives the columns of the condition as they stand
// where it was refused; it is empty where there is no row.
func (s *Store) decideOrTell(ctx context.Context, doing string, c *changes) (applied bool, standing map[string]any, err error) {
	standing = make(map[string]any)
	err = s.request(ctx, doing, func() (sent, error) {
		err := s.decideBy(ctx, func(ctx context.Context) error {
			b := s.session.NewBatch(gocql.LoggedBatch).WithContext(ctx).RetryPolicy(nil).SerialConsistency(s.serial)
			b.Cons = s.level
			b.Entries = c.entries
			ok, iter, err := s.session.MapExecuteBatchCAS(b, standing)
			if err == nil {
				err = iter.Close()
			}
			applied = ok && err == nil
			return err
		})
		return sent{outcome: decisionName(applied, err)}, casFault(doing, err)
	})
	return applied, standing, err
}

// decideOne is decide for one statement, and gives the row whose condition
// failed where it was refused; the row is empty where there was none.
func (s *Store) decideOne(ctx context.Context, doing, stmt string, args ...any) (applied bool, standing map[string]any, err error) {
	err = s.request(ctx, doing, func() (sent, error) {
		standing = make(map[string]any)
		err := s.decideBy(ctx, func(ctx context.Context) error {
			q := s.session.Query(stmt, args...).WithContext(ctx).Consistency(s.level).SerialConsistency(s.serial).RetryPolicy(nil)
			ok, err := q.MapScanCAS(standing)
			applied = ok && err == nil
			return err
		})
		return sent{outcome: decisionName(applied, err)}, casFault(doing, err)
	})
	return applied, standing, err
}

// Names of outcomes by which requests are counted.
const (
	outcomeOK   = "ok"
	outcomeBusy = "busy" // not let in
)

// outcomeName is how an outcome is counted.
func outcomeName(err error) string {
	if err == nil {
		return outcomeOK
	}
	if errors.Is(err, context.Canceled) {
		return "ended"
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
