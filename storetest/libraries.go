package storetest

import (
	"cmp"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

func libraryChecks() []check {
	return []check{
		{"PageLibrary", "PageLibrary must return the entries of the slice in the order of the walk", pageOrder},
		{"PageLibrary", "From is exclusive, Bound is inclusive, and neither needs to be the key of an entry", pageEdges},
		{"PageLibrary", "entries at the same position are in order of id", pageTies},
		{"PageLibrary", "buckets are separate", pageBuckets},
		{"PageLibrary", "owners whose ids are prefixes of each other are separate", pageOwners},
		{"PageLibrary", "an unknown library is empty", pageUnknown},
		{"PageLibrary", "instants before 1970 sort before later ones", pageEarly},
		{"OpenLibrary", "OpenLibrary returns the entries that PageLibrary returns", openEntries},
		{"OpenLibrary", "It must read Newest and Built in this call, before or after the slice", openNow},
		{"CountLibrary", "CountLibrary counts the entries of a bucket, at most limit", countLibrary},
		{"Built", "Built and Recorded are false before SetBuilt, whatever else is written, and true after it", built},
		{"RebuildNote", "RebuildNote reads the note of one owner, nil if there is none", rebuildNote},
		{"RebuildNote", "The note of the later rebuild must stay, and of two notes of one rebuild the one whose bytes compare greater",
			rebuildNotes},
		{"RebuildNote", "DropRebuildNote must remove the note iff its rebuild started at asOf or before", dropRebuildNote},
		{"RebuildNote", "a note is not an entry of a library, and marks no library as built", rebuildNoteAlone},
		{"DropEntries", "DropEntries must remove an entry iff its MTS is the one given", dropEntries},
	}
}

func sharedChecks() []check {
	return []check{
		{"SharedWith", "SharedWith lists the items on which owner has a role, after an item, in order of id", sharedWith},
		{"Roles", "Roles returns the roles on the items of ids, in their order, according to the record of what was shared with owner",
			roles},
	}
}

// addEntry creates an item at a position, writes its entry to p's library, and returns the entry.
func (s *env) addEntry(name string, v principal.Visibility, at clock.Instant, p principal.ID) library.Entry {
	s.Helper()
	it := s.newItem(name, v, p)
	it.write(func(c *library.ContentCommit) {
		moved(c, v)
		c.Header.Position = at
	})
	it.applyIndex(p)
	return it.entryOf(p)
}

// entryKeys returns the keys of entries.
func entryKeys(entries []library.Entry) (keys []*library.EntryKey) {
	for _, e := range entries {
		keys = append(keys, &e.EntryKey)
	}
	return keys
}

// sliceOf returns what a slice of sorted entries must contain.
func sliceOf(sorted []library.Entry, p library.Slice) []library.Entry {
	var walk []library.Entry
	for _, e := range sorted {
		k := e.EntryKey
		switch {
		case p.From != nil && p.Ascending && !p.From.Less(k):
		case p.From != nil && !p.Ascending && !k.Less(*p.From):
		case p.Bound != nil && p.Ascending && p.Bound.Less(k):
		default:
			walk = append(walk, e)
		}
	}
	if !p.Ascending {
		slices.Reverse(walk)
	}
	return walk[:min(len(walk), p.Limit)]
}

// slices checks every slice of a bucket against its sorted entries.
func (s *env) slices(owner principal.ID, b library.Bucket, sorted []library.Entry, keys []*library.EntryKey) {
	s.Helper()
	for _, limit := range []int{1, 2, len(sorted), len(sorted) + 1} {
		for _, from := range append(keys, nil) {
			older := library.Slice{Owner: owner, Bucket: b, From: from, Limit: limit}
			s.same(fmt.Sprintf("%d to older ones from %+v", limit, from), s.page(older), sliceOf(sorted, older))
			for _, bound := range append(keys, nil) {
				newer := library.Slice{Owner: owner, Bucket: b, Ascending: true, From: from, Bound: bound, Limit: limit}
				s.same(fmt.Sprintf("%d to newer ones from %+v to %+v", limit, from, bound), s.page(newer), sliceOf(sorted, newer))
			}
		}
	}
}

func pageOrder(s *env) {
	p := s.user("a")
	var sorted []library.Entry
	for _, n := range []int{4, 1, 5, 2, 3} {
		sorted = append(sorted, s.addEntry(fmt.Sprintf("i%d", 9-n), principal.LoggedIn, start+clock.Instant(n), p))
	}
	slices.SortFunc(sorted, func(a, b library.Entry) int { return int(a.Position - b.Position) })
	keys := entryKeys(sorted)
	s.slices(p, principal.Private, sorted, keys)
	s.slices(p, principal.LoggedIn, sorted, keys)
	s.slices(p, principal.Public, nil, keys[:2])
}

func pageEdges(s *env) {
	p := s.user("a")
	var sorted []library.Entry
	var keys []*library.EntryKey
	for n := range 3 {
		e := s.addEntry(fmt.Sprintf("i%d", n), principal.Private, start+clock.Instant(10*n), p)
		sorted = append(sorted, e)
		keys = append(keys, &e.EntryKey,
			&library.EntryKey{Position: e.Position, Content: e.Content + "0"},
			&library.EntryKey{Position: e.Position},
			&library.EntryKey{Position: e.Position + 1},
			&library.EntryKey{Position: e.Position - 1, Content: "d"})
	}
	s.slices(p, principal.Private, sorted, keys)
}

func pageTies(s *env) {
	p := s.user("a")
	var sorted []library.Entry
	for _, name := range []string{"b", "a/b", "a", "B", "a."} {
		sorted = append(sorted, s.addEntry(name, principal.Private, start+5, p))
	}
	slices.SortFunc(sorted, func(a, b library.Entry) int { return cmp.Compare(a.Content, b.Content) })
	s.slices(p, principal.Private, sorted, entryKeys(sorted))
}

func pageBuckets(s *env) {
	p := s.user("a")
	e1 := s.addEntry("private", principal.Private, start+1, p)
	e2 := s.addEntry("loggedin", principal.LoggedIn, start+2, p)
	e3 := s.addEntry("public", principal.Public, start+3, p)
	s.wantLibrary(p, map[library.Bucket][]library.Entry{
		principal.Private:  {e1, e2, e3},
		principal.LoggedIn: {e2, e3},
		principal.Public:   {e3},
	})
}

func pageOwners(s *env) {
	want := make(map[principal.ID]map[library.Bucket][]library.Entry)
	for n, owner := range []principal.ID{s.user("b"), s.user("b/c"), s.user("b/"), s.user("b."), s.user("bb"), s.group("b"), s.user("b/c/d")} {
		want[owner] = buckets(principal.Public, s.addEntry(fmt.Sprintf("i%d", n), principal.Public, start+clock.Instant(n), owner))
	}
	for owner, w := range want {
		s.wantLibrary(owner, w)
	}
}

func pageUnknown(s *env) {
	s.wantLibrary(s.user("unknown"), nil)
	k := &library.EntryKey{Position: start, Content: s.content("x")}
	for _, newer := range []bool{true, false} {
		if es := s.page(library.Slice{Owner: s.user("unknown"), Bucket: principal.Private, Ascending: newer, From: k, Limit: 5}); len(es) != 0 {
			s.Fatalf("entries of an unknown library: %+v", es)
		}
	}
}

func pageEarly(s *env) {
	p := s.user("a")
	var sorted []library.Entry
	for n, at := range []clock.Instant{-62135596800000000, -1, 0, 1, start, 253402300799999999} {
		sorted = append(sorted, s.addEntry(fmt.Sprintf("i%d", n), principal.Private, at, p))
	}
	s.slices(p, principal.Private, sorted, entryKeys([]library.Entry{sorted[1], sorted[2], sorted[5]}))
}

func countLibrary(s *env) {
	p := s.user("a")
	for n := range 7 {
		s.addEntry(fmt.Sprintf("i%d", n), []principal.Visibility{principal.Private, principal.Public}[n%2], start+clock.Instant(n), p)
	}
	s.addEntry("other", principal.Public, start, s.user("a/b"))
	for _, c := range []struct {
		bucket      library.Bucket
		limit, want int
	}{
		{principal.Private, 100, 7}, {principal.Private, 7, 7}, {principal.Private, 6, 6}, {principal.Private, 1, 1},
		{principal.LoggedIn, 100, 3}, {principal.Public, 100, 3}, {principal.Public, 2, 2},
	} {
		s.returns(fmt.Sprintf("%v, at most %d", c.bucket, c.limit), c.want)(s.Libraries.CountLibrary(s.ctx, p, c.bucket, c.limit))
	}
	s.returns("an unknown library", 0)(s.Libraries.CountLibrary(s.ctx, s.user("unknown"), principal.Private, 10))
}

func built(s *env) {
	a, b := s.user("a"), s.user("a/b")
	isBuilt := func(p principal.ID, want bool) {
		s.Helper()
		s.returns("built of "+string(p), want)(s.Libraries.Built(s.ctx, p, library.ByChange))
		s.returns("built by title of "+string(p), want)(s.Libraries.Built(s.ctx, p, library.ByTitle))
		s.returns("recorded of "+string(p), want)(s.Libraries.Recorded(s.ctx, p))
	}
	s.addEntry("item", principal.Private, start, a)
	all := s.shareAll(a, "b", "a")
	isBuilt(a, false)
	s.ok(s.Libraries.SetBuilt(s.ctx, a, start))
	s.ok(s.Libraries.SetBuilt(s.ctx, a, start))
	s.ok(s.Libraries.SetBuilt(s.ctx, a, start-1))
	isBuilt(a, true)
	isBuilt(b, false)
	// The marks do not appear in a library or a record.
	s.returns("what is shared, with a mark", all)(s.Libraries.SharedWith(s.ctx, a, "", 100))
}

// opened opens a bucket.
func (s *env) opened(p library.Slice, newest bool) *library.Opening {
	s.Helper()
	o, err := s.Libraries.OpenLibrary(s.ctx, p, newest)
	s.ok(err)
	return o
}

func openEntries(s *env) {
	a := s.user("a")
	for n := range 5 {
		s.addEntry(fmt.Sprintf("item%d", n), principal.Public, start+clock.Instant(n), a)
	}
	from := &library.EntryKey{Position: start + 2}
	for _, p := range []library.Slice{
		{Owner: a, Bucket: principal.Private, Limit: 3},
		{Owner: a, Bucket: principal.Private, Ascending: true, Limit: 3},
		{Owner: a, Bucket: principal.Public, From: from, Limit: 10},
		{Owner: a, Bucket: principal.Public, From: from, Ascending: true, Bound: &library.EntryKey{Position: start + 4}, Limit: 10},
		{Owner: a, Bucket: principal.Public, From: &library.EntryKey{Position: start}, Limit: 10},
		{Owner: s.user("unknown"), Bucket: principal.Private, Limit: 10},
	} {
		for _, newest := range []bool{false, true} {
			s.same(fmt.Sprintf("entries of %+v", p), append([]library.Entry{}, s.opened(p, newest).Entries...),
				append([]library.Entry{}, s.page(p)...))
		}
	}
}

func openNow(s *env) {
	openBuilt(s)
	openNewest(s)
}

func openBuilt(s *env) {
	a, empty := s.user("built"), s.user("empty")
	s.addEntry("item", principal.Public, start, a)
	for _, p := range []principal.ID{a, empty, s.user("unknown")} {
		for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
			for _, newest := range []bool{false, true} {
				if s.opened(library.Slice{Owner: p, Bucket: b, Limit: 3}, newest).Built {
					s.Errorf("the %v bucket of %s is built", b, p)
				}
			}
		}
	}
	s.ok(s.Libraries.SetBuilt(s.ctx, a, start))
	s.ok(s.Libraries.SetBuilt(s.ctx, empty, start))
	for _, p := range []principal.ID{a, empty} {
		for _, from := range []*library.EntryKey{nil, {Position: start - 1}} {
			if !s.opened(library.Slice{Owner: p, Bucket: principal.Public, From: from, Limit: 3}, false).Built {
				s.Errorf("the library of %s from %v on is not built", p, from)
			}
		}
	}
}

