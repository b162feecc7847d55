package library

import (
	"context"
	"slices"
	"sync"
	"time"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/core/sched"
	"carrel/principal"
)

// enforceWithin is how long one try of an enforcement may take: much less than
// changesOverlap.
const enforceWithin = 20 * time.Second

// fanTable queues the fan-outs of each item in this process: entries that
// arrive while a fan-out runs are done by the next one, together, so that many
// quick updates cost one or two walks over the members.
type fanTable struct {
	mu   sync.Mutex
	jobs map[ContentID]*fanQueue
}

type fanQueue struct{ waiting []*fanJob }

// fanJob is an entry whose fan-out somebody may wait for.
type fanJob struct {
	asked  context.Context // of the mutation, without its end
	since  time.Duration   // when it was decided, on the monotonic clock
	entry  InFlight
	actors []principal.ID // whose libraries go first
	own    sched.Latch    // the actors' libraries are done
	all    sched.Latch    // everything is done, or was left to the background
	ok     bool           // after all: everything is done
}

// fanOut starts the fan-out of a decided change and waits for as much of it as
// an answer waits for. It tells whether everything is done.
func (s *Service) fanOut(ctx context.Context, e InFlight, actor principal.ID) bool {
	return s.awaitFanOut(ctx, s.startFanOut(ctx, e, actorInScope(e, actor)))
}

// startFanOut puts a decided change into its item's queue of fan-outs.
func (s *Service) startFanOut(ctx context.Context, e InFlight, actors []principal.ID) *fanJob {
	j := &fanJob{asked: s.rt.Detach(ctx), entry: e, actors: actors, since: s.rt.Elapsed(), own: s.rt.Latch(), all: s.rt.Latch()}
	switch {
	case s.enqueue(j):
		s.rt.Go(func() { s.runFanOuts(e.Content) })
	case len(actors) == 0:
		j.own.Open()
	default:
		// A long fan-out may run: the actors' own libraries do not wait for it.
		if err := s.enforceListed(j.asked, e, actors, false); err == nil {
			j.own.Open()
		}
	}
	return j
}

// awaitFanOut waits for the actor's own library, and a little for all.
func (s *Service) awaitFanOut(ctx context.Context, j *fanJob) bool {
	// Bounded, because the change is decided and a slow library must not hold
	// the answer for ever.
	if _, err := s.rt.Wait(ctx, j.own, commit.PrepareWithin); err != nil {
		return false
	}
	done, err := s.rt.Wait(ctx, j.all, s.tune.AnswerWithin)
	return err == nil && done && j.ok
}

// enqueue adds a job; it tells whether the caller must run the queue.
func (s *Service) enqueue(j *fanJob) bool {
	s.fans.mu.Lock()
	defer s.fans.mu.Unlock()
	q := s.fans.jobs[j.entry.Content]
	if q == nil {
		s.fans.jobs[j.entry.Content] = &fanQueue{waiting: []*fanJob{j}}
		return true
	}
	q.waiting = append(q.waiting, j)
	return false
}

// runFanOuts does all jobs of an item, those that wait together in one walk.
func (s *Service) runFanOuts(id ContentID) {
	for {
		s.fans.mu.Lock()
		q := s.fans.jobs[id]
		batch := q.waiting
		q.waiting = nil
		if len(batch) == 0 {
			delete(s.fans.jobs, id)
			s.fans.mu.Unlock()
			return
		}
		s.fans.mu.Unlock()
		s.runBatch(batch)
	}
}

func (s *Service) runBatch(batch []*fanJob) {
	union, first := batch[0].entry, []principal.ID(nil)
	var others []context.Context
	for _, j := range batch {
		if j != batch[0] {
			others = append(others, j.asked)
		}
		union = Unite(union, j.entry)
		for _, actor := range j.actors {
			if !slices.Contains(first, actor) {
				first = append(first, actor)
			}
		}
	}
	own := func() {
		for _, j := range batch {
			j.own.Open()
		}
	}
	ctx, ended := s.watch.FanOut(batch[0].asked, others)
	err := s.finishContent(ctx, union, first, own, false)
	ended(err)
	if err != nil {
		s.log.WarnContext(ctx, "fan-out left to the background", "content", string(union.Content), "error", err)
	}
	for _, j := range batch {
		switch {
		case err != nil:
			s.journal.Leave(j.entry.Entry())
		case j.entry.Due != 0:
			s.journal.Defer(j.entry.Entry())
		default:
			s.journal.End(j.entry.ID)
		}
		j.ok = err == nil
		s.watch.FannedOut(s.rt.Elapsed()-j.since, j.ok)
		j.own.Open()
		j.all.Open()
	}
}

