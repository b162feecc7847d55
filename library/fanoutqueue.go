package library

import (
	"context"
	"slices"
	"sync"
	"time"

	"carrel/core/commit"
	"carrel/core/sched"
	"carrel/principal"
)

// fanOutQueues holds the fan-outs of this process, in one queue for each item. Those that are
// added while others of their item run are done after them in one walk, so that many quick
// changes of an item cost one or two walks over its members.
type fanOutQueues struct {
	s  *Service
	mu sync.Mutex
	// waiting has a key for each item whose queue is running.
	waiting map[ContentID][]*fanOut
}

// fanOut is the fan-out of one decided change, which its mutation may wait for.
type fanOut struct {
	caller   context.Context // of the mutation, without its cancellation
	since    time.Duration   // when the change was decided, on the monotonic clock
	entry    inFlight
	actors   []principal.ID // whose libraries go first
	own      sched.Latch    // opens when the actors' libraries are done
	all      sched.Latch    // opens when everything is done, or is left to the background
	complete bool           // everything is done; set before all opens
}

// fanOut queues the fan-out of a decided change, and waits for the part for which an answer waits.
// It reports whether everything is done.
func (s *Service) fanOut(ctx context.Context, e inFlight, actor principal.ID) (complete bool) {
	switch {
	case e.Scope != commit.ScopeNone:
		return s.fanOuts.wait(ctx, s.fanOuts.start(ctx, e, actorInScope(e, actor)))
	case e.Due != 0:
		s.journal.Defer(e.Entry)
		s.publish.Updated(e.content())
	}
	return true
}

// actorInScope returns the actor, if there is one and the change concerns its library.
func actorInScope(e inFlight, actor principal.ID) []principal.ID {
	if actor == "" || e.Scope == commit.ScopeListed && !slices.Contains(e.Principals, string(actor)) {
		return nil
	}
	return []principal.ID{actor}
}

// start adds the fan-out of a decided change to the queue of its item. The libraries of
// actors do not wait for the fan-outs before it.
func (q *fanOutQueues) start(ctx context.Context, e inFlight, actors []principal.ID) *fanOut {
	rt := q.s.rt
	f := &fanOut{caller: rt.Detach(ctx), entry: e, actors: actors, since: rt.Elapsed(), own: rt.Latch(), all: rt.Latch()}
	switch {
	case q.add(f):
		rt.Go(func() { q.run(e.content()) })
	case len(actors) == 0:
		f.own.Open()
	default:
		w := &walk{s: q.s, entry: e}
		if err := w.listed(f.caller, actors); err == nil {
			f.own.Open()
		}
	}
	return f
}

// wait waits for the libraries of the actors, and a little for all others. It reports
// whether everything is done.
func (q *fanOutQueues) wait(ctx context.Context, f *fanOut) (complete bool) {
	// The change is decided, so a slow library must not delay the answer for long.
	if _, err := q.s.rt.Wait(ctx, f.own, commit.PrepareTimeout); err != nil {
		return false
	}
	done, err := q.s.rt.Wait(ctx, f.all, q.s.tune.AnswerWithin)
	return err == nil && done && f.complete
}

// add adds a fan-out to the queue of its item. It reports whether the caller must run the
// queue.
func (q *fanOutQueues) add(f *fanOut) (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, busy := q.waiting[f.entry.content()]
	q.waiting[f.entry.content()] = append(before, f)
	return !busy
}

// take takes the waiting fan-outs of an item. If there are none, it ends the queue.
func (q *fanOutQueues) take(id ContentID) []*fanOut {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.waiting[id]
	if len(batch) == 0 {
		delete(q.waiting, id)
		return nil
	}
	q.waiting[id] = nil
	return batch
}

// run runs the queue of an item.
func (q *fanOutQueues) run(id ContentID) {
	for batch := q.take(id); batch != nil; batch = q.take(id) {
		q.runTogether(batch)
	}
}

// runTogether does fan-outs of one item in one walk. If it fails, the background does them.
func (q *fanOutQueues) runTogether(batch []*fanOut) {
	s, w := q.s, q.walkOf(batch)
	var others []context.Context
	for _, f := range batch[1:] {
		others = append(others, f.caller)
	}
	ctx, ended := s.watch.FanOut(batch[0].caller, others)
	err := w.run(ctx)
	ended(err)
	if err != nil {
		s.log.WarnContext(ctx, "fan-out left to the background", "content", w.entry.Key, "error", err)
	}
	for _, f := range batch {
		switch {
		case err != nil:
			s.journal.FinishLater(f.entry.Entry)
		case f.entry.Due != 0:
			s.journal.Defer(f.entry.Entry)
		default:
			s.journal.End(f.entry.ID)
		}
		f.complete = err == nil
		s.watch.FannedOut(s.rt.Elapsed()-f.since, f.complete)
		f.own.Open()
		f.all.Open()
	}
}

// walkOf returns the walk that does everything that the fan-outs of one item need.
func (q *fanOutQueues) walkOf(batch []*fanOut) *walk {
	w := &walk{s: q.s, entry: batch[0].entry, firstDone: func() {
		for _, f := range batch {
			f.own.Open()
		}
	}}
	for i, f := range batch {
		if i > 0 {
			// Principals are listed also with ScopeAll: the row of one of them may be removed before the walk, by
			// another walk that did not update the record of what is shared with that principal.
			w.entry.Base, w.entry.Reach = max(w.entry.Base, f.entry.Base), w.entry.With(f.entry.Reach)
			w.entry.Causes = w.entry.Causes.then(f.entry.Causes)
		}
		for _, actor := range f.actors {
			if !slices.Contains(w.first, actor) {
				w.first = append(w.first, actor)
			}
		}
	}
	return w
}
