package follow

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/lru"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Limits of reading changes.
const (
	changesPage = 500
	// seenMost is how many items of a library one process remembers as passed on. That is more
	// than change within the overlap, except in a bulk import.
	seenMost = 50_000
	// lookWidth is how many libraries a process reads concurrently, for changes by others.
	lookWidth = 32
)

// feeds are the libraries that have followers in this process. Changes of this process are passed
// on at once; those of others are read from the store. One such read of a library is a look.
type feeds struct {
	mu   sync.Mutex
	open map[principal.ID]*libraryFeed
	// stamp is the At of the last change. It rises within a process, unless the
	// clock is set back.
	stamp clock.Instant
	// polling reports that the changes of other processes are read.
	polling bool
	// updates are the items that were updated in place and are being searched for in the libraries
	// followed here. The value is true if the search must be repeated.
	updates map[library.ContentID]bool
}

// libraryFeed passes the changes of one library on to its followers.
type libraryFeed struct {
	owner principal.ID
	// ready opens when the first look has succeeded or failed. Until then, only the changes of this
	// process are passed on.
	ready sched.Latch
	err   error // of the first look, after ready
	// stop cancels the first look, if there is one: no follower waits for it any more.
	stop context.CancelFunc

	mu        sync.Mutex
	followers []*Follower
	// seen are the states that were passed on.
	seen *lru.Recent[library.ContentID, passed]
	// upTo and full are when the last look and the last full look started, beginning with the
	// first look; 0 if no other process uses the store. upToAt and fullAt are the same by the
	// monotonic clock.
	upTo, full     clock.Instant
	upToAt, fullAt time.Duration
}

// passed is a state of an item that a feed has passed on.
type passed struct {
	mts         clock.Instant
	removedFrom library.Buckets
}

// setBackAtLeast is by how much a clock must be set back for changes to be dated by it at once.
// After smaller corrections, the old dates continue until the clock has caught up.
const setBackAtLeast = time.Second

// stampNow returns an At for a change. After a clock that was ahead is corrected, changes are
// dated by the corrected clock: a cursor dated by the old one would be in the future, from
// which no follower can resume. Two writes of one state might then have the same At. That is
// harmless: they are the same change.
func (fs *feeds) stampNow(now clock.Instant) clock.Instant {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.stamp = max(now, fs.stamp+1); fs.stamp > now.Add(setBackAtLeast) {
		fs.stamp = now
	}
	return fs.stamp
}

// find returns the feed of a library; nil if it has no followers.
func (fs *feeds) find(owner principal.ID) *libraryFeed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.open[owner]
}

// anyOpen reports whether any library has followers in this process.
func (fs *feeds) anyOpen() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.open) > 0
}

// owners returns the principals whose libraries are followed, in order of id.
func (fs *feeds) owners() []principal.ID {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	ps := make([]principal.ID, 0, len(fs.open))
	for p := range fs.open { // sorted below
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}

// join makes f a follower of its library's feed, which it creates if there is none. first means
// that the caller must start the feed's first look. now and at are the present time, by the wall clock
// and by the monotonic clock.
func (fs *feeds) join(f *Follower, now clock.Instant, at time.Duration, ready sched.Latch) (fd *libraryFeed, first bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fd = fs.open[f.owner]; fd == nil {
		first = true
		fd = &libraryFeed{owner: f.owner, ready: ready, seen: lru.NewRecent[library.ContentID, passed](seenMost),
			upTo: now, full: now, upToAt: at, fullAt: at}
		fs.open[f.owner] = fd
	}
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.followers = append(fd.followers, f)
	return fd, first
}

// leave removes f from its feed. If f was the last follower, it removes the feed too.
func (fs *feeds) leave(f *Follower) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fd := f.feed
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.followers = slices.DeleteFunc(fd.followers, func(g *Follower) bool { return g == f })
	if len(fd.followers) > 0 {
		return
	}
	fs.remove(fd)
	if fd.stop != nil {
		fd.stop()
	}
}

// drop removes a feed that has failed: the next follower creates another.
func (fs *feeds) drop(fd *libraryFeed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.remove(fd)
}

// remove is drop for callers that hold fs.mu.
func (fs *feeds) remove(fd *libraryFeed) {
	if fs.open[fd.owner] == fd {
		delete(fs.open, fd.owner)
	}
}

// pass passes a change on, unless its state or a later one of the item was passed on before, and
// its RemovedFrom too. Everything that others wrote before the last full look was passed on, so the
// cursor of an event may cover changes up to then, but no later ones.
func (fd *libraryFeed) pass(c library.Change) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	was, known := fd.seen.Peek(c.Content)
	if known && c.MTS <= was.mts && c.RemovedFrom&^was.removedFrom == 0 {
		return
	}
	now := passed{c.MTS, c.RemovedFrom}
	if known && was.mts >= c.MTS {
		now = passed{was.mts, was.removedFrom | c.RemovedFrom}
	}
	fd.seen.Add(c.Content, now)
	fd.bound(&c)
	for _, f := range fd.followers {
		if f.mayNotice(c) {
			f.offer(f.toDeliver(c))
		}
	}
}

