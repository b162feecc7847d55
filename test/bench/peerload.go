package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// A peerResult contains what a page costs a peer in each round.
type peerResult struct {
	name string
	series
	peak int64 // of its resident memory, in bytes
}

// send sends the request and returns the response without surrounding white space.
func (p *pageRequest) send(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	r, err := newPageRequest(ctx, url, p.token, p.body)
	if err != nil {
		return nil, err
	}
	body, err := answerTo(client, r)
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
func checkPeer(ctx context.Context, p *peer) error {
	client := &http.Client{Timeout: peerTimeout}
	for _, page := range p.pages {
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
func measureInTurns(ctx context.Context, peers []*peer, plan peerPlan) ([]peerResult, error) {
	all, err := inTurns(plan.rounds, len(peers), func(i int) (cost, error) {
		c, err := peers[i].measure(ctx, plan)
		if err != nil {
			err = fmt.Errorf("%s: %w", peers[i].name, err)
		}
		return c, err
	})
	results := make([]peerResult, len(peers))
	for i := 0; i < len(peers) && err == nil; i++ {
		results[i].name, results[i].series = peers[i].name, all[i]
		_, results[i].peak, err = residentOf(peers[i].command.Process.Pid)
	}
	return results, err
}

// measure requests pages from the peer for a while.
func (p *peer) measure(ctx context.Context, plan peerPlan) (cost, error) {
	var took []time.Duration
	c, err := costOf(p.command.Process.Pid, func() (_ int64, err error) {
		took, err = p.askAll(ctx, plan)
		return int64(len(took)), err
	})
	if err == nil {
		slices.Sort(took)
		c.p50, c.p99 = quantile(took, 50), quantile(took, 99)
	}
	return c, err
}

// quantile returns the smallest of the sorted durations that at least the given
// percentage of them does not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// askAll requests one page after another over all connections as long as the plan says,
// or until a response is wrong. It returns the latency of each response.
func (p *peer) askAll(ctx context.Context, plan peerPlan) ([]time.Duration, error) {
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
				if err := p.ask(ctx, client, p.pages[int(n)%len(p.pages)]); err != nil {
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
