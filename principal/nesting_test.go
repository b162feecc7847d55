package principal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// storeChain writes groups of a tenant of which each is a member of the next one, as older
// versions stored them, with user in the first one. The first one's name is <prefix>1.
func storeChain(h *domaintest.Fixture, tenant, prefix string, n int, user principal.ID, visibility principal.Visibility) {
	h.T.Helper()
	below := user
	for i := 1; i <= n; i++ {
		below = storeGroup(h, tenant, fmt.Sprintf("%s%d", prefix, i), visibility, principal.GroupManager, below)
	}
}

// storeGroup writes a group with members to the store, as its creation would.
func storeGroup(h *domaintest.Fixture, tenant, name string, visibility principal.Visibility, role principal.GroupRole,
	members ...principal.ID) principal.ID {
	h.T.Helper()
	rows := make([]principal.GroupMemberRow, len(members))
	for i, m := range members {
		rows[i] = principal.GroupMemberRow{Principal: m, Role: role, Since: 1}
	}
	return storeMembers(h, tenant, name, visibility, rows...)
}

// storeMembers is storeGroup with the rows of the members.
func storeMembers(h *domaintest.Fixture, tenant, name string, visibility principal.Visibility,
	rows ...principal.GroupMemberRow) principal.ID {
	h.T.Helper()
	head := principal.Header{
		ID: principal.GroupID(tenant, name), DisplayName: name, Visibility: visibility, State: commit.Live,
		Seq: 1, MTS: 1, CreatedAt: 1, Managers: len(rows), Members: len(rows),
	}
	for i := range rows {
		rows[i].Seq = 1
	}
	v, err := h.Store.Principals.CommitPrincipal(h.T.Context(), &principal.Commit{ID: head.ID, Header: head, Members: rows})
	if err != nil || !v.Applied {
		h.T.Fatalf("writing %s: %+v, %v", head.ID, v, err)
	}
	if err := h.Store.Principals.ApplyGroupIndex(h.T.Context(), &principal.GroupIndexUpdate{Header: &head, Rows: rows}); err != nil {
		h.T.Fatal(err)
	}
	if err := h.Store.Libraries.SetBuilt(h.T.Context(), head.ID, 1); err != nil {
		h.T.Fatal(err)
	}
	return head.ID
}

// TestNesting_MembershipCountsThroughEightLevels compares the 7th, the 8th and the 9th group of a
// chain, in everything that depends on membership.
func TestNesting_MembershipCountsThroughEightLevels(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:bob", principal.Public)
	storeChain(h, "acme", "g", 10, "u:acme:ann", principal.Private)
	for level := 7; level <= 9; level++ {
		counts := level <= 8
		group := fmt.Sprintf("g:acme:g%d", level)
		id := principal.ID(group)
		ann := func() *principal.Viewer { return domaintest.As("u:acme:ann") }
		role, err := h.People.GroupRoleOf(t.Context(), ann(), id)
		if err != nil || (role == principal.GroupManager) != counts {
			t.Errorf("level %d: viewerRole %v, %v", level, role, err)
		}
		found, err := h.People.Principals(t.Context(), ann(), []principal.ID{id})
		if err != nil || (found[0] != nil) != counts {
			t.Errorf("level %d: the group is shown as %v, %v", level, found[0], err)
		}
		shareItem(h, "u:acme:bob", fmt.Sprintf("item%d", level), group)
		item := library.ContentID(fmt.Sprintf("c:acme:item%d", level))
		cs, err := h.Library.Contents(t.Context(), ann(), []library.ContentID{item})
		if err != nil || (cs[0] != nil) != counts {
			t.Errorf("level %d: the item is shown as %v, %v", level, cs[0], err)
		}
		_, err = h.People.UpdateGroup(t.Context(), ann(),
			principal.UpdateGroup{ID: group, Visibility: input.Some(domaintest.Ptr(principal.Public))})
		if counts && err != nil {
			t.Errorf("level %d: a manager through groups is refused: %v", level, err)
		} else if !counts {
			domaintest.WantFaults(t, err, "NOT_FOUND id")
			_, err := h.People.UpdateGroup(t.Context(), domaintest.Admin("u:acme:root"),
				principal.UpdateGroup{ID: group, Visibility: input.Some(domaintest.Ptr(principal.Public))})
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.People.UpdateGroup(t.Context(), ann(), principal.UpdateGroup{ID: group, DisplayName: input.Some(domaintest.Ptr("x"))})
			domaintest.WantFaults(t, err, "FORBIDDEN id")
		}
		page, err := h.Listing.Library(t.Context(), ann(), id, library.LibraryQuery{})
		if err != nil || (page.Bucket == library.Bucket(principal.Private)) != counts || (len(page.Edges) == 1) != counts {
			t.Errorf("level %d: its library shows %+v, %v", level, page, err)
		}
	}
}

