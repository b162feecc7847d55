package storetest

import (
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func settleAreas() []area {
	return []area{{"Settle", []check{
		{"Settle must not change Seq, and must be harmless when repeated", settleRepeated},
		{"Positions are removed from Unsettled, others are kept", settlePositions},
		{"Leaving rows are removed iff they are leaving and of the Seq given", settleLeaving},
		{"Purge removes the rows of Leaving whatever their state, iff the header is Deleted", settlePurge},
		{"Final then reduces it to Seq, MTS, Writers and the state", settleFinal},
		{"of an unknown id it does nothing", settleUnknown},
	}}}
}

// settle settles, twice, because repeating it must be harmless.
func (it *item) settle(t library.Settlement) {
	it.s.Helper()
	t.ID = it.head.ID
	it.s.ok(it.s.Settle(it.s.ctx, &t))
	it.s.ok(it.s.Settle(it.s.ctx, &t))
}

func settleRepeated(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Private, a, b)
	it.move()
	it.remove(b)
	t := &library.Settlement{ID: it.head.ID, Positions: []clock.Instant{it.head.Unsettled[0].Position}, Leaving: it.members(b)}
	for range 3 {
		s.ok(s.Settle(s.ctx, t))
	}
	it.settled(t.Positions...)
	delete(it.rows, b)
	it.wantStored("item after it was settled")
	it.move()
	it.share(b, library.Viewing)
	s.ok(s.Settle(s.ctx, t))
	it.wantStored("item after a late settlement was repeated")
}

func settlePositions(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	for range 4 {
		it.move()
	}
	u := it.head.Unsettled
	it.settle(library.Settlement{Positions: []clock.Instant{u[2].Position, u[0].Position, 12345}})
	it.settled(u[2].Position, u[0].Position)
	it.wantStored("item")
	it.settle(library.Settlement{})
	it.wantStored("item after nothing was settled")
	it.settle(library.Settlement{Positions: []clock.Instant{u[1].Position, u[3].Position}})
	it.settled(u[1].Position, u[3].Position)
	it.wantStored("item without unsettled positions")
	it.move()
	it.wantStored("item after a further move")
}

func settleLeaving(s *env) {
	a, b, c, d := s.user("a"), s.user("b"), s.user("c"), s.user("d")
	it := s.newItem("item", principal.Private, a, b, c, d)
	it.remove(b)
	early := it.members(b)[0]
	it.share(b, library.Viewing)
	it.remove(b)
	it.remove(c)
	active := it.members(d)[0]
	it.settle(library.Settlement{Leaving: []library.Member{early, active, {Principal: s.user("none"), Leaving: true, Seq: 1}}})
	it.wantStored("item with nothing to remove")
	pretended := active
	pretended.Leaving = true
	it.settle(library.Settlement{Leaving: []library.Member{pretended}})
	it.wantStored("item whose active row was named as leaving")
	it.settle(library.Settlement{Leaving: it.members(b, c)})
	delete(it.rows, b)
	delete(it.rows, c)
	it.wantStored("item without leaving rows")
}

func settlePurge(s *env) {
	a, b, c := s.user("a"), s.user("b"), s.user("c")
	it := s.newItem("item", principal.Private, a, b, c)
	it.remove(b)
	it.settle(library.Settlement{Purge: true, Leaving: it.members(a)})
	it.wantStored("live item that was to be purged")
	it.delete()
	stale := it.members(a, b)
	stale[0].Seq += 7
	it.settle(library.Settlement{Purge: true, Leaving: stale})
	delete(it.rows, a)
	delete(it.rows, b)
	it.wantStored("deleted item of which two rows were purged")
}

func settleFinal(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Public, a, b)
	r := commit.RequestRow{Key: commit.RequestKey{5}, Answer: []byte("z"), Until: s.later()}
	it.move()
	it.settle(library.Settlement{Purge: true, Final: true, Leaving: it.members(a, b)})
	it.wantStored("live item that was to be reduced")
	it.write(func(c *library.ContentCommit) {
		c.Header.State, c.Header.CanonicalURL, c.Header.Page, c.Request = commit.Deleted, "https://example.com/", []byte{7}, &r
	})
	it.settle(library.Settlement{Purge: true, Final: true, Leaving: it.members(a, b)})
	reduced := library.Header{State: commit.Deleted, Seq: it.head.Seq, MTS: it.head.MTS, Writers: it.head.Writers}
	reduced.ID = it.head.ID
	it.head = reduced
	clear(it.rows)
	it.wantStored("reduced item")
	s.same("request row of a reduced item", s.read(it.head.ID, library.ContentQuery{Request: &r.Key}).Request, &r)
	late := it.next(func(c *library.ContentCommit) { c.Base, c.Header.Seq = 0, 1 })
	s.same("verdict on a creation", s.commit(late), commit.Verdict{Seq: 3, Writers: it.head.Writers})
	ids, err := s.ScanContents(s.ctx, "", 1000)
	s.ok(err)
	s.same("ids", ownIDs(s, ids), []library.ContentID{it.head.ID})
}

func settleUnknown(s *env) {
	id := s.content("unknown")
	s.ok(s.Settle(s.ctx, &library.Settlement{ID: id, Purge: true, Final: true, Positions: []clock.Instant{1},
		Leaving: []library.Member{{Principal: s.user("a"), Leaving: true, Seq: 1}}}))
	s.same("rows", s.read(id, library.ContentQuery{}), new(library.ContentRows))
	ids, err := s.ScanContents(s.ctx, "", 1000)
	s.ok(err)
	s.same("ids", ownIDs(s, ids), []library.ContentID(nil))
}
