package principal_test

import (
	"fmt"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

// addCrowd writes n PUBLIC groups of tenant acme, in each of which p is the manager, to the
// store as their creations would.
func addCrowd(h *domaintest.Fixture, prefix string, n int, p principal.ID) {
	h.T.Helper()
	for i := range n {
		head := principal.Header{
			ID: principal.GroupID("acme", fmt.Sprintf("%s%d", prefix, i)), DisplayName: "x", Visibility: principal.Public,
			State: commit.Live, Seq: 1, MTS: clock.Instant(i + 1), CreatedAt: clock.Instant(i + 1), Managers: 1, Members: 1,
		}
		rows := []principal.GroupMemberRow{{Principal: p, Role: principal.GroupManager, Seq: 1}}
		v, err := h.Store.Principals.CommitPrincipal(h.T.Context(), &principal.Commit{ID: head.ID, Header: head, Members: rows})
		if err != nil || !v.Applied {
			h.T.Fatalf("writing %s: %+v, %v", head.ID, v, err)
		}
		if err := h.Store.Principals.ApplyGroupIndex(h.T.Context(), &principal.GroupIndexUpdate{Header: &head, Rows: rows}); err != nil {
			h.T.Fatalf("indexing %s: %v", head.ID, err)
		}
	}
}

func TestAdditions_DirectMembershipsAreBounded(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, u := range []string{"u:acme:ann", "u:acme:bob"} {
		h.User(u, principal.Public)
	}
	addCrowd(h, "a", 999, "u:acme:ann")
	h.Group("g:acme:bobs", "u:acme:bob", principal.Public)
	h.Group("g:acme:last", "u:acme:ann", principal.Public)
	_, err := h.People.CreateGroup(t.Context(), domaintest.As("u:acme:ann"),
		principal.CreateGroup{Tenant: "acme", Name: "more", DisplayName: "x", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "TOO_MANY")
	if got := h.Header("g:acme:more").State; got != commit.Absent {
		t.Errorf("state of the refused group: %d", got)
	}
	_, err = h.Set(domaintest.As("u:acme:bob"), "g:acme:bobs", "u:acme:bob=MANAGER", "u:acme:ann=MEMBER")
	domaintest.WantFaults(t, err, "TOO_MANY members.1.principalId")
	// A present member may get another role.
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:last", "u:acme:bob=MANAGER")
	h.MustSet(domaintest.As("u:acme:bob"), "g:acme:last", "u:acme:ann=MEMBER")
	// One removal makes one addition possible.
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:last", "u:acme:ann=")
	h.MustSet(domaintest.As("u:acme:bob"), "g:acme:bobs", "u:acme:ann=MEMBER")
	// Violations of both rules are reported together.
	_, err = h.Set(domaintest.As("u:acme:bob"), "g:acme:last", "u:acme:ann=MEMBER", "u:acme:bob=")
	domaintest.WantFaults(t, err, "TOO_MANY members.0.principalId", "LAST_MANAGER members.1")
	// What a race has added can be imported, and has no effect.
	both := []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:bob=MANAGER"),
		domaintest.GroupMemberChange("u:acme:ann=MEMBER")}
	_, err = h.People.Upkeep.ImportGroup(t.Context(),
		principal.ImportGroup{ID: "g:acme:0", DisplayName: "x", Visibility: principal.Public, Members: both})
	domaintest.WantFaults(t, err)
	_, err = h.Exchange.Import(t.Context(), &exchange.Line{Type: exchange.TypeMembers,
		Members: &library.ImportMembers{ID: "g:acme:last", Group: both[1:]}})
	domaintest.WantFaults(t, err)
	for group, want := range map[principal.ID]principal.GroupRole{"g:acme:0": principal.NotInGroup, "g:acme:last": principal.NotInGroup,
		"g:acme:bobs": principal.GroupMember} {
		if role, err := h.People.GroupRoleOf(t.Context(), domaintest.As("u:acme:ann"), group); err != nil || role != want {
			t.Errorf("ann in %s: %v, %v", group, role, err)
		}
	}
}

func TestAdditions_ClosuresAreBounded(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, u := range []string{"u:acme:ann", "u:acme:bob", "u:acme:cat", "u:acme:dan"} {
		h.User(u, principal.Public)
	}
	root := func() *principal.Viewer { return domaintest.Admin("u:acme:root") }
	h.Group("g:acme:wide", "u:acme:cat", principal.Public)
	for _, g := range []string{"g:acme:broad", "g:acme:pair", "g:acme:tall"} {
		h.Group(g, "u:acme:dan", principal.Public)
	}
	addCrowd(h, "w", 999, "g:acme:wide")
	addCrowd(h, "b", 999, "g:acme:broad")
	// 999 groups and wide itself.
	h.MustSet(root(), "g:acme:wide", "u:acme:ann=MEMBER", "u:acme:bob=MEMBER")
	// 999 and broad: 2,000 in all for ann, which is the maximum.
	h.MustSet(root(), "g:acme:broad", "u:acme:ann=MEMBER")
	_, err := h.Set(root(), "g:acme:tall", "u:acme:ann=MEMBER")
	domaintest.WantFaults(t, err, "TOO_MANY members.0.principalId")
	_, err = h.People.CreateGroup(t.Context(), domaintest.As("u:acme:ann"),
		principal.CreateGroup{Tenant: "acme", Name: "more", DisplayName: "x", Visibility: principal.Public})
	domaintest.WantFaults(t, err, "TOO_MANY")
	// Members of a nested group are not checked: bob, in wide and pair, would get more than the
	// limit, and the excess does not count.
	h.MustSet(root(), "g:acme:pair", "u:acme:bob=MEMBER")
	h.MustSet(root(), "g:acme:broad", "g:acme:pair=MEMBER")
	h.MustSet(root(), "g:acme:broad", "g:acme:pair=")
	h.MustSet(root(), "g:acme:pair", "u:acme:bob=")
	// Now nobody would exceed the limit: ann is in all of it already, bob and cat get to 2,000.
	h.MustSet(root(), "g:acme:broad", "g:acme:pair=MEMBER")
	h.MustSet(root(), "g:acme:broad", "g:acme:wide=MEMBER")
}
