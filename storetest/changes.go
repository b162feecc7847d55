package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

func changeChecks() []check {
	return []check{
		{"Changes", "Changes lists the changes of owner's library after one, in their order", changesOrder},
		{"Changes", "It must list every change for ChangesKept after its At", changesKept},
		{"Changes", "libraries whose owners' ids are prefixes of each other are separate", changesOwners},
		{"Changes", "a change has the state and the buckets that the item has left, and those that hold it", changesBuckets},
		{"Changes", "the change of a leaving row has the buckets that the item was in", changesLeaving},
		{"Changes", "a change has the cause that the update of the index has for its library", changesCause},
		{"Changes", "an unknown library has none", changesUnknown},
		{"ApplyIndex with changes",
			"If e.At is set, the change of a principal with a row must be written with what is derived of it, or not at all", changesWhole},
		{"ApplyIndex with changes", "an index update without At writes none", changesQuiet},
		{"ApplyIndex with changes", "an older snapshot has a change of its own", changesOlder},
	}
}

// changes returns the changes of a library after a key.
func (s *env) changes(p principal.ID, after library.ChangeKey, limit int) []library.Change {
	s.Helper()
	cs, err := s.Libraries.Changes(s.ctx, p, after, limit)
	s.ok(err)
	return cs
}

// applyAt applies the item's state to principals, with changes of an instant.
func (it *item) applyAt(at clock.Instant, principals ...principal.ID) {
	it.s.Helper()
	e := it.snapshot(principals...)
	e.At = at
	it.s.ok(it.s.Contents.ApplyIndex(it.s.ctx, e))
}

// changeOf returns the change of the item's present state at an instant, in a library of its tenant. An
// item that has left the PRIVATE bucket is in none.
func (it *item) changeOf(at clock.Instant, left ...library.Bucket) library.Change {
	c := library.Change{ChangeKey: library.ChangeKey{At: at, Content: it.head.ID, MTS: it.head.MTS}}
	for _, b := range left {
		c.RemovedFrom = c.RemovedFrom.With(b)
	}
	for b := principal.Private; b <= it.head.Visibility && !c.RemovedFrom.Has(principal.Private); b++ {
		c.Holds = c.Holds.With(b)
	}
	return c
}

func changesOrder(s *env) {
	a, at := s.user("a"), s.later()
	one, two := s.newItem("one", principal.Public, a), s.newItem("two", principal.Public, a)
	var want []library.Change
	for n, step := range []struct {
		it *item
		at clock.Instant
	}{{two, at + 5}, {one, at}, {two, at}, {one, at + 5}, {one, at + 70_000_000}, {two, at + 600_000_000}, {one, at + 6}} {
		if n%2 == 1 {
			step.it.move()
		}
		step.it.applyAt(step.at, a)
		want = append(want, step.it.changeOf(step.at))
	}
	// Two states of one item at one instant are two changes.
	one.move()
	one.applyAt(at+5, a)
	want = append(want, one.changeOf(at+5))
	slices.SortFunc(want, func(x, y library.Change) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Content, y.Content), cmp.Compare(x.MTS, y.MTS))
	})
	for limit := range len(want) + 2 {
		s.same(fmt.Sprint("from the beginning, at most ", limit), s.changes(a, library.ChangeKey{At: at}, limit), want[:min(limit, len(want))])
		for n, c := range want {
			s.same(fmt.Sprint("after ", n, ", at most ", limit), s.changes(a, c.ChangeKey, limit), want[n+1:min(n+1+limit, len(want))])
		}
	}
	s.same("after an instant", s.changes(a, library.ChangeKey{At: at + 6}, 100),
		want[slices.IndexFunc(want, func(c library.Change) bool { return c.At == at+6 }):])
	s.same("after all", s.changes(a, library.ChangeKey{At: at + 600_000_001}, 100), []library.Change(nil))
}

// changesKept checks that no later write removes what must be kept.
func changesKept(s *env) {
	a, at := s.user("a"), s.later()
	it := s.newItem("item", principal.Private, a)
	var want []library.Change
	for passed := time.Duration(0); passed <= library.ChangesKept; passed += 5 * time.Minute {
		it.applyAt(at.Add(passed), a)
		want = append(want, it.changeOf(at.Add(passed)))
	}
	s.same("an hour's changes", s.changes(a, library.ChangeKey{At: at}, 100), want)
}

