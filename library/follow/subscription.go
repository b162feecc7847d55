package follow

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
	"carrel/core/lru"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// Limits of a follower.
const (
	// queueMost is how many changed items may wait for one follower. A follower that does not keep
	// up is disconnected; it can resume from the last cursor it got.
	queueMost = 256
	// missedMost is how many items one resumption delivers, and missedChanges how many changes of them it
	// reads; if there are more, reading the library again costs less.
	missedMost    = 1000
	missedChanges = 10 * missedMost
	// deliveredMost is how many items a follower remembers as delivered.
	deliveredMost = 256
	// recheckEvery is the interval at which a follower without changes is checked: does it still
	// read the same bucket?
	recheckEvery = time.Minute
)

// Follower is one viewer's subscription to one library. Only one goroutine at a time may call
// Next. Any may call Close, once no call of Next is running.
type Follower struct {
	s       *Service
	owner   principal.ID
	user    principal.ID
	admin   bool
	global  bool
	bucket  library.Bucket
	asOwner bool
	members []principal.ID // whose rows are read with an item (library.Reading.Members)
	feed    *libraryFeed

	mu      sync.Mutex
	queue   []library.ContentID // items with changes that wait
	waiting map[library.ContentID]pending
	taken   clock.Instant // the At of the change that was taken last
	limit   int
	more    sched.Latch // opens with the next change; nil if no caller waits
	cut     error       // why no more changes are delivered
	begun   bool
	closed  bool

	// resolved is the cost of resolving the follower's groups since BillTo.
	resolved principal.Meter

	// The fields below belong to the caller of Next.
	delivered *lru.Recent[library.ContentID, delivery]
	refused   error // the error that ended the subscription while it waited
}

// delivery is what a follower was last sent about an item.
type delivery struct {
	placed bool
	// state is the state of the header that was delivered. applied is the newest state that had
	// reached the library by then. It may be older than state. Until state has reached the library,
	// a page may omit the item, so the change is delivered once more.
	state, applied clock.Instant
	// back is a state, newer than one delivered as removed, in which the item was in the bucket
	// again. A page may have shown it meanwhile.
	back clock.Instant
}

// Follow starts a subscription to a library: to the changes of the bucket that v reads, from
// now on, or since a cursor of the library was read. Errors: BAD_USER_INPUT, NOT_FOUND,
// BAD_CURSOR; RESYNC if what was missed is no longer known; UNAVAILABLE if the store does not answer
// in time. The caller must close it.
func (s *Service) Follow(ctx context.Context, v *principal.Viewer, globalID string, after *string) (library.Subscription, error) {
	return sched.WithQueryTimeout(ctx, s.rt, func(ctx context.Context) (library.Subscription,
		error) {
		return s.follow(ctx, v, globalID, after)
	})
}

