package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/coder/websocket"
)

// The limits for the cost of refusing a hostile request, including the reading of its
// bytes from the network.
const (
	wantedRefusal   = 5 * time.Millisecond
	wantedAllocated = 1 << 20

	hostileRounds  = 3
	hostileInRound = 60
)

// A refusal is what one hostile request costs.
type refusal struct {
	cpu       time.Duration
	allocated int64 // bytes
}

// measureHostile sends each hostile request to the built gateway, over real connections,
// and measures the cost of refusing it: the CPU of the whole process, including kernel
// and garbage collection, and the bytes it allocates. As everywhere here, the cheapest of
// several rounds counts.
func measureHostile(ctx context.Context, o *options, t *table) error {
	s, err := o.serve(ctx, filepath.Join(o.dir, "hostile"))
	if err != nil {
		return err
	}
	defer s.stop()
	token, err := s.token(ctx, mediumOwner)
	if err != nil {
		return err
	}
	a := &attacker{served: s, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}, token: token}
	defer a.client.CloseIdleConnections()
	if err := a.signUp(ctx); err != nil {
		return err
	}
	t.title("Cost of refusing a hostile request (CPU, bytes allocated; the built gateway over HTTP)")
	for _, h := range a.trials(ctx) {
		r, err := a.measure(ctx, h.once)
		if err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		t.required(h.name, fmt.Sprintf("%s %4d KiB", millis(r.cpu), r.allocated>>10), "<= 5 ms 1 MiB", r.cpu <= wantedRefusal && r.allocated <= wantedAllocated)
	}
	return nil
}

// An attacker sends hostile requests to a gateway, authenticated if necessary.
type attacker struct {
	*served
	client *http.Client
	token  string
}

// signUp creates the user of the token, who then has a library.
func (a *attacker) signUp(ctx context.Context) error {
	const create = `mutation($in:CreateUserInput!){createUser(input:$in){user{id}}}`
	in := map[string]string{"tenant": mediumOwner.Tenant(), "name": mediumOwner.Name(), "displayName": "Mallory", "email": "mallory@example.com"}
	return a.send(ctx, hostile{body: body(create, map[string]any{"in": in}), status: http.StatusOK, code: string(mediumOwner)})
}

// trials returns all attacks: requests, and messages over sockets.
func (a *attacker) trials(ctx context.Context) []subject {
	var all []subject
	for _, h := range hostileRequests() {
		all = append(all, subject{h.name, func() error { return a.send(ctx, h) }})
	}
	for _, m := range hostileMessages() {
		var conn *websocket.Conn
		all = append(all, subject{m.name, func() (err error) {
			conn, err = a.sendMessage(ctx, m, conn)
			return err
		}})
	}
	return all
}

// measure returns the cheapest round of calling once repeatedly.
func (a *attacker) measure(ctx context.Context, once func() error) (least refusal, err error) {
	if err := once(); err != nil { // warms up
		return least, err
	}
	pid := a.command.Process.Pid
	for round := range hostileRounds {
		cpu, err := cpuOf(pid)
		if err != nil {
			return least, err
		}
		bytes, err := a.allocated(ctx)
		if err != nil {
			return least, err
		}
		for range hostileInRound {
			if err := once(); err != nil {
				return least, err
			}
		}
		bytesAfter, err := a.allocated(ctx)
		if err != nil {
			return least, err
		}
		cpuAfter, err := cpuOf(pid)
		if err != nil {
			return least, err
		}
		r := refusal{(cpuAfter - cpu) / hostileInRound, (bytesAfter - bytes) / hostileInRound}
		if round == 0 {
			least = r
		}
		least = refusal{min(least.cpu, r.cpu), min(least.allocated, r.allocated)}
	}
	return least, nil
}

// send sends the request once, and requires the expected refusal.
func (a *attacker) send(ctx context.Context, h hostile) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.address+"/graphql", bytes.NewReader(h.body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.token)
	for name, values := range h.header {
		r.Header[name] = values
	}
	answer, err := a.client.Do(r)
	if err != nil {
		if h.status == http.StatusRequestHeaderFieldsTooLarge {
			return nil // the gateway closes the connection while the header is still being sent
		}
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != h.status || !bytes.Contains(body, []byte(h.code)) {
		return fmt.Errorf("not refused with %d %s: status %d, %.300s", h.status, h.code, answer.StatusCode, body)
	}
	return nil
}
