package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"carrel/principal"
)

// socketUnderTest is the client's side of a websocket.
type socketUnderTest struct {
	t    *testing.T
	conn *websocket.Conn
}

// connect opens a websocket with header lines "Name: value".
func connect(t *testing.T, addr string, header ...string) *socketUnderTest {
	t.Helper()
	conn, resp, err := dialSocket(t.Context(), addr, subprotocol, header...)
	if err != nil {
		t.Fatal(err, resp)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &socketUnderTest{t, conn}
}

func dialSocket(ctx context.Context, addr, protocol string, header ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return websocket.Dial(ctx, "ws://"+addr+"/graphql", &websocket.DialOptions{Subprotocols: []string{protocol},
		HTTPHeader: h, HTTPClient: client})
}

func (s *socketUnderTest) send(message string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		s.t.Fatal(err)
	}
}

// next returns the next message, or "closed" with the code.
func (s *socketUnderTest) next() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	_, b, err := s.conn.Read(ctx)
	if err != nil {
		var closed websocket.CloseError
		if code := websocket.CloseStatus(err); code >= 0 {
			closed.Code = code
		}
		return fmt.Sprintf("closed %d", closed.Code)
	}
	return string(b)
}

// opened returns a socket after its init.
func opened(t *testing.T, addr, payload string) *socketUnderTest {
	t.Helper()
	s := connect(t, addr)
	if payload != "" {
		payload = `,"payload":` + payload
	}
	s.send(`{"type":"connection_init"` + payload + `}`)
	if got := s.next(); got != `{"type":"connection_ack"}` {
		t.Fatalf("got %s", got)
	}
	return s
}

