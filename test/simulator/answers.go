package simulator

import (
	"time"

	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// ownWithin is how long an answer waits for the actor's own library at most,
// with something to spare for clocks.
const ownWithin = 4 * time.Second

// checkAnswer checks an answer at the step at which it is returned. If the fan-out is reported
// as complete, no library that it concerns shows the item at a position that it had only
// before, and everybody who has been a member since is shown it. The actor's own library is
// updated before any answer, unless something went wrong or took long.
func (st *Store) checkAnswer(h *History, o *Operation, report func(kind, format string, args ...any)) {
	states := h.of(o.content).states
	made := len(states)
	for i := range states {
		if states[i].op == o {
			made = i
			break
		}
	}
	if made == len(states) {
		return
	}
	since := states[made:]
	renamed := made == 0 || orderTitle(&states[made-1].header) != orderTitle(&since[0].header) ||
		states[made-1].header.Visibility != since[0].header.Visibility
	titles := o.kind.ordersTitles() && (renamed || o.kind != opTitle)
	own := st.struck == 0 && !o.repeated && h.s.now-since[0].at < ownWithin
	for _, m := range since[0].members {
		if o.kind.ofMembers() && m.Seq != since[0].header.Seq {
			continue
		}
		if o.complete || own && m.Principal == o.viewer {
			st.checkFollows(since, o, m.Principal, titles, report)
		}
	}
}

// checkFollows checks that a library shows an item as in one of the given states, and not as in an
// earlier one; in the order of titles only if titles is set.
func (st *Store) checkFollows(since []contentState, o *Operation, owner principal.ID, titles bool,
	report func(kind, format string, args ...any)) {
	shown := false
	for _, c := range st.library(owner).entries {
		if !c.live || c.entry.Content != o.content || c.entry.Title != "" && !titles {
			continue
		}
		shown = true
		if !justified(since, owner, c) {
			report(falseAnswer, "%v was answered (complete: %v), and %s still has it in %v at %d", o, o.complete, owner, c.bucket, c.entry.Position)
		}
	}
	if !shown && alwaysMember(since, owner) {
		report(falseAnswer, "%v was answered (complete: %v), and %s has no entry of it", o, o.complete, owner)
	}
}

// placedBy reports whether an entry is where an item is, in the order of the entry.
func placedBy(e *library.Entry, h *library.Header) bool {
	if e.Title != "" {
		return e.Title == collation.Of(orderTitle(h)) && e.TitleHash == collation.Hash(orderTitle(h))
	}
	return e.Position == h.Position
}

// justified reports whether one of the states justifies an entry.
func justified(states []contentState, owner principal.ID, c *entryCell) bool {
	for i := range states {
		s := &states[i]
		if s.header.State == commit.Live && s.role(owner) != library.NoRole && placedBy(&c.entry, &s.header) &&
			inBucket(c.bucket, s.header.Visibility, tenant(string(s.header.ID)), tenant(string(owner))) {
			return true
		}
	}
	return false
}

func alwaysMember(states []contentState, p principal.ID) bool {
	for i := range states {
		if states[i].header.State != commit.Live || states[i].role(p) == library.NoRole {
			return false
		}
	}
	return true
}
