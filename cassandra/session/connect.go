package session

import (
	"context"
	"strings"
	"time"
)

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

// Connect opens a session that uses a keyspace of the cluster, or none.
func Connect(ctx context.Context, o *Options, keyspace string) (*Session, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	began := time.Now()
	for try := 1; ; try++ {
		cfg, err := o.Configure(keyspace)
		if err != nil {
			return nil, err
		}
		if try > 1 {
			cfg.nodes.opening.prompt.Store(false) // all may be slow
		}
		s, err := cfg.Connect()
		if err == nil {
			return s, nil
		}
		stays, err := explainConnectError(err, o, keyspace)
		if try == sessionTries || time.Since(began) > stays.retryFor() || Pause(ctx, sessionPause) != nil {
			return nil, err
		}
	}
}

// connectProblem tells whether what kept a session from being made will do so again.
type connectProblem byte

const (
	permanent   connectProblem = iota // whoever runs the cluster or the gateway must change something
	temporary                         // another session could be made since
	unreachable                       // nobody answers
)

// retryFor is how long it is worth trying again.
func (s connectProblem) retryFor() time.Duration {
	switch s {
	case temporary:
		return sessionWithin
	case unreachable:
		return silenceWithin
	}
	return 0
}

// explainConnectError explains why no session could be made.
func explainConnectError(err error, o *Options, keyspace string) (connectProblem, error) {
	nodes := strings.Join(o.Hosts, ", ")
	if stays, told := explainRefusal(err, o); told != nil {
		return stays, told
	}
	// A keyspace that is missing looks as if nobody answered.
	stands, again := keyspaceExists(o, keyspace)
	switch {
	case again != nil:
		// Of several nodes the driver tells of one. This time it may be another.
		if stays, told := explainRefusal(again, o); told != nil {
			return stays, told
		}
		return unreachable, OperatorError(err, "no node of the cluster answers at %s", nodes)
	case !stands:
		return permanent, OperatorError(err, "the keyspace %s does not exist: run carrel migrate", keyspace)
	case keyspace == "":
		return temporary, OperatorError(err, "the cluster at %s cannot be used", nodes)
	}
	return temporary, OperatorError(err, "the keyspace %s cannot be used", keyspace)
}

// explainRefusal explains an error that a node has given for refusing a session;
// nil: it is none.
func explainRefusal(err error, o *Options) (connectProblem, error) {
	nodes := strings.Join(o.Hosts, ", ")
	switch sessionFaultOf(err) {
	case sessionUnsure:
		return temporary, OperatorError(err, "too few nodes of the cluster at %s are up to look the user up", nodes)
	case sessionUser:
		return permanent, OperatorError(err, "the cluster at %s refuses the user or the password", nodes)
	case sessionTLS:
		return permanent, OperatorError(err, "no TLS connection to the cluster at %s", nodes)
	case sessionCentre:
		return permanent, OperatorError(err, "none of the nodes at %s is in the data centre %s", nodes, o.DataCentre)
	}
	return unreachable, nil
}

// keyspaceExists looks for a keyspace through a session that uses none. None,
// "", always stands.
func keyspaceExists(o *Options, keyspace string) (bool, error) {
	cfg, err := o.Configure("")
	if err != nil {
		return false, err
	}
	driver, err := cfg.CreateSession()
	if err != nil {
		return false, err
	}
	defer driver.Close()
	if keyspace == "" {
		return true, nil
	}
	iter := driver.Query(selectKeyspace, keyspace).Iter()
	stands := iter.NumRows() > 0
	return stands, iter.Close()
}
