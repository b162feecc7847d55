package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"carrel/principal"
)

// held returns what is held in each budget, without connections.
func (e *edgeUnderTest) held() string {
	h := e.handler
	return fmt.Sprintf("%d operations, %d bytes of answers, %d of bodies", h.operations.Used(), h.memory.Used(), h.bodies.Used())
}

const nothing = "0 operations, 0 bytes of answers, 0 of bodies"

// TestShares_AnAccountThatHoldsItsShareStopsNobodyElse: by every transport, an account that holds a
// quarter of the operations, of the memory for answers, or of that for bodies, is refused more of
// it. Others are answered.
func TestShares_AnAccountThatHoldsItsShareStopsNobodyElse(t *testing.T) {
	const query = `{"query":"{user(id:\"x\"){id}}"}`
	byPost := func(accept string) func(t *testing.T, e *edgeUnderTest, header ...string) string {
		return func(t *testing.T, e *edgeUnderTest, header ...string) string {
			c := dial(t, start(t, e.handler, DefaultLimits()))
			fmt.Fprintf(c, "POST /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "+
				"application/json\r\n%s%sContent-Length: %d\r\n\r\n%s", accept, strings.Join(append(header, ""), "\r\n"), len(query), query)
			b, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
			}
			return string(b)
		}
	}
	for name, ask := range map[string]func(t *testing.T, e *edgeUnderTest, header ...string) string{
		"POST":   byPost(""),
		"events": byPost("Accept: text/event-stream\r\n"),
		"a socket": func(t *testing.T, e *edgeUnderTest, header ...string) string {
			s := connect(t, start(t, e.handler, DefaultLimits()), header...)
			s.send(`{"type":"connection_init"}`)
			if got := s.next(); strings.HasPrefix(got, "closed") {
				return got
			}
			s.send(`{"id":"1","type":"subscribe","payload":` + query + `}`)
			return s.next()
		},
	} {
		for of, hold := range map[string]func(h *Handler, account string) bool{
			"operations": func(h *Handler, account string) bool { return h.operations.Hold(account, 250) },
			"answers":    func(h *Handler, account string) bool { return h.memory.Hold(account, 64<<20) },
			"bodies":     func(h *Handler, account string) bool { return h.bodies.Hold(account, 32<<20) },
		} {
			t.Run(name+", "+of, func(t *testing.T) {
				e := newEdge(t, nil)
				if !hold(e.handler, "u:acme:ann") || hold(e.handler, "u:acme:ann") {
					t.Fatal("the share is another one")
				}
				if got := ask(t, e, "Authorization: Bearer ann"); !strings.Contains(got, "UNAVAILABLE") && got != "closed 1013" ||
					strings.Contains(got, `"data"`) {
					t.Errorf("the account is answered %s", got)
				}
				if got := ask(t, e); !strings.Contains(got, `{"data":{"user":{"id":"x"}}}`) {
					t.Errorf("another account is answered %s", got)
				}
				if e.calls.Load() != 1 {
					t.Errorf("%d calls", e.calls.Load())
				}
			})
		}
	}
}

// TestShares_NothingIsHeldAfterwards: however a request ends.
func TestShares_NothingIsHeldAfterwards(t *testing.T) {
	const variables = `,"variables":{"i":["a","b"]}}`
	for name, c := range map[string]struct {
		body, code string
		header     []string
	}{
		"answered":              {`{"query":"query($i:[ID!]!){nodes(ids:$i){id}}"` + variables, "INTERNAL_SERVER_ERROR", nil},
		"short":                 {`{"query":"{viewer{id}}"}`, "", nil},
		"not JSON":              {`{`, "BAD_REQUEST", nil},
		"not valid":             {`{"query":"{nothing}"` + variables, "GRAPHQL_VALIDATION_FAILED", nil},
		"too large":             {strings.Repeat(" ", 1<<20+1), "PAYLOAD_TOO_LARGE", nil},
		"of the largest size":   {`{"query":"{viewer{id}}"}` + strings.Repeat(" ", 1<<20-24), "", nil},
		"a bad token":           {`{"query":"{viewer{id}}"}`, "UNAUTHENTICATED", []string{"Authorization: Bearer x"}},
		"a subscription by GET": {`{"query":"subscription{libraryChanged(principalId:\"x\"){__typename}}"}`, "NOT_ACCEPTABLE", nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, nil)
			e.named(100)
			for range 2 { // with new and with used buffers
				if a := e.send(t, c.body, c.header...); a.code() != c.code {
					t.Errorf("got %.200s", a.Body)
				}
				if held := e.held(); held != nothing {
					t.Errorf("held afterwards: %s", held)
				}
			}
		})
	}
}

