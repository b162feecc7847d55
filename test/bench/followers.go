package main

import (
	"context"
	"fmt"
	"path/filepath"

	"carrel/library"
)

// followerCounts are the numbers of followers of one library.
var followerCounts = []int{1_000, 4_000}

// followerRounds is less than the number of moves within an hour that makes an item hot.
const followerRounds = 8

// measureFollowers measures the resident memory of followers of one library, and the cost
// of sending one event to all of them, both as a function of their number.
func measureFollowers(ctx context.Context, o *options, t *table) error {
	t.title("Followers of one library, a viewer and a websocket or stream each (the built gateway)")
	for _, n := range followerCounts {
		for _, w := range subscriberTransports() {
			if w.sharing > 1 {
				continue
			}
			if err := o.measureFollowersBy(ctx, n, w, t); err != nil {
				return fmt.Errorf("%d by %s: %w", n, w.name, err)
			}
		}
	}
	return nil
}

func (o *options) measureFollowersBy(ctx context.Context, n int, w subscriberTransport, t *table) error {
	dir := filepath.Join(o.dir, "followers")
	g, err := o.fresh(ctx, storeIn(dir), library.Tuning{})
	if err != nil {
		return err
	}
	err = parallel(n, func(i int) error { return g.user(ctx, idleOwner(i)) })
	if closed := g.close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	s, err := o.serveAgain(ctx, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	all, err := s.subscribers(n, 1, eventOwner)
	if err != nil {
		return err
	}
	pid := s.command.Process.Pid
	before, _, err := residentOf(pid)
	if err != nil {
		return err
	}
	p := &publisher{served: s, token: all[0].token, item: "followed", received: make(chan delivery, n), followers: n}
	if p.audience, err = gather(ctx, s, w, all, p.receive); err != nil {
		return err
	}
	defer p.leave()
	idle, _, err := residentOf(pid)
	if err != nil {
		return err
	}
	if err := p.create(ctx); err != nil {
		return err
	}
	rounds, err := p.rounds(ctx, followerRounds)
	if err != nil {
		return err
	}
	_, peak, err := residentOf(pid)
	if err != nil {
		return err
	}
	each := func(bytes int64) string { return fmt.Sprintf("%.1f KiB", float64(bytes-before)/float64(n)/1024) }
	t.figure(fmt.Sprintf("%d, %s: resident for each, and at the peak", n, w.name), each(idle)+", "+each(peak))
	t.figure("  CPU of the gateway for an event to one of them", micros(rounds[0].cpu))
	last := rounds[0].last
	for _, r := range rounds {
		last = min(last, r.last)
	}
	t.figure("  until the last one has it, in the fastest round", millis(last))
	return nil
}
