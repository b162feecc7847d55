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
	observe func(context.Context, Observation)

	nodes  *nodes
	gate   *gate
	hedges *hedges
	lanes  laneRows
	// chores run until the Store is closed.
	chores chores
	clocks clocks

	// Readings of whole headers by several requests at a time.
	contents   *sharing[contentKey, *library.ContentRows]
	principals *sharing[library.PrincipalID, *library.PrincipalHeader]
}

var _ library.Store = (*Store)(nil)

// Open connects to a cluster that Migrate has prepared. Its errors tell the
// operator in one line what is wrong: no node answers, the password is refused,
// the keyspace is missing, its schema is older than this program.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := connect(&o, o.Keyspace)
	if err != nil {
		return nil, err
	}
	if err := s.checkCluster(ctx, &o); err != nil {
		s.session.Close()
		return nil, err
	}
	return s, nil
}

func newStore(session *gocql.Session, nodes *nodes, o *Options) *Store {
	s := &Store{session: session, nodes: nodes, again: &gocql.SimpleRetryPolicy{NumRetries: 1}, now: o.Now, observe: o.Observe}
	s.level, s.serial = o.levels()
	places := orDefault(o.MaxInFlight, defaultMaxInFlight)
	s.gate = newGate(places, orDefault(o.MaxWaiting, waitingAPlace*places), orDefault(o.Patience, defaultPatience))
	s.hedges = &hedges{after: orDefault(o.HedgeAfter, defaultHedgeAfter), another: nodes.another, places: make(chan struct{}, max(1, places/hedgeShare))}
	if s.now == nil {
		s.now = func() library.Instant { return library.InstantOf(time.Now()) }
	}
	if s.observe == nil {
		s.observe = func(context.Context, Observation) {}
	}
	s.lanes.rows = make(map[library.LaneID]int)
	s.contents = newSharing[contentKey, *library.ContentRows](s.hedges, readAlone)
	s.principals = newSharing[library.PrincipalID, *library.PrincipalHeader](s.hedges, readAlone)
	return s
}

// connect makes a store that uses a keyspace of the cluster, or none.
func connect(o *Options, keyspace string) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	cfg, nodes, err := o.cluster(keyspace)
	if err != nil {
		return nil, err
	}
	session, err := cfg.CreateSession()
	if err != nil {
		return nil, connectFault(err, o)
	}
	return newStore(session, nodes, o), nil
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
	if cfg, _, cfgErr := o.cluster(""); cfgErr == nil {
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

// Load is how many requests the cluster has been sent and has not answered, and
// how many wait for a place among them.
func (s *Store) Load() (under, waiting int) { return s.gate.load() }

// Close ends the connections. What is under way ends with errors.
func (s *Store) Close() error {
	s.chores.end()
	s.session.Close()
	return nil
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
				_, err := guarded(func() (struct{}, error) { return struct{}{}, do(ctx, int(i)) })
				if err != nil {
					once.Do(func() { first = panicFault(err) })
					cancel()
					return
				}
			}
		})
	}
	tasks.Wait()
	return first
}
