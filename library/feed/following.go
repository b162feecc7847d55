package feed

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Numbers of a follower.
const (
	// queueMost is how many items may wait to be told to one follower. Whoever
	// does not keep up is cut off; it can resume from the last cursor it got.
	queueMost = 256
	// missedMost is how many items one resumption tells; with more of them
	// changed, reading the library again costs less.
	missedMost = 10_000
	// deliveredMost is how many items a follower remembers as told.
	deliveredMost = 256
	// standingEvery is how often it is looked whether a follower to whom nothing
	// is told still reads the same bucket.
	standingEvery = time.Minute
)

// Follower is one viewer's following of one library. Next is called by one
// goroutine at a time; Close by any, once nobody waits in Next.
type Follower struct {
	s       *Service
	owner   principal.ID
	user    principal.ID
	admin   bool
	global  bool
	bucket  library.Bucket
	asOwner bool
	members []principal.ID // whose rows are read with an item, as of a reading
	feed    *libraryFeed

	mu      sync.Mutex
	queue   []library.ContentID // that wait to be told
	waiting map[library.ContentID]pending
	most    int
	more    sched.Latch // opens with the next change; nil where nobody waits
	cut     error       // why nothing more is told
	begun   bool
	closed  bool

	// resolved is what resolving the follower's groups has cost since BillTo.
	resolved principal.Meter

	// What follows belongs to the caller of Next.
	told    recent[delivery]
	refused error // what has ended the following while it waited
}

// tale is what a follower was told of an item last.
type delivery struct {
	placed bool
	// state is that of the header as it was told; enforced is the newest that was
	// told when it stood in the library, which may be older: until then a page
	// may leave the item out, so it is told once more.
	state, enforced clock.Instant
	// back is a state, newer than one told as removed, in which the item stood in
	// the bucket again. A page may have shown it meanwhile.
	back clock.Instant
}

// Follow begins to follow a library: what happens in the bucket that v reads,
// from now on, or since a cursor of the library was read. Errors: BAD_USER_INPUT,
// NOT_FOUND, BAD_CURSOR; RESYNC where what was missed is not known any more.
// The caller closes what it gets.
func (s *Service) Follow(ctx context.Context, v *principal.Viewer, globalID string, after *string) (library.Following, error) {
	owner, err := principal.ParseID(globalID)
	if err != nil {
		return nil, followsNobody(globalID)
	}
	h, err := s.VisiblePrincipal(ctx, v, owner)
	if err != nil {
		return nil, err
	}
	r, err := s.StartReading(ctx, v, h.ID, &library.LibraryQuery{})
	if err != nil {
		return nil, err
	}
	f := &Follower{s: s, owner: owner, user: v.User, admin: v.Admin, global: v.GlobalAdmin,
		bucket: r.Bucket, asOwner: r.AsOwner, members: r.Members,
		most: queueMost, waiting: map[library.ContentID]pending{}, told: recent[delivery]{most: deliveredMost}}
	since := clock.Instant(0)
	if after != nil {
		if since, err = f.readAt(*after); err != nil {
			return nil, err
		}
	}
	if err := f.begin(ctx, since); err != nil {
		f.Close()
		return nil, err
	}
	f.mu.Lock()
	f.begun = true
	f.mu.Unlock()
	s.watch.Follows(1)
	return f, nil
}

// followsNobody is the fault of an id that names no library.
func followsNobody(globalID string) *fault.Error {
	if id.KindOf(globalID) == id.Malformed {
		return fault.BadInputf("the id of a library's owner has the form u:<tenant>:<name> or g:<tenant>:<name>")
	}
	return fault.NotFoundf(nil, "there is no such user or group, or it may not be seen")
}

// resync tells a follower to read the library again.
func resync(format string) *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonResync, Msg: format + ": read the library again and follow it from there"}
}

// readAt is when the cursor was read from which a follower resumes. It may be
// of a page in either order, with includeShared or without, or of an event.
func (f *Follower) readAt(from string) (clock.Instant, error) {
	s := f.s
	p, err := s.Seals.OpenAny(cursor.Binding(cursor.OfLibrary, library.ClassOf(f.bucket, false), string(f.owner)), from)
	if err != nil {
		p, err = s.Seals.OpenAny(cursor.Binding(cursor.OfLibrary, library.ClassOf(f.bucket, true), string(f.owner)), from)
	}
	if err != nil {
		return 0, err
	}
	now := s.StoreNow()
	if p.Read == 0 {
		return 0, resync("this cursor does not tell when the library was read")
	}
	if p.Read < s.ChangesSince() || p.Read < now.Add(-library.ResumeWithin-cursor.ReadUnit-library.FullLookEvery) {
		return 0, resync("this cursor was read too long ago to tell what was missed since")
	}
	if p.Read > now.Add(library.ChangesOverlap) {
		// A clock has gone back: what was changed since stands before this time.
		return 0, resync("this cursor was read later than it is now")
	}
	return p.Read, nil
}

