package cassandra

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"

	"carrel/library"
)

// Store implements library.Store, and the blocks of generated names, over a
// cluster. It is safe for concurrent use.
type Store struct {
	session *gocql.Session
	level   gocql.Consistency
	serial  gocql.SerialConsistency
	// again tries what may be repeated on one more node.
	again   gocql.RetryPolicy
	now     func() library.Instant
	observe func(Observation)

	// gate holds a token for each request under way: a slow cluster makes callers
	// wait until their contexts end, and gets no more work than it had.
	gate  chan struct{}
	lanes laneRows
	// chores run until the Store is closed.
	chores chores
	clocks clocks
}

var _ library.Store = (*Store)(nil)

// Open connects to a cluster that Migrate has prepared. Its errors tell the
// operator in one line what is wrong: no node answers, the password is refused,
// the keyspace is missing, its schema is older than this program.
func Open(ctx context.Context, o Options) (*Store, error) {
	session, err := connect(o)
	if err != nil {
		return nil, err
	}
	s := newStore(session, &o)
	if err := s.checkCluster(ctx, &o); err != nil {
		session.Close()
		return nil, err
	}
	return s, nil
}

func newStore(session *gocql.Session, o *Options) *Store {
	s := &Store{session: session, again: &gocql.SimpleRetryPolicy{NumRetries: 1}, now: o.Now, observe: o.Observe}
	s.level, s.serial = o.levels()
	s.gate = make(chan struct{}, orDefault(o.MaxInFlight, defaultMaxInFlight))
	if s.now == nil {
		s.now = func() library.Instant { return library.InstantOf(time.Now()) }
	}
	if s.observe == nil {
		s.observe = func(Observation) {}
	}
	s.lanes.rows = make(map[library.LaneID]int)
	return s
}

// connect makes a session in the keyspace of the options.
func connect(o Options) (*gocql.Session, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	cfg, err := o.cluster(o.Keyspace)
	if err != nil {
		return nil, err
	}
	session, err := cfg.CreateSession()
	if err != nil {
		return nil, connectFault(err, &o)
	}
	return session, nil
}

// connectFault explains why no session could be made. The driver tells it as
// text only.
func connectFault(err error, o *Options) error {
	text := strings.ToLower(err.Error())
	nodes := strings.Join(o.Hosts, ", ")
	switch {
	case strings.Contains(text, "password"), strings.Contains(text, "credentials"), strings.Contains(text, "authentication"):
		return operatorError(err, "the cluster at %s refuses the user or the password", nodes)
	case strings.Contains(text, "certificate"), strings.Contains(text, "tls:"), strings.Contains(text, "x509"):
		return operatorError(err, "no TLS connection to the cluster at %s", nodes)
	case strings.Contains(text, "host was filtered"):
		return operatorError(err, "none of the nodes at %s is in the data centre %s", nodes, o.DataCentre)
	}
	// A keyspace that is missing looks as if nobody answered.
	if cfg, cfgErr := o.cluster(""); cfgErr == nil {
		if session, again := cfg.CreateSession(); again == nil {
			defer session.Close()
			var name string
			if scan := session.Query(selectKeyspace, o.Keyspace).Scan(&name); errors.Is(scan, gocql.ErrNotFound) {
				return operatorError(err, "the keyspace %s does not exist: run carrel migrate", o.Keyspace)
			}
			return operatorError(err, "the keyspace %s cannot be used", o.Keyspace)
		}
	}
	return operatorError(err, "no node of the cluster answers at %s", nodes)
}

// Close ends the connections. What is under way ends with errors.
func (s *Store) Close() error {
	s.chores.end()
	s.session.Close()
	return nil
}

// enter takes a place among the requests under way.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return notBegun(err)
	}
	select {
	case s.gate <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return notBegun(ctx.Err())
	}
}

func (s *Store) leave() { <-s.gate }

