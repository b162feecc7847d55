package cassandra

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"

	"carrel/core/clock"
	"carrel/core/commit"
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
	now     func() clock.Instant
	observe func(context.Context, Observation)

	nodes  *nodes
	gate   *gate
	hedges *hedges
	lanes  laneRows
	dues   dueScan
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
	s, err := connect(ctx, &o, o.Keyspace)
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
		s.now = func() clock.Instant { return clock.Of(time.Now()) }
	}
	if s.observe == nil {
		s.observe = func(context.Context, Observation) {}
	}
	s.lanes.rows = make(map[commit.LaneID]int)
	alone := func() int {
		if under, waiting := s.gate.load(); under+waiting >= readsBusy {
			return 1
		}
		return readAlone
	}
	s.contents = newSharing[contentKey, *library.ContentRows](s.hedges, alone)
	s.principals = newSharing[library.PrincipalID, *library.PrincipalHeader](s.hedges, alone)
	return s
}

// A session cannot be made where the node that the driver looks at the cluster
// through hangs, or ends, in that moment: the driver asks no other one then. So
// it is tried again, through whichever node comes first the next time, unless so
// much time has passed that an operator should be told.
const (
	sessionTries  = 4
	sessionPause  = time.Second
	sessionWithin = 15 * time.Second // for what may pass
	silenceWithin = 5 * time.Second  // where no node answers
)

// connect makes a store that uses a keyspace of the cluster, or none.
func connect(ctx context.Context, o *Options, keyspace string) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	began := time.Now()
	for try := 1; ; try++ {
		cfg, nodes, err := o.cluster(keyspace)
		if err != nil {
			return nil, err
		}
		if try > 1 {
			nodes.opening.prompt.Store(false) // all may be slow
		}
		session, err := cfg.CreateSession()
		if err == nil {
			return newStore(session, nodes, o), nil
		}
		stays, err := connectFault(err, o, keyspace)
		if try == sessionTries || time.Since(began) > stays.within() || pause(ctx, sessionPause) != nil {
			return nil, err
		}
	}
}

// staying tells whether what kept a session from being made will do so again.
type staying byte

const (
	faultStays   staying = iota // whoever runs the cluster or the gateway must change something
	faultPasses                 // another session could be made since
	faultUnknown                // nobody answers
)

// within is how long it is worth trying again.
func (s staying) within() time.Duration {
	switch s {
	case faultPasses:
		return sessionWithin
	case faultUnknown:
		return silenceWithin
	}
	return 0
}

// connectFault explains why no session could be made.
func connectFault(err error, o *Options, keyspace string) (staying, error) {
	nodes := strings.Join(o.Hosts, ", ")
	if stays, told := sessionRefused(err, o); told != nil {
		return stays, told
	}
	// A keyspace that is missing looks as if nobody answered.
	stands, again := keyspaceStands(o, keyspace)
	switch {
	case again != nil:
		// Of several nodes the driver tells of one. This time it may be another.
		if stays, told := sessionRefused(again, o); told != nil {
			return stays, told
		}
		return faultUnknown, operatorError(err, "no node of the cluster answers at %s", nodes)
	case !stands:
		return faultStays, operatorError(err, "the keyspace %s does not exist: run carrel migrate", keyspace)
	case keyspace == "":
		return faultPasses, operatorError(err, "the cluster at %s cannot be used", nodes)
	}
	return faultPasses, operatorError(err, "the keyspace %s cannot be used", keyspace)
}

// sessionRefused explains an error that a node has given for refusing a session;
// nil: it is none.
func sessionRefused(err error, o *Options) (staying, error) {
	nodes := strings.Join(o.Hosts, ", ")
	switch sessionFaultOf(err) {
	case sessionUnsure:
		return faultPasses, operatorError(err, "too few nodes of the cluster at %s are up to look the user up", nodes)
	case sessionUser:
		return faultStays, operatorError(err, "the cluster at %s refuses the user or the password", nodes)
	case sessionTLS:
		return faultStays, operatorError(err, "no TLS connection to the cluster at %s", nodes)
	case sessionCentre:
		return faultStays, operatorError(err, "none of the nodes at %s is in the data centre %s", nodes, o.DataCentre)
	}
	return faultUnknown, nil
}

// keyspaceStands looks for a keyspace through a session that uses none. None,
// "", always stands.
func keyspaceStands(o *Options, keyspace string) (bool, error) {
	cfg, _, err := o.cluster("")
	if err != nil {
		return false, err
	}
	session, err := cfg.CreateSession()
	if err != nil {
		return false, err
	}
	defer session.Close()
	if keyspace == "" {
		return true, nil
	}
	iter := session.Query(selectKeyspace, keyspace).Iter()
	stands := iter.NumRows() > 0
	return stands, iter.Close()
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