// begin joins the feed, and then reads what was missed since an instant: so
// nothing falls between the two.
func (f *Follower) begin(ctx context.Context, since clock.Instant) (err error) {
	if err := f.join(ctx); err != nil {
		return err
	}
	var missed []library.Change
	if since != 0 {
		if missed, err = f.missed(ctx, since.Add(-library.ChangesOverlap)); err != nil {
			return err
		}
	}
	f.catchUp(missed)
	return nil
}

// join joins the feed of the library, which has looked for the first time when
// it returns.
func (f *Follower) join(ctx context.Context) error {
	s := f.s
	now := clock.Instant(0)
	if s.notifier != nil {
		now = s.StoreNow()
	}
	fd, first := s.feeds.join(f, now, s.rt.Elapsed(), s.rt.Latch())
	f.feed = fd
	if first {
		s.openFeed(ctx, fd)
	}
	if _, err := s.rt.Wait(ctx, fd.ready, 0); err != nil {
		return err
	}
	if fd.err != nil {
		return fault.Unavailablef(fd.err, "the library's changes could not be read; try again")
	}
	return nil
}

// missed are the changes since an instant, one an item, in order of the last
// one of each.
func (f *Follower) missed(ctx context.Context, from clock.Instant) ([]library.Change, error) {
	last := map[library.ContentID]library.Change{}
	err := f.s.eachChange(ctx, f.owner, from, func(c library.Change) error {
		was := last[c.Content]
		c.MTS, c.Left = max(c.MTS, was.MTS), c.Left|was.Left
		last[c.Content] = c
		if len(last) > missedMost {
			return resync("too much has changed")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	missed := make([]library.Change, 0, len(last))
	for _, c := range last { // put in order below
		missed = append(missed, c)
	}
	slices.SortFunc(missed, func(a, b library.Change) int { return library.CompareChanges(a.ChangeKey, b.ChangeKey) })
	return missed, nil
}

// nextChange returns a latch that opens with the next change; nil where something waits
// to be told, or nothing more will be.
func (f *Follower) nextChange() sched.Latch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil || len(f.queue) > 0 {
		return nil
	}
	if f.more == nil {
		f.more = f.s.rt.Latch()
	}
	return f.more
}

// Await waits until Next would not: something waits to be told, or the following
// has ended. Thousands wait for hours, on a stack that a wait keeps small: the
// rest is done elsewhere meanwhile. It is called by whoever calls Next, which
// meets the same error.
func (f *Follower) Await(ctx context.Context) { _ = f.await(ctx) }

// await is Await that tells why there will be nothing to tell.
func (f *Follower) await(ctx context.Context) error {
	for f.refused == nil {
		more := f.nextChange()
		if more == nil {
			return nil
		}
		came, err := f.s.rt.Wait(ctx, more, standingEvery)
		switch {
		case err != nil:
			return err
		case !came:
			f.refused = f.stands(ctx)
		}
	}
	return f.refused
}

// stands looks whether the follower still reads the same bucket, on another
// stack.
func (f *Follower) stands(ctx context.Context) error {
	var found error
	looked := f.s.rt.Latch()
	f.s.rt.Go(func() {
		defer looked.Open()
		found = f.retry(ctx, func(ctx context.Context) error { _, err := f.reading(ctx); return err })
	})
	if _, err := f.s.rt.Wait(ctx, looked, 0); err != nil {
		return err
	}
	return found
}

// Next waits for something to happen and tells it as it is at that moment, to
// whom the viewer is at that moment. Errors end the following: RESYNC where
// the viewer reads another bucket by now, NOT_FOUND where it may not see the
// owner any more, SLOW_CONSUMER where it has let too much wait, and that of ctx.
func (f *Follower) Next(ctx context.Context) (library.LibraryChange, error) {
	for {
		if err := f.await(ctx); err != nil {
			return nil, err
		}
		n, err := f.take()
		if err != nil {
			return nil, err
		}
		var told library.LibraryChange
		err = f.retry(ctx, func(ctx context.Context) (err error) {
			told, err = f.tell(ctx, &n)
			return err
		})
		if err != nil {
			return nil, err
		}
		if told != nil {
			f.s.watch.Delivered()
			return told, nil
		}
	}
}

// insist repeats a reading that failed for want of the store, for a while: the
// follower could do no better itself. Each try has the time of a query.
func (f *Follower) retry(ctx context.Context, read func(context.Context) error) error {
	var refused error
	err := f.s.Retry(ctx, func() error {
		within, cancel := f.s.rt.Deadline(ctx, sched.QueryWithin)
		defer cancel()
		err := read(within)
		var e *fault.Error
		if errors.As(err, &e) && e.Code != fault.Unavailable && e.Code != fault.Internal {
			refused = err
			return nil
		}
		return err
	})
	if refused != nil {
		return refused
	}
	return err
}

// Close ends the following.
func (f *Follower) Close() {
	f.mu.Lock()
	closed, begun := f.closed, f.begun
	f.closed = true
	f.mu.Unlock()
	if closed || f.feed == nil {
		return
	}
	f.s.feeds.leave(f)
	if begun {
		f.s.watch.Follows(-1)
	}
}
