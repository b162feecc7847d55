package principal_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestFinish_FailingStoreDelaysDerivedRows checks that a failing store delays what is derived from
// a change, and that nothing of the change is lost.
func TestFinish_FailingStoreDelaysDerivedRows(t *testing.T) {
	t.Run("retried before the answer", func(t *testing.T) {
		f := &failing{}
		h := domaintest.Staff(t, func(s *domain.Store) { f.Store, s.Principals = s.Principals, f })
		f.applyGroupIndex = 2
		h.MustSet(domaintest.As("u:acme:ann"), "g:acme:staff", "u:acme:dan=MEMBER", "u:acme:bob=")
		wantIndexed(h, "g:acme:staff")
		h.WantNothingInFlight()
	})
	t.Run("left to the background", func(t *testing.T) {
		f := &failing{}
		h := domaintest.Staff(t, func(s *domain.Store) { f.Store, s.Principals = s.Principals, f })
		f.applyGroupIndex = 1000
		_, err := h.Set(domaintest.As("u:acme:ann"), "g:acme:staff", "u:acme:dan=MEMBER", "u:acme:bob=")
		domaintest.WantFaults(t, err, "OUTCOME_UNKNOWN")
		inFlightLists, err := commit.OpenLists(t.Context(), h.Store.Journal)
		if err != nil || len(inFlightLists) != 1 || len(inFlightLists[0].Entries) != 1 {
			t.Fatalf("in flight: %+v, %v", inFlightLists, err)
		}
		want := []string{"g:acme:crew=MEMBER", "u:acme:ann=MANAGER", "u:acme:bob leaving", "u:acme:dan=MEMBER"}
		if diff := cmp.Diff(want, h.Members("g:acme:staff")); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
		// A removed member loses its access at once, whatever the index contains.
		_, err = h.People.UpdateGroup(t.Context(), domaintest.As("u:acme:bob"), principal.UpdateGroup{ID: "g:acme:staff",
			DisplayName: input.Some(domaintest.Ptr("x"))})
		domaintest.WantFaults(t, err, "FORBIDDEN id")
		f.applyGroupIndex = 0
		for range 2 { // resuming it a second time does no harm
			if _, err := h.Background().Resume(t.Context(), inFlightLists[0].Entries[0]); err != nil {
				t.Fatal(err)
			}
		}
		wantIndexed(h, "g:acme:staff")
	})
	t.Run("a removal is decided although work remains", func(t *testing.T) {
		f := &failing{}
		h := domaintest.Staff(t, func(s *domain.Store) { f.Store, s.Principals = s.Principals, f })
		f.applyGroupIndex = 1000
		key := "k"
		in := principal.SetGroupMembers{Group: "g:acme:staff",
			Members: []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:bob=")}, IdempotencyKey: &key}
		for range 2 { // and is acknowledged again
			if _, err := h.People.SetGroupMembers(t.Context(), domaintest.As("u:acme:ann"), in); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestFinish_AcknowledgedMembershipIsEffective checks memberships that another call has decided
// without writing what is derived from them. A mutation that changes nothing and acknowledges them
// writes it first, in each of the ways in which a mutation can change nothing.
func TestFinish_AcknowledgedMembershipIsEffective(t *testing.T) {
	key := "k"
	dan := principal.SetGroupMembers{Group: "g:acme:staff",
		Members: []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:dan=MEMBER")}, IdempotencyKey: &key}
	plain, withCat, crew := dan, dan, principal.CreateGroup{Tenant: "acme", Name: "new", DisplayName: "New",
		Visibility: principal.Public, IdempotencyKey: &key}
	plain.IdempotencyKey = nil
	other := "l"
	withCat.IdempotencyKey = &other
	withCat.Members = append(slices.Clone(dan.Members), domaintest.GroupMemberChange("u:acme:cat=MEMBER"))
	set := func(in principal.SetGroupMembers) func(t *testing.T, h *domaintest.Fixture) error {
		return func(t *testing.T, h *domaintest.Fixture) error {
			_, err := h.People.SetGroupMembers(t.Context(), domaintest.As("u:acme:ann"), in)
			return err
		}
	}
	create := func(t *testing.T, h *domaintest.Fixture) error {
		_, err := h.People.CreateGroup(t.Context(), domaintest.As("u:acme:dan"), crew)
		return err
	}
	imports := func(t *testing.T, h *domaintest.Fixture) error {
		_, err := h.People.Upkeep.ImportGroup(t.Context(), principal.ImportGroup{ID: "g:acme:new", DisplayName: "New",
			Visibility: principal.Public, Members: []principal.GroupMemberChange{domaintest.GroupMemberChange("u:acme:dan=MANAGER")}})
		return err
	}
	for name, c := range map[string]struct {
		decides, acknowledges func(t *testing.T, h *domaintest.Fixture) error
		group                 string
	}{
		"a repetition":              {set(dan), set(dan), "g:acme:staff"},
		"the same without a key":    {set(dan), set(plain), "g:acme:staff"},
		"among others":              {set(dan), set(withCat), "g:acme:staff"},
		"a creation":                {create, create, "g:acme:new"},
		"without a key at any time": {set(plain), set(plain), "g:acme:staff"},
		"an import":                 {imports, imports, "g:acme:new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each retries for seconds
			f := &failing{}
			h := domaintest.Staff(t, func(s *domain.Store) { f.Store, s.Principals = s.Principals, f })
			f.applyGroupIndex = 1000
			domaintest.WantFaults(t, c.decides(t, h), "OUTCOME_UNKNOWN")
			domaintest.WantFaults(t, c.acknowledges(t, h), "OUTCOME_UNKNOWN") // while the index cannot be written
			f.applyGroupIndex = 0
			if err := c.acknowledges(t, h); err != nil {
				t.Fatal(err)
			}
			wantIndexed(h, c.group)
		})
	}
}

// TestFinish_UnknownOutcomeIsDecidedOnce checks that a compare-and-set whose answer was lost is
// applied once.
func TestFinish_UnknownOutcomeIsDecidedOnce(t *testing.T) {
	f := &failing{}
	h := domaintest.Staff(t, func(s *domain.Store) { f.Store, s.Principals = s.Principals, f })
	f.uncertain = 1
	h.Group("g:acme:new", "u:acme:ann", principal.Public)
	f.uncertain = 1
	h.MustSet(domaintest.As("u:acme:ann"), "g:acme:new", "u:acme:bob=MANAGER")
	if got := h.Header("g:acme:new").Seq; got != 2 {
		t.Errorf("seq %d, want 2", got)
	}
	if diff := cmp.Diff([]string{"u:acme:ann=MANAGER", "u:acme:bob=MANAGER"}, h.Members("g:acme:new")); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	h.WantNothingInFlight()
}

// TestResume_FinishesEntriesOfDeadProcesses covers entries of dead processes, whose compare-and-set
// was applied or was not.
func TestResume_FinishesEntriesOfDeadProcesses(t *testing.T) {
	creation := func(id principal.ID) (commit.Entry, *principal.Commit) {
		e := commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: string(id),
			Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{"u:acme:ann"}, All: true}}
		return e, &principal.Commit{
			ID: id, Writer: e.ID,
			Header: principal.Header{ID: id, DisplayName: "x", Visibility: principal.Public, State: commit.Live, Seq: 1, MTS: 7,
				CreatedAt: 7, Managers: 1, Members: 1},
			Members: []principal.GroupMemberRow{{Principal: "u:acme:ann", Role: principal.GroupManager, Seq: 1}},
		}
	}
	t.Run("a creation that was decided", func(t *testing.T) {
		h := domaintest.Staff(t, nil)
		e, c := creation("g:acme:new")
		if v, err := h.Store.Principals.CommitPrincipal(t.Context(), c); err != nil || !v.Applied {
			t.Fatalf("%+v, %v", v, err)
		}
		if _, err := h.Background().Resume(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"g:acme:new=MANAGER", "g:acme:staff=MANAGER"}, h.Memberships("u:acme:ann")); diff != "" {
			t.Errorf("memberships (-want +got):\n%s", diff)
		}
		if built, err := h.Store.Libraries.Built(t.Context(), "g:acme:new", library.ByChange); err != nil || !built {
			t.Errorf("the library counts as missing: %v", err)
		}
		if got := h.Header("g:acme:new").Seq; got != 1 {
			t.Errorf("what was decided was fenced: seq %d", got)
		}
	})
	t.Run("a creation that was not decided", func(t *testing.T) {
		h := domaintest.Staff(t, nil)
		e, c := creation("g:acme:new")
		for range 2 {
			if _, err := h.Background().Resume(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.Header("g:acme:new"); got.State != commit.Void || got.Seq != 1 {
			t.Fatalf("want a void header, got %+v", got)
		}
		if v, err := h.Store.Principals.CommitPrincipal(t.Context(), c); err != nil || v.Applied {
			t.Fatalf("the dead writer came through the fence: %+v, %v", v, err)
		}
		// It counts as not existing, to readers and to a new creation.
		_, err := h.Set(domaintest.As("u:acme:ann"), "g:acme:new", "u:acme:ann=")
		domaintest.WantFaults(t, err, "NOT_FOUND groupId")
		_, err = h.Set(domaintest.As("u:acme:ann"), "g:acme:staff", "g:acme:new=MEMBER")
		domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
		h.Group("g:acme:new", "u:acme:bob", principal.Public)
		if got := h.Header("g:acme:new"); got.State != commit.Live || got.Seq != 2 {
			t.Errorf("after the creation: %+v", got)
		}
		if built, err := h.Store.Libraries.Built(t.Context(), "g:acme:new", library.ByChange); err != nil || !built {
			t.Errorf("the library counts as missing: %v", err)
		}
	})
	t.Run("a change that was not decided", func(t *testing.T) {
		h := domaintest.Staff(t, nil)
		before := h.Header("g:acme:staff")
		e := commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: "g:acme:staff", Base: before.Seq,
			Reach: commit.Reach{Scope: commit.ScopeListed, Principals: []string{"u:acme:dan"}}}
		if _, err := h.Background().Resume(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		after := h.Header("g:acme:staff")
		if after.Seq != before.Seq+1 || after.MTS <= before.MTS {
			t.Errorf("no fence: from %+v to %+v", before, after)
		}
		after.Seq, after.MTS, after.Writers = before.Seq, before.MTS, before.Writers
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the fence changed:\n%s", diff)
		}
		wantIndexed(h, "g:acme:staff")
	})
}

// lagging is a store whose quorum reads of a principal return no state after that of seq, while
// seq is set.
type lagging struct {
	failing
	seq int64
}

func (l *lagging) ReadPrincipal(ctx context.Context, id principal.ID, q principal.Query) (*principal.Rows, error) {
	rows, err := l.Store.ReadPrincipal(ctx, id, q)
	if err != nil || q.Serial || l.seq == 0 || rows.Header.Seq <= l.seq {
		return rows, err
	}
	rows.Header.Seq = l.seq
	for i, m := range rows.Members {
		if m.Seq > l.seq {
			rows.Members[i] = principal.GroupMemberRow{Principal: m.Principal}
		}
	}
	return rows, nil
}

// TestFinishPrincipal_StaysInFlightUntilItsStateIsRead: if only the list of writers shows that a
// compare-and-set applied, a quorum read may not return its state yet. Derived rows from such a
// reading must not end the change.
func TestFinishPrincipal_StaysInFlightUntilItsStateIsRead(t *testing.T) {
	store := &lagging{}
	h := domaintest.Staff(t, func(s *domain.Store) { store.Store, s.Principals = s.Principals, store })
	before := h.Members("g:acme:staff")
	store.seq, store.uncertain = h.Header("g:acme:staff").Seq, 1
	_, err := h.Set(domaintest.As("u:acme:ann"), "g:acme:staff", "u:acme:dan=MEMBER")
	domaintest.WantFaults(t, err, "OUTCOME_UNKNOWN")
	if n := h.Journal.Stats().Entries; n != 1 {
		t.Errorf("%d changes in flight, want this one", n)
	}
	store.seq = 0
	h.Quiet()
	if len(h.Members("g:acme:staff")) != len(before)+1 {
		t.Errorf("the members are %v", h.Members("g:acme:staff"))
	}
	wantIndexed(h, "g:acme:staff")
	h.WantNothingInFlight()
}

// failing makes calls of a store fail as often as its fields say.
type failing struct {
	principal.Store
	applyGroupIndex int
	uncertain       int // CommitPrincipal applies, and its answer is lost
}

func (f *failing) ApplyGroupIndex(ctx context.Context, e *principal.GroupIndexUpdate) error {
	if f.applyGroupIndex > 0 {
		f.applyGroupIndex--
		return domaintest.ErrDown
	}
	return f.Store.ApplyGroupIndex(ctx, e)
}

func (f *failing) CommitPrincipal(ctx context.Context, c *principal.Commit) (commit.Verdict, error) {
	v, err := f.Store.CommitPrincipal(ctx, c)
	if f.uncertain > 0 && err == nil {
		f.uncertain--
		return commit.Verdict{}, fault.Uncertain(domaintest.ErrDown)
	}
	return v, err
}
