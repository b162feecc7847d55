package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"carrel/library"
	"carrel/principal"
)

// The limits for the delivery of an event to the followers of one library.
const (
	eventSubscribers = 1_000
	wantedEvent      = 250 * time.Millisecond
	// eventRounds is less than the number of moves within an hour that makes an item hot.
	// Updates of hot items are delivered in another way.
	eventRounds = 20
)

// eventOwner is the owner of the library that everybody follows.
func eventOwner(int) principal.ID { return idleOwner(0) }

// measureEvent updates an item, and measures when the last of 1,000 subscribers receives
// the event. Their connections are held by this process, on the machine of the gateway,
// so the figures include the time for reading the events.
func measureEvent(ctx context.Context, o *options, t *table) error {
	dir := filepath.Join(o.dir, "event")
	g, err := o.fresh(ctx, storeIn(dir), library.Tuning{})
	if err != nil {
		return err
	}
	err = parallel(eventSubscribers, func(i int) error { return g.user(ctx, idleOwner(i)) })
	if err == nil {
		err = g.createLibrary(ctx, mediumOwner, smallSize)
	}
	if closed := g.close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	t.title("An update of an item, until the last of %d subscribers to one library has received it: median, slowest of %d (the built gateway)", eventSubscribers, eventRounds)
	for _, w := range subscriberTransports() {
		if err := o.measureEventBy(ctx, dir, w, t); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// measureEventBy measures subscribers on one transport. It starts a gateway for them, and uses an
// item that no other transport uses.
func (o *options) measureEventBy(ctx context.Context, dir string, w subscriberTransport, t *table) error {
	s, err := o.serveAgain(ctx, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	all, err := s.subscribers(eventSubscribers, max(1, w.sharing), eventOwner)
	if err != nil {
		return err
	}
	p := &publisher{served: s, token: all[0].token, item: fmt.Sprintf("event-%d", w.sharing), received: make(chan delivery, eventSubscribers),
		followers: eventSubscribers}
	p.audience, err = gather(ctx, s, w, all, p.receive)
	if err != nil {
		return err
	}
	defer p.leave()
	if err := p.create(ctx); err != nil {
		return err
	}
	b := &bystander{served: s}
	if b.token, err = s.token(ctx, mediumOwner); err != nil {
		return err
	}
	quiet, err := b.askDuring(ctx, func() error { return wait(ctx, 2*time.Second) })
	if err != nil {
		return err
	}
	var rounds []round
	busy, err := b.askDuring(ctx, func() (err error) {
		rounds, err = p.rounds(ctx, eventRounds)
		return err
	})
	if err != nil {
		return err
	}
	t.rounds(w, rounds)
	t.figure("  a page requested meanwhile by another viewer", spread(busy))
	t.figure("  a page while nothing happens", spread(quiet))
	return nil
}

// rounds adds the rows of one transport.
func (t *table) rounds(w subscriberTransport, rounds []round) {
	column := func(of func(round) time.Duration) []time.Duration {
		var ds []time.Duration
		for _, r := range rounds {
			ds = append(ds, of(r))
		}
		slices.Sort(ds)
		return ds
	}
	last := column(func(r round) time.Duration { return r.last })
	// The median round counts: the slowest one includes whatever else the machine did.
	t.required(w.name+", since the mutation was sent", spread(last), "<= 250 ms", last[len(last)/2] <= wantedEvent)
	t.figure("  since its answer", spread(column(func(r round) time.Duration { return r.last - r.answered })))
	t.figure("  to the median subscriber, since the mutation was sent", spread(column(func(r round) time.Duration { return r.middle })))
	t.figure("  the answer of the mutation", spread(column(func(r round) time.Duration { return r.answered })))
	t.figure("  CPU of the gateway for an event to one of them", micros(rounds[0].cpu))
}

// spread formats the median and the maximum of some sorted times.
func spread(ds []time.Duration) string {
	return fmt.Sprintf("%s, %s", millis(ds[len(ds)/2]), millis(ds[len(ds)-1]))
}
