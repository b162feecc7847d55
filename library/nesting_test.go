package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"carrel/backend"
	"carrel/core/commit"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// chainOf makes groups of a tenant of which each is a member of the next one, as
// older programs stored them, with user in the first one. The first one's name is
// <prefix>1.
func (h *house) chainOf(tenant, prefix string, n int, user principal.ID, visibility principal.Visibility) {
	h.t.Helper()
	below := user
	for i := 1; i <= n; i++ {
		below = h.stored(tenant, fmt.Sprintf("%s%d", prefix, i), visibility, principal.GroupManager, below)
	}
}

// stored writes a group with members to the store, as its creation would leave it.
func (h *house) stored(tenant, name string, visibility principal.Visibility, role principal.GroupRole, members ...principal.ID) principal.ID {
	h.t.Helper()
	head := principal.Header{
		ID: principal.GroupID(tenant, name), DisplayName: name, Visibility: visibility, State: commit.Live,
		Seq: 1, MTS: 1, CreatedAt: 1, Managers: len(members), Members: len(members),
	}
	var rows []principal.GroupMemberRow
	for _, m := range members {
		rows = append(rows, principal.GroupMemberRow{Principal: m, Role: role, Seq: 1})
	}
	v, err := h.store.CommitPrincipal(h.t.Context(), &principal.Commit{ID: head.ID, Header: head, Members: rows})
	if err != nil || !v.Applied {
		h.t.Fatalf("writing %s: %+v, %v", head.ID, v, err)
	}
	if err := h.store.EnforceGroup(h.t.Context(), &principal.GroupEnforcement{Header: &head, Rows: rows}); err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.SetBuilt(h.t.Context(), head.ID, 1); err != nil {
		h.t.Fatal(err)
	}
	return head.ID
}

// TestAMembershipCountsThroughEightLevels compares the 7th, the 8th and the 9th
// group of a chain, in everything that rests on membership.
func TestAMembershipCountsThroughEightLevels(t *testing.T) {
	h := newHouse(t, nil)
	h.user("u:acme:ann", principal.Public)
	h.user("u:acme:bob", principal.Public)
	h.chainOf("acme", "g", 10, "u:acme:ann", principal.Private)
	for level := 7; level <= 9; level++ {
		counts := level <= 8
		group := fmt.Sprintf("g:acme:g%d", level)
		id := principal.ID(group)
		ann := func() *principal.Viewer { return as("u:acme:ann") }
		role, err := h.svc.GroupRoleOf(t.Context(), ann(), id)
		if err != nil || (role == principal.GroupManager) != counts {
			t.Errorf("level %d: viewerRole %v, %v", level, role, err)
		}
		found, err := h.svc.Principals(t.Context(), ann(), []principal.ID{id})
		if err != nil || (found[0] != nil) != counts {
			t.Errorf("level %d: the group is shown as %v, %v", level, found[0], err)
		}
		h.item("u:acme:bob", fmt.Sprintf("item%d", level), group)
		item := library.ContentID(fmt.Sprintf("c:acme:item%d", level))
		cs, err := h.svc.Contents(t.Context(), ann(), []library.ContentID{item})
		if err != nil || (cs[0] != nil) != counts {
			t.Errorf("level %d: the item is shown as %v, %v", level, cs[0], err)
		}
		_, err = h.svc.UpdateGroup(t.Context(), ann(), principal.UpdateGroup{ID: group, Visibility: input.Some(ptr(principal.Public))})
		if counts && err != nil {
			t.Errorf("level %d: a manager through groups is refused: %v", level, err)
		} else if !counts {
			wantTold(t, err, "NOT_FOUND id")
			_, err := h.svc.UpdateGroup(t.Context(), admin("u:acme:root"), principal.UpdateGroup{ID: group, Visibility: input.Some(ptr(principal.Public))})
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.svc.UpdateGroup(t.Context(), ann(), principal.UpdateGroup{ID: group, DisplayName: input.Some(ptr("x"))})
			wantTold(t, err, "FORBIDDEN id")
		}
		page, err := h.svc.Library(t.Context(), ann(), id, library.LibraryQuery{})
		if err != nil || (page.Bucket == library.Bucket(principal.Private)) != counts || (len(page.Edges) == 1) != counts {
			t.Errorf("level %d: its library shows %+v, %v", level, page, err)
		}
	}
}

