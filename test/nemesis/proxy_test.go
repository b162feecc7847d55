package nemesis

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// faultKind is what happens to a chosen statement.
type faultKind string

// The faults.
const (
	loseRequest   faultKind = "the request is lost"
	loseResponse  faultKind = "the response is lost"
	lateRequest   faultKind = "the request comes late"
	lateResponse  faultKind = "the response comes late"
	cutBefore     faultKind = "the connection is cut before the request arrives"
	cutAfter      faultKind = "the connection is cut before the response arrives"
	stall         faultKind = "all connections stall"
	answerTimeout faultKind = "applied, but a timeout is answered"
	answerFew     faultKind = "applied, but too few nodes for the commit is answered"
	answerRefused faultKind = "not applied, and too few nodes is answered"
	loseAll       faultKind = "every response is lost"
	cutAll        faultKind = "the connection is cut each time"
	refuseAll     faultKind = "too few nodes, each time"
	dieBefore     faultKind = "the process ends before the request is sent"
	dieAfter      faultKind = "the process ends before the response is read"
	dieSending    faultKind = "the process ends, and its request comes when others have finished"
	nodeBefore    faultKind = "the node is killed as the request arrives"
	nodeAfter     faultKind = "the node is killed before the response is read"
)

// Times of the proxy. A late request or answer comes after the driver has given up.
const (
	driverTimeout = time.Second
	lateBy        = 1500 * time.Millisecond
	stallFor      = 2500 * time.Millisecond
)

// proxy sits between a driver and a node. It listens on the node's address, which is the
// one that the node announces to drivers, at another port.
type proxy struct {
	address  string
	node     string
	listener net.Listener
	done     chan struct{}
	tasks    sync.WaitGroup
	letGo    chan struct{} // closed when the request that is held back may be sent
	answered chan struct{} // closed when the node has answered it
	held     chan struct{} // closed when a statement waits for the node to be killed
	busy     atomic.Bool   // no statement waited when the node was killed

	mu      sync.Mutex
	texts   map[string]string // of prepared statements
	conns   map[net.Conn]bool
	dead    bool
	gate    chan struct{} // closed while nothing stalls
	table   string        // the table whose statements decide
	want    step
	kind    faultKind
	decided bool // since the fault was armed
	decides int  // the number of deciding statements since then
	fence   int  // the number of the one that counts as stepFence; 0 if none does
	claimed bool // a claim was sent, and no decision since
	fired   int
	late    int  // late requests that have not arrived yet
	slow    bool // a statement without a fault took too long
}

// newProxy starts a proxy in front of the node; it ends with the test.
func newProxy(t *testing.T, host string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		address: l.Addr().String(), node: net.JoinHostPort(host, "9042"), listener: l, done: make(chan struct{}),
		texts: map[string]string{}, conns: map[net.Conn]bool{}, gate: make(chan struct{}),
		letGo: make(chan struct{}), answered: make(chan struct{}), held: make(chan struct{}),
	}
	close(p.gate)
	p.tasks.Go(p.accept)
	t.Cleanup(func() {
		p.die()
		close(p.done)
		p.tasks.Wait()
	})
	return p
}

// arm makes the next statement of a step meet a fault. The statements of the table
// decide.
func (p *proxy) arm(table string, s step, f faultKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.table, p.want, p.kind, p.fired = table, s, f, 0
	p.decided, p.decides, p.claimed = false, 0, false
}

// fences sets which of the deciding statements counts as stepFence; 0: none.
func (p *proxy) fences(nth int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fence = nth
}

// slowAfter is how long a statement without a fault may take. Beyond it the driver may
// give up more statements than the faulty one.
const slowAfter = driverTimeout / 2

// took records how long a statement without a fault took.
func (p *proxy) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = p.slow || d > slowAfter && !(p.kind == stall && p.fired > 0)
}

// wasSlow reports whether the machine was too slow for the operation.
func (p *proxy) wasSlow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow
}

// arrived reports whether all late requests have arrived.
func (p *proxy) arrived() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late == 0
}

// met returns how often the armed fault has happened.
func (p *proxy) met() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fired
}

// disarm disarms the fault, and returns how often it has happened.
func (p *proxy) disarm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.want = stepOther
	return p.fired
}

// die cuts all connections permanently, as if the process had died.
func (p *proxy) die() { p.dieBut(nil) }

// dieBut is die, except for one connection, on which a request is in flight.
func (p *proxy) dieBut(kept net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	_ = p.listener.Close()
	for c := range p.conns {
		if c != kept {
			_ = c.Close()
		}
	}
}

// hasDied reports whether the process is gone, as the node sees it.
func (p *proxy) hasDied() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// deliver sends the request that was held back, and returns when the node has answered
// it.
func (p *proxy) deliver(t *testing.T) {
	t.Helper()
	close(p.letGo)
	until(t, runTimeout, "the answer to what was held back", func() bool {
		select {
		case <-p.answered:
			return true
		default:
			return false
		}
	})
}

// hold waits until the held request may be sent.
func (p *proxy) hold() {
	close(p.held)
	p.wait(p.letGo)
}

