package storetest

import (
	"fmt"
	"slices"

	"carrel/principal"
)

func groupChecks() []check {
	return []check{
		{"GroupMembersPage", "GroupMembersPage reads at most limit member rows, leaving ones too, after a principal in order of id, with " +
			"the header of the same reading", groupMembersPage},
		{"Confirm", "Confirm reads the groups' own rows, in the order requested", confirm},
		{"ApplyGroupIndex", "An older snapshot must never undo what a newer one wrote", applyGroupIndexOlder},
		{"ApplyGroupIndex", "ApplyGroupIndex writes the derived memberships", applyGroupIndex},
		{"CleanUpGroup", "It must not change Seq, and must be harmless when repeated", cleanUpGroup},
		{"Memberships", "Memberships lists the derived memberships of a principal, after a group in order of id", memberships},
		{"MembershipsOf", "It must end the answer after the principal with which it has q.Rows rows", membershipsOfRows},
		{"MembershipsOf",
			"the first q.Own in groups of its own tenant and the first q.Others in groups of other tenants, all in order of id",
			membershipsOfQuotas},
	}
}

func groupMembersPage(s *env) {
	g := s.newPrincipal(s.group("g"), s.user("b"), s.user("a"), s.group("g/h"))
	g.put(s.user("a/b"), principal.GroupMember, false)
	g.put(s.user("b"), principal.GroupManager, true)
	s.newPrincipal(s.group("g/h"), s.user("x"))
	all := g.principals()
	for limit := 1; limit <= len(all)+1; limit++ {
		got := paged(s, limit, func(last principal.GroupMemberRow) ([]principal.GroupMemberRow, error) {
			rows, err := s.Principals.GroupMembersPage(s.ctx, g.head.ID, last.Principal, limit, limit%2 == 0)
			s.ok(err)
			s.same("header", rows.Header, g.head)
			return rows.Members, nil
		})
		s.same(fmt.Sprintf("pages of %d", limit), got, g.members(all...))
	}
	s.returns("page of an unknown group", new(principal.Rows))(s.Principals.GroupMembersPage(s.ctx, s.group("unknown"), "", 5, true))
}

func confirm(s *env) {
	a, b := s.user("a"), s.user("b")
	g, h := s.newPrincipal(s.group("g"), a), s.newPrincipal(s.group("h"), b)
	h.put(a, principal.GroupMember, true)
	rows, err := s.Principals.Confirm(s.ctx, []principal.MemberOf{
		{Group: h.head.ID, Member: a}, {Group: g.head.ID, Member: b}, {Group: g.head.ID, Member: a},
		{Group: s.group("unknown"), Member: a}, {Group: h.head.ID, Member: b},
	})
	s.ok(err)
	s.same("rows", rows, []principal.GroupMemberRow{h.members(a)[0], {Principal: b}, g.members(a)[0], {Principal: a}, h.members(b)[0]})
}

// snapshot returns the index update of principals for the group's present state.
func (c *principalRows) snapshot(principals ...principal.ID) *principal.GroupIndexUpdate {
	h := c.head
	return &principal.GroupIndexUpdate{Header: &h, Rows: c.members(principals...)}
}

// wantMemberships checks p's derived memberships.
func (s *env) wantMemberships(p principal.ID, want ...principal.Membership) {
	s.Helper()
	s.returns("memberships of "+string(p), want)(s.Principals.Memberships(s.ctx, p, "", 1000))
}

func applyGroupIndex(s *env) {
	a, b, c := s.user("a"), s.user("b"), s.user("c")
	g := s.newPrincipal(s.group("g"), a, b)
	s.wantMemberships(a)
	s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a, c)))
	s.wantMemberships(a, g.membership(a))
	s.wantMemberships(b)
	s.wantMemberships(c)
	g.put(a, principal.GroupMember, false)
	g.put(b, principal.GroupManager, true)
	s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a, b)))
	s.wantMemberships(a, g.membership(a))
	s.wantMemberships(b)
	g.put(a, principal.GroupMember, true)
	s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a)))
	s.wantMemberships(a)
	g.wantStored("group")
}

func applyGroupIndexOlder(s *env) {
	a := s.user("a")
	g := s.newPrincipal(s.group("g"), s.user("b"))
	var older []*principal.GroupIndexUpdate
	for _, step := range []struct {
		role    principal.GroupRole
		leaving bool
	}{{principal.GroupMember, false}, {principal.GroupManager, false}, {principal.GroupManager, true}, {principal.GroupMember, false}} {
		older = append(older, g.snapshot(a))
		g.put(a, step.role, step.leaving)
		s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a)))
		for _, e := range older {
			s.ok(s.Principals.ApplyGroupIndex(s.ctx, e))
			if step.leaving {
				s.wantMemberships(a)
			} else {
				s.wantMemberships(a, g.membership(a))
			}
		}
	}
}

