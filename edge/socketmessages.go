package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coder/websocket"

	"carrel/core/fault"
)

// receive handles one message of the client; false where it is no message of
// the protocol.
func (s *socket) receive(message []byte) bool {
	message = bytes.Trim(message, jsonSpace)
	if judgeJSON(message, s.handler.limits.Values) != jsonGood || message[0] != '{' {
		return false
	}
	var kind, id string
	var payload []byte
	good := true
	eachMember(message, func(key, value []byte) {
		switch string(key) {
		case "type":
			good = good && decodeString(value, &kind)
		case "id":
			good = good && decodeString(value, &id)
		case "payload":
			payload = value
		}
	})
	if !good || present(payload) && payload[0] != '{' {
		return false
	}
	switch kind {
	case "connection_init":
		s.init(payload)
	case "ping":
		s.pong(payload)
	case "pong": // which nobody waits for
		s.pay()
	case "subscribe":
		return s.subscribe(id, payload)
	case "complete":
		s.complete(id)
	default:
		return false
	}
	return true
}

// maxEcho is the largest payload of a ping that is sent back. Clients put a time
// or a number there, or nothing.
const maxEcho = 4 << 10

// pay takes the least price for a message, and closes the socket of an account
// that does not hold it.
func (s *socket) pay() bool {
	refused := s.account.begin()
	if refused != nil {
		s.close(websocket.StatusTryAgainLater, clipReason(refused.errs[0].Message))
	}
	return refused == nil
}

// pong answers a ping, which is paid like anything else that is asked.
func (s *socket) pong(payload []byte) {
	if !s.pay() {
		return
	}
	if len(payload) > maxEcho {
		payload = nil
	}
	s.send("pong", "", payload)
}

// init takes the token in the payload's authorization, and acknowledges.
func (s *socket) init(payload []byte) {
	if s.inited {
		s.close(closeTooManyInits, "Too many initialisation requests")
		return
	}
	s.inited = true
	authorization, good := authorizationOf(payload, s.handler.limits.HeaderBytes)
	if !good {
		s.close(closeForbidden, "Forbidden")
		return
	}
	if authorization != "" {
		caller, err := s.handler.authenticate(s.ctx, []string{authorization})
		if err != nil {
			s.refuseToken(err)
			return
		}
		s.caller = caller
		s.account = s.handler.rates.accountOf(string(caller.User), s.from)
	}
	if refused := s.handler.streams.initialise(s, s.account.whose); refused != nil {
		s.close(websocket.StatusTryAgainLater, clipReason(refused.errs[0].Message))
		return
	}
	s.awaitExpiry()
	s.send("connection_ack", "")
}

// refuseToken closes the socket as the error of its token asks for.
func (s *socket) refuseToken(err error) {
	s.handler.rates.accountOf("", s.from).bill(leastPrice)
	var problem *fault.Error
	switch {
	case !errors.As(err, &problem) || problem.Code != fault.Unauthenticated && problem.Code != fault.Unavailable:
		s.handler.presenter.present(s.ctx, err) // which logs it
		s.close(websocket.StatusInternalError, "Internal error")
	case problem.Code == fault.Unavailable:
		s.close(websocket.StatusTryAgainLater, clipReason(problem.Msg))
	default:
		s.close(closeForbidden, clipReason("Forbidden: "+problem.Msg))
	}
}

// clipReason keeps what the close frame has room for, 123 bytes.
func clipReason(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), 120)], "")
}

// awaitExpiry puts the end of the token in the place of that of the init.
func (s *socket) awaitExpiry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
	if !s.caller.Until.IsZero() && !s.closed {
		s.timer = time.AfterFunc(time.Until(s.caller.Until), func() { s.close(closeForbidden, "Forbidden: the token has expired") })
	}
}

// authorizationOf is the token of an init payload, as the value of a header;
// the scheme may be left out. It is not good if it is no string, or longer than
// any that a header could bring.
func authorizationOf(payload []byte, most int) (authorization string, good bool) {
	good = true
	if !present(payload) {
		return "", good
	}
	eachMember(payload, func(key, value []byte) {
		if strings.EqualFold(string(key), "authorization") && present(value) {
			good = len(value) <= most && decodeString(value, &authorization)
		}
	})
	if authorization != "" && !strings.Contains(authorization, " ") {
		authorization = "Bearer " + authorization
	}
	return authorization, good
}

// subscribe starts an operation; false where the message is not one.
func (s *socket) subscribe(id string, payload []byte) bool {
	if !s.inited {
		s.close(closeUnauthorized, "Unauthorized")
		return true
	}
	if id == "" || !present(payload) {
		return false
	}
	s.mu.Lock()
	_, taken := s.active[id]
	count, draining := len(s.active), s.draining || s.closed
	s.mu.Unlock()
	switch {
	case taken:
		s.close(closeDuplicate, clipReason("Subscriber for "+id+" already exists"))
	case draining:
		s.refuse(id, refuseDocument(codeUnavailable, "The service is stopping; connect again."))
	case count >= s.handler.limits.SocketOperations:
		s.refuse(id, refuseDocument(codeOperationLimit, fmt.Sprintf("At most %d operations run at once over one connection.", s.handler.limits.SocketOperations)))
	default:
		s.start(id, payload)
	}
	return true
}

// complete ends an operation that the client wants no more of. That was paid
// with the operation; what ends nothing is paid by itself.
func (s *socket) complete(id string) {
	s.mu.Lock()
	op, ok := s.active[id]
	if ok {
		op.cancel()
		delete(s.active, id)
	}
	s.mu.Unlock()
	if !ok {
		s.pay()
	}
}

// quoted is s as a JSON string.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // it was decoded from one
		return []byte(`""`)
	}
	return b
}