// notBegun is the error of a call whose context ended before anything was sent.
func notBegun(err error) error { return fault("", err) }

// request makes one request of the cluster and tells the observer of it.
func (s *Store) request(ctx context.Context, doing string, send func() (string, error)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	began := time.Now()
	outcome, err := send()
	s.observe(Observation{Operation: doing, Outcome: outcome, Took: time.Since(began)})
	return err
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
	return s.request(ctx, r.doing, func() (string, error) {
		level := s.level
		if r.serial {
			level = gocql.Consistency(s.serial)
		}
		q := s.session.Query(r.stmt, r.args...).WithContext(ctx).Consistency(level).PageSize(r.page)
		iter := q.Idempotent(true).RetryPolicy(s.again).Iter()
		for row(iter) {
		}
		err := iter.Close()
		return outcomeName(err), fault(r.doing, err)
	})
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
	return s.request(ctx, doing, func() (string, error) {
		q := s.session.Query(stmt, args...).WithContext(ctx).Consistency(s.level)
		err := q.Idempotent(true).RetryPolicy(s.again).Exec()
		return outcomeName(err), fault(doing, err)
	})
}

// changes are statements of one partition that are applied together.
type changes struct{ entries []gocql.BatchEntry }

func (c *changes) add(stmt string, args ...any) {
	c.entries = append(c.entries, gocql.BatchEntry{Stmt: stmt, Args: args})
}

// writeAll applies changes of one partition, which carry timestamps of their
// own, as one atomic mutation. It may be repeated without harm.
func (s *Store) writeAll(ctx context.Context, doing string, c *changes) error {
	if len(c.entries) == 0 {
		return nil
	}
	return s.request(ctx, doing, func() (string, error) {
		b := s.session.NewBatch(gocql.UnloggedBatch).WithContext(ctx).RetryPolicy(s.again)
		b.Cons = s.level
		b.Entries = c.entries
		for i := range b.Entries {
			b.Entries[i].Idempotent = true
		}
		err := s.session.ExecuteBatch(b)
		return outcomeName(err), fault(doing, err)
	})
}

// decide applies conditional changes of one partition, all or none. It is sent
// once: nobody but the caller may repeat it.
func (s *Store) decide(ctx context.Context, doing string, c *changes) (applied bool, err error) {
	err = s.request(ctx, doing, func() (string, error) {
		b := s.session.NewBatch(gocql.LoggedBatch).WithContext(ctx).RetryPolicy(nil).SerialConsistency(s.serial)
		b.Cons = s.level
		b.Entries = c.entries
		ok, iter, err := s.session.MapExecuteBatchCAS(b, make(map[string]any))
		if err == nil {
			err = iter.Close()
		}
		applied = ok && err == nil
		return decisionName(applied, err), casFault(doing, err)
	})
	return applied, err
}

// decideOne is decide for one statement, and gives the row whose condition
// failed where it was refused; the row is empty where there was none.
func (s *Store) decideOne(ctx context.Context, doing, stmt string, args ...any) (applied bool, standing map[string]any, err error) {
	err = s.request(ctx, doing, func() (string, error) {
		standing = make(map[string]any)
		q := s.session.Query(stmt, args...).WithContext(ctx).Consistency(s.level).SerialConsistency(s.serial).RetryPolicy(nil)
		ok, err := q.MapScanCAS(standing)
		applied = ok && err == nil
		return decisionName(applied, err), casFault(doing, err)
	})
	return applied, standing, err
}

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

// concurrently calls do for 0 to n-1, at most width at a time, and gives the
// first error; its context has then ended for the others.
func concurrently(ctx context.Context, n, width int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next  atomic.Int64
		tasks sync.WaitGroup
		once  sync.Once
		first error
	)
	for range min(n, width) {
		tasks.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(ctx, int(i)); err != nil {
					once.Do(func() { first = err })
					cancel()
					return
				}
			}
		})
	}
	tasks.Wait()
	return first
}
