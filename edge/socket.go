package edge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"carrel/auth"
	"carrel/edge/connection"
	"carrel/observe"
)

// subprotocol is the subprotocol of the sockets, that of the npm package graphql-ws.
const subprotocol = "graphql-transport-ws"

// Close codes of that protocol. Clients reconnect after Forbidden with their current token.
const (
	closeBadRequest   websocket.StatusCode = 4400
	closeUnauthorized websocket.StatusCode = 4401 // an operation before the init
	closeForbidden    websocket.StatusCode = 4403 // a token that is invalid or has expired
	closeSubprotocol  websocket.StatusCode = 4406
	closeInitTimeout  websocket.StatusCode = 4408
	closeDuplicate    websocket.StatusCode = 4409
	closeTooManyInits websocket.StatusCode = 4429
)

// How sockets end without a close code, as passed to Config.Closed.
const (
	EndedByClient = "client" // closed or gone
	EndedSlow     = "slow"   // the client read nothing in time, not even a close code
)

// wantsSocket reports whether the request opens a websocket.
func wantsSocket(r *http.Request) bool {
	upgrade, ok := r.Header["Upgrade"]
	return ok && r.Method == http.MethodGet && strings.EqualFold(upgrade[0], "websocket")
}

// socket is one websocket. Its reader runs in its own goroutine, and so does each operation. The
// request that has opened it has ended by then, which frees its buffers.
type socket struct {
	handler *Handler
	conn    *websocket.Conn
	wire    io.Closer // the connection below conn
	from    string    // the account that pays if there is no signed-in viewer
	origin  observe.Origin
	ctx     context.Context // of the whole socket
	cancel  context.CancelFunc

	// The following fields belong to the reader.
	inited  bool
	caller  auth.Caller
	account account

	sending sync.Mutex // held while a message is sent

	mu       sync.Mutex
	timer    *time.Timer // for the init, and then for the expiry of the token
	pinger   *time.Timer
	closed   bool
	code     websocket.StatusCode // the code that it was closed with; 0: none
	slow     bool                 // the client did not read or answer in time
	draining bool
	crowded  bool // it was displaced by newer sockets that have not initialised
	cut      bool // it is closed without a close handshake, because it was displaced by many
	active   map[string]*socketOperation
	// running ends with the last operation.
	running sync.WaitGroup
}

// serveSocket opens a websocket and serves it in a goroutine until it ends. The handler returns, so
// that what the server keeps for a request, 20 KB and more, is freed while the socket is idle.
func (h *Handler) serveSocket(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	s := &socket{handler: h, from: h.rates.addressOf(r), origin: observe.OriginOf(r.Context(), r.Header),
		active: map[string]*socketOperation{}}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(r.Context()))
	if refused := s.admit(r); refused != nil {
		s.cancel()
		h.refuseSocket(w, r, refused, began)
		return
	}
	slim := &slimWriter{ResponseWriter: w}
	conn, err := websocket.Accept(slim, r, &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol},
		// admit has decided who may connect, by the origins of CORS.
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil { // Accept has answered
		s.cancel()
		h.streams.leave(s)
		h.observe("", codeBadRequest, time.Since(began))
		return
	}
	s.conn, s.wire = conn, slim.conn
	conn.SetReadLimit(-1) // take enforces the limit
	go func() {
		defer s.end()
		defer s.recoverPanic()
		if conn.Subprotocol() != subprotocol {
			s.close(closeSubprotocol, "Subprotocol not acceptable")
			return
		}
		s.serve()
	}()
}

// refuseSocket answers a request for a socket that is refused.
func (h *Handler) refuseSocket(w http.ResponseWriter, r *http.Request, refused *refusal, began time.Time) {
	x := h.exchanges.Get().(*exchange)
	defer h.release(x)
	_, x.span = h.tracing.Request(r.Context(), r)
	x.accepted, x.profile = accepted{media: mediaJSON}, h.profile
	x.refuse(refused)
	x.send(w, h.zipper)
	h.observe(x.operation, x.code, time.Since(began))
	x.span.End(x.outcome(observe.TransportSocket, x.status))
}

