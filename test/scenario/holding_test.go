package scenario

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// These tests replay attacks in which one address holds as much of a gateway as it can. They judge
// by the answers that eight viewers get meanwhile, and not by time: what is held is not closed
// during a test.
const (
	witnesses = 8
	// held keeps the gateway from closing connections because their clients are slow.
	heldWrites, heldReads = "stream-write-time=1h", "read-time=1h"
)

// from returns a client with an address of its own.
func (g *gateway) from(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true}
	if secure := g.client.Transport.(*http.Transport).TLSClientConfig; secure != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: secure.RootCAs}
	}
	g.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: answerWithin, Transport: transport}
}

// keepTheirAnswers checks that eight viewers, each from an address of its own, get 95 of 100 answers
// to requests that they send at the same time.
func (g *gateway) keepTheirAnswers(times int, query string, variables func(viewer, n int) vars) {
	g.t.Helper()
	var all sync.WaitGroup
	var good atomic.Int64
	var mu sync.Mutex
	refusals := map[string]int{}
	for viewer := range witnesses {
		one := g.in(g.t)
		one.client = g.from(fmt.Sprint("127.0.0.", 10+viewer))
		token := g.token(fmt.Sprint("u:acme:witness", viewer))
		all.Go(func() {
			for n, lost := 0, 0; n < times && lost < 2; n++ { // or until the gateway is gone
				a, err := one.post(token, query, variables(viewer, n))
				if err == nil && a.Status == 200 && len(a.Errors) == 0 {
					good.Add(1)
					continue
				}
				if err != nil {
					lost++
				}
				mu.Lock()
				refusals[fmt.Sprintf("%v %+v", err, a)]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if sent := witnesses * times; int(good.Load())*100 < 95*sent {
		g.t.Errorf("%d of %d requests were answered; refused: %.2000s", good.Load(), sent, fmt.Sprint(refusals))
	}
}

// createWitnesses creates the eight viewers.
func (g *gateway) createWitnesses() {
	g.t.Helper()
	for viewer := range witnesses {
		g.user("acme", fmt.Sprint("witness", viewer), "PUBLIC")
	}
}

func itself(int, int) vars { return nil }

// hold opens a connection that reads as little as possible, sends a text and waits. The gateway may
// close it.
func (g *gateway) hold(text string) net.Conn {
	g.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, _ = io.WriteString(c, text)
	return c
}

// statusOf waits for the first line of an answer and returns its status, or 0 if the connection was
// closed.
func statusOf(c net.Conn) (status int) {
	line, _ := bufio.NewReaderSize(c, 16).ReadSlice('\n')
	_, _ = fmt.Sscanf(string(line), "HTTP/1.1 %d", &status)
	return status
}

// longPaste creates a paste of 512 KB and returns the path of its text.
func (g *gateway) longPaste() string {
	g.t.Helper()
	return "/p/" + g.paste("", "long", "body", strings.Repeat("x", 512<<10)).id + "/raw"
}

// TestHolding_UnreadTextsStopNobody: 1,000 connections that do not read a raw text.
func TestHolding_UnreadTextsStopNobody(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1GiB")
	g := serveWith(t, "--rate-limit", "0", "--limit", heldWrites)
	g.createWitnesses()
	path := g.longPaste()
	answered, unread := 0, make([]net.Conn, 1000)
	for n := range unread {
		// More than the system's buffers hold.
		unread[n] = g.hold(strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n", 16))
	}
	for _, c := range unread {
		if statusOf(c) == 200 {
			answered++
		}
	}
	if answered < 100 {
		t.Errorf("%d texts are sent", answered)
	}
	g.keepTheirAnswers(25, `{viewer{id library{nodes{id}}}}`, itself)
}

// TestHolding_UnreadStreamsStopNobody: 11 connections of HTTP/2 with 100 requests each for a raw
// text that is not read.
func TestHolding_UnreadStreamsStopNobody(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1GiB")
	g := secureWorld(t, "--limit", heldWrites)
	g.createWitnesses()
	path := g.longPaste()
	var all sync.WaitGroup
	var answered atomic.Int64
	for range 11 {
		client := g.from("127.0.0.1")
		client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10}
		for range 100 {
			all.Go(func() {
				res, err := client.Get(g.url + path)
				if err != nil {
					return // refused or cut off
				}
				t.Cleanup(func() { _ = res.Body.Close() })
				if res.StatusCode == 200 {
					answered.Add(1)
				}
			})
		}
	}
	all.Wait()
	if answered.Load() < 100 {
		t.Errorf("%d texts are sent", answered.Load())
	}
	g.keepTheirAnswers(25, `{viewer{id library{nodes{id}}}}`, itself)
}

// TestHolding_UnreadAnswersStopNobody: 24 connections of one address, with as many long answers as
// fit into the memory for answers of a small gateway.
func TestHolding_UnreadAnswersStopNobody(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "512MiB")
	g := serveWith(t, "--rate-limit", "0", "--limit", heldWrites)
	g.createWitnesses()
	ann := g.user("acme", "ann", "PUBLIC")
	for n := range 100 {
		g.must(ann, createItem, vars{"in": vars{"name": fmt.Sprint("long", n), "kind": "NOTE", "visibility": "PUBLIC",
			"title": "long", "description": strings.Repeat("d", 10_000)}})
	}
	texts := func(n int) string {
		var fields strings.Builder
		for i := range n {
			fmt.Fprintf(&fields, " d%d:description", i)
		}
		return `{user(id:"u:acme:ann"){library(first:100){nodes{` + fields.String() + `}}}}`
	}
	for n := range 24 {
		size := 8
		if n >= 16 {
			size = 1
		}
		body := question(texts(size))
		c := g.hold(fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			len(body), body))
		if status := statusOf(c); n == 0 && status != 200 {
			t.Errorf("the first long answer has the status %d", status)
		}
	}
	g.keepTheirAnswers(5, texts(6), itself)
}

// TestHolding_VariablesOfSubscriptionsAreLimited: 60 subscriptions of two accounts, with variables
// of 1 MB.
func TestHolding_VariablesOfSubscriptionsAreLimited(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "512MiB")
	g := serveWith(t, "--rate-limit", "0")
	g.createWitnesses()
	const document = `subscription($t: String) { libraryChanged(principalId: "u:acme:witness0") {
		... on LibraryEntryPlaced { edge { node { createdBy { library(filter: {text: $t}) { bucket } } } } } } }`
	body := string(mustJSON(vars{"query": document, "variables": vars{"t": strings.Repeat("t", 1_000_000)}}))
	for n := range 60 {
		token := ""
		if n%2 == 0 {
			token = "Authorization: Bearer " + g.token("u:acme:witness0") + "\r\n"
		}
		g.hold(fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nContent-Type: "+
			"application/json\r\n%sContent-Length: %d\r\n\r\n%s", token, len(body), body))
	}
	running, refused := 0, 0
	for until := time.Now().Add(answerWithin); running+refused < 60 && time.Now().Before(until); {
		_, _ = fmt.Sscan(g.figure("carrel_followers"), &running)
		refused = 0
		for _, when := range []string{"none", "subscription"} { // its body, or the operation
			count := 0
			_, _ = fmt.Sscan(g.figure(`carrel_request_seconds_count{code="UNAVAILABLE",operation="`+when+`"}`), &count)
			refused += count
		}
	}
	// The share of an account is a quarter of an eighth of the memory: 16 MiB.
	if running < 20 || running > 32 || running+refused != 60 {
		t.Errorf("%d subscriptions run, and %d were refused", running, refused)
	}
	g.keepTheirAnswers(25, `{viewer{id}}`, itself)
}