func (s *Service) follow(ctx context.Context, v *principal.Viewer, globalID string, after *string) (library.Subscription, error) {
	owner, err := principal.ParseID(globalID)
	if err != nil {
		return nil, followsNobody(globalID)
	}
	h, err := s.people.VisiblePrincipal(ctx, v, owner)
	if err != nil {
		return nil, err
	}
	r, err := s.library.StartReading(ctx, v, h.ID, &library.LibraryQuery{})
	if err != nil {
		return nil, err
	}
	f := &Follower{s: s, owner: owner, user: v.User, admin: v.Admin, global: v.GlobalAdmin,
		bucket: r.Bucket, asOwner: r.AsOwner, members: r.Members,
		limit: queueMost, waiting: map[library.ContentID]pending{}, delivered: lru.NewRecent[library.ContentID, delivery](deliveredMost)}
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

// followsNobody returns the error for an id that names no library.
func followsNobody(globalID string) *fault.Error {
	if id.KindOf(globalID) == id.Malformed {
		return fault.BadInputf("the id of a library's owner has the form u:<tenant>:<name> or g:<tenant>:<name>")
	}
	return fault.NotFoundf(nil, "there is no such user or group, or it may not be seen")
}

// resync returns the error on which a follower must read the library again.
func resync(why string) *fault.Error {
	return &fault.Error{Code: fault.Conflict, Reason: fault.ReasonResync, Msg: why + ": read the library again and follow it from there"}
}

// readAt returns the time of reading that a cursor contains; a follower resumes from that time. The
// cursor may be of a page in either order, with or without includeShared, or of an event.
func (f *Follower) readAt(from string) (clock.Instant, error) {
	s := f.s
	p, err := s.library.Seals.OpenAny(f.binding(false), from)
	if err != nil {
		p, err = s.library.Seals.OpenAny(f.binding(true), from)
	}
	if err != nil {
		return 0, err
	}
	now := s.engine.StoreNow()
	if p.Read == 0 {
		return 0, resync("this cursor does not contain when the library was read")
	}
	if p.Read < s.library.ChangesSince() || p.Read < now.Add(-library.ResumeWithin-cursor.ReadUnit-library.FullLookEvery) {
		return 0, resync("this cursor is too old to resume from")
	}
	if p.Read > now.Add(library.ChangesOverlap) {
		// A clock was set back: changes since then are dated before this time.
		return 0, resync("this cursor contains a time in the future")
	}
	return p.Read, nil
}

// binding returns the binding of the cursors of the library's pages.
func (f *Follower) binding(shared bool) []byte {
	return cursor.Binding(cursor.OfLibrary, library.ClassOf(f.bucket, shared), string(f.owner))
}

// begin joins the feed, and then reads what was missed since an instant, so that no change
// falls between the two.
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

// join joins the feed of the library. When it returns, the feed's first look is done.
func (f *Follower) join(ctx context.Context) error {
	s := f.s
	now := clock.Instant(0)
	if s.notifier != nil {
		now = s.engine.StoreNow()
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

// missed returns the changes since an instant, one for each item, in order of the last change
// of each.
func (f *Follower) missed(ctx context.Context, from clock.Instant) ([]library.Change, error) {
	last := map[library.ContentID]library.Change{}
	read := 0
	err := f.s.eachChange(ctx, f.owner, from, func(c library.Change) error {
		if read++; read > missedChanges {
			return resync("too much has changed")
		}
		if !f.mayNotice(c) {
			return nil
		}
		was := last[c.Content]
		c.Cause = laterCause(pending{Change: was}, pending{Change: c})
		c.MTS, c.RemovedFrom = max(c.MTS, was.MTS), c.RemovedFrom|was.RemovedFrom
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
	for _, c := range last { // sorted below
		missed = append(missed, c)
	}
	slices.SortFunc(missed, func(a, b library.Change) int { return library.CompareChanges(a.ChangeKey, b.ChangeKey) })
	return missed, nil
}

// nextChange returns a latch that opens with the next change; nil if one waits already, or no
// more will come.
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

// Await waits until Next would return at once: a change waits, or the subscription has ended.
// Thousands of goroutines wait for hours, and only this function is on their stacks, which keeps
// them small. The caller of Next calls it, and gets the same error from Next.
func (f *Follower) Await(ctx context.Context) { _ = f.await(ctx) }

// await is Await that returns why there will be no more changes.
func (f *Follower) await(ctx context.Context) error {
	for f.refused == nil {
		more := f.nextChange()
		if more == nil {
			return nil
		}
		came, err := f.s.rt.Wait(ctx, more, recheckEvery)
		switch {
		case err != nil:
			return err
		case !came:
			f.refused = f.recheck(ctx)
		}
	}
	return f.refused
}

// recheck checks whether the follower still reads the same bucket, on another stack.
func (f *Follower) recheck(ctx context.Context) error {
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

// Next waits for a change and returns it according to the current state of the item and the current
// rights of the viewer. Errors end the subscription: RESYNC if the viewer now reads another bucket,
// NOT_FOUND if it may not see the owner any more, SLOW_CONSUMER if it has let too many changes
// wait, and the error of ctx.
func (f *Follower) Next(ctx context.Context) (library.LibraryChange, error) {
	for {
		if err := f.await(ctx); err != nil {
			return nil, err
		}
		n, err := f.take()
		if err != nil {
			return nil, err
		}
		var delivered library.LibraryChange
		err = f.retry(ctx, func(ctx context.Context) (err error) {
			delivered, err = f.changeFor(ctx, &n)
			return err
		})
		if err != nil {
			return nil, err
		}
		if delivered != nil {
			f.s.watch.Delivered()
			return delivered, nil
		}
	}
}

// retry repeats a read that failed because the store was not available, for a while: the
// follower could only do the same itself. Each try has the time limit of a query.
func (f *Follower) retry(ctx context.Context, read func(context.Context) error) error {
	var refused error
	err := f.s.engine.Retry(ctx, func() error {
		within, cancel := f.s.rt.Deadline(ctx, sched.QueryTimeout)
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

// Close ends the subscription.
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
