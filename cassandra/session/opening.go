package session

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
)

// The driver opens a session through one address after the other. It then waits until it has
// connected to every node or given it up, which takes 18 s for a node that never answers. A gateway
// needs only one node to start.
const (
	// promptTimeout limits the time for accepting a connection, and then the time for its
	// first byte, if there are other addresses.
	promptTimeout = time.Second
	// othersTimeout is how long a session waits for further nodes after the first one.
	othersTimeout = 500 * time.Millisecond
)

// opening tracks a session while it is being opened. It is the driver's dialer and its
// observer of connections, and it decides when the session is ready.
type opening struct {
	dialer net.Dialer
	// prompt says that addresses which do not answer promptly are given up.
	prompt atomic.Bool

	mu        sync.Mutex
	added     map[string]bool // ids of the nodes of the cluster
	connected map[string]bool
	came      chan struct{} // signalled for each new connection
}

func newOpening(connect time.Duration, prompt bool) *opening {
	o := &opening{dialer: net.Dialer{Timeout: connect}, added: map[string]bool{}, connected: map[string]bool{}, came: make(chan struct{}, 1)}
	o.prompt.Store(prompt)
	return o
}

// DialContext implements the driver's Dialer.
func (o *opening) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !o.prompt.Load() {
		return o.dialer.DialContext(ctx, network, address)
	}
	ctx, cancel := context.WithTimeout(ctx, promptTimeout)
	defer cancel()
	conn, err := o.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &promptConn{Conn: conn, silent: time.AfterFunc(promptTimeout, func() { _ = conn.Close() })}, nil
}

// promptConn is a connection that is closed if its first byte does not come in time.
type promptConn struct {
	net.Conn
	silent *time.Timer
}

// Read implements net.Conn.
func (c *promptConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.silent.Stop()
	}
	return n, err
}

// Close implements net.Conn.
func (c *promptConn) Close() error {
	c.silent.Stop()
	return c.Conn.Close()
}

// located is called after the driver has read the cluster's topology through one address.
// Connections made later are to the cluster's nodes.
func (o *opening) located() {
	o.prompt.Store(false)
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.connected)
}

func (o *opening) found(host *gocql.HostInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.added[host.HostID()] = true
}

// ObserveConnect implements the driver's ConnectObserver.
func (o *opening) ObserveConnect(c gocql.ObservedConnect) {
	if c.Err != nil {
		return
	}
	o.mu.Lock()
	o.connected[c.Host.HostID()] = true
	o.mu.Unlock()
	select {
	case o.came <- struct{}{}:
	default: // a signal is pending
	}
}

func (o *opening) counts() (added, connected int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.added), len(o.connected)
}

// ready reports whether the session can be used: at least one node is connected, and all
// others are too or have had their time. The driver calls it after each node that it has
// connected to or given up, and connects to the others in the background.
func (o *opening) ready() bool {
	late := time.NewTimer(othersTimeout)
	defer late.Stop()
	for {
		added, connected := o.counts()
		switch {
		case connected == 0:
			return false
		case connected >= added:
			return true
		}
		select {
		case <-o.came:
		case <-late.C:
			return true
		}
	}
}
