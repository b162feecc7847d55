package storetest

import (
	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

func refusalChecks() []check {
	return []check{
		{"Errors", "The error of a conditional write (Commit, CleanUp, CommitPrincipal, CleanUpGroup, PutCreationIfAbsent, " +
			"PutSettingIfAbsent) that may have been applied must satisfy MayHaveCommitted", uncertainty},
		{"Errors", "reads with a context that has ended return an error, not nothing", endedReads},
	}
}

// uncertainty makes each conditional write with a context that has ended: it either reports
// that it may have been applied, or was not applied.
func uncertainty(s *env) {
	a, b := s.user("a"), s.user("b")
	ended := cancelled(s.ctx)
	it := s.newItem("item", principal.Private, a)
	it.move()
	it.share(b, library.Viewing)
	it.remove(b)
	c := it.next(func(c *library.ContentCommit) { c.Header.Title = "changed" })
	if _, err := s.Contents.Commit(ended, c); s.refused("Commit", err) {
		it.wantStored("item after Commit was refused")
	}
	t := &library.Cleanup{ID: it.head.ID, Positions: []clock.Instant{it.head.Unsettled[0].Position}, Leaving: it.members(b)}
	if s.refused("CleanUp", s.Contents.CleanUp(ended, t)) {
		it.wantStored("item after CleanUp was refused")
	}

	g := s.newPrincipal(s.group("g"), a)
	g.put(b, principal.GroupMember, true)
	p := g.next(func(p *principal.Commit) { p.Header.DisplayName = "changed" })
	if _, err := s.Principals.CommitPrincipal(ended, p); s.refused("CommitPrincipal", err) {
		g.wantStored("group after CommitPrincipal was refused")
	}
	if s.refused("CleanUpGroup", s.Principals.CleanUpGroup(ended, &principal.GroupCleanup{ID: g.head.ID, Leaving: g.members(b)})) {
		g.wantStored("group after CleanUpGroup was refused")
	}

	one, two := s.creation("a", "c:x:1"), s.creation("a", "c:x:2")
	if _, err := s.Registers.PutCreationIfAbsent(ended, one, nil); s.refused("PutCreationIfAbsent", err) {
		s.same("creation after PutCreationIfAbsent was refused", s.putCreation(two, nil), two)
	}
	name := "uncertain " + s.tenant
	if _, err := s.Registers.PutSettingIfAbsent(ended, name, []byte("one")); s.refused("PutSettingIfAbsent", err) {
		s.same("setting after PutSettingIfAbsent was refused", s.putSetting(name, []byte("two")), []byte("two"))
	}
}

func endedReads(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	ended := cancelled(s.ctx)
	slice := library.Slice{Owner: a, Bucket: principal.Private, Limit: 10}
	memberships := principal.MembershipsQuery{Principals: []principal.ID{a}, Own: 10, Others: 10, Rows: 10}
	s.wantErrors(
		tried{"Read", failed(s.Contents.Read(ended, it.head.ID, library.ContentQuery{}))},
		tried{"ReadMany", failed(s.Contents.ReadMany(ended, []library.ContentID{it.head.ID}, nil))},
		tried{"MembersPage", failed(s.Contents.MembersPage(ended, it.head.ID, "", 10, false))},
		tried{"ScanContents", failed(s.Contents.ScanContents(ended, "", 10))},
		tried{"PageLibrary", failed(s.Libraries.PageLibrary(ended, slice))},
		tried{"CountLibrary", failed(s.Libraries.CountLibrary(ended, a, principal.Private, 10))},
		tried{"OpenLibrary", failed(s.Libraries.OpenLibrary(ended, slice, true))},
		tried{"Built", failed(s.Libraries.Built(ended, a, library.ByChange))},
		tried{"RebuildNote", failed(s.Libraries.RebuildNote(ended, a))},
		tried{"SharedWith", failed(s.Libraries.SharedWith(ended, a, "", 10))},
		tried{"Roles", failed(s.Libraries.Roles(ended, a, []library.ContentID{it.head.ID}))},
		tried{"ReadPrincipal", failed(s.Principals.ReadPrincipal(ended, a, principal.Query{}))},
		tried{"ReadPrincipals", failed(s.Principals.ReadPrincipals(ended, []principal.ID{a}))},
		tried{"GroupMembersPage", failed(s.Principals.GroupMembersPage(ended, a, "", 10, false))},
		tried{"Confirm", failed(s.Principals.Confirm(ended, []principal.MemberOf{{Group: a, Member: a}}))},
		tried{"Memberships", failed(s.Principals.Memberships(ended, a, "", 10))},
		tried{"MembershipsOf", failed(s.Principals.MembershipsOf(ended, memberships))},
		tried{"ScanPrincipals", failed(s.Principals.ScanPrincipals(ended, "", 10))},
		tried{"InFlight", failed(s.Journal.InFlight(ended))},
		tried{"InFlightLists", failed(s.Journal.InFlightLists(ended))},
		tried{"DueReminders", failed(s.Journal.DueReminders(ended, start, 10))},
	)
}
