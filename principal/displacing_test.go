package principal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"carrel/core/clock"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// since returns the row of a member since a time.
func since(at clock.Instant, p principal.ID) principal.GroupMemberRow {
	return principal.GroupMemberRow{Principal: p, Role: principal.GroupMember, Since: at}
}

// at stores a group whose members are in it since a time.
func at(h *domaintest.Fixture, when clock.Instant, name string, members ...principal.ID) principal.ID {
	h.T.Helper()
	rows := make([]principal.GroupMemberRow, len(members))
	for i, m := range members {
		rows[i] = since(when, m)
	}
	return storeMembers(h, "acme", name, principal.Public, rows...)
}

// TestClosure_LaterMembershipsDisplaceNothing: whatever groups somebody puts a user into, or nests the groups
// of a user into, displaces no group that the user is in by earlier memberships.
func TestClosure_LaterMembershipsDisplaceNothing(t *testing.T) {
	const ann = principal.ID("u:acme:ann")
	own := func(h *domaintest.Fixture, n int, below principal.ID) {
		for i := range n {
			below = at(h, clock.Instant(i+1), fmt.Sprint("own", i+1), below)
		}
	}
	for _, c := range []struct {
		name  string
		store func(h *domaintest.Fixture)
	}{
		{"the user is put into a group in many groups", func(h *domaintest.Fixture) {
			own(h, 8, ann)
			for e := range 3 {
				evil := at(h, 100, fmt.Sprint("evil", e), ann)
				for i := range 900 {
					at(h, 101, fmt.Sprintf("a%d-%d", e, i), evil)
				}
			}
		}},
		{"the groups of the user are nested", func(h *domaintest.Fixture) {
			own(h, 8, ann)
			for e := range 3 {
				for i := range 900 {
					at(h, 100, fmt.Sprintf("a%d-%d", e, i), principal.GroupID("acme", fmt.Sprint("own", e+1)))
				}
			}
		}},
		{"what is nested is in many groups itself", func(h *domaintest.Fixture) {
			own(h, 8, ann)
			var evil []principal.ID
			for i := range 900 {
				evil = append(evil, at(h, 100, fmt.Sprint("a", i), "g:acme:own1"))
			}
			for i := range 30 {
				at(h, 101, fmt.Sprint("b", i), evil...)
			}
		}},
		{"many groups of the user are nested in many", func(h *domaintest.Fixture) {
			var wide []principal.ID
			for i := range 25 {
				wide = append(wide, at(h, 0, fmt.Sprint("wide", i), ann))
			}
			own(h, 8, ann)
			for i := range 900 {
				at(h, 100, fmt.Sprint("a", i), wide...)
			}
		}},
		{"a later and shorter way leads to the same groups", func(h *domaintest.Fixture) {
			below := at(h, 1, "own1", ann)
			for i := 2; i <= 7; i++ {
				below = storeMembers(h, "acme", fmt.Sprint("own", i), principal.Public, since(1, below), since(200, ann))
			}
			at(h, 1, "own8", below)
			evil := at(h, 100, "evil", ann)
			other := at(h, 100, "other", ann)
			for i := range 1000 {
				at(h, 101, fmt.Sprint("a", i), evil)
				at(h, 101, fmt.Sprint("b", i), other)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.New(t, nil)
			h.User(string(ann), principal.Public)
			c.store(h)
			v := domaintest.As(string(ann))
			groups, err := h.People.GroupsOf(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 8 {
				group := principal.GroupID("acme", fmt.Sprint("own", i+1))
				if groups.Role(group) == principal.NotInGroup {
					t.Errorf("%s was displaced", group)
				}
				if still, err := h.People.Paging.StillIn(t.Context(), v, group); err != nil || !still {
					t.Errorf("%s: still a member: %v, %v", group, still, err)
				}
			}
			if n := len(groups.All()); n > 2000 {
				t.Errorf("%d groups", n)
			}
			if resolutions, _ := v.Resolved(); resolutions != 1 {
				t.Errorf("billed for %d resolutions", resolutions)
			}
		})
	}
}

// TestClosure_RacedAdditionsHaveNoEffect: additions at the same time may exceed the limits of direct memberships.
// The earliest ones count, whatever the ids of their groups are.
func TestClosure_RacedAdditionsHaveNoEffect(t *testing.T) {
	h := domaintest.New(t, nil)
	const ann = principal.ID("u:acme:ann")
	h.User(string(ann), principal.Public)
	early := []principal.ID{at(h, 2, "z", ann), storeMembers(h, "partner", "team", principal.Private, since(1, ann))}
	for i := range 1200 {
		at(h, clock.Instant(10+i), fmt.Sprintf("a%04d", i), ann)
		if i < 160 {
			storeMembers(h, "evil", fmt.Sprintf("e%03d", i), principal.Public, since(clock.Instant(10+i), ann))
		}
	}
	groups, err := h.People.GroupsOf(t.Context(), domaintest.As(string(ann)))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, g := range groups.All() {
		count[g.Tenant()]++
	}
	if count["acme"] != 1000 || count["partner"]+count["evil"] != 100 || groups.Role(early[0]) == principal.NotInGroup ||
		groups.Role(early[1]) == principal.NotInGroup {
		t.Errorf("ann is in %v", count)
	}
}

// TestClosure_RacedAdditionsOfOneOfManyGroups: the share of a group that has too many memberships ends before the
// earliest of them, in order of id. All are read.
func TestClosure_RacedAdditionsOfOneOfManyGroups(t *testing.T) {
	h := domaintest.New(t, nil)
	const ann = principal.ID("u:acme:ann")
	h.User(string(ann), principal.Public)
	for i := range 15 {
		at(h, 1, fmt.Sprint("low", i), ann)
	}
	for i := range 1500 {
		at(h, clock.Instant(2000-i), fmt.Sprintf("top%04d", i), "g:acme:low3")
	}
	groups, err := h.People.GroupsOf(t.Context(), domaintest.As(string(ann)))
	if n := len(groups.All()); err != nil || n != 1015 || groups.Role("g:acme:top1499") == principal.NotInGroup ||
		groups.Role("g:acme:top0499") != principal.NotInGroup {
		t.Errorf("ann is in %d groups, %v", n, err)
	}
}

// TestClosure_KnowsTheEarliestWay compares since when a user is in each group with all chains of memberships.
func TestClosure_KnowsTheEarliestWay(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := domaintest.New(t, nil)
		h.User("u:acme:ann", principal.Public)
		ids := []principal.ID{"u:acme:ann"}
		const n = 14
		for i := range n {
			ids = append(ids, principal.GroupID("acme", fmt.Sprintf("g%02d", i)))
		}
		edges := map[[2]principal.ID]clock.Instant{}
		for _, group := range ids[1:] {
			var rows []principal.GroupMemberRow
			for _, member := range ids {
				if member != group && rnd.IntN(7) == 0 {
					row := since(clock.Instant(1+rnd.IntN(40)), member)
					rows, edges[[2]principal.ID{member, group}] = append(rows, row), row.Since
				}
			}
			storeMembers(h, "acme", group.Name(), principal.Public, rows...)
		}
		want := map[principal.ID]clock.Instant{"u:acme:ann": 0}
		for range 8 {
			next := map[principal.ID]clock.Instant{}
			for p, at := range want { // into a map, in any order
				next[p] = at
			}
			for e, at := range edges { // the minimum does not depend on the order
				below, reached := want[e[0]]
				known, found := next[e[1]]
				if way := max(below, at); reached && (!found || way < known) && e[1] != "u:acme:ann" {
					next[e[1]] = way
				}
			}
			want = next
		}
		groups, err := h.People.GroupsOf(t.Context(), domaintest.As("u:acme:ann"))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range ids[1:] {
			at, in := want[g]
			if got := groups.Role(g) != principal.NotInGroup; got != in || groups.Since(g) != at {
				t.Errorf("seed %d: %s: %v since %d, want %v since %d", seed, g, got, groups.Since(g), in, at)
			}
		}
	}
}

// TestSetGroupMembers_RecordsSinceWhen: another role does not change since when a principal is a member; leaving
// and joining again does.
func TestSetGroupMembers_RecordsSinceWhen(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	h.Group("g:acme:team", "u:acme:ann", principal.Public)
	joined := func(p principal.ID) clock.Instant {
		t.Helper()
		rows, err := h.Store.Principals.Confirm(t.Context(), []principal.MemberOf{{Group: "g:acme:team", Member: p}})
		if err != nil {
			t.Fatal(err)
		}
		ms, err := h.Store.Principals.Memberships(t.Context(), p, "", 10)
		if err != nil || len(ms) != 1 || ms[0].Since != rows[0].Since {
			t.Fatalf("the derived membership: %+v, %v; the row: %+v", ms, err, rows[0])
		}
		return rows[0].Since
	}
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:bob=MEMBER")
	first := joined("u:acme:bob")
	if at := h.Header("g:acme:team").MTS; first != at || joined("u:acme:ann") >= at {
		t.Errorf("ann is a member since %v and bob since %v, want %v for bob", joined("u:acme:ann"), first, at)
	}
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:bob=MANAGER")
	if again := joined("u:acme:bob"); again != first {
		t.Errorf("with another role: since %v, was %v", again, first)
	}
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:bob=")
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:team", "u:acme:bob=MEMBER")
	if again := joined("u:acme:bob"); again <= first {
		t.Errorf("after leaving and joining again: since %v, was %v", again, first)
	}
}

// TestSetGroupMembers_MembersAreTakenOut: administrators of a member's tenant, and managers of a member that is a
// group, may take it out of any group, even of one that they do not see.
func TestSetGroupMembers_MembersAreTakenOut(t *testing.T) {
	for _, visibility := range []principal.Visibility{principal.Public, principal.Private} {
		refusal := map[principal.Visibility]string{principal.Public: "FORBIDDEN groupId", principal.Private: "NOT_FOUND groupId"}[visibility]
		for _, c := range []struct {
			name    string
			as      *principal.Viewer
			changes []string
			want    string
		}{
			{"an administrator takes out a user", domaintest.Admin("u:acme:root"), []string{"u:acme:ann="}, ""},
			{"an administrator takes out a user and a group", domaintest.Admin("u:acme:root"), []string{"u:acme:ann=", "g:acme:team="}, ""},
			{"a manager takes out its group", domaintest.As("u:acme:bob"), []string{"g:acme:team="}, ""},
			{"one who manages the group through another one", domaintest.As("u:acme:cat"), []string{"g:acme:team="}, ""},
			{"a member of a group", domaintest.As("u:acme:ann"), []string{"g:acme:team="}, "refused"},
			{"an administrator, a user of another tenant", domaintest.Admin("u:acme:root"), []string{"u:acme:ann=", "u:evil:eve="}, "refused"},
			{"an administrator changes a role", domaintest.Admin("u:acme:root"), []string{"u:acme:ann=MANAGER"}, "refused"},
			{"an administrator, somebody who is no member", domaintest.Admin("u:acme:root"), []string{"u:acme:bob="}, "refused"},
			{"a manager, its group and a user", domaintest.As("u:acme:bob"), []string{"g:acme:team=", "u:acme:ann="}, "refused"},
		} {
			t.Run(visibility.String()+", "+c.name, func(t *testing.T) {
				h := domaintest.New(t, nil)
				for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:root", "u:evil:eve"} {
					h.User(u, principal.Public)
				}
				h.Group("g:acme:heads", "u:acme:cat", principal.Public)
				h.Group("g:acme:team", "u:acme:bob", principal.Public)
				h.MustSet(domaintest.As("u:acme:bob"), "g:acme:team", "u:acme:ann=MEMBER", "g:acme:heads=MANAGER")
				h.Group("g:evil:trap", "u:evil:eve", principal.Public)
				h.MustSet(domaintest.As("u:evil:eve"), "g:evil:trap", "u:acme:ann=MEMBER")
				h.MustSet(domaintest.As("u:evil:eve"), "g:evil:trap", "g:acme:team=MEMBER")
				if visibility == principal.Private {
					// Nobody else of tenant acme sees it: ann and the members of team are in it.
					if _, err := h.People.UpdateGroup(t.Context(), domaintest.As("u:evil:eve"),
						principal.UpdateGroup{ID: "g:evil:trap", Visibility: input.Some(&visibility)}); err != nil {
						t.Fatal(err)
					}
				}
				var want []string
				if c.want != "" {
					want = append(want, refusal)
					if visibility == principal.Private && c.as.User != "u:acme:root" {
						want = []string{"FORBIDDEN groupId"} // a member sees it
					}
				}
				g, err := h.Set(c.as, "g:evil:trap", c.changes...)
				domaintest.WantFaults(t, err, want...)
				if err != nil {
					return
				}
				if sees := g != nil; sees != (visibility == principal.Public) {
					t.Errorf("it is shown %v", g)
				}
				for _, member := range h.Members("g:evil:trap") {
					for _, change := range c.changes {
						if strings.HasPrefix(member, strings.TrimSuffix(change, "=")) {
							t.Errorf("%s is still a member", member)
						}
					}
				}
			})
		}
	}
}
