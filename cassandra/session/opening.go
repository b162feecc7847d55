package session

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
)

// The driver opens a session through one address after the other, and then waits
// until it has connected to every node, or given it up, which takes 18 s for one
// that never answers. A gateway needs one node that answers to start.
const (
	// promptWithin is how long an address may take to accept a connection, and then
	// to send its first byte, when others can be tried.
	promptWithin = time.Second
	// othersWithin is how long a session waits for further nodes after the first one.
	othersWithin = 500 * time.Millisecond
)

// opening is a session that is being opened: its dialer, its observer of
// connections, and when it is ready.
type opening struct {
	dialer net.Dialer
	// prompt: addresses that do not answer promptly are given up.
	prompt atomic.Bool

	mu        sync.Mutex
	added     map[string]bool // nodes by their id
	connected map[string]bool
	came      chan struct{} // one more is connected
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
	ctx, cancel := context.WithTimeout(ctx, promptWithin)
	defer cancel()
	conn, err := o.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &promptConn{Conn: conn, silent: time.AfterFunc(promptWithin, func() { _ = conn.Close() })}, nil
}

// promptConn is a connection that is closed unless a first byte comes in time.
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

// located is called once the session has looked at the cluster through one
// address: what is dialled from then on are its nodes.
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
	default: // somebody is told already
	}
}

func (o *opening) counts() (added, connected int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.added), len(o.connected)
}

// ready reports whether the session can be used: one node is connected, and the
// others are too or have had their time. The driver asks after each node that it
// has connected to or given up, and goes on with the others in the background.
func (o *opening) ready() bool {
	late := time.NewTimer(othersWithin)
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
