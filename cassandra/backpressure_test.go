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

// slowNode stands between the driver and a node, and keeps its answers back
// while it is held. It listens on the node's address, which is the one that the
// node tells drivers to use, at another port.
type slowNode struct {
	address string
	node    string
	tasks   sync.WaitGroup

	mu    sync.Mutex
	gate  chan struct{} // closed while answers pass
	hangs int           // how many connections are closed as soon as they are made
	conns []net.Conn
}

// wantBusy checks an error that says: nothing was sent, come again.
func wantBusy(t *testing.T, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.Unavailable || fault.MayHaveCommitted(err) {
		t.Fatalf("it is told %v", err)
	}
	if e.RetryAfter != 1 || e.Reason != "" {
		t.Errorf("it is told %+v", e)
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

// heldWriter writes what the node answers to the driver.
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

// Hundreds of requests meet a cluster that does not answer: as many as have
// places are under way, some wait, and all others are told at once that nothing
// was done and that they may come again. When the cluster answers, those that
// were let in are done, and everything goes on.
func TestASlowClusterGetsNoMoreWork(t *testing.T) {
	const places, most, callers = 8, 16, 300
	o := options(t)
	slow := newSlowNode(t, o.Hosts[0])
	o.Hosts = []string{slow.address}
	// Nothing ends by time here.
	o.MaxInFlight, o.MaxWaiting, o.Patience, o.Timeout = places, most, time.Hour, time.Minute
	s := open(t, o)
	page := func() error {
		_, err := s.OpenLibrary(t.Context(), library.Slice{Owner: "u:t:reader", Bucket: principal.Private, Limit: 20}, false)
		return err
	}
	itemOf := func(n int) library.ContentID { return library.ContentID(fmt.Sprintf("c:t:slow%03d", n)) }
	commit := func(n int) error {
		v, err := s.Commit(t.Context(), creation(itemOf(n), someTime))
		if err == nil && !v.Applied {
			err = fmt.Errorf("%s was refused", itemOf(n))
		}
		return err
	}
	// The statements are prepared, which waits for the node too.
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
	for range callers - places - most {
		e := <-ends
		wantBusy(t, e.err)
		refused[e.n] = true
	}
	if under, waiting := s.Load(); under != places || waiting != most {
		t.Errorf("%d are under way and %d wait, want %d and %d", under, waiting, places, most)
	}

	slow.release()
	for range places + most {
		if e := <-ends; e.err != nil || refused[e.n] {
			t.Errorf("caller %d, who was let in: %v", e.n, e.err)
		}
	}
	if under, waiting := s.Load(); under != 0 || waiting != 0 {
		t.Errorf("%d are still under way and %d wait", under, waiting)
	}
	if err := page(); err != nil {
		t.Errorf("a page afterwards: %v", err)
	}
	for n := 1; n < callers; n += 2 {
		rows, err := s.Read(t.Context(), itemOf(n), library.ContentQuery{Serial: true})
		if err != nil {
			t.Fatal(err)
		}
		if stands := rows.Header.Seq != 0; stands == refused[n] {
			t.Errorf("the commit of %s was refused: %v, and stands: %v", itemOf(n), refused[n], stands)
		}
	}
}
