package storetest

import (
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/library"
	"carrel/principal"
)

func titleChecks() []check {
	return []check{
		{"the order of titles", "PageLibrary must return the entries of the slice in the order of the walk", titleSlices},
		{"the order of titles", "only All writes the entries", titleOnlyAll},
		{"the order of titles", "An older snapshot must never undo what a newer one wrote, even if the title came back", titleReturns},
		{"the order of titles", "every unsettled title is deleted from the buckets up to its widest visibility", titleUnsettled},
		{"the order of titles", "a leaving and a deleted member lose every entry", titleGone},
		{"the order of titles", "DropEntries must remove an entry iff its MTS is the one given", titleDropped},
		{"the order of titles", "DropLibrary removes the entries and the mark", titleLibraryDropped},
		{"unsettled titles", "SupersedeTitle is added to the stored ones, and replaces others of the same title", titleSuperseded},
		{"unsettled titles", "Titles are removed by the state that superseded them, others are kept", titleCleanUp},
		{"EntriesAt",
			"EntriesAt must return the entries of a bucket with keys of one order, in their order; a zero Entry where there is none",
			entriesAt},
	}
}

// rename makes c a rename, as a change of the title makes it.
func rename(c *library.ContentCommit, title string) {
	h := &c.Header
	c.SupersedeTitle = &library.SupersededTitle{At: h.MTS, Title: h.Key(library.ByTitle).Title, Widest: h.Visibility}
	h.Title = title
}

func (it *item) rename(title string) {
	it.s.Helper()
	it.write(func(c *library.ContentCommit) { rename(c, title) })
}

// all returns the snapshot of principals that writes all derived rows.
func (it *item) all(principals ...principal.ID) *library.IndexUpdate {
	e := it.snapshot(principals...)
	e.All = true
	return e
}

func (it *item) applyAll(principals ...principal.ID) {
	it.s.Helper()
	it.s.ok(it.s.Contents.ApplyIndex(it.s.ctx, it.all(principals...)))
}

// titleOf returns the entry in the order of titles that the item's present state derives from p's row.
func (it *item) titleOf(p principal.ID) library.Entry {
	e := it.entryOf(p)
	e.EntryKey, e.TitleHash = it.head.Key(library.ByTitle), collation.Hash(it.head.OrderTitle())
	return e
}

// wantTitles checks that p's buckets have these entries in the order of titles. Buckets that are not named must be empty.
func (s *env) wantTitles(p principal.ID, want map[library.Bucket][]library.Entry) {
	s.Helper()
	for _, b := range library.AllBuckets {
		got := s.page(library.Slice{Owner: p, Bucket: b, Order: library.ByTitle, Ascending: true, Limit: 1000})
		s.same("titles in bucket "+b.String()+" of "+string(p), got, want[b])
		slices.Reverse(got)
		s.same("titles in bucket "+b.String()+" of "+string(p)+" from the last one",
			s.page(library.Slice{Owner: p, Bucket: b, Order: library.ByTitle, Limit: 1000}), got)
	}
}

func titleSlices(s *env) {
	p := s.user("a")
	var sorted []library.Entry
	var keys []*library.EntryKey
	// Keys of these are prefixes of each other, contain zeros, and are equal.
	for n, title := range []string{"b", "a b", "a", "ab", "a", "A", "\u200d", "ä", "中文", "a\u0301\u0301\u0301"} {
		it := s.newItem(fmt.Sprintf("i%d", 20-n), principal.LoggedIn, p)
		it.rename(title)
		it.applyAll(p)
		sorted = append(sorted, it.titleOf(p))
	}
	slices.SortFunc(sorted, func(a, b library.Entry) int { return a.Compare(b.EntryKey) })
	for i := range sorted {
		k := sorted[i].EntryKey
		keys = append(keys, &sorted[i].EntryKey, &library.EntryKey{Title: k.Title}, &library.EntryKey{Title: k.Title + "\x01"})
	}
	keys = append(keys, &library.EntryKey{Title: collation.Key("\xff")})
	for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
		want := sorted
		if b == principal.Public {
			want = nil
		}
		for _, limit := range []int{1, 3, len(sorted) + 1} {
			for _, from := range append(keys, nil) {
				q := library.Slice{Owner: p, Bucket: b, Order: library.ByTitle, From: from, Limit: limit}
				s.same(fmt.Sprintf("%d descending from %+v", limit, from), s.page(q), sliceOf(want, q))
				q.Ascending = true
				s.same(fmt.Sprintf("%d ascending from %+v", limit, from), s.page(q), sliceOf(want, q))
				if q.Bound = keys[len(keys)/2]; from == nil {
					s.same(fmt.Sprintf("%d ascending to %+v", limit, q.Bound), s.page(q), sliceOf(want, q))
				}
			}
		}
	}
	q := library.Slice{Owner: p, Bucket: principal.Private, Order: library.ByTitle, Ascending: true, Limit: 3}
	if o := s.opened(q, false); o.Built || len(o.Entries) != 3 {
		s.Errorf("OpenLibrary returns %+v", o)
	}
	s.ok(s.Libraries.SetBuilt(s.ctx, p, start))
	if o := s.opened(q, false); !o.Built {
		s.Error("the library is not built")
	}
	if n, err := s.Libraries.CountLibrary(s.ctx, p, principal.Private, 100); n != 0 && n != len(sorted) || err != nil {
		s.Errorf("the count is %d, %v", n, err)
	}
}