// end removes the socket.
func (s *socket) end() {
	s.cancel()
	s.handler.streams.leave(s)
	s.handler.closed(s.ended())
}

// ended returns how it has ended: its close code or an Ended constant.
func (s *socket) ended() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.code != 0:
		return strconv.Itoa(int(s.code))
	case s.slow:
		return EndedSlow
	}
	return EndedByClient
}

// admit checks the request that opens a socket. A token in its header is used until the init has
// another.
func (s *socket) admit(r *http.Request) (refused *refusal) {
	h := s.handler
	if !h.sites.mayConnect(r) {
		return refuse(http.StatusForbidden, codeCSRFBlocked, "Websockets are not opened from other sites.")
	}
	if s.caller, s.account, refused = h.caller(r); refused != nil {
		return refused
	}
	if s.caller.SignedIn() {
		return h.streams.enter(s, s.account.owner)
	}
	return h.streams.enterPending(s)
}

// serve reads messages until the socket ends, and then ends its operations.
func (s *socket) serve() {
	s.mu.Lock()
	s.timer = time.AfterFunc(s.handler.limits.SocketInit, func() { s.close(closeInitTimeout, "Connection initialisation timeout") })
	s.pinger = time.AfterFunc(s.handler.limits.Ping, s.ping)
	draining, crowded, cut := s.draining, s.crowded, s.cut
	s.mu.Unlock()
	switch { // the draining started after the admission
	case draining:
		s.close(websocket.StatusGoingAway, "Going away")
	case crowded:
		if cut {
			_ = s.wire.Close()
		}
		s.closeCrowded()
	}
	for {
		kind, message, err := s.conn.Reader(s.ctx)
		if err != nil {
			break
		}
		good, err := s.take(kind, message)
		if err != nil {
			break
		}
		if !good {
			s.close(closeBadRequest, "Invalid message received")
		}
	}
	s.cancel()
	s.mu.Lock()
	s.closed = true
	s.timer.Stop()
	s.pinger.Stop()
	s.mu.Unlock()
	s.running.Wait()
	_ = s.conn.CloseNow() // it may be closed already
}

// take reads one message and handles it. Like a body, it must arrive in time, because a client that
// stops in the middle ties up a buffer.
func (s *socket) take(kind websocket.MessageType, message io.Reader) (good bool, err error) {
	h := s.handler
	in := h.intakes.Get().(*intake)
	defer func() {
		in.reset()
		h.intakes.Put(in)
	}()
	late := time.AfterFunc(h.limits.Read, func() { s.close(websocket.StatusPolicyViolation, "The message took too long to arrive") })
	err = in.read(connection.Body(s.ctx, message), h.bodies, s.account)
	connection.Requested(s.ctx, 0)
	late.Stop()
	switch {
	case errors.Is(err, errNoRoom):
		s.close(websocket.StatusTryAgainLater, clipReason(noRoom().errs[0].Message))
		return true, err
	case len(in.bytes()) > h.limits.BodyBytes:
		s.close(websocket.StatusMessageTooBig, "The message is too large")
		return true, nil
	}
	return err == nil && kind == websocket.MessageText && s.onOwnStack(func() bool { return s.receive(in.bytes()) }), err
}

// onOwnStack handles a message in a new goroutine and waits for it. Verifying a token or compiling
// a document takes several times the stack of the reading goroutine, which would keep a grown stack
// for long.
func (s *socket) onOwnStack(handle func() bool) (good bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.recoverPanic()
		good = handle()
	}()
	<-done
	return good
}

// recoverPanic logs a panic and closes the socket. Goroutines of the socket defer it, because a
// panic would end the process.
func (s *socket) recoverPanic() {
	if value := recover(); value != nil {
		s.handler.panicked(s.ctx, value)
		s.close(websocket.StatusInternalError, "Internal error")
	}
}

