package follow

import (
	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// pending is a change of one item that waits for a follower: all that has happened to it since
// the last delivery.
type pending struct {
	// Change is the newest state that was applied, with the earliest time and all the buckets that
	// the item has left.
	library.Change
	// updated is the newest state of an update in place, which no library shows.
	updated clock.Instant
	// present and removed are the newest applied states in which the item was in the part of the
	// library that the follower reads, and in which it was not.
	present, removed clock.Instant
}

// toDeliver returns what a change means to this follower.
func (f *Follower) toDeliver(c library.Change) pending {
	n := pending{Change: c}
	if f.leaves(c) {
		n.removed = c.MTS
	} else {
		n.present = c.MTS
	}
	return n
}

// mayNotice reports whether a change is in the bucket that f reads. Any other must have no effect on f, not
// even on what events cost or on how many items may wait: f would learn how much is hidden from it.
func (f *Follower) mayNotice(c library.Change) bool { return (c.Holds | c.RemovedFrom).Has(f.bucket) }

// leaves reports whether a change removes an item from what f reads. Of the items of another
// tenant, an administrator reads those that are PUBLIC.
func (f *Follower) leaves(c library.Change) bool {
	return c.RemovedFrom.Has(f.bucket) || f.bucket == principal.Private && !f.asOwner && c.RemovedFrom.Has(principal.Public)
}

// and returns n combined with m, which has come since.
func (n pending) and(m pending) pending {
	m.At = min(m.At, n.At)
	m.Cause = laterCause(n, m)
	m.MTS, m.RemovedFrom = max(m.MTS, n.MTS), m.RemovedFrom|n.RemovedFrom
	m.updated, m.present, m.removed = max(m.updated, n.updated), max(m.present, n.present), max(m.removed, n.removed)
	return m
}

// laterCause returns the cause of the newer of two states. If both are the same state, it returns the
// later cause that is known. An update in place, which no library shows, has a cause that is not known.
func laterCause(n, m pending) library.Cause {
	was, is := max(n.MTS, n.updated), max(m.MTS, m.updated)
	if is > was || is == was && m.Cause.Reason != library.UnknownReason {
		return m.Cause
	}
	return n.Cause
}

// offer queues a change of an item for the follower. A change of the same item that waits
// already is combined with it.
func (f *Follower) offer(n pending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(n)
	if f.more != nil {
		f.more.Open()
		f.more = nil
	}
}

// add is offer for callers that hold f.mu. It does not wake the follower.
func (f *Follower) add(n pending) {
	if f.cut != nil {
		return
	}
	if was, waits := f.waiting[n.Content]; waits {
		n = was.and(n)
	} else if len(f.queue) >= f.limit {
		f.cut = &fault.Error{Code: fault.Exhausted, Reason: fault.ReasonSlow, RetryAfter: 1,
			Msg: "too many changes wait to be read: resume after the last cursor that was received"}
		f.queue, f.waiting = nil, nil
		f.s.watch.CutOff()
		return
	} else {
		f.queue = append(f.queue, n.Content)
	}
	f.waiting[n.Content] = n
}

// catchUp queues the missed changes ahead of all changes that have come since or come meanwhile,
// because a cursor covers everything before it.
func (f *Follower) catchUp(missed []library.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil {
		return
	}
	come, waiting := f.queue, f.waiting
	f.queue, f.waiting = nil, make(map[library.ContentID]pending, len(missed)+len(come))
	f.limit += len(missed)
	for _, c := range missed {
		f.add(f.toDeliver(c))
	}
	for _, id := range come {
		f.add(waiting[id])
	}
}

// take removes the change that has waited longest. There must be one, or an error that ends the
// subscription.
func (f *Follower) take() (pending, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil {
		return pending{}, f.cut
	}
	n := f.waiting[f.queue[0]]
	delete(f.waiting, f.queue[0])
	f.queue = f.queue[1:]
	f.taken = n.At
	return n, nil
}

// Cursor implements library.Subscription. A follower resumes library.ChangesOverlap before the time
// in its cursor, and needs this overlap only for changes that are found late.
func (f *Follower) Cursor() string {
	read := f.feed.covered()
	if read == 0 {
		read = f.s.engine.StoreNow()
	}
	f.mu.Lock()
	oldest := f.taken
	for _, n := range f.waiting { // in any order
		oldest = min(oldest, n.At)
	}
	f.mu.Unlock()
	read = min(read, oldest.Add(library.ChangesOverlap))
	return f.s.library.Seals.Seal(f.binding(false), cursor.Position{Order: cursor.AnyOrder, At: read, Read: read})
}
