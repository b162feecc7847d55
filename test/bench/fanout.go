package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

const (
	// wantedUpdate is how long an update of an item with the most members may take.
	wantedUpdate = time.Second
	mostMembers  = 10_000
	updatesEach  = 5
)

// measureFanOut times updates of an item with the most members until every library is updated.
func measureFanOut(ctx context.Context, o *options, t *table) error {
	// The answer waits for the whole fan-out, so its time is the time to measure.
	g, err := o.fresh(ctx, filepath.Join(o.dir, "fanout"), library.Tuning{AnswerWithin: time.Minute, HotMoves: 1 << 20})
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.user(ctx, mediumOwner); err != nil {
		return err
	}
	if err := parallel(mostMembers, func(n int) error { return g.user(ctx, reader(n)) }); err != nil {
		return err
	}
	t.title("An update until all libraries are up to date (wall time, median of %d)", updatesEach)
	return g.measureUpdate(ctx, t)
}

func reader(n int) principal.ID {
	return principal.UserID("bench", fmt.Sprintf("reader%05d", n))
}

func (g *gateway) measureUpdate(ctx context.Context, t *table) error {
	if err := g.item(ctx, mediumOwner, 0); err != nil {
		return err
	}
	item := itemID(mediumOwner, 0)
	for from := 1; from < mostMembers; from += input.MaxList {
		if err := g.share(ctx, item, from, min(input.MaxList, mostMembers-from)); err != nil {
			return err
		}
	}
	var times [2][]time.Duration // of updates, and of renames
	for n := range 2 * updatesEach {
		begin := time.Now()
		text := fmt.Sprintf("Changed at %s", begin)
		in := library.UpdateContent{ID: string(item)}
		if n%2 == 0 {
			in.Description = input.Some(&text)
		} else {
			in.Title = input.Some(&text)
		}
		outcome, err := g.service.Library.UpdateContent(ctx, &principal.Viewer{User: mediumOwner}, in)
		if err != nil {
			return err
		}
		if !outcome.FanOut.Complete || outcome.FanOut.Libraries != mostMembers {
			return fmt.Errorf("an update of %d members: %+v", mostMembers, outcome.FanOut)
		}
		times[n%2] = append(times[n%2], time.Since(begin))
	}
	for i, what := range []string{"%d members", "%d members, a rename"} {
		slices.Sort(times[i])
		took := times[i][updatesEach/2]
		t.required(fmt.Sprintf(what, mostMembers), millis(took), "<= 1 s", took <= wantedUpdate)
	}
	return nil
}

// share shares an item with readers, given by their numbers.
func (g *gateway) share(ctx context.Context, item library.ContentID, from, n int) error {
	in := library.ShareContent{Content: string(item), Role: library.Viewing}
	for i := range n {
		in.Principals = append(in.Principals, string(reader(from+i)))
	}
	outcome, err := g.service.Library.ShareContent(ctx, &principal.Viewer{User: mediumOwner}, in)
	if err == nil && !outcome.FanOut.Complete {
		err = errors.New("a share whose fan-out did not end")
	}
	return err
}
