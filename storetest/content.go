package storetest

import (
	"context"
	"fmt"
	"slices"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

func contentChecks() []check {
	return []check{
		{"Read", "Read must return a zero Header (Seq 0, State Absent) for an unknown id, without an error, and one atomic " +
			"reading of all rows requested", readUnknown},
		{"Read", "members are in the order requested, with Seq 0 if there is no row", readMembers},
		{"Read", "a request row is read by its key, nil if there is none", readRequest},
		{"Read", "every field of a header is read back", readEveryField},
		{"Read", "ids that are prefixes of each other are separate", readPrefixes},
		{"ReadMany", "It must see everything acknowledged before it was called", readManyFresh},
		{"ReadMany", "headers and members are in the order of ids, zero for unknown ones", readManyOrder},
		{"ReadMany", "It must leave out what only a change needs, as Trim does", readManyBrief},
		{"MembersPage", "it reads at most limit member rows, leaving ones too, after a principal in order of id", membersPage},
		{"MembersPage", "it returns the header of the same reading, and no rows of an unknown id", membersPageHeader},
		{"ScanContents", "it lists ids after one, each once, in a permanent order of its own, deleted ones too", scanContents},
	}
}

func readUnknown(s *env) {
	key := commit.RequestKey{1}
	p := s.user("a")
	for _, serial := range []bool{true, false} {
		rows := s.read(s.content("unknown"), library.ContentQuery{Members: []principal.ID{p}, Request: &key, Serial: serial})
		s.same("rows of an unknown id", rows, &library.ContentRows{Members: []library.Member{{Principal: p}}})
	}
	readsAreAtomic(s)
}

// readsAreAtomic reads while commits write the header and two member rows together: every
// reading must show rows of one state.
func readsAreAtomic(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("changing", principal.Private, a, b)
	const rounds = 50
	done := make(chan error, 1)
	go func() {
		for range rounds {
			c := it.next(func(c *library.ContentCommit) {
				c.Members = []library.Member{{Principal: a, Role: library.Manages}, {Principal: b, Role: library.Manages}}
			})
			v, err := s.Contents.Commit(s.ctx, c)
			if err == nil && !v.Applied {
				err = fmt.Errorf("seq %d was refused", c.Header.Seq)
			}
			if err != nil && !fault.MayHaveCommitted(err) {
				done <- err
				return
			}
			it.applied(c)
		}
		done <- nil
	}()
	for {
		select {
		case err := <-done:
			s.ok(err)
			return
		default:
		}
		rows, err := s.Contents.Read(s.ctx, s.content("changing"), library.ContentQuery{Members: []principal.ID{a, b}})
		s.ok(err)
		if seq := rows.Header.Seq; rows.Members[0].Seq != seq || rows.Members[1].Seq != seq {
			s.Fatalf("header of seq %d with member rows of seq %d and %d", seq, rows.Members[0].Seq, rows.Members[1].Seq)
		}
	}
}

func readMembers(s *env) {
	a, b, c, none := s.user("a"), s.user("b"), s.group("c"), s.user("none")
	it := s.newItem("item", principal.Private, a)
	it.share(c, library.Viewing)
	it.share(b, library.Editing)
	it.remove(b)
	requested := []principal.ID{none, c, a, b}
	rows := s.read(it.head.ID, library.ContentQuery{Members: requested})
	s.same("members", rows.Members, []library.Member{
		{Principal: none},
		{Principal: c, Role: library.Viewing, Seq: 2, Since: it.rows[c].Since},
		{Principal: a, Role: library.Manages, Seq: 1},
		{Principal: b, Role: library.Editing, Leaving: true, Seq: 4, Since: it.rows[b].Since, RemovedFrom: it.rows[b].RemovedFrom},
	})
	s.same("members that were not requested", s.read(it.head.ID, library.ContentQuery{}).Members, []library.Member(nil))
}

func readRequest(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	r := commit.RequestRow{Key: commit.RequestKey{1, 2}, InputHash: [32]byte{31: 3}, Answer: []byte("answer \x00\x01\xff"), Until: s.later()}
	it.write(func(c *library.ContentCommit) { c.Request = &r })
	for _, serial := range []bool{true, false} {
		s.same("request row", s.read(it.head.ID, library.ContentQuery{Request: &r.Key, Serial: serial}).Request, &r)
	}
	other := commit.RequestKey{1, 2, 3}
	if got := s.read(it.head.ID, library.ContentQuery{Request: &other}).Request; got != nil {
		s.Fatalf("a request row of another key: %+v", got)
	}
	second := s.newItem("second", principal.Private, s.user("a"))
	if got := s.read(second.head.ID, library.ContentQuery{Request: &r.Key}).Request; got != nil {
		s.Fatalf("a request row of another content: %+v", got)
	}
	if got := s.read(it.head.ID, library.ContentQuery{}).Request; got != nil {
		s.Fatalf("a request row that was not requested: %+v", got)
	}
	it.move()
	s.same("request row after a further commit", s.read(it.head.ID, library.ContentQuery{Request: &r.Key}).Request, &r)
}

func readEveryField(s *env) {
	description, link, expires := "Description, with 𝄞 and\ntwo lines", "https://example.com/?a=b", start+77
	it := s.newItem("full", principal.LoggedIn, s.user("a"))
	it.write(func(c *library.ContentCommit) {
		h := &c.Header
		h.Kind, h.Title, h.Description, h.Link, h.ExpiresAt = library.Link, "Ti\u0301tle", &description, &link, &expires
		h.Visibility, h.Widest, h.Creator = principal.LoggedIn, principal.Public, s.user("someone/else")
		h.Version, h.Managers, h.Members, h.Moves, h.MovesSince = 12, 345, 6789, 30, start-5
		h.LoggedInUntil, h.PublicUntil, h.MovedAt = start-3, start-4, start-2
		h.CanonicalURL, h.Page = "https://example.com/a%2Fb?x=\u00e9", []byte{0, 1, 0xff}
		c.Members = []library.Member{
			{Principal: s.user("b"), Role: library.Editing, Since: start - 9, RemovedFrom: library.Buckets(0).With(principal.Public)},
			{Principal: s.user("c"), Role: library.Viewing, Leaving: true, Since: -1, RemovedFrom: 14},
		}
	})
	it.wantStored("full header")
	empty := ""
	it.write(func(c *library.ContentCommit) {
		h := &c.Header
		h.Kind, h.Title, h.Description, h.Link, h.ExpiresAt, h.CanonicalURL, h.Page = library.Note, "", &empty, nil, nil, "", nil
	})
	it.wantStored("header with an empty description")
	it.write(func(c *library.ContentCommit) { c.Header.Description = nil })
	it.wantStored("header without a description")
	it.write(func(c *library.ContentCommit) { c.Header.State = commit.Void })
	it.wantStored("void header")
}

func readPrefixes(s *env) {
	var items []*item
	for _, name := range []string{"b", "b/", "b/c", "b.", "B", "b/c/d"} {
		p := s.user(name)
		items = append(items, s.newItem(name, principal.Private, p, s.user("all")))
	}
	for _, it := range items {
		it.wantStored("item " + string(it.head.ID))
		rows, err := s.Contents.MembersPage(s.ctx, it.head.ID, "", 100, false)
		s.ok(err)
		s.same("members of "+string(it.head.ID), rows.Members, it.members(it.principals()...))
	}
}

// trimmed returns the rows of an item as ReadMany returns them.
func trimmed(it *item, members ...principal.ID) library.ContentRows {
	rows := library.ContentRows{Header: it.head, Members: it.members(members...)}
	rows.Trim()
	return rows
}

func readManyFresh(s *env) {
	a := s.user("a")
	var ids []library.ContentID
	var items []*item
	for n := range 20 {
		items = append(items, s.newItem(fmt.Sprintf("i%02d", n), principal.Private, a))
		ids = append(ids, items[n].head.ID)
	}
	for _, it := range items {
		it.move()
		rows, err := s.Contents.ReadMany(s.ctx, ids, []principal.ID{a})
		s.ok(err)
		for n, r := range rows {
			s.same("rows of "+string(ids[n]), r, trimmed(items[n], a))
		}
	}
}

func readManyOrder(s *env) {
	a, b := s.user("a"), s.user("b")
	first, second := s.newItem("first", principal.Public, a), s.newItem("second", principal.Private, b)
	second.share(a, library.Viewing)
	ids := []library.ContentID{second.head.ID, second.head.ID, s.content("unknown"), first.head.ID, second.head.ID}
	rows, err := s.Contents.ReadMany(s.ctx, ids, []principal.ID{b, a})
	s.ok(err)
	none := []library.Member{{Principal: b}, {Principal: a}}
	last := trimmed(second, b, a)
	s.same("rows", rows, []library.ContentRows{last, last, {Members: none}, trimmed(first, b, a), last})
	rows[0].Members[0].Role = library.Manages + 1 // The caller may change what it gets.
	s.same("rows of a repeated id, after the first was changed", rows[1], last)
	s.returns("rows of no ids", []library.ContentRows(nil))(s.Contents.ReadMany(s.ctx, nil, nil))
}

func readManyBrief(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	it.move()
	whole := s.read(it.head.ID, library.ContentQuery{})
	if len(whole.Header.Unsettled) == 0 || len(whole.Header.Writers) == 0 {
		s.Fatalf("Read leaves out %d positions and %d writers", len(it.head.Unsettled), len(it.head.Writers))
	}
	s.returns("rows", []library.ContentRows{trimmed(it)})(s.Contents.ReadMany(s.ctx, []library.ContentID{it.head.ID}, nil))
}

func membersPage(s *env) {
	names := []string{"a", "a.", "a/b", "b", "c", "d", "e"}
	it := s.newItem("item", principal.Private, s.group("z"))
	for _, n := range names {
		it.share(s.user(n), library.Viewing)
	}
	it.remove(s.user("b"))
	all := it.principals()
	for limit := 1; limit <= len(all)+1; limit++ {
		got := paged(s, limit, func(last library.Member) ([]library.Member, error) {
			rows, err := s.Contents.MembersPage(s.ctx, it.head.ID, last.Principal, limit, limit%2 == 0)
			s.ok(err)
			return rows.Members, nil
		})
		s.same(fmt.Sprintf("pages of %d", limit), got, it.members(all...))
	}
	rows, err := s.Contents.MembersPage(s.ctx, it.head.ID, s.user("a0"), 2, false)
	s.ok(err)
	s.same("members after a principal that is none", rows.Members, it.members(s.user("b"), s.user("c")))
}

func membersPageHeader(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"), s.user("b"))
	it.move()
	for _, serial := range []bool{true, false} {
		s.returns("page", &library.ContentRows{Header: it.head, Members: it.members(s.user("b"))})(
			s.Contents.MembersPage(s.ctx, it.head.ID, s.user("a"), 10, serial))
		s.returns("page of an unknown id", new(library.ContentRows))(s.Contents.MembersPage(s.ctx, s.content("unknown"), "", 10, serial))
	}
}

func scanContents(s *env) {
	var want []library.ContentID
	for _, name := range []string{"b", "a", "a/b", "A", "c", "a."} {
		it := s.newItem(name, principal.Private, s.user("a"))
		if name == "c" {
			it.delete()
		}
		want = append(want, it.head.ID)
	}
	wantIDs(s, want, s.Contents.ScanContents)
}

// wantIDs lists all ids of a store, in pages of several sizes, and compares those of this subtest.
func wantIDs[ID ~string](s *env, want []ID, list func(ctx context.Context, after ID, limit int) ([]ID, error)) {
	s.Helper()
	walk := func(limit int) []ID {
		return paged(s, limit, func(last ID) ([]ID, error) { return list(s.ctx, last, limit) })
	}
	slices.Sort(want)
	all := walk(1000)
	s.same("ids", ownIDs(s, slices.Sorted(slices.Values(all))), want)
	for _, limit := range []int{1, 2, 5, 100} {
		s.same(fmt.Sprintf("ids by %d", limit), walk(limit), all)
	}
}
