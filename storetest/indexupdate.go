package storetest

import (
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func applyIndexChecks() []check {
	return []check{
		{"ApplyIndex", "An older snapshot must never undo what a newer one wrote", applyOlder},
		{"ApplyIndex", "an item is in the buckets that its visibility allows", applyBuckets},
		{"ApplyIndex", "a LOGGEDIN item is only in the PRIVATE bucket of another tenant", applyTenant},
		{"ApplyIndex", "a move leaves one entry, at the new position", applyMove},
		{"ApplyIndex", "every unsettled position is deleted, not only the last", applyUnsettled},
		{"ApplyIndex", "a change of visibility at an unmoved position reaches every bucket up to the widest", applyVisibility},
		{"ApplyIndex", "a leaving, a missing and a deleted member lose every entry", applyGone},
		{"ApplyIndex", "an entry has the mts of its state and the owner's role", applyEntry},
		{"ApplyIndex", "only All writes the record of what was shared", applyRecord},
		{"ApplyIndex", "principals that are not named are untouched", applyNamed},
		{"ApplyIndex", "a batch of ApplyIndexBatch rows is written at once", applyWhole},
		{"ApplyIndex", "repeated it changes nothing", applyRepeated},
	}
}

// buckets returns the entries of a library for one item that is in all buckets up to v.
func buckets(v principal.Visibility, e library.Entry) map[library.Bucket][]library.Entry {
	m := make(map[library.Bucket][]library.Entry)
	for b := principal.Private; b <= v; b++ {
		m[b] = []library.Entry{e}
	}
	return m
}

func applyOlder(s *env) {
	a, b := s.user("a"), s.user("b")
	steps := []struct {
		name   string
		change func(it *item)
	}{
		{"move", func(it *item) { it.move() }},
		{"change to private", func(it *item) { it.setVisibility(principal.Private) }},
		{"change to public", func(it *item) { it.setVisibility(principal.Public) }},
		{"share", func(it *item) { it.share(b, library.Viewing) }},
		{"remove", func(it *item) { it.remove(b) }},
		{"move and clean up", func(it *item) {
			it.move()
			it.applyIndex(a, b)
			old := it.head.Unsettled[0].Position
			it.s.ok(it.s.Contents.CleanUp(it.s.ctx, &library.Cleanup{ID: it.head.ID, Positions: []clock.Instant{old}}))
			it.cleanedUp(old)
		}},
		{"delete", func(it *item) { it.delete() }},
	}
	it := s.newItem("item", principal.LoggedIn, a)
	var older []*library.IndexUpdate
	for _, step := range steps {
		older = append(older, it.all(a, b))
		step.change(it)
		it.applyAll(a, b)
		for n, e := range older {
			s.ok(s.Contents.ApplyIndex(s.ctx, e))
			for _, p := range []principal.ID{a, b} {
				if it.head.State != commit.Live || !it.rows[p].Active() {
					s.wantLibrary(p, nil)
					s.wantShared(p, nil)
					continue
				}
				s.wantLibrary(p, buckets(it.head.Visibility, it.entryOf(p)))
				s.wantShared(p, []library.Shared{{Content: it.head.ID, Role: it.rows[p].Role}})
			}
			if s.Failed() {
				s.Fatalf("after %s, snapshot %d", step.name, n)
			}
		}
	}
}

// wantShared checks the record of what was shared with owner.
func (s *env) wantShared(owner principal.ID, want []library.Shared) {
	s.Helper()
	s.returns("what was shared with "+string(owner), want)(s.Libraries.SharedWith(s.ctx, owner, "", 1000))
}

func applyBuckets(s *env) {
	for _, v := range []principal.Visibility{principal.Private, principal.LoggedIn, principal.Public} {
		a := s.user("a" + v.String())
		it := s.newItem("item-"+v.String(), v, a)
		s.wantLibrary(a, nil)
		it.applyIndex(a)
		s.wantLibrary(a, buckets(v, it.entryOf(a)))
	}
}

func applyTenant(s *env) {
	stranger := principal.UserID("other", s.tenant)
	it := s.newItem("item", principal.LoggedIn, stranger)
	it.applyIndex(stranger)
	s.wantLibrary(stranger, buckets(principal.Private, it.entryOf(stranger)))
	it.write(func(c *library.ContentCommit) { moved(c, principal.Public) })
	it.applyIndex(stranger)
	s.wantLibrary(stranger, buckets(principal.Public, it.entryOf(stranger)))
	it.setVisibility(principal.LoggedIn)
	it.applyIndex(stranger)
	s.wantLibrary(stranger, buckets(principal.Private, it.entryOf(stranger)))
}

func applyMove(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	it.applyIndex(a)
	for n, v := range []principal.Visibility{principal.Public, principal.Private, principal.LoggedIn, principal.Public, principal.Private} {
		it.write(func(c *library.ContentCommit) { moved(c, v) })
		it.applyIndex(a)
		s.wantLibrary(a, buckets(v, it.entryOf(a)))
		if s.Failed() {
			s.Fatalf("after move %d", n)
		}
	}
}

func applyUnsettled(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	it.applyIndex(a)
	first := it.snapshot(a)
	it.move()
	it.setVisibility(principal.Private)
	it.move()
	it.move()
	it.applyIndex(a)
	s.wantLibrary(a, buckets(principal.Private, it.entryOf(a)))
	s.ok(s.Contents.ApplyIndex(s.ctx, first))
	s.wantLibrary(a, buckets(principal.Private, it.entryOf(a)))
}

func applyVisibility(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	it.applyIndex(a)
	for _, v := range []principal.Visibility{principal.Private, principal.LoggedIn, principal.Public, principal.LoggedIn, principal.Private} {
		it.setVisibility(v)
		it.applyIndex(a)
		s.wantLibrary(a, buckets(v, it.entryOf(a)))
	}
	// A public entry that no index update has removed is removed by the next one, though the
	// visibility was private in between.
	it.setVisibility(principal.Public)
	it.applyIndex(a)
	it.setVisibility(principal.LoggedIn)
	it.setVisibility(principal.Private)
	it.applyIndex(a)
	s.wantLibrary(a, buckets(principal.Private, it.entryOf(a)))
}

func applyGone(s *env) {
	a, b, c := s.user("a"), s.user("b"), s.user("c")
	it := s.newItem("item", principal.Public, a, b, c)
	it.applyIndex(a, b, c)
	it.remove(b)
	it.applyIndex(b)
	s.wantLibrary(b, nil)
	it.share(b, library.Viewing)
	it.applyIndex(b)
	s.wantLibrary(b, buckets(principal.Public, it.entryOf(b)))
	it.remove(b)
	it.move()
	it.applyIndex(b)
	s.wantLibrary(b, nil)
	it.share(b, library.Viewing)
	it.applyIndex(a, b, c)
	it.delete()
	it.applyIndex(a, b, c)
	for _, p := range []principal.ID{a, b, c} {
		s.wantLibrary(p, nil)
	}
	// A principal without a row has no entry, whatever else is in its library.
	other := s.newItem("other", principal.Public, a)
	other.applyIndex(s.user("d"))
	s.wantLibrary(s.user("d"), nil)
}

func applyEntry(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.LoggedIn, a)
	for _, role := range []library.ContentRole{library.Viewing, library.Editing, library.Manages} {
		it.share(a, role)
		it.applyIndex(a)
		want := library.Entry{EntryKey: library.EntryKey{Position: it.head.Position, Content: it.head.ID}, MTS: it.head.MTS, Role: role}
		if want.MTS == want.Position {
			s.Fatal("a share must not move the item")
		}
		s.wantLibrary(a, buckets(principal.LoggedIn, want))
	}
}