// TestShares_RunningOperationsHoldTheirVariables: and not the body any more, however long it was.
func TestShares_RunningOperationsHoldTheirVariables(t *testing.T) {
	e := newEdge(t, nil)
	var bodies []int64
	e.onUser = func(context.Context, string) (*principal.User, error) {
		bodies = append(bodies, e.handler.bodies.Used())
		return nil, nil
	}
	e.query(t, `{user(id:"x"){id}}`, nil)
	e.query(t, `{user(id:"x"){id}}`, map[string]any{"unused": strings.Repeat("a", 500_000)})
	e.query(t, `query($f:String!){user(id:"x"){library(filter:{text:$f}){bucket}}}`, map[string]any{"f": strings.Repeat("a", 300_000)})
	e.query(t, `query($a:[ID!]!){user(id:"x"){id} nodes(ids:$a){id}}`, map[string]any{"a": []string{"1", "2"}})
	e.query(t, "{user(id:\"x\"){id}}"+strings.Repeat(" ", 14_000), nil) // with its syntax tree
	if len(bodies) != 5 || bodies[0] > 1000 || bodies[1] > 1000 || bodies[2] < 300_000 || bodies[2] > 310_000 ||
		bodies[3] < 350 || bodies[3] > 1000 || bodies[4] < 400_000-usualDocument {
		t.Errorf("while the operations run, %v bytes are held", bodies)
	}
	if held := e.held(); held != nothing {
		t.Errorf("held afterwards: %s", held)
	}
}

const (
	postHead = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	slowBody = postHead + "Content-Length: 1000000\r\n\r\n"
)

// TestBodies_HoldWhatHasArrived: a client that sends a part of a body and waits holds memory for
// this part and not for the announced length.
func TestBodies_HoldWhatHasArrived(t *testing.T) {
	for _, c := range []struct{ sent, most int64 }{{0, 0}, {1, 1 << 10}, {1025, 2 << 10}, {66_000, 128 << 10},
		{300_000, 512 << 10}, {600_000, 1<<20 + 1}} {
		e := newEdge(t, nil)
		conn := dial(t, start(t, e.handler, DefaultLimits()))
		_, _ = io.WriteString(conn, slowBody+strings.Repeat(" ", int(c.sent)))
		least := c.sent
		eventually(t, func() bool { return e.handler.bodies.Used() >= max(1, least) })
		if held := e.handler.bodies.Used(); held > max(1<<10, c.most) {
			t.Errorf("%d bytes are held for %d", held, c.sent)
		}
		_ = conn.Close()
		eventually(t, func() bool { return e.handler.bodies.Used() == 0 })
	}
}

// TestBodies_WaitingOnesOfAnAddressHoldItsShare: then more are refused with UNAVAILABLE, and
// viewers are answered.
func TestBodies_WaitingOnesOfAnAddressHoldItsShare(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.BodyMemory = 16 << 20 }) // a share of 4 MiB
	addr := start(t, e.handler, DefaultLimits())
	for range 32 { // each holds 128 KiB
		_, _ = io.WriteString(dial(t, addr), slowBody+strings.Repeat(" ", 66_000))
	}
	eventually(t, func() bool { return e.handler.bodies.Used() == 4<<20 })
	conn := dial(t, addr)
	_, _ = io.WriteString(conn, slowBody+" ")
	if b, _ := io.ReadAll(conn); !strings.HasPrefix(string(b), "HTTP/1.1 503 ") || !strings.Contains(string(b), "Retry-After: 1\r\n") ||
		!strings.Contains(string(b), codeUnavailable) {
		t.Errorf("one more is answered %s", b)
	}
	conn = dial(t, addr)
	long := `{"query":"{viewer{id}}","x":"` + strings.Repeat("x", 900_000) + `"}`
	fmt.Fprintf(conn, "%sAuthorization: Bearer ann\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", postHead, len(long), long)
	if b, err := io.ReadAll(conn); !strings.Contains(string(b), "u:acme:ann") {
		t.Errorf("a viewer is answered %v %s", err, b)
	}
}

// TestBodies_WaitingMessagesAreCounted: like bodies. A socket that sends one too many is closed.
func TestBodies_WaitingMessagesAreCounted(t *testing.T) {
	e := newEdge(t, func(c *Config) { c.Limits.BodyMemory = 9 << 20 }) // a share of 2.25 MiB
	addr := start(t, e.handler, DefaultLimits())
	wait := func(header ...string) *socketUnderTest {
		s := connect(t, addr, header...)
		s.send(`{"type":"connection_init"}`)
		s.next()
		w, err := s.conn.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(`{"type":"ping","payload":{"a":"` + strings.Repeat("a", 600_000))); err != nil {
			t.Error(err)
		}
		return s
	}
	first, _ := wait(), wait()
	eventually(t, func() bool { return e.handler.bodies.Used() == 2<<20 })
	if got := wait().next(); got != "closed 1013" {
		t.Errorf("one more is answered %s", got)
	}
	wait("Authorization: Bearer ann")
	eventually(t, func() bool { return e.handler.bodies.Used() == 3<<20 })
	_ = first.conn.CloseNow()
	eventually(t, func() bool { return e.handler.bodies.Used() == 2<<20 })
}

