package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// peerClients is the number of connections, kept open.
const peerClients = 16

// A peerPlan says how long the peers are measured. In each round each of them is measured
// once, so that other load on the machine affects all of them alike. A first round warms
// them up.
type peerPlan struct {
	rounds int
	long   time.Duration // the longest time of a round of one peer
	most   int64         // requests in it
}

func defaultPeerPlan() peerPlan { return peerPlan{rounds: 5, long: 5 * time.Second, most: 500_000} }

// A peerRound contains the figures of a peer in one round.
type peerRound struct {
	cpu      time.Duration // user and system time of the server, a page
	p50, p99 time.Duration // until the answer was read
	rate     float64       // pages a second
}

// A peerResult contains the figures of a peer.
type peerResult struct {
	name   string
	rounds []peerRound
	peak   int64 // of its resident memory, in bytes
}

// send sends the request and returns the response without surrounding white space.
func (p *pageRequest) send(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	r, err := newPageRequest(ctx, url, p.token, p.body)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", answer.StatusCode, body)
	}
	return bytes.TrimSpace(body), err
}

// ask sends the request to the peer and fails unless the response equals Carrel's.
func (p *peer) ask(ctx context.Context, client *http.Client, page *pageRequest) error {
	got, err := page.send(ctx, client, p.url)
	if err == nil && !p.same(got, page.want) {
		err = fmt.Errorf("it answers %.300q, and Carrel %.300q", got, page.want)
	}
	return err
}

// checkPeer requests every page from the peer once.
func checkPeer(ctx context.Context, p *peer, pages []*pageRequest) error {
	client := &http.Client{Timeout: peerTimeout}
	defer client.CloseIdleConnections()
	for _, page := range pages {
		if err := whole(http.StatusOK, page.want); err != nil {
			return err
		}
		if err := p.ask(ctx, client, page); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// measureInTurns measures the peers round by round, after a round that is not counted.
func measureInTurns(ctx context.Context, peers []*peer, pages []*pageRequest, plan peerPlan) ([]peerResult, error) {
	results := make([]peerResult, len(peers))
	for round := range plan.rounds + 1 {
		for i, p := range peers {
			r, err := p.measure(ctx, pages, plan)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			if round > 0 {
				results[i].rounds = append(results[i].rounds, r)
			}
		}
		note("round %d of %d is over", round, plan.rounds)
	}
	for i, p := range peers {
		_, peak, err := residentOf(p.command.Process.Pid)
		if err != nil {
			return nil, err
		}
		results[i].name, results[i].peak = p.name, peak
	}
	return results, nil
}

// measure requests pages from the peer for a while.
func (p *peer) measure(ctx context.Context, pages []*pageRequest, plan peerPlan) (peerRound, error) {
	pid := p.command.Process.Pid
	before, err := cpuOf(pid)
	if err != nil {
		return peerRound{}, err
	}
	began := time.Now()
	took, err := p.askAll(ctx, pages, plan)
	if err != nil {
		return peerRound{}, err
	}
	elapsed := time.Since(began)
	after, err := cpuOf(pid)
	if err != nil {
		return peerRound{}, err
	}
	n := len(took)
	slices.Sort(took)
	return peerRound{
		cpu: (after - before) / time.Duration(n), rate: float64(n) / elapsed.Seconds(),
		p50: quantile(took, 50), p99: quantile(took, 99),
	}, nil
}

// quantile returns the smallest of the sorted durations that at least the given
// percentage of them does not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// askAll requests one page after another over all connections as long as the plan says,
// or until a response is wrong. It returns the latency of each response.
func (p *peer) askAll(ctx context.Context, pages []*pageRequest, plan peerPlan) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client := &http.Client{Timeout: peerTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: peerClients}}
	defer client.CloseIdleConnections()
	var (
		sent  atomic.Int64
		wg    sync.WaitGroup
		took  [peerClients][]time.Duration
		until = time.Now().Add(plan.long)
	)
	for i := range took {
		wg.Go(func() {
			for ctx.Err() == nil && time.Now().Before(until) {
				n := sent.Add(1)
				if n > plan.most {
					return
				}
				began := time.Now()
				if err := p.ask(ctx, client, pages[int(n)%len(pages)]); err != nil {
					cancel(err)
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took[:]...)
	if err := context.Cause(ctx); err != nil || len(all) > 0 {
		return all, err
	}
	return nil, errors.New("no page was answered")
}
