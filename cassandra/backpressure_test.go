package cassandra

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// slowNode is a proxy between the driver and a node that can hold the node's answers back. It
// listens on the node's address, because the node reports that address to drivers, but on another
// port.
type slowNode struct {
	address string
	node    string
	tasks   sync.WaitGroup

	mu    sync.Mutex
	gate  chan struct{} // closed while answers pass
	hangs int           // number of connections to close as soon as they are made
	conns []net.Conn
}

// wantBusy checks that an error says that nothing was sent and that the caller may retry.
func wantBusy(t *testing.T, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.Unavailable || fault.MayHaveCommitted(err) {
		t.Fatalf("the error is %v", err)
	}
	if e.RetryAfter != 1 || e.Reason != "" {
		t.Errorf("the error is %+v", e)
	}
}

func newSlowNode(t *testing.T, host string) *slowNode {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	n := &slowNode{address: l.Addr().String(), node: net.JoinHostPort(host, "9042"), gate: make(chan struct{})}
	close(n.gate)
	n.tasks.Go(func() { n.accept(l) })
	t.Cleanup(func() {
		_ = l.Close()
		n.release()
		n.mu.Lock()
		for _, c := range n.conns {
			_ = c.Close()
		}
		n.mu.Unlock()
		n.tasks.Wait()
	})
	return n
}

func (n *slowNode) accept(l net.Listener) {
	for {
		driver, err := l.Accept()
		if err != nil {
			return
		}
		if n.hangsUp() {
			_ = driver.Close()
			continue
		}
		node, err := net.Dial("tcp", n.node)
		if err != nil {
			_ = driver.Close()
			continue
		}
		n.mu.Lock()
		n.conns = append(n.conns, driver, node)
		n.mu.Unlock()
		n.tasks.Go(func() { _, _ = io.Copy(node, driver); _ = node.Close() })
		n.tasks.Go(func() { _, _ = io.Copy(heldWriter{n, driver}, node); _ = driver.Close() })
	}
}

func (n *slowNode) hangsUp() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs--
	return n.hangs >= 0
}

// heldWriter writes the node's answers to the driver.
type heldWriter struct {
	n  *slowNode
	to io.Writer
}

func (w heldWriter) Write(b []byte) (int, error) {
	w.n.mu.Lock()
	gate := w.n.gate
	w.n.mu.Unlock()
	<-gate
	return w.to.Write(b)
}

func (n *slowNode) hold() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gate = make(chan struct{})
}

func (n *slowNode) release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.gate:
	default:
		close(n.gate)
	}
}

// TestBackpressure_SlowClusterGetsNoMoreRequests sends hundreds of requests to a cluster that does
// not answer. As many as there are slots are in flight, some wait, and all others fail at once with
// an error that says that nothing was done and that the caller may retry. When the cluster answers
// again, the admitted requests succeed.
func TestBackpressure_SlowClusterGetsNoMoreRequests(t *testing.T) {
	const slots, most, callers = 8, 16, 300
	o := options(t)
	slow := newSlowNode(t, o.Hosts[0])
	o.Hosts = []string{slow.address}
	// The timeouts are too long to matter here.
	o.MaxInFlight, o.MaxWaiting, o.Patience, o.Timeout = slots, most, time.Hour, time.Minute
	s := open(t, o)
	page := func() error {
		_, err := s.Libraries.OpenLibrary(t.Context(), library.Slice{Owner: "u:t:reader", Bucket: principal.Private, Limit: 20}, false)
		return err
	}
	itemOf := func(n int) library.ContentID { return library.ContentID(fmt.Sprintf("c:t:slow%03d", n)) }
	commit := func(n int) error {
		v, err := s.Contents.Commit(t.Context(), creation(itemOf(n), someTime))
		if err == nil && !v.Applied {
			err = fmt.Errorf("%s was refused", itemOf(n))
		}
		return err
	}
	// This prepares the statements, which needs the node too.
	mustCommit(t, s, creation("c:t:slow", someTime))
	if err := page(); err != nil {
		t.Fatal(err)
	}

	slow.hold()
	type ended struct {
		n   int
		err error
	}
	ends := make(chan ended)
	for n := range callers {
		go func() {
			if n%2 == 0 {
				ends <- ended{n, page()}
			} else {
				ends <- ended{n, commit(n)}
			}
		}()
	}
	refused := map[int]bool{}
	for range callers - slots - most {
		e := <-ends
		wantBusy(t, e.err)
		refused[e.n] = true
	}
	if inFlight, waiting := s.Load(); inFlight != slots || waiting != most {
		t.Errorf("%d are in flight and %d wait, want %d and %d", inFlight, waiting, slots, most)
	}

	slow.release()
	for range slots + most {
		if e := <-ends; e.err != nil || refused[e.n] {
			t.Errorf("caller %d, who was admitted: %v", e.n, e.err)
		}
	}
	if inFlight, waiting := s.Load(); inFlight != 0 || waiting != 0 {
		t.Errorf("%d are still in flight and %d wait", inFlight, waiting)
	}
	if err := page(); err != nil {
		t.Errorf("a page afterwards: %v", err)
	}
	for n := 1; n < callers; n += 2 {
		rows, err := s.Contents.Read(t.Context(), itemOf(n), library.ContentQuery{Serial: true})
		if err != nil {
			t.Fatal(err)
		}
		if stored := rows.Header.Seq != 0; stored == refused[n] {
			t.Errorf("the commit of %s was refused: %v, and is stored: %v", itemOf(n), refused[n], stored)
		}
	}
}
