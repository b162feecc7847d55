package session

import (
	"context"
	"strings"
	"time"
)

// The driver reads the cluster's topology through one node. If this node hangs or stops at that
// moment, the driver asks no other and opens no session. So Connect tries again, beginning with
// another node, until these limits.
const (
	sessionTries   = 4
	sessionPause   = time.Second
	sessionTimeout = 15 * time.Second // for temporary problems
	silenceTimeout = 5 * time.Second  // if no node answers
)

// Connect opens a session for a keyspace of the cluster, or for none if it is "".
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
			cfg.nodes.opening.prompt.Store(false) // perhaps all addresses are slow
		}
		s, err := cfg.Connect()
		if err == nil {
			return s, nil
		}
		problem, err := explainConnectError(err, o, keyspace)
		if try == sessionTries || time.Since(began) > problem.retryFor() || Pause(ctx, sessionPause) != nil {
			return nil, err
		}
	}
}

// connectProblem says how long to retry after no session could be opened.
type connectProblem byte

const (
	permanent   connectProblem = iota // an operator must change something
	temporary                         // the cluster answers, but the session was not opened
	unreachable                       // no node answers
)

// retryFor is how long Connect tries again.
func (s connectProblem) retryFor() time.Duration {
	switch s {
	case temporary:
		return sessionTimeout
	case unreachable:
		return silenceTimeout
	}
	return 0
}

// explainConnectError returns an error for operators that explains why no session was opened.
func explainConnectError(err error, o *Options, keyspace string) (connectProblem, error) {
	nodes := strings.Join(o.Hosts, ", ")
	if problem, refusal := explainRefusal(err, o); refusal != nil {
		return problem, refusal
	}
	// The driver's error for a missing keyspace is that of an unreachable cluster.
	exists, again := keyspaceExists(o, keyspace)
	switch {
	case again != nil:
		// The driver reports the error of one node. This time it may be another one.
		if problem, refusal := explainRefusal(again, o); refusal != nil {
			return problem, refusal
		}
		return unreachable, OperatorError(err, "no node of the cluster answers at %s", nodes)
	case !exists:
		return permanent, OperatorError(err, "the keyspace %s does not exist: run carrel migrate", keyspace)
	case keyspace == "":
		return temporary, OperatorError(err, "the cluster at %s cannot be used", nodes)
	}
	return temporary, OperatorError(err, "the keyspace %s cannot be used", keyspace)
}

// explainRefusal returns an error for operators if err is that of a node that refused the session,
// and nil otherwise.
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

// keyspaceExists looks for a keyspace, through a session without one. It reports true for
// "".
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
	exists := iter.NumRows() > 0
	return exists, iter.Close()
}
