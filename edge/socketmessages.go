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
	"carrel/edge/jsontext"
)

// receive handles one message of the client. It returns false if the message does not follow the
// protocol.
func (s *socket) receive(message []byte) bool {
	message = bytes.Trim(message, jsontext.Space)
	verdict := jsontext.Invalid
	_ = s.handler.inLane(s.ctx, s.account, len(message), func() { verdict = jsontext.Check(message, s.handler.limits.Values) })
	if verdict != jsontext.Valid && verdict != jsontext.HalfPair || message[0] != '{' {
		return false
	}
	var kind, id string
	var payload []byte
	good := true
	jsontext.EachMember(message, func(key, value []byte) {
		switch string(key) {
		case "type":
			good = good && jsontext.DecodeString(value, &kind)
		case "id":
			good = good && jsontext.DecodeString(value, &id)
		case "payload":
			payload = value
		}
	})
	if !good || jsontext.Present(payload) && payload[0] != '{' {
		return false
	}
	// Half of a surrogate pair in an operation is an error of this operation only.
	if verdict == jsontext.HalfPair && (kind != "subscribe" || payload == nil ||
		jsontext.Check(payload, s.handler.limits.Values) == jsontext.Valid) {
		return false
	}
	switch kind {
	case "connection_init":
		s.init(payload)
	case "ping":
		s.pong(payload)
	case "pong": // not awaited
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

// maxEcho is the largest payload of a ping that is sent back. Clients send a time, a number, or
// nothing.
const maxEcho = 4 << 10

// pay charges the minimal price for a message, and closes the socket if the account has too few
// points.
func (s *socket) pay() bool {
	refused := s.account.begin()
	if refused != nil {
		s.close(websocket.StatusTryAgainLater, clipReason(refused.errs[0].Message))
	}
	return refused == nil
}

// pong answers a ping, which is charged like any other message.
func (s *socket) pong(payload []byte) {
	if !s.pay() {
		return
	}
	if len(payload) > maxEcho {
		payload = nil
	}
	s.send("pong", "", payload)
}

// init reads the token from the payload's authorization, and acknowledges.
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
	if refused := s.handler.streams.initialise(s, s.account.owner); refused != nil {
		s.close(websocket.StatusTryAgainLater, clipReason(refused.errs[0].Message))
		return
	}
	s.awaitExpiry()
	s.send("connection_ack", "")
}

// refuseToken closes the socket with the close code for the error of its token.
func (s *socket) refuseToken(err error) {
	s.handler.rates.accountOf("", s.from).bill(minPrice)
	var problem *fault.Error
	switch {
	case !errors.As(err, &problem) || problem.Code != fault.Unauthenticated && problem.Code != fault.Unavailable:
		s.handler.presenter.present(s.ctx, err) // this logs the error
		s.close(websocket.StatusInternalError, "Internal error")
	case problem.Code == fault.Unavailable:
		s.close(websocket.StatusTryAgainLater, clipReason(problem.Msg))
	default:
		s.close(closeForbidden, clipReason("Forbidden: "+problem.Msg))
	}
}

// clipReason shortens a reason to what fits into a close frame, 123 bytes.
func clipReason(reason string) string {
	return strings.ToValidUTF8(reason[:min(len(reason), 120)], "")
}

// awaitExpiry replaces the timer of the init with one for the expiry of the token.
func (s *socket) awaitExpiry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.Stop()
	if !s.caller.Until.IsZero() && !s.closed {
		s.timer = time.AfterFunc(time.Until(s.caller.Until), func() { s.close(closeForbidden, "Forbidden: the token has expired") })
	}
}

// authorizationOf returns the token of an init payload, as the value of a header. The scheme may be
// missing. It is invalid if it is not a string, or longer than any header can be.
func authorizationOf(payload []byte, limit int) (authorization string, good bool) {
	good = true
	if !jsontext.Present(payload) {
		return "", good
	}
	jsontext.EachMember(payload, func(key, value []byte) {
		if strings.EqualFold(string(key), "authorization") && jsontext.Present(value) {
			good = len(value) <= limit && jsontext.DecodeString(value, &authorization)
		}
	})
	if authorization != "" && !strings.Contains(authorization, " ") {
		authorization = "Bearer " + authorization
	}
	return authorization, good
}

// subscribe starts an operation. It returns false if the message is invalid.
func (s *socket) subscribe(id string, payload []byte) bool {
	if !s.inited {
		s.close(closeUnauthorized, "Unauthorized")
		return true
	}
	if id == "" || !jsontext.Present(payload) {
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
		s.refuse(id, refuseDocument(codeOperationLimit, fmt.Sprintf("At most %d operations run at once over one connection.",
			s.handler.limits.SocketOperations)))
	default:
		s.start(id, payload)
	}
	return true
}

// complete ends an operation for the client. The price of the operation includes this message; one
// that ends nothing is charged separately.
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

// quoted returns s as a JSON string.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // it was decoded from one
		return []byte(`""`)
	}
	return b
}
