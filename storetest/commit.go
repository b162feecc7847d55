package storetest

import (
	"fmt"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func commitChecks() []check {
	return []check{
		{"Commit", "Commit must apply whole or not at all, iff Seq is Base", commitWhole},
		{"Commit", "Base is the Seq that the partition must have; 0: no header must exist", commitBase},
		{"Commit", "the header's own Writers are not written, and its Unsettled with Supersede alone", commitIgnoresLists},
		{"Commit", "Supersede is added to the stored ones, ascending", commitSupersede},
		{"Commit", "A position that was removed since Base was read may be listed again: removing it once more does no harm",
			commitBesideCleanup},
		{"Commit", "Writer is added to the stored ones, of which the last MaxWriters stay", commitWriters},
		{"Commit", "a refusal returns the stored Seq and Writers", commitRefusal},
		{"Commit", "a void header is a header", commitVoid},
		{"Commit", "member rows that are not written are kept", commitKeepsMembers},
		{"Commit", "one commit can write 2,000 member rows", commitMany},
	}
}

func commitWhole(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Private, a)
	for _, base := range []int64{0, 2, 7} {
		r := commit.RequestRow{Key: commit.RequestKey{9}, Answer: []byte("x"), Until: s.later()}
		c := it.next(func(c *library.ContentCommit) {
			c.Base, c.Header.Seq = base, base+1
			c.Header.Title = "refused"
			moved(c, principal.Public)
			c.Request = &r
			c.Members = []library.Member{{Principal: a, Role: library.Viewing}, {Principal: b, Role: library.Viewing}}
		})
		if v := s.commit(c); v.Applied {
			s.Fatalf("a commit on base %d was applied to seq 1", base)
		}
		it.wantStored(fmt.Sprintf("item after a commit on base %d was refused", base))
		if got := s.read(it.head.ID, library.ContentQuery{Request: &r.Key}).Request; got != nil {
			s.Fatalf("a refused commit has written its request row: %+v", got)
		}
	}
	r := commit.RequestRow{Key: commit.RequestKey{9}, Answer: []byte("y"), Until: s.later()}
	it.write(func(c *library.ContentCommit) {
		c.Header.Title = "applied"
		moved(c, principal.Public)
		c.Request = &r
		c.Members = []library.Member{{Principal: a, Role: library.Viewing}, {Principal: b, Role: library.Viewing}}
	})
	it.wantStored("item after a commit")
	s.same("request row", s.read(it.head.ID, library.ContentQuery{Request: &r.Key}).Request, &r)
}

func commitBase(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	again := it.next(func(c *library.ContentCommit) { c.Base, c.Header.Seq = 0, 1 })
	if v := s.commit(again); v.Applied {
		s.Fatal("a creation was applied though there is a header")
	}
	missing := it.next(func(c *library.ContentCommit) { c.ID, c.Header.ID = s.content("missing"), s.content("missing") })
	if v := s.commit(missing); v.Applied || v.Seq != 0 || len(v.Writers) != 0 {
		s.Fatalf("a commit on base 1 where there is no header: %+v", v)
	}
	s.same("rows of the missing one", s.read(s.content("missing"), library.ContentQuery{}), new(library.ContentRows))
	it.wantStored("item")
}

func commitIgnoresLists(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	it.move()
	it.write(func(c *library.ContentCommit) {
		c.Header.Unsettled = []library.Superseded{{Position: 5, Widest: principal.Public}}
		c.Header.Writers = []commit.Writer{{Seq: 1, Entry: commit.EntryID{9}}}
	})
	it.wantStored("item")
}

func commitSupersede(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	for n, v := range []principal.Visibility{principal.Public, principal.LoggedIn, principal.Private, principal.Public} {
		it.write(func(c *library.ContentCommit) { moved(c, v) })
		it.wantStored(fmt.Sprintf("item after move %d", n))
	}
	if len(it.head.Unsettled) != 4 {
		s.Fatalf("unsettled: %+v", it.head.Unsettled)
	}
	it.setVisibility(principal.Private)
	it.wantStored("item after a change of visibility, which supersedes nothing")
}

func commitBesideCleanup(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	it.move()
	it.move()
	first := it.head.Unsettled[0].Position
	c := it.next(func(c *library.ContentCommit) { moved(c, principal.Private) })
	it.cleanUp(library.Cleanup{Positions: []clock.Instant{first}})
	if v := s.commit(c); !v.Applied {
		s.Fatalf("refused: %+v", v)
	}
	it.cleanedUp(first)
	it.applied(c)
	u := s.read(it.head.ID, library.ContentQuery{}).Header.Unsettled
	if len(u) > 0 && u[0].Position == first {
		u = u[1:]
	}
	s.same("unsettled beside the removed one", u, it.head.Unsettled)
	it.cleanUp(library.Cleanup{Positions: []clock.Instant{first}})
	it.wantStored("item after the position was removed once more")
}

func commitWriters(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	for range commit.MaxWriters + 5 {
		it.setVisibility(principal.Private)
	}
	it.wantStored("item")
	rows := s.read(it.head.ID, library.ContentQuery{})
	if n := len(rows.Header.Writers); n != commit.MaxWriters {
		s.Fatalf("%d writers", n)
	}
	if first := rows.Header.Writers[0].Seq; first != it.head.Seq-commit.MaxWriters+1 {
		s.Fatalf("the first writer made seq %d of %d", first, it.head.Seq)
	}
}

func commitRefusal(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	it.move()
	it.move()
	late := it.next(func(c *library.ContentCommit) { c.Base, c.Header.Seq = 1, 2 })
	s.same("verdict", s.commit(late), commit.Verdict{Seq: 3, Writers: it.head.Writers})
}

func commitVoid(s *env) {
	it := &item{s: s, rows: make(map[principal.ID]library.Member)}
	it.head.ID = s.content("fenced")
	it.write(func(c *library.ContentCommit) { c.Header.State = commit.Void })
	it.wantStored("void header")
	create := func(c *library.ContentCommit) {
		c.Header.State, c.Header.Kind, c.Header.Title = commit.Live, library.Note, "late"
		c.Members = []library.Member{{Principal: s.user("a"), Role: library.Manages}}
	}
	late := it.next(create)
	late.Base, late.Header.Seq = 0, 1
	if v := s.commit(late); v.Applied {
		s.Fatal("a creation with base 0 was applied over a void header")
	}
	it.write(create)
	it.wantStored("item created over a void header")
}

func commitKeepsMembers(s *env) {
	a, b, c := s.user("a"), s.user("b"), s.user("c")
	it := s.newItem("item", principal.Private, a, b, c)
	it.remove(b)
	it.move()
	it.wantStored("item")
	rows := s.read(it.head.ID, library.ContentQuery{Members: []principal.ID{a, b, c}})
	for i, seq := range []int64{1, 2, 1} {
		if rows.Members[i].Seq != seq {
			s.Fatalf("member %d has seq %d, not %d", i, rows.Members[i].Seq, seq)
		}
	}
}

func commitMany(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	it.write(func(c *library.ContentCommit) {
		for n := range 2000 {
			c.Members = append(c.Members, library.Member{Principal: s.user(fmt.Sprintf("m%04d", n)), Role: library.Viewing})
		}
	})
	got := paged(s, 500, func(last library.Member) ([]library.Member, error) {
		rows, err := s.Contents.MembersPage(s.ctx, it.head.ID, last.Principal, 500, true)
		s.ok(err)
		return rows.Members, nil
	})
	s.same("members", got, it.members(it.principals()...))
}
