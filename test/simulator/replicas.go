package simulator

import (
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// A store may have three replicas of what pages consist of: the rows of items, the entries of
// libraries, and the in-flight lists. Each replica that a call reads or writes is a step of its
// own, and a call is answered when a quorum of them has done its part. The others get a write
// at once, late or never; a write that was not acknowledged gets to any number of them. The
// Store itself then contains the union of all replicas, and the decisions of conditional
// writes, which a quorum read shows only after they were sent to a quorum.
const (
	replicaCount = 3
	quorum       = 2
)

// replicate gives the store three replicas of what it holds.
func (st *Store) replicate() {
	for range replicaCount {
		rep := &Store{}
		for _, p := range st.contents {
			copied := *p
			rep.contents = append(rep.contents, &copied)
		}
		for _, l := range st.libraries {
			rep.libraries = append(rep.libraries, &libraryPart{id: l.id})
			rep.libraries[len(rep.libraries)-1].merge(l)
		}
		st.replicas = append(st.replicas, rep)
	}
}

// replicated reports whether the calls of the client go to replicas, step by step.
func (c *Client) replicated() bool { return c.a != nil && len(c.st.replicas) > 0 }

// shuffled returns the replicas in the order in which a call gets to them.
func (st *Store) shuffled() []*Store {
	order := slices.Clone(st.replicas)
	for i := range order {
		j := i + st.s.pick(len(order)-i)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// stray lets a message get to its replica at once, late or never.
func (st *Store) stray(call string, apply func()) {
	switch st.s.pick(3) {
	case 0:
		apply()
	case 1:
		st.late = append(st.late, &message{call: call, apply: apply})
	}
}

// spread sends a write with a timestamp of its own to each replica. rest is the other part of
// the same call, which has one copy.
func (c *Client) spread(ctx context.Context, call string, apply func(*Store), rest func()) error {
	st := c.st
	if !c.replicated() {
		return c.write(ctx, call, "", func() {
			apply(st)
			for _, rep := range st.replicas {
				apply(rep)
			}
		}, rest)
	}
	at := func(rep *Store) func() { return func() { apply(rep); apply(st) } }
	m := &message{call: call, apply: func() {
		for _, rep := range st.replicas {
			st.stray(call, at(rep))
		}
	}}
	fault, cause := c.begin(ctx, call, true, false, m)
	if fault == Unsent {
		return cause
	}
	if fault == NoFault {
		c.spreadNow(m, at, rest)
		return nil
	}
	if fault != Refused && fault != DiesBefore && fault != Lost {
		m.apply()
		if rest != nil {
			st.stray(call, rest)
		}
	}
	if fault == DiesBefore || fault == DiesAfter || fault == DiesLate {
		c.a.Crash()
	}
	c.end(true)
	return cause
}

// spreadNow has a quorum acknowledge a write.
func (c *Client) spreadNow(m *message, at func(*Store) func(), rest func()) {
	st, t := c.st, c.st.s.current
	if rest != nil {
		rest()
	}
	order := st.shuffled()
	t.sending = m
	now := st.requested(m.call)
	for i, rep := range order[:now] {
		if i > 0 {
			st.s.giveWay(t)
		}
		at(rep)()
		st.tracef("  at replica %d", slices.Index(st.replicas, rep))
	}
	t.sending = nil
	for _, rep := range order[now:] {
		st.stray(m.call, at(rep))
	}
	c.end(false)
}

// requested returns how many replicas answer a call.
func (st *Store) requested(call string) int {
	return quorum // whatever the call is
}

// each calls read with as many replicas as answer a call, each in a step of its own.
func (c *Client) each(call string, read func(rep *Store)) {
	for i, rep := range c.st.shuffled()[:c.st.requested(call)] {
		if i > 0 {
			c.st.s.giveWay(c.st.s.current)
		}
		read(rep)
	}
}

// writeContent carries out a conditional write of an item. changed reports whether it has
// changed anything.
func (c contents) writeContent(ctx context.Context, call string, id library.ContentID, changed func() bool, apply, rest func()) error {
	if len(c.st.replicas) == 0 {
		return c.write(ctx, call, string(id), apply, rest)
	}
	published := func(f func()) func() {
		if f == nil {
			return nil
		}
		return func() {
			f()
			if changed() {
				c.st.publish(id)
			}
		}
	}
	if err := c.write(ctx, call, string(id), published(apply), published(rest)); err != nil {
		return err
	}
	if c.a == nil {
		for _, rep := range c.st.replicas {
			c.st.adopt(rep, *c.st.content(id))
		}
		return nil
	}
	// This applies to a refusal too: a round of Paxos that refuses a write has read the state that
	// is the reason, and a quorum has stored that state.
	c.acknowledge(id)
	return nil
}

// publish begins to send a decision to the replicas.
func (st *Store) publish(id library.ContentID) {
	p := st.content(id)
	if p == nil || st.s == nil {
		return
	}
	p.version++
	decided := *p
	for _, rep := range st.replicas {
		st.stray("decision", func() { st.adopt(rep, decided) })
	}
}

// acknowledge stores the present state of an item on a quorum of the replicas.
func (c contents) acknowledge(id library.ContentID) {
	if p := c.st.content(id); p != nil {
		decided := *p
		c.each("decision", func(rep *Store) { c.st.adopt(rep, decided) })
	}
}

// adopt gives a replica a state of an item, unless it has a later one.
func (st *Store) adopt(rep *Store, p contentPart) {
	mine := rep.makeContent(p.id)
	if mine.version >= p.version {
		return
	}
	*mine = p
	if st.history == nil {
		return
	}
	var versions []int
	for _, r := range st.replicas {
		if held := r.content(p.id); held != nil {
			versions = append(versions, held.version)
		}
	}
	slices.Sort(versions)
	if n := len(versions); n >= quorum {
		st.history.acknowledged(p.id, versions[n-quorum])
	}
}

// part returns an item as a quorum read shows it; nil if there is none.
func (c contents) part(id library.ContentID) *contentPart {
	if !c.replicated() {
		return c.st.content(id)
	}
	var newest *contentPart
	var requested []*Store
	c.each("header", func(rep *Store) {
		requested = append(requested, rep)
		if p := rep.content(id); p != nil && (newest == nil || p.version > newest.version) {
			held := *p
			newest = &held
		}
	})
	if newest != nil && c.st.repairs {
		for _, rep := range requested {
			c.st.adopt(rep, *newest)
		}
	}
	return newest
}

// serialPart returns an item as a serial read shows it, which finishes the write in flight and
// stores the result on a quorum.
func (c contents) serialPart(id library.ContentID) *contentPart {
	c.decide(string(id))
	p := c.st.content(id)
	if p == nil || !c.replicated() {
		return p
	}
	seen := *p
	c.each("serial", func(rep *Store) { c.st.adopt(rep, seen) })
	return &seen
}

// entriesOf returns the entries of a library as a quorum read shows them.
func (c libraries) entriesOf(owner principal.ID) []*entryCell {
	if !c.replicated() {
		return c.st.library(owner).entries
	}
	seen := &libraryPart{id: owner}
	c.each("slice", func(rep *Store) { seen.merge(rep.library(owner)) })
	return seen.entries
}

// merge takes over every entry of another replica that is newer. At equal timestamps a deletion
// wins.
func (p *libraryPart) merge(other *libraryPart) {
	for _, theirs := range other.entries {
		mine := p.entry(theirs.bucket, theirs.entry.EntryKey)
		if theirs.ts > mine.ts || theirs.ts == mine.ts && !theirs.live {
			*mine = *theirs
		}
	}
}

// listsSeen returns the lists as a quorum read of a call shows them.
func (c journalStore) listsSeen(call string) []commit.InFlightList {
	if !c.replicated() {
		return c.st.currentLists()
	}
	seen := &Store{}
	c.each(call, seen.mergeLists)
	return seen.currentLists()
}

// mergeLists takes over every newer list of another replica. At equal timestamps a deletion wins.
func (st *Store) mergeLists(other *Store) {
	for _, theirs := range other.inFlightLists {
		mine := st.inFlightList(theirs.id)
		if theirs.ts > mine.ts || theirs.ts == mine.ts && !theirs.live {
			*mine = *theirs
		}
	}
}

// anyQuorumPending reports whether some quorum of the replicas shows a list with changes that have
// not ended.
func (st *Store) anyQuorumPending() bool {
	for without := range st.replicas {
		seen := &Store{}
		for i, rep := range st.replicas {
			if i != without {
				seen.mergeLists(rep)
			}
		}
		if slices.ContainsFunc(seen.inFlightLists, (*listCell).isPending) {
			return true
		}
	}
	return false
}