// Unite is a with what b, of the same partition, asks for too. Whoever is listed stays
// so beside ScopeAll: its row may be gone by then, dropped by another walk that
// did not write what was shared with it.
func Unite(a, b InFlight) InFlight {
	a.Base = max(a.Base, b.Base)
	a.Reverse = a.Reverse || b.Reverse
	a.Scope = max(a.Scope, b.Scope)
	a.Principals = commit.Union(a.Principals, b.Principals)
	return a
}

// finishContent is steps 4 to 6 of a mutation: snapshot, enforce, settle. The
// libraries of first are done first; own is called when they are. Errors mean
// that it is to be done again, from the start.
func (s *Service) finishContent(ctx context.Context, e InFlight, first []principal.ID, own func(), serial bool) error {
	w := &walk{s: s, entry: e, serial: serial}
	return w.finish(ctx, first, own)
}

func (w *walk) finish(ctx context.Context, first []principal.ID, own func()) error {
	e := w.entry
	if e.Scope == commit.ScopeNone {
		own()
		return nil
	}
	if e.Scope == commit.ScopeListed {
		err := w.listed(ctx, e.Principals)
		own()
		if err != nil {
			return err
		}
		return w.settle(ctx)
	}
	if err := w.listed(ctx, first); err != nil {
		return err
	}
	own()
	listed := slices.DeleteFunc(slices.Clone(e.Principals), func(p principal.ID) bool { return slices.Contains(first, p) })
	if err := w.listed(ctx, listed); err != nil {
		return err
	}
	w.done = append(listed, first...)
	if err := w.everyone(ctx); err != nil {
		return err
	}
	return w.settle(ctx)
}

// walk is one fan-out under way.
type walk struct {
	s      *Service
	entry  InFlight
	serial bool
	done   []principal.ID // enforced already
	// oldest is the header of the oldest snapshot used: only what it had
	// superseded is known to be gone from all libraries.
	oldest  *Header
	leaving []Member // rows seen leaving
	newest  *Header
	rows    []Member // all rows seen, when the item is deleted
	// quiet walks tell followers nothing: they bring nothing about.
	quiet bool
}

// saw keeps what a snapshot tells for the settling.
func (w *walk) saw(h *Header, rows []Member) {
	if w.oldest == nil || h.Seq < w.oldest.Seq {
		w.oldest = h
	}
	if w.newest == nil || h.Seq >= w.newest.Seq {
		w.newest = h
	}
	for _, m := range rows {
		switch {
		case m.Seq == 0:
		case h.State == commit.Deleted:
			w.rows = append(w.rows, m)
		case m.Leaving:
			w.leaving = append(w.leaving, m)
		}
	}
}

// listed enforces some principals, with or without a member row.
func (w *walk) listed(ctx context.Context, ps []principal.ID) error {
	for part := range slices.Chunk(ps, input.MaxList) {
		rows, err := w.s.contents.Read(ctx, w.entry.Content, ContentQuery{Members: part, Serial: w.serial})
		if err != nil {
			return err
		}
		if err := w.enforce(ctx, &rows.Header, rows.Members); err != nil {
			return err
		}
	}
	return nil
}