// TestHolding_WaitingBodiesStopNobody: 1,000 connections that send 66 KB of a body and wait.
func TestHolding_WaitingBodiesStopNobody(t *testing.T) {
	const most = 600 << 10 // KiB of resident memory
	t.Setenv("GOMEMLIMIT", "1GiB")
	g := serveWith(t, "--rate-limit", "0", "--limit", heldReads)
	g.createWitnesses()
	for range 1000 {
		g.hold("POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n" +
			strings.Repeat(" ", 66_000))
	}
	g.keepTheirAnswers(25, `query($t: String) { viewer { library(filter: {text: $t}) { nodes { id } } } }`,
		func(int, int) vars { return vars{"t": "x"} })
	if resident := g.mostResident(); resident > most {
		t.Errorf("%d KiB were resident", resident)
	}
}

// limitedTo1024Files returns the path of a program that starts the gateway with that limit.
func limitedTo1024Files(t *testing.T) string {
	t.Helper()
	limited := filepath.Join(t.TempDir(), "limited")
	if err := os.WriteFile(limited, []byte("#!/bin/sh\nulimit -n 1024 && exec '"+product.path+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return limited
}

// TestHolding_ConnectionsLeaveFilesToTheStore: 1,064 connections to a gateway that may open 1,024
// files. Viewers store items meanwhile, four of them from the address that holds the connections.
func TestHolding_ConnectionsLeaveFilesToTheStore(t *testing.T) {
	g := serveBinary(t, limitedTo1024Files(t), "--rate-limit", "0", "--limit", heldReads, "--limit", "read-header-time=1h",
		"--limit", "idle-time=1h")
	g.createWitnesses()
	for n := range 1064 {
		g.hold([]string{"", "POST /graphql HTTP/1.1\r\n"}[n%2])
	}
	create := func(viewer, n int) vars {
		return vars{"in": vars{"name": fmt.Sprintf("n%d-%d", viewer, n), "kind": "NOTE", "title": "x",
			"description": strings.Repeat("d", 10_000), "visibility": "PUBLIC"}}
	}
	g.keepTheirAnswers(25, createItem, create)
	beside := g.in(t)
	beside.client = g.from("127.0.0.1")
	for n := range 10 {
		beside.must(g.token("u:acme:witness0"), createItem, create(witnesses, n))
	}
	if log := len(g.log.String()); log > 100_000 {
		t.Errorf("%d bytes were logged", log)
	}
	g.audit()
}

// TestBusy_OneAddressStopsNobody: one address sends, over eight connections, what costs the most work, bytes of
// the log or bytes of the disk for a request, with the rates of the default settings.
func TestBusy_OneAddressStopsNobody(t *testing.T) {
	const most = 600 << 10 // KiB of resident memory
	t.Setenv("GOMEMLIMIT", "1GiB")
	g := serveBinary(t, limitedTo1024Files(t))
	g.createWitnesses()
	made := g.paste("", "busy", "body", "x")
	for name, attack := range map[string]func(n int) (query string, variables vars){
		"a URL of a megabyte": func(int) (string, vars) {
			return `query($u: String!) { canonicalUrl(url: $u) }`, vars{"u": "https://x.example/?" + strings.Repeat("a=&", 333_333)}
		},
		"null in a directive": func(int) (string, vars) {
			return `query($s: Boolean = true) { limits @include(if: $s) { maxDepth } }`, vars{"s": nil}
		},
		"updates of a long paste": func(n int) (string, vars) {
			return `mutation($in: UpdatePasteInput!) { updatePaste(input: $in) { userErrors { code } } }`,
				vars{"in": vars{"id": made.id, "secret": made.secret, "body": fmt.Sprint(n, strings.Repeat("y", 500_000))}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := g.in(t)
			var attackers sync.WaitGroup
			var sent atomic.Int64
			ended := make(chan struct{})
			for range 8 {
				one := g.in(t)
				one.client = g.from("127.0.0.2")
				attackers.Go(func() {
					for {
						select {
						case <-ended:
							return
						default:
							query, variables := attack(int(sent.Add(1)))
							_, _ = one.post("", query, variables)
						}
					}
				})
			}
			w.keepTheirAnswers(100, `{viewer{id library{nodes{id}}}}`, itself)
			close(ended)
			attackers.Wait()
			if sent.Load() < 8 {
				t.Errorf("%d requests were sent meanwhile", sent.Load())
			}
		})
	}
	const events = `subscription { libraryChanged(principalId: "u:acme:witness0") { ... on LibraryEntryPlaced { edge { node {
		createdBy { library(first: 100) { nodes { title createdBy { library(first: 20) { nodes { title } } } } } } } } } } }`
	t.Run("events with long answers", func(t *testing.T) {
		w := g.in(t)
		owner := g.token("u:acme:witness0")
		create := func(n int) vars {
			return vars{"in": vars{"name": fmt.Sprint("event", n), "kind": "NOTE", "title": "x", "visibility": "PUBLIC"}}
		}
		for n := range 10 {
			w.must(owner, createItem, create(n))
		}
		body := question(events)
		for range 50 {
			w.hold(fmt.Sprintf("POST /graphql HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", len(body), body))
		}
		running := 0 // the account can pay the start of a few only
		for until := time.Now().Add(answerWithin); running < 1 && time.Now().Before(until); {
			_, _ = fmt.Sscan(g.figure("carrel_followers"), &running)
		}
		if running < 1 {
			t.Error("no subscription runs")
		}
		for n := range 5 {
			w.must(owner, createItem, create(10+n))
			w.keepTheirAnswers(20, `{viewer{id library{nodes{id}}}}`, itself)
		}
	})
	if resident := g.mostResident(); resident > most {
		t.Errorf("%d KiB were resident", resident)
	}
	if log := len(g.log.String()); log > 100_000 {
		t.Errorf("%d bytes were logged", log)
	}
	g.audit()
}