func titleOnlyAll(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.LoggedIn, a, b)
	it.applyIndex(a, b)
	s.wantTitles(a, nil)
	it.applyAll(a)
	first := buckets(principal.LoggedIn, it.titleOf(a))
	s.wantTitles(a, first)
	s.wantTitles(b, nil)
	it.move()
	it.applyIndex(a)
	s.wantTitles(a, first)
	s.wantLibrary(a, buckets(principal.LoggedIn, it.entryOf(a)))
	it.applyAll(a)
	s.wantTitles(a, buckets(principal.LoggedIn, it.titleOf(a)))
	s.wantLibrary(a, buckets(principal.LoggedIn, it.entryOf(a)))
}

func titleReturns(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.LoggedIn, a)
	var older []*library.IndexUpdate
	for _, title := range []string{"one", "two", "one", "three", "one"} {
		it.rename(title)
		e := it.all(a)
		s.ok(s.Contents.ApplyIndex(s.ctx, e))
		older = append(older, e)
		for _, late := range older {
			s.ok(s.Contents.ApplyIndex(s.ctx, late))
			s.wantTitles(a, buckets(principal.LoggedIn, it.titleOf(a)))
		}
	}
}

func titleUnsettled(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	it.applyAll(a)
	it.rename("one")
	it.applyAll(a)
	it.rename("two") // not applied, like the state before the next one
	it.write(func(c *library.ContentCommit) {
		rename(c, "two") // narrows, under the same title
		moved(c, principal.Private)
	})
	it.applyAll(a)
	s.wantTitles(a, buckets(principal.Private, it.titleOf(a)))
	it.write(func(c *library.ContentCommit) { moved(c, principal.Public) })
	it.applyAll(a)
	s.wantTitles(a, buckets(principal.Public, it.titleOf(a)))
}

func titleGone(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Public, a, b)
	it.applyAll(a, b)
	it.rename("one")
	it.remove(b)
	it.applyAll(a, b)
	s.wantTitles(b, nil)
	s.wantTitles(a, buckets(principal.Public, it.titleOf(a)))
	it.rename("two")
	it.delete()
	it.applyAll(a, b)
	s.wantTitles(a, nil)
}

func titleDropped(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Private, a)
	it.applyAll(a)
	first := it.titleOf(a)
	it.move()
	it.applyAll(a)
	s.ok(s.Libraries.DropEntries(s.ctx, a, []library.BucketEntry{{Bucket: principal.Private, Entry: first}}))
	s.wantTitles(a, buckets(principal.Private, it.titleOf(a)))
	s.ok(s.Libraries.DropEntries(s.ctx, a, []library.BucketEntry{{Bucket: principal.Private, Entry: it.titleOf(a)}}))
	s.wantTitles(a, nil)
	s.wantLibrary(a, buckets(principal.Private, it.entryOf(a)))
}

func titleLibraryDropped(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Private, a)
	it.applyAll(a)
	s.ok(s.Libraries.SetBuilt(s.ctx, a, start))
	s.ok(s.Libraries.DropLibrary(s.ctx, a, s.tick()))
	s.wantTitles(a, nil)
	s.returns("built", false)(s.Libraries.Built(s.ctx, a, library.ByTitle))
}

func titleSuperseded(s *env) {
	it := s.newItem("item", principal.Public, s.user("a"))
	for _, title := range []string{"one", "two", "one", "three"} {
		it.rename(title)
		it.wantStored("item " + title)
	}
	if n := len(it.head.UnsettledTitles); n != 3 { // that of the creation, "one" and "two"
		s.Fatalf("unsettled: %+v", it.head.UnsettledTitles)
	}
	it.write(func(c *library.ContentCommit) {
		rename(c, "four")
		moved(c, principal.Private)
		c.Header.FormerTitle = "three"
	})
	it.wantStored("item that moves, and is renamed later")
	it.move()
	it.wantStored("item that moves, and supersedes no title")
}

func titleCleanUp(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	it.rename("one")
	it.rename("two")
	u := it.head.UnsettledTitles
	clean := func(at ...clock.Instant) {
		s.Helper()
		s.ok(s.Contents.CleanUp(s.ctx, &library.Cleanup{ID: it.head.ID, Titles: at}))
		it.head.UnsettledTitles = slices.DeleteFunc(slices.Clone(it.head.UnsettledTitles), func(u library.SupersededTitle) bool {
			return slices.Contains(at, u.At)
		})
		it.wantStored("item")
	}
	clean(u[0].At)
	clean(u[0].At, 7)
	// "one" comes back and is superseded again: the end of the first time does not end the second.
	it.rename("one")
	it.rename("three")
	clean(u[1].At)
	if n := len(it.head.UnsettledTitles); n != 2 {
		s.Fatalf("unsettled: %+v", it.head.UnsettledTitles)
	}
	it.move()
	clean(it.head.UnsettledTitles[1].At)
}

func entriesAt(s *env) {
	a := s.user("a")
	one, two := s.newItem("one", principal.LoggedIn, a), s.newItem("two", principal.LoggedIn, a)
	one.applyAll(a)
	two.applyAll(a)
	for _, e := range [][2]library.Entry{{one.entryOf(a), two.entryOf(a)}, {one.titleOf(a), two.titleOf(a)}} {
		missing := e[0].EntryKey
		missing.Content += "0"
		keys := []library.EntryKey{e[1].EntryKey, missing, e[0].EntryKey}
		for _, b := range library.AllBuckets {
			want := []library.Entry{e[1], {}, e[0]}
			if b == principal.Public {
				want = make([]library.Entry, 3)
			}
			s.returns("entries in "+b.String(), want)(s.Libraries.EntriesAt(s.ctx, a, b, keys))
		}
	}
	got, err := s.Libraries.EntriesAt(s.ctx, a, principal.Private, nil)
	s.ok(err)
	s.same("entries of no keys", len(got), 0)
}