func applyRecord(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Public, a)
	it.applyIndex(a)
	s.wantShared(a, nil)
	it.applyAll(a, b)
	s.wantShared(a, []library.Shared{{Content: it.head.ID, Role: library.Manages}})
	s.wantShared(b, nil)
	it.share(a, library.Viewing)
	it.applyIndex(a)
	s.wantShared(a, []library.Shared{{Content: it.head.ID, Role: library.Manages}})
	it.applyAll(a, b)
	s.wantShared(a, []library.Shared{{Content: it.head.ID, Role: library.Viewing}})
	it.remove(a)
	it.applyIndex(a)
	s.wantShared(a, []library.Shared{{Content: it.head.ID, Role: library.Viewing}})
	it.applyAll(a, b)
	s.wantShared(a, nil)
}

func applyNamed(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Public, a, b)
	it.applyIndex(a, b)
	before := it.entryOf(b)
	it.move()
	it.applyIndex(a)
	s.wantLibrary(a, buckets(principal.Public, it.entryOf(a)))
	s.wantLibrary(b, buckets(principal.Public, before))
	other := s.newItem("other", principal.Private, a)
	other.applyIndex(a)
	want := buckets(principal.Public, it.entryOf(a))
	want[principal.Private] = append(want[principal.Private], other.entryOf(a))
	s.wantLibrary(a, want)
}

func applyWhole(s *env) {
	n := s.Contents.ApplyIndexBatch()
	if n < 1 {
		s.Fatalf("ApplyIndexBatch is %d", n)
	}
	n = min(n, 1000)
	it := s.newItem("item", principal.LoggedIn, s.user("creator"))
	var all []principal.ID
	it.write(func(c *library.ContentCommit) {
		for i := range n {
			all = append(all, s.user(fmt.Sprintf("m%04d", i)))
			c.Members = append(c.Members, library.Member{Principal: all[i], Role: library.Viewing})
		}
	})
	it.applyIndex(all...)
	it.move()
	it.applyIndex(all...)
	for _, p := range []principal.ID{all[0], all[n/2], all[n-1]} {
		s.wantLibrary(p, buckets(principal.LoggedIn, it.entryOf(p)))
	}
}

func applyRepeated(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.LoggedIn, a)
	it.move()
	for range 3 {
		it.applyIndex(a)
		s.wantLibrary(a, buckets(principal.LoggedIn, it.entryOf(a)))
	}
	it.wantStored("item")
}