// everyone enforces all member rows, page by page. Each page is a snapshot of
// its own, so the walk goes on with what is newest from the member reached.
func (w *walk) everyone(ctx context.Context) error {
	var after principal.ID
	for {
		page, err := w.s.contents.MembersPage(ctx, w.entry.Content, after, w.s.tune.SnapshotPage, w.serial)
		if err != nil {
			return err
		}
		rows := slices.DeleteFunc(slices.Clone(page.Members), func(m Member) bool {
			return slices.Contains(w.done, m.Principal)
		})
		if err := w.enforce(ctx, &page.Header, rows); err != nil {
			return err
		}
		if len(page.Members) < w.s.tune.SnapshotPage {
			return nil
		}
		after = page.Members[len(page.Members)-1].Principal
	}
}

// enforce writes the derived rows of one snapshot, several store calls at once.
func (w *walk) enforce(ctx context.Context, h *Header, rows []Member) error {
	w.saw(h, rows)
	if h.State == commit.Absent || h.State == commit.Void || len(rows) == 0 {
		return nil
	}
	// Rows of a deleted item are buried by whoever has enforced them, so what was
	// shared with whom must be cleared with them, whatever brought the walk here.
	reverse := w.entry.Reverse || h.State == commit.Deleted
	batches := slices.Collect(slices.Chunk(rows, w.s.contents.EnforceBatch()))
	return sched.ForEach(ctx, w.s.rt, len(batches), w.s.tune.FanOutWidth, func(i int) error {
		if w.s.Over() {
			return commit.ErrEnding
		}
		e := &Enforcement{Header: h, Rows: batches[i], Reverse: reverse}
		if w.quiet {
			return w.s.EnforceQuietly(ctx, e)
		}
		return w.s.enforceOnce(ctx, e)
	})
}

// enforceListed enforces some principals of a change, without settling.
func (s *Service) enforceListed(ctx context.Context, e InFlight, ps []principal.ID, serial bool) error {
	w := &walk{s: s, entry: e, serial: serial}
	return w.listed(ctx, ps)
}

// RestoreItem enforces an item in a library as it stands. It tells followers
// nothing: who has brought the state about tells them, or has.
func (s *Service) RestoreItem(ctx context.Context, p principal.ID, id ContentID) error {
	w := &walk{s: s, entry: InFlight{Content: id, Reverse: true}, quiet: true}
	return w.listed(ctx, []principal.ID{p})
}

// DeriveContent enforces an item in all libraries that hold it, and settles it. It tells
// followers nothing: nobody follows what is not complete.
func (s *Service) DeriveContent(ctx context.Context, id ContentID) error {
	w := &walk{s: s, entry: InFlight{Content: id, Scope: commit.ScopeAll, Reverse: true}, quiet: true}
	return w.finish(ctx, nil, func() {})
}

// Resettle does the fan-out of an item again, in place of the process that left it
// unsettled or wrong after the state of base.
func (s *Service) Resettle(ctx context.Context, id ContentID, base int64) error {
	return s.finishContent(ctx, InFlight{Content: id, Base: base, Scope: commit.ScopeAll, Reverse: true}, nil, func() {}, true)
}

// enforceOnce sends one enforcement until it is acknowledged, or the tries end,
// and then tells those who follow the libraries. Each try has changes of its
// own: one that was lost for long would stand where nobody looks any more.
func (s *Service) enforceOnce(ctx context.Context, e *Enforcement) error {
	err := s.Insist(ctx, func() error {
		return s.enforceNow(ctx, e, func() { e.At = s.publish.Stamp(s.StoreNow()) })
	})
	if err == nil {
		s.publish.Enforced(e)
	}
	return err
}

// EnforceQuietly is enforceOnce without changes.
func (s *Service) EnforceQuietly(ctx context.Context, e *Enforcement) error {
	return s.Insist(ctx, func() error { return s.enforceNow(ctx, e, func() {}) })
}

// enforceNow is one try, begun when it is its turn. It ends in time, so that
// its changes are where they are looked for.
func (s *Service) enforceNow(ctx context.Context, e *Enforcement, begin func()) error {
	if err := s.permits.Take(ctx); err != nil {
		return err
	}
	defer s.permits.Give()
	if s.Over() {
		return commit.ErrEnding // it came while this one waited for its turn, or paused
	}
	within, cancel := s.rt.Deadline(ctx, enforceWithin)
	defer cancel()
	begin()
	return s.contents.Enforce(within, e)
}