func TestSocket_OperationsAreAnswered(t *testing.T) {
	const next, complete = `{"type":"next","id":"1","payload":`, `{"type":"complete","id":"1"}`
	e := newEdge(t, nil)
	addr := start(t, e.handler, DefaultLimits())
	for name, c := range map[string]struct {
		init, payload string
		want          []string
	}{
		"a query":             {"", `{"query":"{user(id:\"u:a:b\"){id}}"}`, []string{next + `{"data":{"user":{"id":"u:a:b"}}}}`, complete}},
		"an anonymous viewer": {"", `{"query":"{viewer{id}}"}`, []string{next + `{"data":{"viewer":null}}}`, complete}},
		"a token": {`{"authorization":"Bearer ann"}`, `{"query":"{viewer{id}}"}`,
			[]string{next + `{"data":{"viewer":{"id":"u:acme:ann"}}}}`, complete}},
		"a bare token": {`{"Authorization":"ann"}`, `{"query":"{viewer{id}}"}`,
			[]string{next + `{"data":{"viewer":{"id":"u:acme:ann"}}}}`, complete}},
		"no token": {`{"authorization":null,"x":1}`, `{"query":"{viewer{id}}"}`,
			[]string{next + `{"data":{"viewer":null}}}`, complete}},
		"variables": {"", `{"query":"query($i:ID!){user(id:$i){id}}","variables":{"i":"x"}}`,
			[]string{next + `{"data":{"user":{"id":"x"}}}}`, complete}},
		"a mutation": {"",
			`{"query":"mutation{createUser(input:{tenant:\"a\",name:\"b\",displayName:\"B\",email:\"b@example.org\"}){user{id}}}"}`,
			[]string{next + `{"data":{"createUser":{"user":{"id":"u:a:b"}}}}}`, complete}},
		"not valid": {"", `{"query":"{nothing}"}`,
			[]string{`{"type":"error","id":"1","payload":[{"message":"Cannot query field \"nothing\" on type \"Query\".","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`}},
		"no query": {"", `{}`,
			[]string{`{"type":"error","id":"1","payload":[{"message":"The member query is missing.","extensions":{"code":"BAD_REQUEST"}}]}`}},
		"beyond a limit": {"", `{"query":"` + aliases(31) + `"}`,
			[]string{`{"type":"error","id":"1","payload":[{"message":"The operation has, fragments counted, 31 aliases; at most 30 are allowed.","extensions":{"code":"ALIAS_LIMIT"}}]}`}},
		"not persisted": {"", `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + strings.Repeat("0", 64) + `"}}}`,
			[]string{`{"type":"error","id":"1","payload":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}`}},
		"an unknown subscription": {"", `{"query":"subscription{x}"}`,
			[]string{`{"type":"error","id":"1","payload":[{"message":"Cannot query field \"x\" on type \"Subscription\".","locations":[{"line":1,"column":14}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, addr, c.init)
			s.send(`{"id":"1","type":"subscribe","payload":` + c.payload + `}`)
			for _, want := range c.want {
				if got := s.next(); got != want {
					t.Error(cmp.Diff(want, got))
				}
			}
		})
	}
}

func TestSocket_TokenInTheHeaderIsUsed(t *testing.T) {
	addr := start(t, newEdge(t, nil).handler, DefaultLimits())
	s := connect(t, addr, "Authorization: Bearer ann")
	s.send(`{"type":"connection_init"}`)
	s.next()
	s.send(`{"id":"1","type":"subscribe","payload":{"query":"{viewer{id}}"}}`)
	if got := s.next(); !strings.Contains(got, "u:acme:ann") {
		t.Errorf("got %s", got)
	}
	if _, resp, err := dialSocket(t.Context(), addr, subprotocol, "Authorization: Bearer x"); err == nil || resp.StatusCode != 401 {
		t.Errorf("a bad one: %v", err)
	}
}

// TestSocket_InvalidMessagesCloseIt checks the close code for each sequence of messages on an open
// connection. "!" means the init and its answer.
func TestSocket_InvalidMessagesCloseIt(t *testing.T) {
	_, e := newTickingEdge(t, nil)
	addr := start(t, e.handler, DefaultLimits())
	const subscribeOne = `{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`
	for name, c := range map[string]struct {
		sent []string
		code int
	}{
		"no JSON":                  {[]string{`{`}, 4400},
		"empty":                    {[]string{``}, 4400},
		"a list":                   {[]string{`[]`}, 4400},
		"bad UTF-8":                {[]string{"{\"type\":\"ping\",\"x\":\"\xff\"}"}, 4400},
		"an unknown type":          {[]string{`{"type":"start"}`}, 4400},
		"a type in capitals":       {[]string{`{"TYPE":"ping"}`}, 4400},
		"payload is no object":     {[]string{`{"type":"connection_init","payload":7}`}, 4400},
		"no id":                    {[]string{"!", `{"type":"subscribe","payload":{"query":"{now}"}}`}, 4400},
		"no payload":               {[]string{"!", `{"type":"subscribe","id":"1"}`}, 4400},
		"an operation before init": {[]string{subscribeOne}, 4401},
		"a bad token":              {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer x"}}`}, 4403},
		"a token of no kind":       {[]string{`{"type":"connection_init","payload":{"authorization":7}}`}, 4403},
		"no keys":                  {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer later"}}`}, 1013},
		"a defect":                 {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer broken"}}`}, 1011},
		"init twice":               {[]string{"!", `{"type":"connection_init"}`}, 4429},
		"one id twice":             {[]string{"!", subscribeOne, subscribeOne}, 4409},
		"more than a megabyte":     {[]string{"!", `{"type":"ping","payload":{"x":"` + strings.Repeat("a", 1<<20) + `"}}`}, 1009},
	} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, addr)
			for _, message := range c.sent {
				if message == "!" {
					s.send(`{"type":"connection_init"}`)
					s.next()
					continue
				}
				s.send(message)
			}
			if got, want := s.next(), fmt.Sprintf("closed %d", c.code); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	t.Run("a binary message", func(t *testing.T) {
		s := connect(t, addr)
		if err := s.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		if got := s.next(); got != "closed 4400" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("no subprotocol", func(t *testing.T) {
		for _, protocol := range []string{"graphql-ws", "x"} {
			conn, _, err := dialSocket(t.Context(), addr, protocol)
			if err != nil {
				t.Fatal(err)
			}
			if got := (&socketUnderTest{t, conn}).next(); got != "closed 4406" {
				t.Errorf("%s: got %s", protocol, got)
			}
		}
	})
}

func TestSocket_WithoutInitIsClosed(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.SocketInit = 50 * time.Millisecond })
	if got := connect(t, start(t, e.handler, DefaultLimits())).next(); got != "closed 4408" {
		t.Errorf("got %s", got)
	}
}

func TestSocket_EndsWithItsToken(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Authenticate = authenticateFor(2 * time.Second) })
	c := opened(t, start(t, e.handler, DefaultLimits()), `{"authorization":"Bearer ann"}`)
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	if got := c.next(); got != "closed 4403" {
		t.Errorf("got %s", got)
	}
	<-s.ended
}

func TestSocket_SubscriptionRunsUntilItIsCompleted(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	c := opened(t, start(t, e.handler, DefaultLimits()), "")
	c.send(`{"type":"ping","payload":{"x":1}}`)
	if got := c.next(); got != `{"type":"pong","payload":{"x":1}}` {
		t.Errorf("got %s", got)
	}
	c.send(`{"type":"pong"}`)
	c.send(`{"id":"a\"b","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	for i := range 2 {
		s.events <- i
		if got, want := c.next(), fmt.Sprintf(`{"type":"next","id":"a\"b","payload":{"data":{"ticks":%d}}}`, i); got != want {
			t.Errorf("got %s", got)
		}
	}
	c.send(`{"id":"now","type":"subscribe","payload":{"query":"{now}"}}`)
	if got := c.next(); got != `{"type":"next","id":"now","payload":{"data":{"now":7}}}` {
		t.Errorf("got %s", got)
	}
	c.next()
	c.send(`{"id":"a\"b","type":"complete"}`)
	<-s.ended
	// The id can be reused, and the end of a subscription is reported.
	c.send(`{"id":"a\"b","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	close(s.events)
	if got := c.next(); got != `{"type":"complete","id":"a\"b"}` {
		t.Errorf("got %s", got)
	}
}

func TestSocket_OperationsAreBounded(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	c := opened(t, start(t, e.handler, DefaultLimits()), "")
	for i := range 21 {
		c.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"subscription{ticks}"}}`, i))
	}
	if got := c.next(); !strings.HasPrefix(got, `{"type":"error","id":"20"`) || !strings.Contains(got, "OPERATION_LIMIT") {
		t.Errorf("got %s", got)
	}
	_ = c.conn.CloseNow()
	for range 20 {
		<-s.ended
	}
}

func TestSocket_SubscriptionsAreBounded(t *testing.T) {
	_, e := newTickingEdge(t, func(c *Config) { c.Limits.Subscriptions = 1 })
	addr := start(t, e.handler, DefaultLimits())
	one, two := opened(t, addr, `{"authorization":"ann"}`), opened(t, addr, `{"authorization":"ann"}`)
	const message = `{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`
	counted := func(n int) func() bool {
		return func() bool {
			st := e.handler.streams
			st.mu.Lock()
			defer st.mu.Unlock()
			return st.subscriptions["u:acme:ann"] == n
		}
	}
	one.send(message)
	eventually(t, counted(1))
	two.send(message)
	if got := two.next(); !strings.Contains(got, "RATE_LIMITED") {
		t.Errorf("got %s", got)
	}
	one.send(`{"id":"1","type":"complete"}`)
	eventually(t, counted(0))
}

func TestDrain_FinishesOperationsOfSockets(t *testing.T) {
	e := newEdge(t, nil)
	entered, leave := make(chan struct{}), make(chan struct{})
	e.onUser = func(context.Context, string) (*principal.User, error) {
		close(entered)
		<-leave
		return user("u:a:b"), nil
	}
	addr := start(t, e.handler, DefaultLimits())
	c, idle := opened(t, addr, ""), opened(t, addr, "")
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"{user(id:\"x\"){id}}"}}`)
	<-entered
	drained := make(chan error, 1)
	go func() { drained <- e.handler.Drain(context.WithoutCancel(t.Context())) }()
	if got := idle.next(); got != "closed 1001" {
		t.Errorf("an idle socket: %s", got)
	}
	c.send(`{"id":"2","type":"subscribe","payload":{"query":"{viewer{id}}"}}`)
	if got := c.next(); !strings.Contains(got, "UNAVAILABLE") {
		t.Errorf("a new operation: %s", got)
	}
	close(leave)
	for _, want := range []string{`{"type":"next","id":"1","payload":{"data":{"user":{"id":"u:a:b"}}}}`,
		`{"type":"complete","id":"1"}`, "closed 1001"} {
		if got := c.next(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if _, resp, err := dialSocket(t.Context(), addr, subprotocol); err == nil || resp.StatusCode != 503 {
		t.Errorf("a new socket: %v", err)
	}
}

func TestDrain_EndsSubscriptionsOfSockets(t *testing.T) {
	s, e := newTickingEdge(t, nil)
	c := opened(t, start(t, e.handler, DefaultLimits()), "")
	c.send(`{"id":"1","type":"subscribe","payload":{"query":"subscription{ticks}"}}`)
	s.events <- 1
	c.next()
	go func() { _ = e.handler.Drain(context.WithoutCancel(t.Context())) }()
	if got := c.next(); got != "closed 1001" {
		t.Errorf("got %s", got)
	}
	<-s.ended
}

func TestSocket_FromOtherSitesIsRefused(t *testing.T) {
	sites, err := NewCrossOrigin(CrossOriginConfig{Origins: []string{"https://app.example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	addr := start(t, newEdge(t, func(c *Config) { c.CrossOrigin = sites }).handler, DefaultLimits())
	for origin, allowed := range map[string]bool{
		"http://" + addr: true, "https://app.example.org": true, "https://evil.com": false, "null": false,
		"https://app.example.org.evil.com": false, "http://app.example.org": false,
	} {
		conn, resp, err := dialSocket(t.Context(), addr, subprotocol, "Origin: "+origin)
		if allowed != (err == nil) || !allowed && resp.StatusCode != 403 {
			t.Errorf("%s: %v", origin, err)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
	}
}

func TestSocket_WithoutAClientIsClosed(t *testing.T) {
	_, e, reports := newEndingEdge(t, func(c *Config) { c.Limits.Ping, c.Limits.StreamWrite = 20*time.Millisecond, 50*time.Millisecond })
	// The client never reads, and so never answers a ping or the close.
	connect(t, start(t, e.handler, DefaultLimits()))
	next(t, reports.sockets)
	if _, sockets := e.handler.Open(); sockets != 0 {
		t.Errorf("%d sockets are open", sockets)
	}
}

func TestSocket_PanicIsOneError(t *testing.T) {
	e := newEdge(t, nil)
	e.onUser = func(context.Context, string) (*principal.User, error) { panic("SELECT secret") }
	c := opened(t, start(t, e.handler, DefaultLimits()), "")
	for range 2 {
		c.send(`{"id":"1","type":"subscribe","payload":{"query":"{user(id:\"x\"){id}}"}}`)
		got := c.next()
		if !strings.Contains(got, "INTERNAL_SERVER_ERROR") || strings.Contains(got, "SELECT") || !json.Valid([]byte(got)) {
			t.Errorf("got %s", got)
		}
		c.next()
	}
}

func TestSocket_OperationsBeyondThePointsAreRefused(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.ViewerPoints = 3 })
	c := opened(t, start(t, e.handler, DefaultLimits()), `{"authorization":"ann"}`)
	last := ""
	for i := range 5 {
		c.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"{__typename}"}}`, i))
		if last = c.next(); strings.Contains(last, "error") {
			break
		}
		c.next()
	}
	if !strings.Contains(last, "RATE_LIMITED") || !strings.Contains(last, "retryAfter") {
		t.Errorf("got %s", last)
	}
}

// TestSocket_EveryMessageIsBilled: no kind of message can be sent without limit.
func TestSocket_EveryMessageIsBilled(t *testing.T) {
	for _, message := range []string{`{"type":"ping"}`, `{"type":"pong"}`, `{"type":"complete","id":"1"}`} {
		e := newEdge(t, func(c *Config) { c.Limits.ViewerPoints = 5 })
		c := opened(t, start(t, e.handler, DefaultLimits()), `{"authorization":"ann"}`)
		for range 10 { // messages after the close are not read
			if c.conn.Write(t.Context(), websocket.MessageText, []byte(message)) != nil {
				break
			}
		}
		got := c.next()
		for strings.Contains(got, "pong") {
			got = c.next()
		}
		if got != "closed 1013" {
			t.Errorf("%s: got %s", message, got)
		}
	}
}

// TestSocket_CompleteIsBilledWithItsSubscribe: the price of starting an operation includes ending
// it.
func TestSocket_CompleteIsBilledWithItsSubscribe(t *testing.T) {
	s, e := newTickingEdge(t, func(c *Config) { c.Limits.ViewerPoints = 20 })
	c := opened(t, start(t, e.handler, DefaultLimits()), `{"authorization":"ann"}`)
	for n := range 8 { // each costs one point, and its event another
		c.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"subscription{ticks}"}}`, n))
		s.events <- n
		c.next()
		c.send(fmt.Sprintf(`{"id":"%d","type":"complete"}`, n))
		<-s.ended
	}
}
