package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"carrel/library"
)

const (
	clients = 4               // connections, kept open
	loadFor = 3 * time.Second // a round
)

// serveLarge serves the floor and the gateway on one store, by the same net/http server, for
// another process to measure. It prints its address and a token.
func serveLarge(ctx context.Context, o *options) error {
	g, err := open(ctx, storeIn(o.largeDir()), library.Tuning{})
	if err != nil {
		return err
	}
	defer g.close()
	h, token, err := g.handler(mediumOwner)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/floor", newFloor(g.store))
	mux.Handle("/graphql", h)
	return g.listen(ctx, mux, token)
}

// listen serves h until ctx ends. It prints its address and tokens on one line.
func (g *gateway) listen(ctx context.Context, h http.Handler, tokens ...string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr(), strings.Join(tokens, " "))
	server := &http.Server{Handler: h}
	g.runtime.Go(func() {
		<-ctx.Done()
		_ = server.Close() // it ends Serve, which returns the relevant error
	})
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// measureOverHTTP starts a process that runs serveLarge, and requests pages of the floor and of
// the gateway from it in turns.
func measureOverHTTP(ctx context.Context, o *options, t *table) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child, err := start(ctx, self, "-serve", "-dir", o.dir)
	if err != nil {
		return err
	}
	defer child.stop()
	address, token, found := strings.Cut(child.first, " ")
	if !found {
		return fmt.Errorf("the process to be measured said %q", child.first)
	}
	floorURL := "http://" + address + "/floor?owner=" + string(mediumOwner)
	body := pageBody(pageSpec{owner: mediumOwner})
	requests := []func() (*http.Request, error){
		func() (*http.Request, error) { return http.NewRequestWithContext(ctx, http.MethodGet, floorURL, nil) },
		func() (*http.Request, error) { return newPageRequest(ctx, "http://"+address+"/graphql", token, body) },
	}
	all, err := inTurns(rounds, len(requests), func(i int) (cost, error) { return child.load(ctx, clients, requests[i], loadFor) })
	if err != nil {
		return err
	}
	floor, page := all[0], all[1]
	t.title("The same over HTTP, with %d connections from another process (CPU of the gateway, median of %d rounds in turns)",
		clients, rounds)
	t.figure("floor", floor.micros(cpu).in("%.1f us"))
	t.figure("floor, pages a second on the machine of its clients", floor.perSecond().in("%.0f/s"))
	t.ratio("the gateway", page.micros(cpu).in("%.1f us"), page.times(floor, cpu), wantedOverNet)
	t.ratio("the gateway, pages a second on the machine of its clients", page.perSecond().in("%.0f/s"), floor.times(page, wall), 0)
	return nil
}

// A process is a program that was started to be measured.
type process struct {
	command *exec.Cmd
	first   string // line of its output
	took    time.Duration
}

// start runs a program and waits for the first line it prints.
func start(ctx context.Context, program string, args ...string) (*process, error) {
	p := &process{command: exec.CommandContext(ctx, program, args...)}
	p.command.Stderr = os.Stderr
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	p.first, err = lines.ReadString('\n')
	p.took = time.Since(begin)
	p.first = strings.TrimSpace(p.first)
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s ended before it said anything: %v", program, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	return p, nil
}

// stop sends the process a signal to end, and waits until it has. Its exit status does
// not matter.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
}

// load sends requests over so many connections for a while, and returns the cost of a response
// for the process.
func (p *process) load(ctx context.Context, connections int, request func() (*http.Request, error), long time.Duration) (cost, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	return costOf(p.command.Process.Pid, func() (int64, error) {
		return ask(ctx, &http.Client{Transport: transport}, connections, request, long)
	})
}

// ask sends requests for a while, so many in parallel, and counts the responses.
func ask(ctx context.Context, client *http.Client, width int, request func() (*http.Request, error), long time.Duration) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		n    atomic.Int64
		wg   sync.WaitGroup
		over = time.Now().Add(long)
	)
	for range width {
		wg.Go(func() {
			for time.Now().Before(over) && ctx.Err() == nil {
				if err := askOnce(client, request); err != nil {
					cancel(err)
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return n.Load(), context.Cause(ctx)
}

// askOnce requests one page.
func askOnce(client *http.Client, request func() (*http.Request, error)) error {
	r, err := request()
	if err != nil {
		return err
	}
	body, err := answerTo(client, r)
	if err != nil {
		return err
	}
	return whole(http.StatusOK, body)
}

// answerTo sends a request and returns the body of the response, whose status must be 200.
func answerTo(client *http.Client, r *http.Request) ([]byte, error) {
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", answer.StatusCode, body)
	}
	return body, err
}
