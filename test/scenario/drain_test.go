package scenario

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestDrain_FinishesAnswersAndExits sends SIGTERM to a process. It must report at once that it is
// not ready, keep answering for a while, then close sockets with code 1001 (going away), finish the
// answers that it has begun, leave nothing in flight, and exit with code 0.
func TestDrain_FinishesAnswersAndExits(t *testing.T) {
	g := serveWith(t, "--dev", "--rate-limit", "0", "--drain-delay", "2s")
	ann := g.user("acme", "ann", "PUBLIC")
	g.must(ann, createItem, vars{"in": vars{"name": "x", "kind": "NOTE", "title": "0"}})
	socket, _, err := (&world{gateway: g}).socket()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow()
	closed := make(chan websocket.StatusCode, 1)
	go func() {
		_, _, err := socket.Read(t.Context())
		closed <- websocket.CloseStatus(err)
	}()
	// Half of one mutation has arrived; other requests follow until none are accepted.
	body := string(mustJSON(vars{"query": updateItem, "variables": vars{"in": vars{"id": "c:acme:x", "title": "in flight"}}}))
	half := g.dial(fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: "+
		"application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", ann, len(body), body[:9]))
	var wg sync.WaitGroup
	defer wg.Wait()
	for n := range 4 {
		wg.Go(func() {
			for i := range 2_000 {
				if _, err := g.post(ann, updateItem, vars{"in": vars{"id": "c:acme:x", "title": fmt.Sprint(n, " ", i)}}); err != nil {
					return
				}
			}
		})
	}
	if r := g.send("GET", "/readyz", ""); r.Status != http.StatusOK {
		t.Errorf("before: %d", r.Status)
	}
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for tries := 0; ; tries++ {
		r, err := g.trySend("GET", "/readyz", "")
		if err != nil || tries == 2_000 {
			t.Fatalf("it never reported that it is not ready: %v", err)
		}
		if r.Status == http.StatusServiceUnavailable && string(r.body) == "not ready: the process is shutting down\n" {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	if a := g.ask(ann, `{viewer{id}}`, nil); a.at("viewer.id") != "u:acme:ann" {
		t.Errorf("while not ready it answers %+v", a)
	}
	if code := <-closed; code != websocket.StatusGoingAway {
		t.Errorf("the socket is closed with %d", code)
	}
	if answer := finish(t, half, body[9:]); answer.StatusCode != http.StatusOK || !strings.Contains(answer.text, `"in flight"`) {
		t.Errorf("the request in flight is answered by %d %s", answer.StatusCode, answer.text)
	}
	g.ended()
	if code, out, errs := g.run("audit", "--store", g.store); code != 0 || !strings.Contains(out, `"inFlight": 0`) {
		t.Errorf("the audit (%d): %s%s", code, out, errs)
	}
}

// dial opens a connection and writes to it; the end of the test closes it.
func (g *gateway) dial(text string) net.Conn {
	g.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		g.t.Fatal(err)
	}
	return c
}

// textAnswer is a response with its body.
type textAnswer struct {
	*http.Response
	text string
}

// finish writes the rest of a request and reads the response.
func finish(t *testing.T, c net.Conn, rest string) textAnswer {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(answerWithin))
	if _, err := io.WriteString(c, rest); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return textAnswer{res, string(text)}
}