// item makes a PRIVATE item of a user, shared with a group.
func (h *house) item(creator, name, group string) {
	h.t.Helper()
	role := library.Viewing
	_, err := h.svc.CreateContent(h.t.Context(), admin(creator), library.CreateContent{
		Name: &name, Kind: library.Note, Title: name, Visibility: principal.Private,
		Members: []library.ContentMemberChange{{Principal: group, Role: &role}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// roundsStore counts the calls by which groups are resolved, and members read.
type roundsStore struct {
	backend.Store
	mu                                  sync.Mutex
	memberships, confirms, pages, claim int
	rows                                int // of memberships
	broken                              bool
}

var errBroken = errors.New("the reverse index is broken")

func (s *roundsStore) MembershipsOf(ctx context.Context, q principal.MembershipsQuery) ([][]principal.Membership, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memberships++; s.broken {
		return nil, errBroken
	}
	lists, err := s.Store.MembershipsOf(ctx, q)
	for _, list := range lists {
		s.rows += len(list)
	}
	return lists, err
}

func (s *roundsStore) Confirm(ctx context.Context, claims []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	s.mu.Lock()
	s.confirms++
	s.claim += len(claims)
	s.mu.Unlock()
	return s.Store.Confirm(ctx, claims)
}

func (s *roundsStore) GroupMembersPage(ctx context.Context, g, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	s.mu.Lock()
	s.pages++
	s.mu.Unlock()
	return s.Store.GroupMembersPage(ctx, g, after, limit, serial)
}

func (s *roundsStore) reset() { s.memberships, s.confirms, s.pages, s.claim, s.rows = 0, 0, 0, 0, 0 }

func newRoundsHouse(t *testing.T) (*house, *roundsStore) {
	rounds := &roundsStore{}
	return newHouse(t, func(s backend.Store) backend.Store { rounds.Store = s; return rounds }), rounds
}

// TestAStrangersChainLocksNobodyOut: resolving stops after eight levels, one round
// of reads for each, and whoever is in such a chain may leave it.
func TestAStrangersChainLocksNobodyOut(t *testing.T) {
	h, store := newRoundsHouse(t)
	h.user("u:acme:ann", principal.Public)
	h.stored("evil", "g1", principal.Private, principal.GroupManager, "u:evil:eve", "u:acme:ann")
	below := principal.GroupID("evil", "g1")
	for i := 2; i <= 1200; i++ {
		below = h.stored("evil", fmt.Sprintf("g%d", i), principal.Private, principal.GroupManager, below)
	}
	store.reset()
	v := as("u:acme:ann")
	if _, err := h.svc.GroupRoleOf(t.Context(), v, below); err != nil {
		t.Fatal(err)
	}
	if store.memberships != 8 || store.confirms != 8 {
		t.Errorf("%d reads of memberships and %d of members, want 8 of each", store.memberships, store.confirms)
	}
	if rounds, groups := v.Resolved(); rounds != 9 || groups != 8 {
		t.Errorf("billed for %d rounds and %d groups, want 9 and 8", rounds, groups)
	}
	store.reset()
	store.broken = true
	g, err := h.set(as("u:acme:ann"), "g:evil:g1", "u:acme:ann=")
	if err != nil || g != nil {
		t.Errorf("leaving: %v, %v; want no group and no error", g, err)
	}
	if store.memberships+store.confirms != 0 {
		t.Errorf("leaving has resolved groups: %d, %d calls", store.memberships, store.confirms)
	}
	store.broken = false
	if role, err := h.svc.GroupRoleOf(t.Context(), as("u:acme:ann"), "g:evil:g1"); err != nil || role != principal.NotInGroup {
		t.Errorf("after leaving: %v, %v", role, err)
	}
}

// TestLeaving: a member may always take itself out, except the last manager, and
// is shown the group that it sees without being in it.
func TestLeaving(t *testing.T) {
	h, store := newRoundsHouse(t)
	h.user("u:acme:ann", principal.Public)
	h.stored("acme", "open", principal.LoggedIn, principal.GroupManager, "u:acme:ann", "u:acme:bob")
	h.stored("acme", "sole", principal.Private, principal.GroupManager, "u:acme:ann")
	store.broken = true
	key := "a key for leaving twice"
	in := principal.SetGroupMembers{Group: "g:acme:open", Members: []principal.GroupMemberChange{{Principal: "u:acme:ann"}}, IdempotencyKey: &key}
	for range 2 {
		if g, err := h.svc.SetGroupMembers(t.Context(), as("u:acme:ann"), in); err != nil || g == nil {
			t.Errorf("leaving a group that stays visible: %v, %v", g, err)
		}
	}
	_, err := h.set(as("u:acme:ann"), "g:acme:sole", "u:acme:ann=")
	wantTold(t, err, "LAST_MANAGER members.0")
	// Taking somebody else out beside oneself is no leaving.
	if _, err = h.set(as("u:acme:ann"), "g:acme:sole", "u:acme:ann=", "u:acme:bob="); err == nil {
		t.Error("a change of others resolves nothing")
	}
}

// TestQuotasAreSeparate: groups of other tenants do not use up the memberships in
// groups of one's own, nor the groups of a closure.
func TestQuotasAreSeparate(t *testing.T) {
	h := newHouse(t, nil)
	for _, u := range []string{"u:acme:ann", "u:evil:eve"} {
		h.user(u, principal.Public)
	}
	for i := range 99 {
		h.stored("evil", fmt.Sprintf("e%d", i), principal.Public, principal.GroupManager, "u:evil:eve", "u:acme:ann")
	}
	for _, g := range []string{"g:evil:x", "g:evil:y"} {
		h.group(g, "u:evil:eve", principal.Public)
	}
	h.mustSet(as("u:evil:eve"), "g:evil:x", "u:acme:ann=MEMBER") // the 100th
	_, err := h.set(as("u:evil:eve"), "g:evil:y", "u:acme:ann=MEMBER")
	wantTold(t, err, "TOO_MANY members.0.principalId")
	h.mustSet(as("u:evil:eve"), "g:evil:x", "u:acme:ann=MANAGER") // being in needs no room
	h.group("g:acme:own", "u:acme:ann", principal.Public)
	// eve's own quota is that of her tenant.
	h.group("g:evil:z", "u:evil:eve", principal.Public)
}

// TestStrangersDoNotDisplaceOwnGroups: whatever a stranger nests, the groups of
// one's own tenant are resolved, and one may be put into more of them.
func TestStrangersDoNotDisplaceOwnGroups(t *testing.T) {
	h := newHouse(t, nil)
	for _, u := range []string{"u:acme:ann", "u:evil:eve"} {
		h.user(u, principal.Public)
	}
	// Ids of tenant aaa come before those of acme. A race has gone beyond the quota
	// of 100, and each of the groups is in 100 more.
	for i := range 150 {
		g := h.stored("aaa", fmt.Sprintf("e%03d", i), principal.Public, principal.GroupManager, "u:acme:ann")
		for j := range 30 {
			h.stored("aaa", fmt.Sprintf("top%03d-%d", i, j), principal.Public, principal.GroupManager, g)
		}
	}
	h.chainOf("acme", "own", 8, "u:acme:ann", principal.Private)
	v := as("u:acme:ann")
	for i := 1; i <= 8; i++ {
		id := principal.GroupID("acme", fmt.Sprintf("own%d", i))
		if role, err := h.svc.GroupRoleOf(t.Context(), v, id); err != nil || role != principal.GroupManager {
			t.Errorf("%s: %v, %v", id, role, err)
		}
	}
	for id, want := range map[principal.ID]principal.GroupRole{
		"g:aaa:e099": principal.GroupManager, "g:aaa:e100": principal.NotInGroup, "g:aaa:top000-0": principal.GroupManager, "g:aaa:top140-0": principal.NotInGroup,
	} {
		if role, err := h.svc.GroupRoleOf(t.Context(), v, id); err != nil || role != want {
			t.Errorf("%s: %v, %v; want %v", id, role, err, want)
		}
	}
	all := 8
	for i := range 100 {
		for j := range 31 {
			id := principal.GroupID("aaa", fmt.Sprintf("top%03d-%d", i, j))
			if j == 30 {
				id = principal.GroupID("aaa", fmt.Sprintf("e%03d", i))
			}
			if role, _ := h.svc.GroupRoleOf(t.Context(), v, id); role != principal.NotInGroup {
				all++
			}
		}
	}
	if all != 2000 {
		t.Errorf("ann is in %d groups, want 2000", all)
	}
	h.group("g:acme:new", "u:acme:ann", principal.Public)
	h.group("g:evil:new", "u:evil:eve", principal.Public)
	_, err := h.set(as("u:evil:eve"), "g:evil:new", "u:acme:ann=MEMBER")
	wantTold(t, err, "TOO_MANY members.0.principalId")
}

// TestGroupsNestThroughEightLevels: an addition that would make a ninth level is
// refused, wherever in the chain it is made.
func TestGroupsNestThroughEightLevels(t *testing.T) {
	for below := 1; below <= 8; below++ {
		h := newHouse(t, nil)
		h.user("u:acme:ann", principal.Public)
		h.chainOf("acme", "low", below, "u:acme:ann", principal.Public)
		h.chainOf("acme", "high", 9-below, "u:acme:ann", principal.Public)
		h.chainOf("acme", "less", 8-below, "u:acme:ann", principal.Public)
		top := fmt.Sprintf("g:acme:low%d", below)
		_, err := h.set(admin("u:acme:root"), "g:acme:high1", top+"=MEMBER")
		wantTold(t, err, "TOO_MANY members.0.principalId")
		if below < 8 {
			h.mustSet(admin("u:acme:root"), "g:acme:less1", top+"=MEMBER")
			// It is in already: another role nests nothing.
			h.mustSet(admin("u:acme:root"), "g:acme:less1", top+"=MANAGER")
			// A cycle nests nothing deeper.
			h.mustSet(admin("u:acme:root"), "g:acme:low1", fmt.Sprintf("g:acme:less%d=MEMBER", 8-below))
		}
		// Users nest nothing.
		h.user("u:acme:bob", principal.Public)
		h.mustSet(admin("u:acme:root"), "g:acme:high1", "u:acme:bob=MEMBER")
	}
}

// TestStrangersKeepNobodyFromNesting: the groups of other tenants above a group do
// not count against what its managers put into it.
func TestStrangersKeepNobodyFromNesting(t *testing.T) {
	h := newHouse(t, nil)
	h.user("u:acme:ann", principal.Public)
	h.group("g:acme:a", "u:acme:ann", principal.Public)
	h.group("g:acme:b", "u:acme:ann", principal.Public)
	h.chainOf("evil", "e", 8, "g:acme:a", principal.Public)
	h.mustSet(as("u:acme:ann"), "g:acme:a", "g:acme:b=MEMBER")
	if role, err := h.svc.GroupRoleOf(t.Context(), as("u:acme:ann"), "g:acme:a"); err != nil || role != principal.GroupManager {
		t.Errorf("%v, %v", role, err)
	}
}

// TestNestingALargeGroup takes rounds, not a read for each of its members.
func TestNestingALargeGroup(t *testing.T) {
	h, store := newRoundsHouse(t)
	h.user("u:acme:ann", principal.Public)
	var members []principal.ID
	for i := range 1500 {
		members = append(members, principal.UserID("acme", fmt.Sprintf("m%d", i)))
	}
	below := h.stored("acme", "below", principal.Public, principal.GroupManager, "u:acme:ann")
	h.stored("acme", "large", principal.Public, principal.GroupManager, append(members, below)...)
	h.group("g:acme:top", "u:acme:ann", principal.Public)
	store.reset()
	v := as("u:acme:ann")
	h.mustSet(v, "g:acme:top", "g:acme:large=MEMBER")
	if calls := store.memberships + store.confirms + store.pages; calls > 12 {
		t.Errorf("it took %d calls", calls)
	}
	if rounds, groups := v.Resolved(); rounds == 0 || groups == 0 {
		t.Errorf("billed for %d rounds and %d groups", rounds, groups)
	}
}

// TestManyGroupsInTheSameOnes: the memberships read for a closure are bounded, and
// each group is confirmed by one of those that lead to it.
func TestManyGroupsInTheSameOnes(t *testing.T) {
	h, store := newRoundsHouse(t)
	h.user("u:acme:ann", principal.Public)
	var lower []principal.ID
	for i := range 90 {
		lower = append(lower, h.stored("evil", fmt.Sprintf("low%d", i), principal.Public, principal.GroupManager, "u:acme:ann"))
	}
	for i := range 90 {
		h.stored("evil", fmt.Sprintf("top%d", i), principal.Public, principal.GroupManager, lower...)
	}
	store.reset()
	v := as("u:acme:ann")
	if role, err := h.svc.GroupRoleOf(t.Context(), v, "g:evil:low0"); err != nil || role != principal.GroupManager {
		t.Errorf("%v, %v", role, err)
	}
	if store.claim != 180 {
		t.Errorf("%d members were confirmed, want one for each of 180 groups", store.claim)
	}
	if store.rows > 90+5_000+90 {
		t.Errorf("%d memberships were read", store.rows)
	}
}

// TestGroupsShowNothingThatHasExpired: a role through groups shows no item whose
// time is over, neither to queries nor to mutations.
func TestGroupsShowNothingThatHasExpired(t *testing.T) {
	r := newRoom(t)
	r.principals("u:acme:ann", "g:acme:a")
	r.join("g:acme:a", true, in("u:acme:ann", principal.GroupMember))
	past := roomStart - 1
	r.change("c:acme:gone", func(h *library.Header) {
		h.Visibility, h.ExpiresAt = principal.Private, &past
	}, has("g:acme:a", library.Manages))
	cs, err := r.svc.Contents(t.Context(), ann(), []library.ContentID{"c:acme:gone"})
	if err != nil || cs[0] != nil {
		t.Errorf("it is shown: %v, %v", cs[0], err)
	}
	_, err = r.svc.UpdateContent(t.Context(), ann(), library.UpdateContent{ID: "c:acme:gone", Title: input.Some(ptr("x"))})
	wantTold(t, err, "NOT_FOUND id")
}
