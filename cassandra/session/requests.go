package session

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
func (s *Session) request(ctx context.Context, doing string, send func() (sent, error)) error {
	o := Observation{Operation: doing}
	t, _ := ctx.(*attempt)
	o.Hedged = t != nil && t.hedged
	began := time.Now()
	t.setQueued(true)
	err := s.gate.enter(ctx)
	t.setQueued(false)
	if err != nil {
		o.Outcome, o.Took = outcomeBusy, time.Since(began)
		s.observe(ctx, o)
		return err
	}
	defer s.gate.leave()
	began = time.Now()
	how, err := recoverPanic(send)
	if errors.Is(err, errPanic) {
		how.outcome, err = outcomeName(err), WrapError(doing, err)
	}
	o.Outcome, o.Took, o.Retries = how.outcome, time.Since(began), max(how.attempts-1, 0)
	s.observe(ctx, o)
	return err
}

// NotSent is the error of a call whose context ended before anything was sent.
func NotSent(err error) error { return WrapError("", err) }

// Query is one SELECT.
type Query struct {
	Operation string // what it is for, as errors and metrics tell it
	Stmt      string
	Args      []any
	Serial    bool // the last decided state, rather than a quorum's
	PageSize  int  // rows fetched at a time; 0: all, where the statement bounds them
	// key is that of the partition, where it is one text: with it the driver need
	// not look for it among the arguments, under a lock that all statements share.
	PartitionKey string
	from         []byte // where its next page begins, as the driver tells it; nil: the first
}

// Read runs a SELECT and calls row until it has no more rows; row gives false
// where it has Read none, or wants no more. Each page is a statement like any
// other: it waits for its turn, is observed, and a second node is asked for it
// where the first one takes long.
func (s *Session) Read(ctx context.Context, r Query, row func(*gocql.Iter) bool) error {
	for {
		iter, err := s.fetch(ctx, r)
		if err != nil {
			return err
		}
		seen := 0
		_, err = recoverPanic(func() (struct{}, error) {
			for row(iter) {
				seen++
			}
			return struct{}{}, nil
		})
		if err != nil {
			return WrapError(r.Operation, err)
		}
		whole := seen == iter.NumRows()
		r.from = iter.PageState()
		if err := iter.Close(); err != nil || !whole || len(r.from) == 0 {
			return WrapError(r.Operation, err)
		}
	}
}

// fetch reads the next page of a SELECT. It has a reading of its own: a try
// that was too slow may still look at it when the page after it is asked for.
func (s *Session) fetch(ctx context.Context, r Query) (*gocql.Iter, error) {
	if r.Serial {
		// Two serial readings would compete.
		return s.ReadOnce(ctx, &r)
	}
	return hedged(ctx, s.hedges, func(t *attempt) (*gocql.Iter, error) { return s.ReadOnce(t, &r) })
}

// ReadOnce sends a SELECT to one node and returns its first page, whose rows have
// all arrived. It is for callers that ask a second node themselves, such as
// SharedReads.
func (s *Session) ReadOnce(ctx context.Context, r *Query) (iter *gocql.Iter, err error) {
	err = s.request(ctx, r.Operation, func() (sent, error) {
		level := s.level
		if r.Serial {
			level = gocql.Consistency(s.serial)
		}
		// With a state, even an empty one, the driver asks for no page by itself.
		q := s.driver.Query(r.Stmt, r.Args...).WithContext(ctx).Consistency(level).PageSize(r.PageSize).PageState(r.from)
		defer q.Release()
		if r.PartitionKey != "" {
			q.RoutingKey([]byte(r.PartitionKey))
		}
		iter = q.Idempotent(true).RetryPolicy(s.again).Iter()
		if len(iter.Columns()) > 0 {
			return sent{outcomeOK, q.Attempts()}, nil
		}
		// Only what has failed has none; there is no other way to ask.
		err := iter.Close()
		return sent{outcomeName(err), q.Attempts()}, WrapError(r.Operation, err)
	})
	return iter, err
}

// ScanRows runs a SELECT and has each of its rows seen in cells.
func (s *Session) ScanRows(ctx context.Context, r Query, cells []any, see func()) error {
	return s.Read(ctx, r, func(iter *gocql.Iter) bool {
		if !iter.Scan(cells...) {
			return false
		}
		see()
		return true
	})
}

// Write runs a statement that may be repeated without harm, as long as it does
// not come late.
func (s *Session) Write(ctx context.Context, doing, stmt string, args ...any) error {
	return s.request(ctx, doing, func() (sent, error) {
		q := s.driver.Query(stmt, args...).WithContext(ctx).Consistency(s.level)
		err := q.Idempotent(true).RetryPolicy(s.again).Exec()
		return sent{outcomeName(err), q.Attempts()}, WrapError(doing, err)
	})
}

