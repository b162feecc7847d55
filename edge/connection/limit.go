// Package connection limits connections: how many are open, how slowly clients may read, and how much they may
// send besides requests.
//
// It must not know what is requested or answered.
package connection

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"carrel/budget"
)

// sendBuffer is the size of the system's buffer for sending over one connection: two pieces of an
// answer. The system would let it grow to some megabytes for a client that does not read, and would
// report that the client reads only for every third of it.
const sendBuffer = 2 * PieceBytes

// Limit limits the open connections, in total and for each account, so that they use up neither the
// file descriptors nor the memory of the process. A connection that becomes an event stream or a socket
// is counted in total only, because streams have their own limits.
type Limit struct {
	budget  *budget.Budget
	account func(netip.Addr) string

	mu   sync.Mutex
	open map[string][]*connection // by account, oldest first; without streams
}

// NewLimit returns a Limit of so many connections. account returns the account of an address, or
// budget.Nobody if it is limited by the total only.
func NewLimit(total int, account func(netip.Addr) string) *Limit {
	return &Limit{budget: budget.New(total, 1), account: account, open: map[string][]*connection{}}
}

// Used returns how many connections, and requests over HTTP/2, are open.
func (l *Limit) Used() int64 { return l.budget.Used() }

// Listener returns a listener that closes connections beyond the limits. If an account has too
// many, its oldest one is closed, preferably one without a request, so that connections that are
// only held do not keep others of the account out.
func (l *Limit) Listener(from net.Listener) net.Listener { return &listener{from, l} }

// Requests returns a handler that counts requests over HTTP/2 like connections, because a
// connection can have many of them. It passes those beyond the limits to refuse. from returns the
// address that a request comes from.
func (l *Limit) Requests(next, refuse http.Handler, from func(*http.Request) netip.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor >= 2 {
			account := l.account(from(r))
			if !l.budget.Hold(account, 1) {
				refuse.ServeHTTP(w, r)
				return
			}
			defer l.budget.Free(account, 1)
		}
		next.ServeHTTP(w, r)
	})
}

// listener is a listener whose connections are counted.
type listener struct {
	net.Listener
	limit *Limit
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if counted := l.limit.enter(conn); counted != nil {
			return counted, nil
		}
		_ = conn.Close() // it may be gone already
	}
}

// enter counts a connection. It returns nil if there are too many.
func (l *Limit) enter(conn net.Conn) *connection {
	account := budget.Nobody
	if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		account = l.account(at.Addr().Unmap())
	}
	if !l.budget.Hold(account, 1) {
		if !l.displace(account) || !l.budget.Hold(account, 1) {
			return nil
		}
	}
	if wire, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = wire.SetWriteBuffer(sendBuffer) // without it only slow clients are closed later
	}
	c := &connection{Conn: conn, all: l, account: account, flood: flood{limit: idleBytes, since: time.Now()}}
	if account != budget.Nobody {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[account] = append(l.open[account], c)
	}
	return c
}

// displace closes a connection of an account: the oldest without a request, or else the oldest.
func (l *Limit) displace(account string) bool {
	l.mu.Lock()
	var oldest *connection
	if open := l.open[account]; account != budget.Nobody && len(open) > 0 {
		oldest = open[max(0, slices.IndexFunc(open, func(o *connection) bool { return !o.busy.Load() }))]
	}
	l.mu.Unlock()
	if oldest == nil {
		return false
	}
	_ = oldest.Close() // it may be gone already
	return true
}

// remove removes a connection from those of its account. The lock is held.
func (l *Limit) remove(gone *connection) {
	left := slices.DeleteFunc(l.open[gone.account], func(o *connection) bool { return o == gone })
	if l.open[gone.account] = left; len(left) == 0 {
		delete(l.open, gone.account)
	}
}

// connection is a counted connection. Its lock is that of all.
type connection struct {
	net.Conn
	all     *Limit
	account string      // Nobody if it is an event stream or a socket
	closed  bool        // it is not counted any more
	busy    atomic.Bool // it has a request
	flood   flood
}

// counted returns the counted connection that conn is, or is secured over; nil if there is none.
func counted(conn net.Conn) *connection {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

// contextKey is the key of a request's connection.
type contextKey struct{}

// Context adds a connection to the context of its requests, as the ConnContext of an http.Server.
func Context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, counted(conn))
}

// BecomesStream makes the connection of a request over HTTP/1 count in total only.
func BecomesStream(r *http.Request) {
	if c, _ := r.Context().Value(contextKey{}).(*connection); c != nil && r.ProtoMajor == 1 {
		c.becomeStream()
	}
}

// Track follows the state of connections, as the ConnState of an http.Server.
func Track(conn net.Conn, state http.ConnState) {
	c := counted(conn)
	if c == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.busy.Store(true)
	case http.StateIdle:
		c.busy.Store(false)
	case http.StateHijacked:
		c.becomeStream()
	}
}

// becomeStream makes it a connection that is counted in total only.
func (c *connection) becomeStream() {
	c.flood.restart(streamIdleBytes)
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if !c.closed {
		c.all.remove(c)
		c.all.budget.Disown(c.account, 1)
		c.account = budget.Nobody
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.all.remove(c)
		c.all.budget.Free(c.account, 1)
	}
	return err
}

// CloseWrite ends sending, so that a refused client reads the refusal before the connection ends.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