// TestSubscriptions_HoldTheirVariables: by every transport, for as long as they run. Beyond its
// share an account is refused, and others are not.
func TestSubscriptions_HoldTheirVariables(t *testing.T) {
	body, err := json.Marshal(map[string]any{"query": `subscription($t:String){ticks(text:$t)}`,
		"variables": map[string]any{"t": strings.Repeat("t", 524_000)}})
	if err != nil {
		t.Fatal(err)
	}
	const each = 524_000 + 32 + 256 + 17
	// A message is held in a buffer of 512 KiB until its variables are. Four subscriptions and a buffer fit into the
	// share, and five subscriptions do not.
	const share = 4*each + 512<<10 + 8
	byEvents := func(version string) func(t *testing.T, addr string, header ...string) (first func() string, leave func()) {
		return func(t *testing.T, addr string, header ...string) (func() string, func()) {
			c := dial(t, addr)
			fmt.Fprintf(c, "POST /graphql HTTP/%s\r\nHost: x\r\nContent-Type: application/json\r\nAccept: "+
				"text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", version, strings.Join(append(header, ""), "\r\n"), len(body), body)
			return func() string { return untilText(c, "errors") }, func() { _ = c.Close() }
		}
	}
	for name, subscribe := range map[string]func(t *testing.T, addr string, header ...string) (first func() string, leave func()){
		"events": byEvents("1.1"), "events over HTTP/1.0": byEvents("1.0"),
		"a socket": func(t *testing.T, addr string, header ...string) (func() string, func()) {
			s := connect(t, addr, header...)
			s.send(`{"type":"connection_init"}`)
			s.next()
			s.send(`{"id":"1","type":"subscribe","payload":` + string(body) + `}`)
			return s.next, func() { _ = s.conn.CloseNow() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, e := newTickingEdge(t, func(c *Config) { c.Limits.BodyMemory = 4 * share })
			addr := start(t, e.handler, DefaultLimits())
			var leaves []func()
			for n := range 4 {
				_, leave := subscribe(t, addr)
				leaves = append(leaves, leave)
				eventually(t, func() bool { return e.handler.bodies.Used() == int64(n+1)*each })
			}
			first, leave := subscribe(t, addr)
			if got := first(); !strings.Contains(got, codeUnavailable) && got != "closed 1013" {
				t.Errorf("one more is answered %s", got)
			}
			leave()
			eventually(t, func() bool { return e.handler.bodies.Used() == 4*each })
			_, leave = subscribe(t, addr, "Authorization: Bearer ann")
			eventually(t, func() bool { return e.handler.bodies.Used() == 5*each })
			for _, leave := range append(leaves, leave) {
				leave()
			}
			eventually(t, func() bool { return e.held() == nothing })
		})
	}
}

// untilText reads until a text arrives, or to the end.
func untilText(c net.Conn, text string) string {
	var got []byte
	b := make([]byte, 4096)
	for !strings.Contains(string(got), text) {
		n, err := c.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			break
		}
	}
	return string(got)
}

// TestRaw_SentTextsHoldTheirLength: no operation runs while a text is sent, and memory is held for
// what is sent and not for the largest text.
func TestRaw_SentTextsHoldTheirLength(t *testing.T) {
	text, reading := strings.Repeat("x", 400_000), ""
	e := newEdge(t, nil)
	h := e.handler.Raw(func(context.Context, string) (*string, error) {
		reading = e.held()
		return &text, nil
	})
	p := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	startOn(t, p, h, DefaultLimits())
	c := p.dial("192.0.2.9")
	_, _ = io.WriteString(c, "GET /p/p:1/raw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	head := make([]byte, 100)
	if _, err := io.ReadFull(c, head); err != nil {
		t.Fatal(err)
	}
	if want := "1 operations, 524288 bytes of answers, 0 of bodies"; reading != want {
		t.Errorf("while it is read: %s, want %s", reading, want)
	}
	if held, want := e.held(), "0 operations, 400000 bytes of answers, 0 of bodies"; held != want {
		t.Errorf("while it is sent: %s, want %s", held, want)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) < len(text)-100 || !strings.HasSuffix(string(rest), "xxx") {
		t.Errorf("%v: %d bytes", err, len(rest))
	}
	eventually(t, func() bool { return e.held() == nothing })
	// The account of the address pays, and not that of all.
	if !e.handler.memory.Hold("192.0.2.9", 64<<20) {
		t.Fatal("the share is another one")
	}
	if !e.handler.memory.Hold("2001:db8::/48", 64<<20) {
		t.Fatal("the share of a network is another one")
	}
	for address, status := range map[string]string{"192.0.2.9": " 503 ", "192.0.2.8": " 200 ", "2001:db8:0:7::1": " 503 ",
		"2001:db8:1::1": " 200 "} {
		c := p.dial(address)
		_, _ = io.WriteString(c, "GET /p/p:1/raw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if got, err := io.ReadAll(c); err != nil || !strings.Contains(string(got[:20]), status) {
			t.Errorf("%s: %v %.100s", address, err, got)
		}
	}
}