func changesOwners(s *env) {
	at := s.later()
	owners := []principal.ID{s.user("b"), s.user("b/c"), s.user("b/"), s.user("b."), s.user("bb"), s.group("b"), s.user("b/c/d")}
	it := s.newItem("item", principal.Public, owners...)
	var want []library.Change
	for n := range 3 {
		it.move()
		it.applyAt(at.Add(time.Duration(n)*time.Minute), owners...)
		want = append(want, it.changeOf(at.Add(time.Duration(n)*time.Minute)))
	}
	other := s.newItem("other", principal.Public, owners...)
	for n, p := range owners {
		mine := at + clock.Instant(n+1)
		other.applyAt(mine, p)
		s.same("changes of "+string(p), s.changes(p, library.ChangeKey{At: at}, 100),
			[]library.Change{want[0], other.changeOf(mine), want[1], want[2]})
	}
}

func changesBuckets(s *env) {
	a, b, at := s.user("a"), principal.UserID("elsewhere", s.tenant), s.later()
	it := s.newItem("item", principal.Private, a, b)
	var inside, outside []library.Change
	step := func(left ...library.Bucket) {
		at++
		it.applyAt(at, a, b)
		inside = append(inside, it.changeOf(at, left...))
		// A LOGGEDIN item is never in the LOGGEDIN bucket of another tenant.
		foreign := slices.DeleteFunc(slices.Clone(left), func(b library.Bucket) bool {
			return b == principal.LoggedIn && it.head.Widest < principal.Public &&
				!slices.ContainsFunc(it.head.Unsettled, func(u library.Superseded) bool { return u.Widest == principal.Public })
		})
		if it.head.Visibility == principal.LoggedIn && slices.Contains(left, principal.Public) {
			foreign = append(foreign, principal.LoggedIn)
		}
		there := it.changeOf(at, foreign...)
		if it.head.Visibility == principal.LoggedIn {
			there.Holds = library.Buckets(0).With(principal.Private)
		}
		outside = append(outside, there)
	}
	cleanUp := func() {
		for _, u := range it.head.Unsettled {
			s.ok(s.Contents.CleanUp(s.ctx, &library.Cleanup{ID: it.head.ID, Positions: []clock.Instant{u.Position}}))
		}
		it.head.Unsettled = nil
	}
	step()
	it.write(func(c *library.ContentCommit) { moved(c, principal.LoggedIn) })
	step()
	cleanUp()
	it.write(func(c *library.ContentCommit) { moved(c, principal.Private) })
	step(principal.LoggedIn)
	cleanUp()
	it.write(func(c *library.ContentCommit) { moved(c, principal.Public) })
	step()
	cleanUp()
	it.write(func(c *library.ContentCommit) { moved(c, principal.LoggedIn) })
	step(principal.Public)
	cleanUp()
	step()
	it.setVisibility(principal.Public)
	step()
	it.setVisibility(principal.Private)
	step(principal.LoggedIn, principal.Public)
	it.remove(a)
	at++
	it.applyAt(at, a)
	inside = append(inside, it.changeOf(at, principal.Private, principal.LoggedIn, principal.Public))
	s.same("changes", s.changes(a, library.ChangeKey{At: start}, 100), inside)
	s.same("changes in another tenant", s.changes(b, library.ChangeKey{At: start}, 100), outside)
	// In the library of a member that was added while the item was PRIVATE, the item was never in a
	// wider bucket. A principal that never had a row has no changes.
	it.share(s.user("late"), library.Viewing)
	it.applyAt(at+1, s.user("late"))
	s.same("changes of one who came late", s.changes(s.user("late"), library.ChangeKey{At: start}, 100), []library.Change{it.changeOf(at + 1)})
	it.applyAt(at+1, s.user("c"))
	s.same("changes of no member", s.changes(s.user("c"), library.ChangeKey{At: start}, 100), []library.Change(nil))
	it.delete()
	it.applyAt(at+1, b, s.user("late"))
	outside = append(outside, it.changeOf(at+1, principal.Private, principal.LoggedIn, principal.Public))
	late := s.changes(s.user("late"), library.ChangeKey{At: start}, 100)
	s.same("the last change of one who came late", late[len(late)-1], it.changeOf(at+1, principal.Private))
	s.same("changes of what is deleted", s.changes(b, library.ChangeKey{At: start}, 100), outside)
}

// The change of a leaving row has the buckets in which the item was, whatever the item has
// become since.
func changesLeaving(s *env) {
	a, at := s.user("a"), s.later()
	it := s.newItem("item", principal.Private, a)
	it.write(func(c *library.ContentCommit) {
		c.Members = []library.Member{{Principal: a, Leaving: true, RemovedFrom: library.Buckets(0).With(principal.Private), Since: start}}
	})
	it.wantStored("an item with a leaving row")
	it.write(func(c *library.ContentCommit) { moved(c, principal.Public) })
	it.applyAt(at, a)
	s.same("changes", s.changes(a, library.ChangeKey{}, 10), []library.Change{it.changeOf(at, principal.Private)})
}