// shareItem makes a PRIVATE item of a user, shared with a group.
func shareItem(h *domaintest.Fixture, creator, name, group string) {
	h.T.Helper()
	role := library.Viewing
	_, err := h.Library.CreateContent(h.T.Context(), domaintest.Admin(creator), library.CreateContent{
		Name: &name, Kind: library.Note, Title: name, Visibility: principal.Private,
		Members: []library.ContentMemberChange{{Principal: group, Role: &role}},
	})
	if err != nil {
		h.T.Fatal(err)
	}
}

// roundsStore counts the calls by which groups are resolved, and members read.
type roundsStore struct {
	principal.Store
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

func (s *roundsStore) Confirm(ctx context.Context, memberships []principal.MemberOf) ([]principal.GroupMemberRow, error) {
	s.mu.Lock()
	s.confirms++
	s.claim += len(memberships)
	s.mu.Unlock()
	return s.Store.Confirm(ctx, memberships)
}

func (s *roundsStore) GroupMembersPage(ctx context.Context, g, after principal.ID, limit int, serial bool) (*principal.Rows, error) {
	s.mu.Lock()
	s.pages++
	s.mu.Unlock()
	return s.Store.GroupMembersPage(ctx, g, after, limit, serial)
}

func (s *roundsStore) reset() { s.memberships, s.confirms, s.pages, s.claim, s.rows = 0, 0, 0, 0, 0 }

func newRoundsFixture(t *testing.T) (*domaintest.Fixture, *roundsStore) {
	rounds := &roundsStore{}
	return domaintest.New(t, func(s *domain.Store) { rounds.Store, s.Principals = s.Principals, rounds }), rounds
}

// TestNesting_LongChainLocksNobodyOut checks that resolving stops after eight levels, one round of
// reads for each, and that a member of such a chain may leave it.
func TestNesting_LongChainLocksNobodyOut(t *testing.T) {
	h, store := newRoundsFixture(t)
	h.User("u:acme:ann", principal.Public)
	storeGroup(h, "evil", "g1", principal.Private, principal.GroupManager, "u:evil:eve", "u:acme:ann")
	below := principal.GroupID("evil", "g1")
	for i := 2; i <= 1200; i++ {
		below = storeGroup(h, "evil", fmt.Sprintf("g%d", i), principal.Private, principal.GroupManager, below)
	}
	store.reset()
	v := domaintest.As("u:acme:ann")
	if _, err := h.People.GroupRoleOf(t.Context(), v, below); err != nil {
		t.Fatal(err)
	}
	if store.memberships != 8 || store.confirms != 8 {
		t.Errorf("%d reads of memberships and %d of members, want 8 of each", store.memberships, store.confirms)
	}
	if resolutions, libraries := v.Resolved(); resolutions != 1 || libraries != 0 {
		t.Errorf("billed for %d resolutions and %d libraries, want one and none", resolutions, libraries)
	}
	store.reset()
	store.broken = true
	g, err := h.Set(domaintest.As("u:acme:ann"), "g:evil:g1", "u:acme:ann=")
	if err != nil || g != nil {
		t.Errorf("leaving: %v, %v; want no group and no error", g, err)
	}
	if store.memberships+store.confirms != 0 {
		t.Errorf("leaving has resolved groups: %d, %d calls", store.memberships, store.confirms)
	}
	store.broken = false
	if role, err := h.People.GroupRoleOf(t.Context(), domaintest.As("u:acme:ann"), "g:evil:g1"); err != nil || role != principal.NotInGroup {
		t.Errorf("after leaving: %v, %v", role, err)
	}
}

// TestSetGroupMembers_MemberMayLeave checks that a member may always remove itself, except the last
// manager, and is shown the group if it sees it without being in it.
func TestSetGroupMembers_MemberMayLeave(t *testing.T) {
	h, store := newRoundsFixture(t)
	h.User("u:acme:ann", principal.Public)
	storeGroup(h, "acme", "open", principal.LoggedIn, principal.GroupManager, "u:acme:ann", "u:acme:bob")
	storeGroup(h, "acme", "sole", principal.Private, principal.GroupManager, "u:acme:ann")
	store.broken = true
	key := "a key for leaving twice"
	in := principal.SetGroupMembers{Group: "g:acme:open", Members: []principal.GroupMemberChange{{Principal: "u:acme:ann"}},
		IdempotencyKey: &key}
	for range 2 {
		if g, err := h.People.SetGroupMembers(t.Context(), domaintest.As("u:acme:ann"), in); err != nil || g == nil {
			t.Errorf("leaving a group that stays visible: %v, %v", g, err)
		}
	}
	_, err := h.Set(domaintest.As("u:acme:ann"), "g:acme:sole", "u:acme:ann=")
	domaintest.WantFaults(t, err, "LAST_MANAGER members.0")
	// A change that also removes another member needs the viewer's groups, which cannot be read.
	if _, err = h.Set(domaintest.As("u:acme:ann"), "g:acme:sole", "u:acme:ann=", "u:acme:bob="); err == nil {
		t.Error("a change of others was made without the viewer's groups")
	}
}

// TestNesting_TenantsHaveSeparateQuotas checks that groups of other tenants do not use up the
// memberships in groups of one's own, nor the groups of a closure.
func TestNesting_TenantsHaveSeparateQuotas(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, u := range []string{"u:acme:ann", "u:evil:eve"} {
		h.User(u, principal.Public)
	}
	for i := range 99 {
		storeGroup(h, "evil", fmt.Sprintf("e%d", i), principal.Public, principal.GroupManager, "u:evil:eve", "u:acme:ann")
	}
	for _, g := range []string{"g:evil:x", "g:evil:y"} {
		h.Group(g, "u:evil:eve", principal.Public)
	}
	h.MustSet(domaintest.As("u:evil:eve"), "g:evil:x", "u:acme:ann=MEMBER") // the 100th
	_, err := h.Set(domaintest.As("u:evil:eve"), "g:evil:y", "u:acme:ann=MEMBER")
	domaintest.WantFaults(t, err, "TOO_MANY members.0.principalId")
	h.MustSet(domaintest.As("u:evil:eve"), "g:evil:x", "u:acme:ann=MANAGER") // a present member needs no quota
	h.Group("g:acme:own", "u:acme:ann", principal.Public)
	// eve's own quota is that of her tenant.
	h.Group("g:evil:z", "u:evil:eve", principal.Public)
}

// TestNesting_OtherTenantsDoNotDisplaceOwnGroups checks that, whatever a stranger nests, the groups
// of one's own tenant are resolved, and that one may be added to more of them.
func TestNesting_OtherTenantsDoNotDisplaceOwnGroups(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, u := range []string{"u:acme:ann", "u:evil:eve"} {
		h.User(u, principal.Public)
	}
	// Ids of tenant aaa come before those of acme. A race has exceeded the quota of 100, and each
	// of the groups is in 30 more.
	for i := range 150 {
		g := storeGroup(h, "aaa", fmt.Sprintf("e%03d", i), principal.Public, principal.GroupManager, "u:acme:ann")
		for j := range 30 {
			storeGroup(h, "aaa", fmt.Sprintf("top%03d-%d", i, j), principal.Public, principal.GroupManager, g)
		}
	}
	storeChain(h, "acme", "own", 8, "u:acme:ann", principal.Private)
	v := domaintest.As("u:acme:ann")
	for i := 1; i <= 8; i++ {
		id := principal.GroupID("acme", fmt.Sprintf("own%d", i))
		if role, err := h.People.GroupRoleOf(t.Context(), v, id); err != nil || role != principal.GroupManager {
			t.Errorf("%s: %v, %v", id, role, err)
		}
	}
	for id, want := range map[principal.ID]principal.GroupRole{
		"g:aaa:e099": principal.GroupManager, "g:aaa:e100": principal.NotInGroup, "g:aaa:top000-0": principal.GroupManager,
		"g:aaa:top140-0": principal.NotInGroup,
	} {
		if role, err := h.People.GroupRoleOf(t.Context(), v, id); err != nil || role != want {
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
			if role, _ := h.People.GroupRoleOf(t.Context(), v, id); role != principal.NotInGroup {
				all++
			}
		}
	}
	if all != 2000 {
		t.Errorf("ann is in %d groups, want 2000", all)
	}
	h.Group("g:acme:new", "u:acme:ann", principal.Public)
	h.Group("g:evil:new", "u:evil:eve", principal.Public)
	_, err := h.Set(domaintest.As("u:evil:eve"), "g:evil:new", "u:acme:ann=MEMBER")
	domaintest.WantFaults(t, err, "TOO_MANY members.0.principalId")
}

// TestNesting_NinthLevelIsRefused checks that an addition that would make a ninth level is refused,
// at any position of the chain.
func TestNesting_NinthLevelIsRefused(t *testing.T) {
	for below := 1; below <= 8; below++ {
		h := domaintest.New(t, nil)
		h.User("u:acme:ann", principal.Public)
		storeChain(h, "acme", "low", below, "u:acme:ann", principal.Public)
		storeChain(h, "acme", "high", 9-below, "u:acme:ann", principal.Public)
		storeChain(h, "acme", "less", 8-below, "u:acme:ann", principal.Public)
		top := fmt.Sprintf("g:acme:low%d", below)
		_, err := h.Set(domaintest.Admin("u:acme:root"), "g:acme:high1", top+"=MEMBER")
		domaintest.WantFaults(t, err, "TOO_MANY members.0.principalId")
		if below < 8 {
			h.MustSet(domaintest.Admin("u:acme:root"), "g:acme:less1", top+"=MEMBER")
			// It is a member already: another role nests nothing.
			h.MustSet(domaintest.Admin("u:acme:root"), "g:acme:less1", top+"=MANAGER")
			// A cycle nests nothing deeper.
			h.MustSet(domaintest.Admin("u:acme:root"), "g:acme:low1", fmt.Sprintf("g:acme:less%d=MEMBER", 8-below))
		}
		// Users nest nothing.
		h.User("u:acme:bob", principal.Public)
		h.MustSet(domaintest.Admin("u:acme:root"), "g:acme:high1", "u:acme:bob=MEMBER")
	}
}

// TestNesting_OtherTenantsDoNotBlockAdditions checks that the groups of other tenants above a group
// do not count against what its managers add to it.
func TestNesting_OtherTenantsDoNotBlockAdditions(t *testing.T) {
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.Group("g:acme:a", "u:acme:ann", principal.Public)
	h.Group("g:acme:b", "u:acme:ann", principal.Public)
	storeChain(h, "evil", "e", 8, "g:acme:a", principal.Public)
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:a", "g:acme:b=MEMBER")
	if role, err := h.People.GroupRoleOf(t.Context(), domaintest.As("u:acme:ann"), "g:acme:a"); err != nil || role != principal.GroupManager {
		t.Errorf("%v, %v", role, err)
	}
}

// TestNesting_LargeGroupTakesFewRounds checks that adding a large group takes a few rounds of
// reads, and not a read for each of its members.
func TestNesting_LargeGroupTakesFewRounds(t *testing.T) {
	h, store := newRoundsFixture(t)
	h.User("u:acme:ann", principal.Public)
	var members []principal.ID
	for i := range 1500 {
		members = append(members, principal.UserID("acme", fmt.Sprintf("m%d", i)))
	}
	below := storeGroup(h, "acme", "below", principal.Public, principal.GroupManager, "u:acme:ann")
	storeGroup(h, "acme", "large", principal.Public, principal.GroupManager, append(members, below)...)
	h.Group("g:acme:top", "u:acme:ann", principal.Public)
	store.reset()
	v := domaintest.As("u:acme:ann")
	h.MustSet(v, "g:acme:top", "g:acme:large=MEMBER")
	if calls := store.memberships + store.confirms + store.pages; calls > 12 {
		t.Errorf("it took %d calls", calls)
	}
	if resolutions, _ := v.Resolved(); resolutions != 3 {
		t.Errorf("billed for %d resolutions, want those of top, and of the groups above large and below it", resolutions)
	}
}

// TestNesting_MembershipsReadAreBounded checks that the number of memberships read for a closure is
// limited, and that each group is confirmed by one of those that lead to it.
func TestNesting_MembershipsReadAreBounded(t *testing.T) {
	for tenant, most := range map[string]int{"acme": 90 * 90, "evil": 5_000} {
		h, store := newRoundsFixture(t)
		h.User("u:acme:ann", principal.Public)
		var lower []principal.ID
		for i := range 90 {
			lower = append(lower, storeGroup(h, tenant, fmt.Sprintf("low%d", i), principal.Public, principal.GroupManager, "u:acme:ann"))
		}
		for i := range 90 {
			storeGroup(h, tenant, fmt.Sprintf("top%d", i), principal.Public, principal.GroupManager, lower...)
		}
		store.reset()
		role, err := h.People.GroupRoleOf(t.Context(), domaintest.As("u:acme:ann"), principal.GroupID(tenant, "low0"))
		if err != nil || role != principal.GroupManager {
			t.Errorf("%v, %v", role, err)
		}
		if store.claim != 180 {
			t.Errorf("%d members were confirmed, want one for each of 180 groups", store.claim)
		}
		if store.rows < most || store.rows > 90+most+90 {
			t.Errorf("%s: %d memberships were read", tenant, store.rows)
		}
	}
}

// TestGroups_ShowNoExpiredItems checks that a role through groups shows no item that has expired,
// neither to queries nor to mutations.
func TestGroups_ShowNoExpiredItems(t *testing.T) {
	r := domaintest.NewRows(t)
	r.Principals("u:acme:ann", "g:acme:a")
	r.Join("g:acme:a", true, domaintest.GroupMember("u:acme:ann", principal.GroupMember))
	past := domaintest.RowsStart - 1
	r.Change("c:acme:gone", func(h *library.Header) {
		h.Visibility, h.ExpiresAt = principal.Private, &past
	}, domaintest.ContentMember("g:acme:a", library.Manages))
	cs, err := r.Library.Contents(t.Context(), domaintest.Ann(), []library.ContentID{"c:acme:gone"})
	if err != nil || cs[0] != nil {
		t.Errorf("it is shown: %v, %v", cs[0], err)
	}
	_, err = r.Library.UpdateContent(t.Context(), domaintest.Ann(), library.UpdateContent{ID: "c:acme:gone",
		Title: input.Some(domaintest.Ptr("x"))})
	domaintest.WantFaults(t, err, "NOT_FOUND id")
}