// WriteStamped is write for a statement that carries a timestamp of its own. It
// may be repeated without harm, and come late.
func (s *Session) WriteStamped(ctx context.Context, doing, stmt string, args ...any) error {
	return s.WriteEach(ctx, 1, func(ctx context.Context, _ int) error { return s.Write(ctx, doing, stmt, args...) })
}

// Width is how many partitions one ReadMany reads at a time. A page of 20
// is read at once, and an import of thousands does not fill the gate.
const Width = 64

// WriteEach has send called for 0 to n-1, readWidth of them at a time. Each
// makes one write that carries a timestamp of its own, and may be called twice.
func (s *Session) WriteEach(ctx context.Context, n int, send func(ctx context.Context, i int) error) error {
	once := func(t *attempt, i int) (struct{}, error) { return struct{}{}, send(t, i) }
	return hedgedAll(ctx, s.hedges, n, Width, once, func(int, struct{}) {})
}

// Batch are statements of one partition that are applied together.
type Batch struct{ Entries []gocql.BatchEntry }

func (c *Batch) Append(stmt string, args ...any) {
	c.Entries = append(c.Entries, gocql.BatchEntry{Stmt: stmt, Args: args})
}

// WriteBatch applies changes of one partition, which carry timestamps of their
// own, as one atomic mutation. It may be repeated without harm, and come late.
func (s *Session) WriteBatch(ctx context.Context, doing string, c *Batch) error {
	if len(c.Entries) == 0 {
		return nil
	}
	for i := range c.Entries {
		c.Entries[i].Idempotent = true
	}
	return s.WriteEach(ctx, 1, func(ctx context.Context, _ int) error {
		return s.request(ctx, doing, func() (sent, error) {
			b := s.driver.NewBatch(gocql.UnloggedBatch).WithContext(ctx).RetryPolicy(s.again)
			b.Cons, b.Entries = s.level, c.Entries
			err := s.driver.ExecuteBatch(b)
			return sent{outcomeName(err), b.Attempts()}, WrapError(doing, err)
		})
	})
}

// giveUpAfter is how long a conditional write waits for a node that answers
// nothing at all while others do. It is above the 1.8 s after which a node gives up one that
// others compete with.
const giveUpAfter = 2 * time.Second

// errSilent is how a conditional write ends that was given up. It may have been
// applied, and may still be.
var errSilent = errors.New("the node has fallen silent")

// decideBy sends a conditional write, once, and gives it up before the driver
// does where its node hangs: the caller then asks another one whether it was
// applied, while there is time.
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

// Decide applies conditional changes of one partition, all or none. It is sent
// once: nobody but the caller may repeat it.
func (s *Session) Decide(ctx context.Context, doing string, c *Batch) (applied bool, err error) {
	applied, _, err = s.DecideReturning(ctx, doing, c)
	return applied, err
}

// DecideReturning is decide, and gives the columns of the condition as they stand
// where it was refused; it is empty where there is no row.
func (s *Session) DecideReturning(ctx context.Context, doing string, c *Batch) (applied bool, standing map[string]any, err error) {
	standing = make(map[string]any)
	err = s.request(ctx, doing, func() (sent, error) {
		err := s.decideBy(ctx, func(ctx context.Context) error {
			b := s.driver.NewBatch(gocql.LoggedBatch).WithContext(ctx).RetryPolicy(nil).SerialConsistency(s.serial)
			b.Cons = s.level
			b.Entries = c.Entries
			ok, iter, err := s.driver.MapExecuteBatchCAS(b, standing)
			if err == nil {
				err = iter.Close()
			}
			applied = ok && err == nil
			return err
		})
		return sent{outcome: decisionName(applied, err)}, wrapDecisionError(doing, err)
	})
	return applied, standing, err
}

// DecideOne is decide for one statement, and gives the row whose condition
// failed where it was refused; the row is empty where there was none.
func (s *Session) DecideOne(ctx context.Context, doing, stmt string, args ...any) (applied bool, standing map[string]any, err error) {
	err = s.request(ctx, doing, func() (sent, error) {
		standing = make(map[string]any)
		err := s.decideBy(ctx, func(ctx context.Context) error {
			q := s.driver.Query(stmt, args...).WithContext(ctx).Consistency(s.level).SerialConsistency(s.serial).RetryPolicy(nil)
			ok, err := q.MapScanCAS(standing)
			applied = ok && err == nil
			return err
		})
		return sent{outcome: decisionName(applied, err)}, wrapDecisionError(doing, err)
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
