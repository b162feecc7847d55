package storetest

import (
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

func deletedChecks() []check {
	return []check{
		{"of deleted principals", "Confirm must show no row of a group that is deleted", confirmDeleted},
		{"of deleted principals", "ApplyGroupIndex of a deleted group removes the derived memberships", applyDeletedGroup},
		{"of deleted principals", "Purge removes the rows of Leaving whatever their state, iff the header is Deleted", purgeGroup},
		{"of deleted principals",
			"It must remove the marks, the note, the entries and the record of what was shared, except what is newer than " +
				"asOf, and afterwards SetBuilt and PutRebuildNote as of an earlier time must not bring them back", dropLibrary},
	}
}

// delete commits the deletion of a principal, whose rows stay.
func (c *principalRows) delete() {
	c.s.Helper()
	c.write(func(p *principal.Commit) {
		p.Header.State, p.Header.Managers, p.Header.Members = commit.Deleted, 0, 0
	})
}

func confirmDeleted(s *env) {
	a := s.user("a")
	g, h := s.newPrincipal(s.group("g"), a), s.newPrincipal(s.group("h"), a)
	g.delete()
	s.returns("rows", []principal.GroupMemberRow{{Principal: a}, h.members(a)[0]})(
		s.Principals.Confirm(s.ctx, []principal.MemberOf{{Group: g.head.ID, Member: a}, {Group: h.head.ID, Member: a}}))
	g.wantStored("deleted group, whose rows stay")
}

func applyDeletedGroup(s *env) {
	a := s.user("a")
	g := s.newPrincipal(s.group("g"), a)
	before := g.snapshot(a)
	s.ok(s.Principals.ApplyGroupIndex(s.ctx, before))
	g.delete()
	s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a)))
	s.wantMemberships(a)
	s.ok(s.Principals.ApplyGroupIndex(s.ctx, before))
	s.wantMemberships(a)
}

func purgeGroup(s *env) {
	a, b, c := s.user("a"), s.user("b"), s.user("c")
	g := s.newPrincipal(s.group("g"), a, b, c)
	g.put(b, principal.GroupMember, true)
	s.ok(s.Principals.CleanUpGroup(s.ctx, &principal.GroupCleanup{ID: g.head.ID, Leaving: g.members(a), Purge: true}))
	g.wantStored("live group, of which nothing is purged")
	g.delete()
	t := &principal.GroupCleanup{ID: g.head.ID, Leaving: g.members(a, b), Purge: true}
	for range 2 {
		s.ok(s.Principals.CleanUpGroup(s.ctx, t))
	}
	delete(g.rows, a)
	delete(g.rows, b)
	g.wantStored("deleted group without two of its rows")
	s.ok(s.Principals.CleanUpGroup(s.ctx, &principal.GroupCleanup{ID: s.group("unknown"), Leaving: t.Leaving, Purge: true}))
	s.returns("unknown group", []principal.Header{{}})(s.Principals.ReadPrincipals(s.ctx, []principal.ID{s.group("unknown")}))
}

func dropLibrary(s *env) {
	owner, other := s.newPrincipal(s.user("a")), s.newPrincipal(s.user("a/b"))
	mark := func(c *principalRows, asOf clock.Instant) {
		s.ok(s.Libraries.SetBuilt(s.ctx, c.head.ID, asOf))
		s.note(c.head.ID, asOf, "note")
	}
	for _, c := range []*principalRows{owner, other} {
		mark(c, s.tick())
		s.addEntry(c.head.ID.Name()+"-item", principal.Public, s.tick(), c.head.ID)
	}
	before := s.tick()
	owner.delete()
	for range 2 {
		s.ok(s.Libraries.DropLibrary(s.ctx, owner.head.ID, owner.head.MTS))
	}
	for range 2 {
		for c, there := range map[*principalRows]bool{owner: false, other: true} {
			built, err := s.Libraries.Built(s.ctx, c.head.ID, library.ByChange)
			s.ok(err)
			recorded, err := s.Libraries.Recorded(s.ctx, c.head.ID)
			s.ok(err)
			note, err := s.Libraries.RebuildNote(s.ctx, c.head.ID)
			s.ok(err)
			entries := 0
			for _, b := range library.AllBuckets {
				n, err := s.Libraries.CountLibrary(s.ctx, c.head.ID, b, 10)
				s.ok(err)
				entries += n
			}
			if built != there || recorded != there || (note != nil) != there || (entries > 0) != there {
				s.Errorf("%s: built %t, recorded %t, note %q, %d entries; want them: %t", c.head.ID, built, recorded, note, entries, there)
			}
			shared, err := s.Libraries.SharedWith(s.ctx, c.head.ID, "", 10)
			s.ok(err)
			if !there && len(shared) > 0 {
				s.Errorf("%s is recorded to have roles: %v", c.head.ID, shared)
			}
		}
		mark(owner, before) // of a rebuild that had begun before
	}
}
