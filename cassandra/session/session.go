package session

import (
	"context"
	"time"

	"github.com/gocql/gocql"

	"carrel/core/clock"
)

// Session is a connection to a cluster, over which statements are sent. It is
// safe for concurrent use.
type Session struct {
	driver *gocql.Session
	level  gocql.Consistency
	serial gocql.SerialConsistency
	// retryOnce is the retry policy of repeatable statements. It sends a failed one once more, to another
	// node, unless it has met too many tombstones.
	retryOnce *retryOnce
	now       func() clock.Instant
	observe   func(context.Context, Observation)

	nodes      *nodes
	gate       *gate
	hedges     *hedges
	background background
	clocks     clocks
}

// Driver returns the driver's session, for statements that the methods of Session cannot send. They
// bypass the gate.
func (s *Session) Driver() *gocql.Session { return s.driver }

// Now returns the time by the clock of the options.
func (s *Session) Now() clock.Instant { return s.now() }

// Load returns the number of requests in flight and the number that wait to be sent.
func (s *Session) Load() (inFlight, waiting int) { return s.gate.load() }

// Close stops the background goroutines and then closes the connections. Statements in flight fail.
func (s *Session) Close() {
	s.background.end()
	s.driver.Close()
}

// Config is the driver's configuration for a session.
type Config struct {
	*gocql.ClusterConfig
	// Another reports whether a node other than the one given answers, so that it
	// can be asked too.
	Another func(node string) bool

	options *Options
	nodes   *nodes
}

// Connect opens a session.
func (c *Config) Connect() (*Session, error) {
	driver, err := c.CreateSession()
	if err != nil {
		return nil, err
	}
	o := c.options
	s := &Session{driver: driver, nodes: c.nodes, retryOnce: &retryOnce{gocql.SimpleRetryPolicy{NumRetries: 1}}, now: o.Now,
		observe: o.Observe}
	s.level, s.serial = o.levels()
	slots := orDefault(o.MaxInFlight, defaultMaxInFlight)
	s.gate = newGate(slots, orDefault(o.MaxWaiting, waitingPerSlot*slots), orDefault(o.Patience, defaultPatience))
	s.hedges = &hedges{after: orDefault(o.HedgeAfter, defaultHedgeAfter), another: c.Another,
		slots: make(chan struct{}, max(1, slots/hedgeShare))}
	if s.now == nil {
		s.now = func() clock.Instant { return clock.Of(time.Now()) }
	}
	if s.observe == nil {
		s.observe = func(context.Context, Observation) {}
	}
	return s, nil
}