// wait waits until a channel is closed. It returns false if the test ends before.
func (p *proxy) wait(happened chan struct{}) bool {
	select {
	case <-happened:
		return true
	case <-p.done:
		return false
	}
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		n, err := net.Dial("tcp", p.node)
		if err != nil {
			_ = c.Close()
			continue
		}
		p.mu.Lock()
		dead := p.dead
		p.conns[c], p.conns[n] = true, true
		p.mu.Unlock()
		l := &link{p: p, driver: c, node: n, streams: map[int16]sent{}}
		if dead {
			l.cut()
		}
		p.tasks.Go(l.requests)
		p.tasks.Go(l.responses)
	}
}

// stepNow is stepOf, refined by the statements that came before. The caller holds mu.
func (p *proxy) stepNow(statement string) step {
	s := stepOf(p.table, statement)
	switch {
	case s == stepClaim:
		p.claimed = true
	case s == stepRead && p.claimed:
		s = stepHolder
	case s == stepRead && p.decided:
		s = stepSnapshot
	case s == stepDecide:
		if p.decides++; p.decides == p.fence {
			return stepFence
		}
		p.decided, p.claimed = true, false
	}
	return s
}

// meets returns the fault that a statement meets, and records that it did.
func (p *proxy) meets(statement string) faultKind {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stepNow(statement)
	if p.want == stepOther || s != p.want {
		return ""
	}
	p.fired++
	f := p.kind
	if f == lateRequest {
		p.late++
	}
	switch f {
	case loseAll, cutAll, refuseAll:
	case stall:
		p.want = stepOther
		p.stall()
	default:
		p.want = stepOther
	}
	return f
}

// stall delays everything for a while. The caller holds mu.
func (p *proxy) stall() {
	gate := make(chan struct{})
	p.gate = gate
	p.tasks.Go(func() {
		p.pause(stallFor)
		close(gate)
	})
}

func (p *proxy) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.done:
	}
}

// awaitGate returns when nothing stalls.
func (p *proxy) awaitGate() {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	p.wait(gate)
}

func (p *proxy) textOf(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.texts[id]
}

// link is one connection of the driver, forwarded to the node.
type link struct {
	p            *proxy
	driver, node net.Conn

	writing sync.Mutex // of either connection, because late frames come between others
	mu      sync.Mutex
	streams map[int16]sent // the requests without an answer
}

// sent is a request that went to the node.
type sent struct {
	text     string
	prepares bool
	meets    faultKind
	at       time.Time
}

func (l *link) cut() {
	_ = l.driver.Close()
	_ = l.node.Close()
}

func (l *link) write(to net.Conn, f frame) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := to.Write(f); err != nil {
		// The goroutine that reads from it ends, and cuts the other connection unless
		// something is held back.
		_ = to.Close()
	}
}

// requests forwards the requests of the driver to the node.
func (l *link) requests() {
	defer l.cut()
	for {
		f, err := readFrame(l.driver)
		if err != nil {
			return
		}
		s := sent{at: time.Now(), text: f.statement(l.p.textOf), prepares: f.op() == opPrepare}
		if !s.prepares {
			s.meets = l.p.meets(s.text)
		}
		l.p.awaitGate()
		switch s.meets {
		case loseRequest:
			continue
		case answerRefused, refuseAll:
			l.write(l.driver, f.refusal(levelSerial))
			continue
		case cutBefore, cutAll:
			return
		case dieBefore:
			l.p.die()
			return
		case nodeBefore:
			l.p.hold()
		}
		l.mu.Lock()
		l.streams[f.stream()] = s
		l.mu.Unlock()
		if s.meets == dieSending {
			l.p.dieBut(l.node)
			if l.p.wait(l.p.letGo) {
				l.write(l.node, f)
				l.p.wait(l.p.answered)
			}
			return
		}
		if s.meets == lateRequest {
			l.p.tasks.Go(func() {
				l.p.pause(lateBy)
				l.write(l.node, f)
				l.p.mu.Lock()
				defer l.p.mu.Unlock()
				l.p.late--
			})
			continue
		}
		l.write(l.node, f)
	}
}

// responses forwards the answers of the node to the driver.
func (l *link) responses() {
	defer l.cut()
	for {
		f, err := readFrame(l.node)
		if err != nil {
			return
		}
		l.mu.Lock()
		s := l.streams[f.stream()]
		delete(l.streams, f.stream())
		l.mu.Unlock()
		if s.meets == "" && !s.at.IsZero() {
			l.p.took(time.Since(s.at))
		}
		if id := f.preparedID(); s.prepares && id != "" {
			l.p.mu.Lock()
			l.p.texts[id] = s.text
			l.p.mu.Unlock()
		}
		l.p.awaitGate()
		switch s.meets {
		case loseResponse, loseAll:
			continue
		case lateResponse:
			l.p.tasks.Go(func() {
				l.p.pause(lateBy)
				l.write(l.driver, f)
			})
			continue
		case answerTimeout:
			f = f.timeout()
		case answerFew:
			f = f.refusal(levelQuorum)
		case cutAfter:
			return
		case dieAfter:
			l.p.die()
			return
		case nodeAfter:
			l.p.hold()
			return
		case dieSending:
			close(l.p.answered)
			return
		}
		l.write(l.driver, f)
	}
}
