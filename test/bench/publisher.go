package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A publisher changes an item of the library that an audience follows.
type publisher struct {
	*served
	*audience
	token    string
	item     string // name
	received chan delivery
	// followers is the number of subscribers that get each change.
	followers int
}

// A delivery is an event that has reached a subscriber.
type delivery struct {
	title string
	at    time.Time
}

// A round is how long one event took from the sending of the mutation.
type round struct {
	answered     time.Duration // until the answer to the mutation
	middle, last time.Duration // until the delivery to the median and the last subscriber
	cpu          time.Duration // of the gateway per subscriber, including the mutation, averaged over all rounds
}

// roundWithin is how long a round may take. It fails if a subscriber has received no event by then.
const roundWithin = 30 * time.Second

// receive handles an event of a subscriber.
func (p *publisher) receive(event []byte) {
	at := time.Now()
	_, rest, _ := bytes.Cut(event, []byte(`"title":"`))
	title, _, _ := bytes.Cut(rest, []byte(`"`))
	p.received <- delivery{string(title), at}
}

// create creates the item, and waits until all subscribers have received it.
func (p *publisher) create(ctx context.Context) error {
	const create = `mutation($in:CreateContentInput!){createContent(input:$in){content{id}userErrors{message}}}`
	_, err := p.publish(ctx, create, "Round 0", map[string]string{"name": p.item, "kind": "NOTE", "title": "Round 0", "visibility": "PUBLIC"})
	return err
}

// rounds updates the item several times.
func (p *publisher) rounds(ctx context.Context, n int) ([]round, error) {
	const update = `mutation($in:UpdateContentInput!){updateContent(input:$in){content{id}userErrors{message}}}`
	pid := p.command.Process.Pid
	before, err := cpuOf(pid)
	if err != nil {
		return nil, err
	}
	var all []round
	for i := range n {
		title := fmt.Sprintf("Round %d", i+1)
		r, err := p.publish(ctx, update, title, map[string]string{"id": "c:bench:" + p.item, "title": title})
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	after, err := cpuOf(pid)
	for i := range all {
		all[i].cpu = (after - before) / time.Duration(n*p.followers)
	}
	return all, err
}

// publish sends a mutation that gives the item a title, and waits until each subscriber
// has received the event.
func (p *publisher) publish(ctx context.Context, mutation, title string, in map[string]string) (r round, err error) {
	answered := make(chan error, 1)
	sent := time.Now()
	go func() {
		err := p.mutate(ctx, body(mutation, map[string]any{"in": in}))
		r.answered = time.Since(sent)
		answered <- err
	}()
	late := time.NewTimer(roundWithin)
	defer late.Stop()
	times := make([]time.Duration, 0, p.followers)
	for len(times) < p.followers && err == nil {
		select {
		case t := <-p.received:
			if t.title != title {
				err = fmt.Errorf("a subscriber received %q, want %q", t.title, title)
			}
			times = append(times, t.at.Sub(sent))
		case err = <-p.lost:
		case <-late.C:
			err = fmt.Errorf("%d of %d subscribers got the event within %s", len(times), p.followers, roundWithin)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err = errors.Join(err, <-answered); err != nil {
		return r, err
	}
	r.middle, r.last = middleAndLast(times)
	return r, nil
}

func middleAndLast(ds []time.Duration) (middle, last time.Duration) {
	slices.Sort(ds)
	return ds[len(ds)/2], ds[len(ds)-1]
}

// mutate sends a mutation, which must succeed.
func (p *publisher) mutate(ctx context.Context, text []byte) error {
	r, err := newPageRequest(ctx, "http://"+p.served.address+"/graphql", p.token, string(text))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err == nil && !strings.Contains(string(got), `"userErrors":[]`) {
		err = fmt.Errorf("unexpected response to a mutation: %.300s", got)
	}
	return err
}

// A bystander requests pages of another library, one at a time.
type bystander struct {
	*served
	token string
}

// askDuring sends requests as long as a function runs, and returns the sorted latencies.
func (b *bystander) askDuring(ctx context.Context, run func() error) ([]time.Duration, error) {
	over := make(chan error, 1)
	go func() { over <- run() }()
	var took []time.Duration
	text := pageBody(pageSpec{owner: mediumOwner})
	for {
		begin := time.Now()
		if _, err := post(ctx, "http://"+b.address+"/graphql", b.token, text); err != nil {
			return nil, errors.Join(err, <-over)
		}
		took = append(took, time.Since(begin))
		select {
		case err := <-over:
			slices.Sort(took)
			return took, err
		default:
		}
	}
}

// wait waits for the duration, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
