package storetest

import (
	"carrel/core/clock"
	"carrel/core/fault"
	"carrel/library"
	"carrel/principal"
)

func refusalAreas() []area {
	return []area{{"Errors", []check{
		{"The error of a conditional write (Commit, CleanUp, CommitPrincipal, CleanUpGroup, PutCreationIfAbsent, " +
			"PutSettingIfAbsent) that may have been applied must satisfy MayHaveCommitted", uncertainty},
		{"reads with a context that has ended return an error, not nothing", endedReads},
	}}}
}

// uncertainty makes each conditional write with a context that has ended: it either reports
// that it may have been applied, or was not applied.
func uncertainty(s *env) {
	a, b := s.user("a"), s.user("b")
	ended := cancelled(s.ctx)
	refused := func(what string, err error) bool {
		s.Helper()
		if err == nil {
			s.Fatalf("%s: no error though the context had ended", what)
		}
		return !fault.MayHaveCommitted(err)
	}

	it := s.newItem("item", principal.Private, a)
	it.move()
	it.share(b, library.Viewing)
	it.remove(b)
	c := it.next(func(c *library.ContentCommit) { c.Header.Title = "changed" })
	if _, err := s.Contents.Commit(ended, c); refused("Commit", err) {
		it.wantStored("item after Commit was refused")
	}
	t := &library.Cleanup{ID: it.head.ID, Positions: []clock.Instant{it.head.Unsettled[0].Position}, Leaving: it.members(b)}
	if refused("CleanUp", s.Contents.CleanUp(ended, t)) {
		it.wantStored("item after CleanUp was refused")
	}

	g := s.newPrincipal(s.group("g"), a)
	g.put(b, principal.GroupMember, true)
	p := g.next(func(p *principal.Commit) { p.Header.DisplayName = "changed" })
	if _, err := s.Principals.CommitPrincipal(ended, p); refused("CommitPrincipal", err) {
		g.wantStored("group after CommitPrincipal was refused")
	}
	if refused("CleanUpGroup", s.Principals.CleanUpGroup(ended, &principal.GroupCleanup{ID: g.head.ID, Leaving: g.members(b)})) {
		g.wantStored("group after CleanUpGroup was refused")
	}

	one, two := s.creation("a", "c:x:1"), s.creation("a", "c:x:2")
	if _, err := s.Registers.PutCreationIfAbsent(ended, one, nil); refused("PutCreationIfAbsent", err) {
		s.same("creation after PutCreationIfAbsent was refused", s.putCreation(two, nil), two)
	}
	name := "uncertain " + s.tenant
	if _, err := s.Registers.PutSettingIfAbsent(ended, name, []byte("one")); refused("PutSettingIfAbsent", err) {
		got, err := s.Registers.PutSettingIfAbsent(s.ctx, name, []byte("two"))
		s.ok(err)
		s.same("setting after PutSettingIfAbsent was refused", got, []byte("two"))
	}
}

func endedReads(s *env) {
	a := s.user("a")
	it := s.newItem("item", principal.Public, a)
	ended := cancelled(s.ctx)
	for _, r := range []struct {
		name string
		read func() error
	}{
		{"Read", func() error { _, err := s.Contents.Read(ended, it.head.ID, library.ContentQuery{}); return err }},
		{"ReadMany", func() error { _, err := s.Contents.ReadMany(ended, []library.ContentID{it.head.ID}, nil); return err }},
		{"MembersPage", func() error { _, err := s.Contents.MembersPage(ended, it.head.ID, "", 10, false); return err }},
		{"ScanContents", func() error { _, err := s.Contents.ScanContents(ended, "", 10); return err }},
		{"PageLibrary", func() error {
			_, err := s.Libraries.PageLibrary(ended, library.Slice{Owner: a, Bucket: principal.Private, Limit: 10})
			return err
		}},
		{"CountLibrary", func() error { _, err := s.Libraries.CountLibrary(ended, a, principal.Private, 10); return err }},
		{"OpenLibrary", func() error {
			_, err := s.Libraries.OpenLibrary(ended, library.Slice{Owner: a, Bucket: principal.Private, Limit: 10}, true)
			return err
		}},
		{"Built", func() error { _, err := s.Libraries.Built(ended, a, library.ByChange); return err }},
		{"RebuildNote", func() error { _, err := s.Libraries.RebuildNote(ended, a); return err }},
		{"SharedWith", func() error { _, err := s.Libraries.SharedWith(ended, a, "", 10); return err }},
		{"Roles", func() error { _, err := s.Libraries.Roles(ended, a, []library.ContentID{it.head.ID}); return err }},
		{"ReadPrincipal", func() error { _, err := s.Principals.ReadPrincipal(ended, a, principal.Query{}); return err }},
		{"ReadPrincipals", func() error { _, err := s.Principals.ReadPrincipals(ended, []principal.ID{a}); return err }},
		{"GroupMembersPage", func() error { _, err := s.Principals.GroupMembersPage(ended, a, "", 10, false); return err }},
		{"Confirm", func() error {
			_, err := s.Principals.Confirm(ended, []principal.MemberOf{{Group: a, Member: a}})
			return err
		}},
		{"Memberships", func() error { _, err := s.Principals.Memberships(ended, a, "", 10); return err }},
		{"MembershipsOf", func() error {
			_, err := s.Principals.MembershipsOf(ended, principal.MembershipsQuery{Principals: []principal.ID{a}, Own: 10, Others: 10, Rows: 10})
			return err
		}},
		{"ScanPrincipals", func() error { _, err := s.Principals.ScanPrincipals(ended, "", 10); return err }},
		{"InFlight", func() error { _, err := s.Journal.InFlight(ended); return err }},
		{"InFlightLists", func() error { _, err := s.Journal.InFlightLists(ended); return err }},
		{"DueReminders", func() error { _, err := s.Journal.DueReminders(ended, start, 10); return err }},
	} {
		if r.read() == nil {
			s.Errorf("%s returns no error", r.name)
		}
	}
}