// A cause is listed as it was written, even if only a part of it is known. If it does not fit the
// member row, the change has none.
func changesCause(s *env) {
	a, b, c, at := s.user("a"), s.user("b"), s.user("c"), s.later()
	it := s.newItem("item", principal.Private, a, b, c)
	causes := library.Causes{
		All: library.Cause{Reason: library.ReasonUpdated, By: s.user("editor")},
		Of:  map[principal.ID]library.Cause{b: {Reason: library.ReasonShared}, c: {Reason: library.ReasonDeleted, By: a}},
	}
	e := it.snapshot(a, b, c)
	causes.LastModified = e.Header.LastModified
	e.At, e.Causes = at, causes
	for part := range slices.Chunk(e.Rows, s.Contents.ApplyIndexBatch()) {
		one := *e
		one.Rows = part
		s.ok(s.Contents.ApplyIndex(s.ctx, &one))
	}
	for p, want := range map[principal.ID]library.Cause{a: causes.All, b: causes.Of[b], c: {}} {
		change := it.changeOf(at)
		change.Cause = want
		s.same("changes of "+string(p), s.changes(p, library.ChangeKey{At: at}, 10), []library.Change{change})
	}
}

func changesUnknown(s *env) {
	s.same("changes", s.changes(s.user("unknown"), library.ChangeKey{}, 10), []library.Change(nil))
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	it.applyAt(s.later(), a)
	s.same("changes", s.changes(s.user("unknown"), library.ChangeKey{}, 10), []library.Change(nil))
}

func changesQuiet(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	it.applyIndex(a)
	s.same("changes", s.changes(a, library.ChangeKey{}, 10), []library.Change(nil))
}

// An index update that comes after one of a newer state has a change too, because followers may
// wait for it. A store may write the newer state into that change.
func changesOlder(s *env) {
	a, at := s.user("a"), s.later()
	it := s.newItem("item", principal.Public, a)
	older := it.snapshot(a)
	older.At = at + 1
	it.move()
	it.applyAt(at, a)
	s.ok(s.Contents.ApplyIndex(s.ctx, older))
	cs := s.changes(a, library.ChangeKey{At: at}, 10)
	if len(cs) != 2 || cs[1].At != older.At || cs[1].Content != it.head.ID || cs[1].MTS != older.Header.MTS && cs[1].MTS != it.head.MTS {
		s.Fatalf("changes: %+v", cs)
	}
	s.wantLibrary(a, buckets(principal.Public, it.entryOf(a)))
}

// changesWhole reads changes and entries while they are written: whichever is read first, the
// other must be there too. On a store that writes one principal at a time, a reader may see a part of
// the write in progress: Cassandra applies a mutation to one table after the other.
func changesWhole(s *env) {
	const rounds = 30
	ps := []principal.ID{s.user("a"), s.user("b"), s.user("c")}
	at := s.later()
	items := make([]*item, rounds)
	for n := range items {
		items[n] = s.newItem(fmt.Sprintf("item%02d", n), principal.Public, ps...)
	}
	var writing sync.WaitGroup
	failed := make([]error, rounds)
	written := make(chan struct{})
	writing.Go(func() {
		defer close(written)
		for n, it := range items {
			e := it.snapshot(ps...)
			e.At = at + clock.Instant(n)
			for part := range slices.Chunk(e.Rows, s.Contents.ApplyIndexBatch()) {
				one := *e
				one.Rows = part
				if failed[n] = s.Contents.ApplyIndex(s.ctx, &one); failed[n] != nil {
					return
				}
			}
		}
	})
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		partly := 0
		if !done && s.Contents.ApplyIndexBatch() == 1 {
			partly = 1
		}
		for _, p := range ps {
			before := s.changes(p, library.ChangeKey{At: at}, rounds)
			entries := s.page(library.Slice{Owner: p, Bucket: principal.Public, Ascending: true, Limit: rounds})
			after := s.changes(p, library.ChangeKey{At: at}, rounds)
			if len(entries) < len(before)-partly || len(after) < len(entries)-partly || done && len(before) != rounds {
				s.Errorf("%s: %d changes, then %d entries, then %d changes", p, len(before), len(entries), len(after))
				done = true
				break
			}
		}
	}
	writing.Wait()
	for _, err := range failed {
		s.ok(err)
	}
}
