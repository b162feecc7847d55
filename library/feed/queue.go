package feed

import (
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

// news is what waits to be told to a follower of one item: all that has come of
// it since it was told last.
type pending struct {
	// Change is the newest state that was enforced, with the earliest time and
	// all that the item has left.
	library.Change
	// updated is the newest state of an update in place, which no library shows.
	updated clock.Instant
	// stood and left are the newest states of those enforced in which the item
	// had not left the part of the library that the follower reads, and in which
	// it had.
	stood, left clock.Instant
}

// news is what a change is to this follower.
func (f *Follower) toDeliver(c library.Change) pending {
	n := pending{Change: c}
	if f.leaves(c) {
		n.left = c.MTS
	} else {
		n.stood = c.MTS
	}
	return n
}

// leaves tells whether a change says that the item has left what f reads. An
// administrator reads of another tenant's items those that are PUBLIC.
func (f *Follower) leaves(c library.Change) bool {
	return c.Left.Has(f.bucket) || f.bucket == principal.Private && !f.asOwner && c.Left.Has(principal.Public)
}

// and is n with what has come since.
func (n pending) and(m pending) pending {
	m.At = min(m.At, n.At)
	m.MTS, m.Left = max(m.MTS, n.MTS), m.Left|n.Left
	m.updated, m.stood, m.left = max(m.updated, n.updated), max(m.stood, n.stood), max(m.left, n.left)
	return m
}

// offer has the follower be told of an item, in its turn. What waits already of
// the same item is told with it.
func (f *Follower) offer(n pending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add(n)
	if f.more != nil {
		f.more.Open()
		f.more = nil
	}
}

// add is offer with f.mu held, for followers that wait for nothing.
func (f *Follower) add(n pending) {
	if f.cut != nil {
		return
	}
	if was, waits := f.waiting[n.Content]; waits {
		n = was.and(n)
	} else if len(f.queue) >= f.most {
		f.cut = &fault.Error{Code: fault.Exhausted, Reason: fault.ReasonSlow, RetryAfter: 1,
			Msg: "too much has happened that was not taken yet: resume after the last cursor that was told"}
		f.queue, f.waiting = nil, nil
		f.s.watch.CutOff()
		return
	} else {
		f.queue = append(f.queue, n.Content)
	}
	f.waiting[n.Content] = n
}

// catchUp has what was missed be told before anything that has come since, and
// before what comes meanwhile: a cursor stands for everything up to it.
func (f *Follower) catchUp(missed []library.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil {
		return
	}
	come, waiting := f.queue, f.waiting
	f.queue, f.waiting = nil, make(map[library.ContentID]pending, len(missed)+len(come))
	f.most += len(missed)
	for _, c := range missed {
		f.add(f.toDeliver(c))
	}
	for _, id := range come {
		f.add(waiting[id])
	}
}

// take takes the news that have waited longest. Some must wait, or nothing more
// be told.
func (f *Follower) take() (pending, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut != nil {
		return pending{}, f.cut
	}
	n := f.waiting[f.queue[0]]
	delete(f.waiting, f.queue[0])
	f.queue = f.queue[1:]
	return n, nil
}