func openNewest(s *env) {
	a := s.user("a")
	oldest := library.Slice{Owner: a, Bucket: principal.Public, Ascending: true, Limit: 1}
	if o := s.opened(oldest, true); o.Newest != nil {
		s.Errorf("the newest entry of an empty bucket is at %v", o.Newest)
	}
	for n := range 3 {
		e := s.addEntry(fmt.Sprintf("newest%d", n), principal.Public, start+clock.Instant(n), a)
		s.addEntry(fmt.Sprintf("private%d", n), principal.Private, start+clock.Instant(10+n), a)
		if o := s.opened(oldest, true); o.Newest == nil || *o.Newest != e.EntryKey {
			s.Errorf("the newest entry is at %v, not at %v", o.Newest, e.EntryKey)
		}
	}
	if o := s.opened(oldest, false); o.Newest != nil {
		s.Errorf("the newest entry is returned though it was not requested")
	}
}

func dropEntries(s *env) {
	p := s.user("a")
	it, other := s.newItem("item", principal.LoggedIn, p), s.newItem("other", principal.Private, p)
	it.applyIndex(p)
	other.applyIndex(p)
	first := it.entryOf(p)
	it.share(p, library.Viewing)
	it.applyIndex(p)
	now := it.entryOf(p)
	both := func(e library.Entry) []library.BucketEntry {
		return []library.BucketEntry{{Bucket: principal.Private, Entry: e}, {Bucket: principal.LoggedIn, Entry: e}}
	}
	all := map[library.Bucket][]library.Entry{
		principal.Private:  {now, other.entryOf(p)},
		principal.LoggedIn: {now},
	}
	s.ok(s.Libraries.DropEntries(s.ctx, p, both(first)))
	s.wantLibrary(p, all)
	missing := now
	missing.Content = s.content("missing")
	s.ok(s.Libraries.DropEntries(s.ctx, p, append(both(missing), library.BucketEntry{Bucket: principal.Public, Entry: now})))
	s.ok(s.Libraries.DropEntries(s.ctx, s.user("b"), both(now)))
	s.wantLibrary(p, all)
	s.ok(s.Libraries.DropEntries(s.ctx, p, both(now)[1:]))
	delete(all, principal.LoggedIn)
	s.wantLibrary(p, all)
	s.ok(s.Libraries.DropEntries(s.ctx, p, both(now)))
	s.wantLibrary(p, map[library.Bucket][]library.Entry{principal.Private: {other.entryOf(p)}})
	it.move()
	it.applyIndex(p)
	s.ok(s.Libraries.DropEntries(s.ctx, p, both(now)))
	s.wantLibrary(p, map[library.Bucket][]library.Entry{
		principal.Private:  {other.entryOf(p), it.entryOf(p)},
		principal.LoggedIn: {it.entryOf(p)},
	})
}