func cleanUpGroup(s *env) {
	a, b, c := s.user("a"), s.user("b"), s.user("c")
	g := s.newPrincipal(s.group("g"), a, b, c)
	g.put(b, principal.GroupManager, true)
	early := g.members(b)[0]
	g.put(b, principal.GroupManager, false)
	g.put(b, principal.GroupManager, true)
	g.put(c, principal.GroupManager, true)
	pretended := g.members(a)[0]
	pretended.Leaving = true
	s.ok(s.Principals.CleanUpGroup(s.ctx, &principal.GroupCleanup{ID: g.head.ID,
		Leaving: []principal.GroupMemberRow{early, pretended, {Principal: s.user("none"), Leaving: true, Seq: 1}}}))
	g.wantStored("group with nothing to remove")
	t := &principal.GroupCleanup{ID: g.head.ID, Leaving: g.members(b)}
	for range 3 {
		s.ok(s.Principals.CleanUpGroup(s.ctx, t))
	}
	delete(g.rows, b)
	g.wantStored("group without the leaving row")
	g.put(b, principal.GroupMember, false)
	s.ok(s.Principals.CleanUpGroup(s.ctx, t))
	g.wantStored("group after a late cleanup was repeated")
	s.ok(s.Principals.CleanUpGroup(s.ctx, &principal.GroupCleanup{ID: s.group("unknown"), Leaving: t.Leaving}))
	s.returns("unknown group", []principal.Header{{}})(s.Principals.ReadPrincipals(s.ctx, []principal.ID{s.group("unknown")}))
}

func memberships(s *env) {
	a := s.user("a")
	var want []principal.Membership
	for _, name := range []string{"a", "a/b", "b", "c"} {
		g := s.newPrincipal(s.group(name), a, s.user("a/b"))
		s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(a, s.user("a/b"))))
		want = append(want, g.membership(a))
	}
	for _, limit := range []int{1, 3, 4, 5} {
		got := paged(s, limit, func(last principal.Membership) ([]principal.Membership, error) {
			return s.Principals.Memberships(s.ctx, a, last.Group, limit)
		})
		s.same(fmt.Sprintf("pages of %d", limit), got, want)
	}
}

// acrossTenants makes each of ps a member of groups of its own tenant and of
// tenants before and after it, and returns its memberships in order of id.
func (s *env) acrossTenants(ps ...principal.ID) (before, own, after []principal.Membership) {
	s.Helper()
	join := func(tenant string, names ...string) (ms []principal.Membership) {
		for _, name := range names {
			g := s.newPrincipal(principal.GroupID(tenant, name), ps...)
			s.ok(s.Principals.ApplyGroupIndex(s.ctx, g.snapshot(ps...)))
			ms = append(ms, g.membership(ps[0]))
		}
		return ms
	}
	return join(s.tenant+"-b", "a", "b", "c"), join(s.tenant, "a", "a/b", "b", "c"), join(s.tenant+"z", "a", "b", "c")
}

func membershipsOfQuotas(s *env) {
	a, nobody := s.user("a"), s.user("nobody")
	before, own, after := s.acrossTenants(a, s.user("a/b")) // whose rows follow a's
	first := func(ms []principal.Membership, n int) []principal.Membership { return ms[:min(n, len(ms))] }
	for ownLimit := range 6 {
		for others := range 8 {
			got, err := s.Principals.MembershipsOf(s.ctx, principal.MembershipsQuery{
				Principals: []principal.ID{a, nobody, s.user("a/b")}, Own: ownLimit, Others: others, Rows: 100,
			})
			s.ok(err)
			if len(got) != 3 || len(got[1]) != 0 {
				s.Fatalf("own %d, others %d: %v", ownLimit, others, got)
			}
			want := slices.Concat(first(before, others), first(own, ownLimit), first(after, max(0, others-len(before))))
			s.same(fmt.Sprintf("own %d, others %d", ownLimit, others), slices.Concat(got[0]), want)
			s.same("groups of another principal", len(got[2]), min(ownLimit, len(own))+min(others, 6))
		}
	}
}

func membershipsOfRows(s *env) {
	ps := []principal.ID{s.user("a"), s.user("none"), s.user("b"), s.user("c")}
	s.acrossTenants(ps[0], ps[2], ps[3])
	for rows, want := range map[int]int{0: 0, 1: 1, 10: 1, 11: 3, 20: 3, 21: 4, 100: 4} {
		got, err := s.Principals.MembershipsOf(s.ctx, principal.MembershipsQuery{Principals: ps, Own: 10, Others: 10, Rows: rows})
		s.ok(err)
		if len(got) != want {
			s.Errorf("%d rows: memberships of %d principals, want %d", rows, len(got), want)
		}
	}
}
