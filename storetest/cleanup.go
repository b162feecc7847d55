package storetest

import (
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func cleanUpChecks() []check {
	return []check{
		{"CleanUp", "CleanUp must not change Seq, and must be harmless when repeated", cleanUpRepeated},
		{"CleanUp", "Positions are removed from Unsettled, others are kept", cleanUpPositions},
		{"CleanUp", "Leaving rows are removed iff they are leaving and of the Seq given", cleanUpLeaving},
		{"CleanUp", "Purge removes the rows of Leaving whatever their state, iff the header is Deleted", cleanUpPurge},
		{"CleanUp", "Final then reduces it to Seq, MTS, Writers and the state", cleanUpFinal},
		{"CleanUp", "of an unknown id it does nothing", cleanUpUnknown},
	}
}

// cleanUp calls CleanUp twice, because repeating it must be harmless.
func (it *item) cleanUp(t library.Cleanup) {
	it.s.Helper()
	t.ID = it.head.ID
	it.s.ok(it.s.Contents.CleanUp(it.s.ctx, &t))
	it.s.ok(it.s.Contents.CleanUp(it.s.ctx, &t))
}

func cleanUpRepeated(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Private, a, b)
	it.move()
	it.remove(b)
	t := &library.Cleanup{ID: it.head.ID, Positions: []clock.Instant{it.head.Unsettled[0].Position}, Leaving: it.members(b)}
	for range 3 {
		s.ok(s.Contents.CleanUp(s.ctx, t))
	}
	it.cleanedUp(t.Positions...)
	delete(it.rows, b)
	it.wantStored("item after its cleanup")
	it.move()
	it.share(b, library.Viewing)
	s.ok(s.Contents.CleanUp(s.ctx, t))
	it.wantStored("item after a late cleanup was repeated")
}

func cleanUpPositions(s *env) {
	it := s.newItem("item", principal.Private, s.user("a"))
	for range 4 {
		it.move()
	}
	u := it.head.Unsettled
	it.cleanUp(library.Cleanup{Positions: []clock.Instant{u[2].Position, u[0].Position, 12345}})
	it.cleanedUp(u[2].Position, u[0].Position)
	it.wantStored("item")
	it.cleanUp(library.Cleanup{})
	it.wantStored("item after an empty cleanup")
	it.cleanUp(library.Cleanup{Positions: []clock.Instant{u[1].Position, u[3].Position}})
	it.cleanedUp(u[1].Position, u[3].Position)
	it.wantStored("item without unsettled positions")
	it.move()
	it.wantStored("item after a further move")
}

func cleanUpLeaving(s *env) {
	a, b, c, d := s.user("a"), s.user("b"), s.user("c"), s.user("d")
	it := s.newItem("item", principal.Private, a, b, c, d)
	it.remove(b)
	early := it.members(b)[0]
	it.share(b, library.Viewing)
	it.remove(b)
	it.remove(c)
	active := it.members(d)[0]
	it.cleanUp(library.Cleanup{Leaving: []library.Member{early, active, {Principal: s.user("none"), Leaving: true, Seq: 1}}})
	it.wantStored("item with nothing to remove")
	pretended := active
	pretended.Leaving = true
	it.cleanUp(library.Cleanup{Leaving: []library.Member{pretended}})
	it.wantStored("item whose active row was named as leaving")
	it.cleanUp(library.Cleanup{Leaving: it.members(b, c)})
	delete(it.rows, b)
	delete(it.rows, c)
	it.wantStored("item without leaving rows")
}

func cleanUpPurge(s *env) {
	a, b, c := s.user("a"), s.user("b"), s.user("c")
	it := s.newItem("item", principal.Private, a, b, c)
	it.remove(b)
	it.cleanUp(library.Cleanup{Purge: true, Leaving: it.members(a)})
	it.wantStored("live item that was to be purged")
	it.delete()
	stale := it.members(a, b)
	stale[0].Seq += 7
	it.cleanUp(library.Cleanup{Purge: true, Leaving: stale})
	delete(it.rows, a)
	delete(it.rows, b)
	it.wantStored("deleted item of which two rows were purged")
}

func cleanUpFinal(s *env) {
	a, b := s.user("a"), s.user("b")
	it := s.newItem("item", principal.Public, a, b)
	r := commit.RequestRow{Key: commit.RequestKey{5}, Answer: []byte("z"), Until: s.later()}
	it.move()
	it.cleanUp(library.Cleanup{Purge: true, Final: true, Leaving: it.members(a, b)})
	it.wantStored("live item that was to be reduced")
	it.write(func(c *library.ContentCommit) {
		c.Header.State, c.Header.CanonicalURL, c.Header.Page, c.Request = commit.Deleted, "https://example.com/", []byte{7}, &r
	})
	it.cleanUp(library.Cleanup{Purge: true, Final: true, Leaving: it.members(a, b)})
	reduced := library.Header{State: commit.Deleted, Seq: it.head.Seq, MTS: it.head.MTS, Writers: it.head.Writers}
	reduced.ID = it.head.ID
	it.head = reduced
	clear(it.rows)
	it.wantStored("reduced item")
	s.same("request row of a reduced item", s.read(it.head.ID, library.ContentQuery{Request: &r.Key}).Request, &r)
	late := it.next(func(c *library.ContentCommit) { c.Base, c.Header.Seq = 0, 1 })
	s.same("verdict on a creation", s.commit(late), commit.Verdict{Seq: 3, Writers: it.head.Writers})
	ids, err := s.Contents.ScanContents(s.ctx, "", 1000)
	s.ok(err)
	s.same("ids", ownIDs(s, ids), []library.ContentID{it.head.ID})
}

func cleanUpUnknown(s *env) {
	id := s.content("unknown")
	s.ok(s.Contents.CleanUp(s.ctx, &library.Cleanup{ID: id, Purge: true, Final: true, Positions: []clock.Instant{1},
		Leaving: []library.Member{{Principal: s.user("a"), Leaving: true, Seq: 1}}}))
	s.same("rows", s.read(id, library.ContentQuery{}), new(library.ContentRows))
	ids, err := s.Contents.ScanContents(s.ctx, "", 1000)
	s.ok(err)
	s.same("ids", ownIDs(s, ids), []library.ContentID(nil))
}