// passUpdate passes on an update in place of an item with a visibility. No library shows it, so the
// change that later moves the item is not compared with it.
func (fd *libraryFeed) passUpdate(key library.ChangeKey, visibility principal.Visibility) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	c := library.Change{ChangeKey: library.ChangeKey{At: key.At, Content: key.Content}}
	fd.bound(&c)
	for _, f := range fd.followers {
		if library.InBucket(f.bucket, visibility, key.Content, f.owner) {
			f.offer(pending{Change: c, updated: key.MTS})
		}
	}
}

// bound limits the time of a change to that of the last full look.
func (fd *libraryFeed) bound(c *library.Change) {
	if fd.full != 0 {
		c.At = min(c.At, fd.full)
	}
}

// covered returns the time before which changes of others were passed on, except late ones; 0 if no
// other process uses the store.
func (fd *libraryFeed) covered() clock.Instant {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	return fd.full
}

// ignore records a change as one that is not passed on.
func (fd *libraryFeed) ignore(c library.Change) {
	fd.mu.Lock()
	defer fd.mu.Unlock()
	was, _ := fd.seen.Peek(c.Content)
	fd.seen.Add(c.Content, passed{max(was.mts, c.MTS), was.removedFrom | c.RemovedFrom})
}

// IndexApplied passes on what this process has just written.
func (s *Publisher) IndexApplied(e *library.IndexUpdate) {
	if e.At == 0 {
		return
	}
	if s.notifier != nil {
		s.announcer.touched(e.Rows)
	}
	if !s.feeds.anyOpen() {
		return
	}
	key := library.ChangeKey{At: e.At, Content: e.Header.ID, MTS: e.Header.MTS}
	for _, m := range e.Rows {
		if fd := s.feeds.find(m.Principal); fd != nil && e.WritesChange(m) {
			var d library.Derived
			e.Derive(e.Header, m, &d)
			fd.pass(library.Change{ChangeKey: key, RemovedFrom: d.RemovedFrom, Holds: d.Holds, Cause: d.Cause})
		}
	}
}

// eachChange reads the changes of a library from an instant on.
func (s *Service) eachChange(ctx context.Context, owner principal.ID, from clock.Instant, see func(library.Change) error) error {
	after := library.ChangeKey{At: from}
	for {
		cs, err := s.libraries.Changes(ctx, owner, after, changesPage)
		if err != nil {
			return fmt.Errorf("read the changes of a library: %w", err)
		}
		for _, c := range cs {
			if err := see(c); err != nil {
				return err
			}
		}
		if len(cs) < changesPage {
			return nil
		}
		after = cs[len(cs)-1].ChangeKey
	}
}

// openFeed starts the first look of a feed. All followers of the library wait for that one
// look, so it belongs to none of them: it continues when the follower that started it leaves,
// within the time limit of a query, and is cancelled after the last one. If no other process
// uses the store there is nothing to look for.
func (s *Service) openFeed(ctx context.Context, fd *libraryFeed) {
	if s.notifier == nil {
		fd.ready.Open()
		return
	}
	ctx, fd.stop = s.rt.Deadline(s.rt.Detach(ctx), sched.QueryTimeout)
	s.rt.Go(func() {
		defer fd.stop()
		if fd.err = s.firstLook(ctx, fd); fd.err == nil {
			s.startPoller()
		} else {
			s.feeds.drop(fd)
		}
		fd.ready.Open()
	})
}

// firstLook records the changes that are in the store already, as ones that are not passed on.
func (s *Service) firstLook(ctx context.Context, fd *libraryFeed) error {
	return s.eachChange(ctx, fd.owner, fd.full.Add(-library.ChangesOverlap), func(c library.Change) error {
		fd.ignore(c)
		return nil
	})
}

// look passes on the changes that others have made since the last look. Changes may be written
// late. A full look therefore starts ChangesOverlap before the last full look, and any other look
// starts changesSoon before the last look.
func (s *Service) look(ctx context.Context, fd *libraryFeed, full bool) error {
	now, at := s.engine.StoreNow(), s.rt.Elapsed()
	fd.mu.Lock()
	fd.correct(now, at)
	from := fd.upTo.Add(-changesSoon)
	if full {
		from = fd.full.Add(-library.ChangesOverlap)
	}
	fd.mu.Unlock()
	err := s.eachChange(ctx, fd.owner, from, func(c library.Change) error {
		fd.pass(c)
		return nil
	})
	if err != nil {
		return err
	}
	fd.mu.Lock()
	defer fd.mu.Unlock()
	fd.upTo, fd.upToAt = now, at
	if full {
		fd.full, fd.fullAt = now, at
	}
	return nil
}

// correct dates the last looks by a clock that was set back since: otherwise the next look
// would start in the future, and miss what others have changed. The caller holds mu.
func (fd *libraryFeed) correct(now clock.Instant, at time.Duration) {
	fd.upTo = min(fd.upTo, now.Add(fd.upToAt-at))
	fd.full = min(fd.full, now.Add(fd.fullAt-at))
}

// changesSoon is the time within which a change can usually be read.
const changesSoon = 10 * time.Second