// shareAll creates items of these names, shares them with p, and writes p's entries and record. It
// returns the record.
func (s *env) shareAll(p principal.ID, names ...string) []library.Shared {
	var all []library.Shared
	for n, name := range names {
		it := s.newItem(name, principal.Private, s.user("creator"))
		role := library.ContentRole(1 + n%3)
		it.share(p, role)
		it.applyAll(p)
		all = append(all, library.Shared{Content: it.head.ID, Role: role})
	}
	slices.SortFunc(all, func(a, b library.Shared) int { return cmp.Compare(a.Content, b.Content) })
	return all
}

func sharedWith(s *env) {
	a, ab := s.user("a"), s.user("a/b")
	all := s.shareAll(a, "b", "a", "a/b", "A", "c", "d")
	others := s.shareAll(ab, "x")
	for _, limit := range []int{1, 2, 6, 7} {
		got := paged(s, limit, func(last library.Shared) ([]library.Shared, error) {
			return s.Libraries.SharedWith(s.ctx, a, last.Content, limit)
		})
		s.same(fmt.Sprintf("pages of %d", limit), got, all)
	}
	s.wantShared(ab, others)
	s.wantShared(s.user("unknown"), nil)
}

func roles(s *env) {
	a := s.user("a")
	all := s.shareAll(a, "b", "a", "c")
	s.shareAll(s.user("a/b"), "x")
	got, err := s.Libraries.Roles(s.ctx, a, []library.ContentID{all[2].Content, s.content("x"), all[0].Content,
		s.content("unknown"), all[1].Content})
	s.ok(err)
	s.same("roles", got, []library.ContentRole{all[2].Role, library.NoRole, all[0].Role, library.NoRole, all[1].Role})
}