// close closes the socket with a code, once.
func (s *socket) close(code websocket.StatusCode, reason string) {
	s.mu.Lock()
	already := s.closed
	if s.closed = true; !already {
		s.code = code
	}
	s.mu.Unlock()
	if already {
		return
	}
	_ = s.conn.Close(code, reason) // it is closed even if the handshake fails
	s.cancel()
}

// ping checks whether the client is alive. The reading goroutine reads the answer. If it comes too
// late, the socket is closed with a code, which a slow client may still read.
func (s *socket) ping() {
	if !s.sending.TryLock() { // how long the client takes for a message is limited by itself
		s.pingLater()
		return
	}
	s.sending.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, s.handler.limits.StreamWrite)
	defer cancel()
	err := s.conn.Ping(ctx)
	if s.late(ctx) {
		s.close(websocket.StatusTryAgainLater, "Slow consumer: a ping was not answered in time")
		return
	}
	// The library sends no ping while it sends a message, and gives up after five seconds.
	busy := errors.Is(err, context.DeadlineExceeded)
	if err != nil && !busy {
		s.cancel()
		return
	}
	s.pingLater()
}

func (s *socket) pingLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.pinger.Reset(s.handler.limits.Ping)
	}
}

// drain ends subscriptions, lets the other operations finish, and closes the socket.
func (s *socket) drain() {
	s.mu.Lock()
	s.draining = true
	for _, op := range s.active {
		if op.endless {
			op.cancel()
		}
	}
	connected := s.timer != nil
	s.mu.Unlock()
	if connected {
		go func() {
			s.running.Wait()
			s.close(websocket.StatusGoingAway, "Going away")
		}()
	}
}

// displace closes a socket that has not initialised, because its address has opened too many newer
// ones. If cut is set, there is no close handshake.
func (s *socket) displace(cut bool) {
	s.mu.Lock()
	already := s.crowded
	s.crowded = true
	s.cut = s.cut || cut
	connected := s.timer != nil
	s.mu.Unlock()
	switch {
	case !connected: // serve closes it
	case cut:
		_ = s.wire.Close() // it may be closed already
	case !already:
		go s.closeCrowded()
	}
}

func (s *socket) closeCrowded() {
	s.close(websocket.StatusTryAgainLater, "Too many connections wait for their initialisation")
}

// send writes one message: a type, an id unless it is empty, and a payload, which may be in pieces.
// A client that does not accept each part of it in time is cut off without a message.
func (s *socket) send(kind, id string, payload ...[]byte) {
	head := append(make([]byte, 0, len(id)+48), `{"type":"`+kind+`"`...)
	if id != "" {
		head = append(append(head, `,"id":`...), quoted(id)...)
	}
	if length(payload) > 0 {
		head = append(head, `,"payload":`...)
	}
	message := append(append(make([][]byte, 0, len(payload)+2), head), payload...)
	s.sending.Lock() // before its time begins
	defer s.sending.Unlock()
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	within := s.handler.limits.StreamWrite
	timer := time.AfterFunc(within, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	err := s.write(ctx, joined(append(message, []byte{'}'})), func() { timer.Reset(within) })
	if s.late(ctx) || err != nil {
		s.cancel()
	}
}

// write writes one message, and calls accepted for each part that was sent.
func (s *socket) write(ctx context.Context, pieces [][]byte, accepted func()) error {
	if len(pieces) == 1 && len(pieces[0]) <= connection.PieceBytes {
		return s.conn.Write(ctx, websocket.MessageText, pieces[0])
	}
	w, err := s.conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for part := range connection.Pieces(pieces) {
		if _, err := w.Write(part); err != nil {
			return err
		}
		accepted()
	}
	return w.Close()
}

// late reports whether ctx has reached its deadline, and records that the client was too slow. The
// connection closes itself at the deadline, even if the write or read finishes at the same moment.
func (s *socket) late(ctx context.Context) bool {
	if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = true
	return true
}

// cutOff reports whether the client was cut off because it was too slow.
func (s *socket) cutOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}
