package repair_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// losing is a store in which libraries can be lost, and rebuilds delayed.
type losing struct {
	library.LibraryStore
	mu   sync.Mutex
	lost map[principal.ID]bool
	// onlyTitles: lost libraries have lost the order of titles only, like those of before there was one.
	onlyTitles bool
	// hold, if it is set, is called by each rebuild at its start.
	hold func() error
}

func losingFixture(t *testing.T) (*domaintest.Fixture, *losing) {
	t.Helper()
	var store *losing
	h := domaintest.New(t, func(s *domain.Store) {
		store = &losing{LibraryStore: s.Libraries, lost: map[principal.ID]bool{}}
		s.Libraries = store
	})
	t.Cleanup(func() { h.Engine.End() })
	return h, store
}

func (l *losing) lose(p principal.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost[p] = true
}

func (l *losing) isLost(p principal.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost[p]
}

func (l *losing) Built(ctx context.Context, p principal.ID, o library.Order) (bool, error) {
	if l.isLost(p) && (o == library.ByTitle || !l.onlyTitles) {
		return false, nil
	}
	return l.LibraryStore.Built(ctx, p, o)
}

func (l *losing) OpenLibrary(ctx context.Context, s library.Slice, newest bool) (*library.Opening, error) {
	o, err := l.LibraryStore.OpenLibrary(ctx, s, newest)
	if err == nil && l.isLost(s.Owner) && (s.Order == library.ByTitle || !l.onlyTitles) {
		o.Built = false
	}
	return o, err
}

func (l *losing) SetBuilt(ctx context.Context, p principal.ID, asOf clock.Instant) error {
	l.mu.Lock()
	delete(l.lost, p)
	l.mu.Unlock()
	return l.LibraryStore.SetBuilt(ctx, p, asOf)
}

func (l *losing) Recorded(ctx context.Context, p principal.ID) (bool, error) {
	l.mu.Lock()
	hold := l.hold
	l.mu.Unlock()
	if hold != nil {
		if err := hold(); err != nil {
			return false, err
		}
	}
	return l.LibraryStore.Recorded(ctx, p)
}

// TestRebuild_OfACompleteLibraryChangesNothing: no state is restamped if everything that is written
// shows.
func TestRebuild_OfACompleteLibraryChangesNothing(t *testing.T) {
	h := domaintest.Town(t)
	var ids []library.ContentID
	for n := range 5 {
		ids = append(ids, h.Note(fmt.Sprint(n), principal.Visibility(1+n%3), "u:acme:ben=VIEWER", "g:acme:team=EDITOR"))
	}
	h.Quiet()
	states := func() (all []library.Header) {
		for _, id := range ids {
			rows, err := h.Store.Contents.Read(t.Context(), id, library.ContentQuery{})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, rows.Header)
		}
		return all
	}
	before := states()
	for _, p := range []principal.ID{"u:acme:ann", "u:acme:ben", "g:acme:team", "u:acme:dora"} {
		if restored, removed, err := h.Repair.Rebuild(t.Context(), p); restored != 0 || removed != 0 || err != nil {
			t.Errorf("rebuilding %s: %d, %d, %v", p, restored, removed, err)
		}
	}
	for n, after := range states() {
		if after.Seq != before[n].Seq || after.MTS != before[n].MTS {
			t.Errorf("%s went from seq %d to %d", ids[n], before[n].Seq, after.Seq)
		}
	}
	h.WantClean()
}

// scrubAll runs the scrubber over everything once.
func scrubAll(h *domaintest.Fixture) int {
	h.T.Helper()
	_, mismatches := scrubEverything(h.T, h.Services)
	return mismatches
}

// TestScrubber_RepairsRows inserts rows that no header justifies, and removes rows that one does,
// with timestamps before and after those of the states.
func TestScrubber_RepairsRows(t *testing.T) {
	const item, ben = library.ContentID("c:acme:x"), principal.ID("u:acme:ben")
	type plant struct {
		name string
		do   func(t *testing.T, s domain.Store, h library.Header, m library.Member) error
	}
	applyIndex := func(t *testing.T, s domain.Store, h library.Header, m library.Member) error {
		return s.Contents.ApplyIndex(t.Context(), &library.IndexUpdate{Header: &h, Rows: []library.Member{m}, All: true})
	}
	for _, c := range []plant{
		{"an entry elsewhere", func(t *testing.T, s domain.Store, h library.Header, m library.Member) error {
			h.Position -= 7
			return applyIndex(t, s, h, m)
		}},
		{"an entry elsewhere, of a later time", func(t *testing.T, s domain.Store, h library.Header, m library.Member) error {
			h.Position, h.MTS = h.Position+7, h.MTS+7
			return applyIndex(t, s, h, m)
		}},
		{"an entry of somebody without a role", func(t *testing.T, s domain.Store, h library.Header, _ library.Member) error {
			return applyIndex(t, s, h, library.Member{Principal: "u:acme:dora", Role: library.Viewing, Seq: 1})
		}},
		{"a wider bucket", func(t *testing.T, s domain.Store, h library.Header, m library.Member) error {
			h.Visibility, h.Widest, h.MTS = principal.Public, principal.Public, h.MTS+1
			return applyIndex(t, s, h, m)
		}},
		{"another role", func(t *testing.T, s domain.Store, h library.Header, m library.Member) error {
			m.Role, h.MTS = library.Manages, h.MTS+1
			return applyIndex(t, s, h, m)
		}},
		{"a library without the item", func(t *testing.T, s domain.Store, h library.Header, m library.Member) error {
			m.Leaving, h.MTS = true, h.MTS+1
			return applyIndex(t, s, h, m)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := domaintest.Town(t)
			h.Note("x", principal.LoggedIn, "u:acme:ben=VIEWER")
			h.Quiet()
			rows, err := h.Store.Contents.Read(t.Context(), item, library.ContentQuery{Members: []principal.ID{ben}})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.do(t, h.Store, rows.Header, rows.Members[0]); err != nil {
				t.Fatal(err)
			}
			if r, err := h.Repair.Audit(t.Context()); err != nil || r.Mismatches == 0 {
				t.Fatalf("the audit does not see it: %+v, %v", r, err)
			}
			if scrubAll(h) == 0 {
				t.Error("the scrubber does not see it")
			}
			h.WantClean()
			if err := c.do(t, h.Store, currentHeader(t, h, item), rows.Members[0]); err != nil {
				t.Fatal(err)
			}
			if r, err := h.Repair.RebuildAll(t.Context(), func(int, int) {}); err != nil || r.Repaired == 0 || r.Contents != 1 || r.Principals != 7 {
				t.Errorf("rebuilding everything: %+v, %v", r, err)
			}
			h.WantClean()
			if n := scrubAll(h); n != 0 {
				t.Errorf("a second time it sees %d", n)
			}
		})
	}
}

// currentHeader reads the header of an item.
func currentHeader(t *testing.T, h *domaintest.Fixture, id library.ContentID) library.Header {
	t.Helper()
	rows, err := h.Store.Contents.Read(t.Context(), id, library.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return rows.Header
}

// TestScrubber_RepairsMemberships does the same with the memberships of groups.
func TestScrubber_RepairsMemberships(t *testing.T) {
	h := domaintest.Town(t)
	h.MustSet(domaintest.As("u:acme:cleo"), "g:acme:team", "u:acme:ben=MEMBER")
	h.Quiet()
	for _, c := range []struct {
		group principal.ID
		row   principal.GroupMemberRow
	}{
		{"g:acme:team", principal.GroupMemberRow{Principal: "u:acme:ben", Role: principal.GroupMember, Leaving: true, Seq: 1}},
		{"g:acme:team", principal.GroupMemberRow{Principal: "u:acme:ben", Role: principal.GroupManager, Seq: 1}},
		{"g:acme:team", principal.GroupMemberRow{Principal: "u:acme:dora", Role: principal.GroupMember, Seq: 1}},
	} {
		head := h.Header(string(c.group))
		head.ID, head.State, head.MTS = c.group, commit.Live, head.MTS+1
		e := &principal.GroupIndexUpdate{Header: &head, Rows: []principal.GroupMemberRow{c.row}}
		if err := h.Store.Principals.ApplyGroupIndex(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if n := scrubAll(h); n != 1 {
			t.Errorf("%s in %s: the scrubber sees %d", c.row.Principal, c.group, n)
		}
		h.WantClean()
		if got := h.Memberships("u:acme:ben"); !slices.Equal(got, []string{"g:acme:team=MEMBER"}) {
			t.Errorf("ben is in %v", got)
		}
	}
}

// TestReaders_StartFewRebuildsAtATime: readers of many missing libraries have only a few rebuilt at
// a time, and all of them in the end.
func TestReaders_StartFewRebuildsAtATime(t *testing.T) {
	const libraries, atOnce = 12, 4
	h, store := losingFixture(t)
	ids := make([]principal.ID, libraries)
	for n := range ids {
		ids[n] = principal.ID(fmt.Sprintf("u:acme:%d", n))
		h.User(string(ids[n]), principal.Public)
		store.lose(ids[n])
	}
	var running, most atomic.Int32
	full, free := make(chan struct{}), make(chan struct{})
	store.hold = func() error {
		n := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		if n == atOnce {
			close(full)
		}
		<-free
		return nil
	}
	var readers sync.WaitGroup
	for _, p := range ids {
		readers.Go(func() {
			_, err := h.Listing.Library(t.Context(), domaintest.As(string(p)), p, library.LibraryQuery{})
			if err != nil && fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("%s: %v", p, err)
			}
		})
	}
	<-full
	store.mu.Lock()
	store.hold = nil
	store.mu.Unlock()
	close(free)
	readers.Wait()
	if n := most.Load(); n != atOnce {
		t.Errorf("%d rebuilds ran at once", n)
	}
	for _, p := range ids {
		if _, err := h.Listing.Library(t.Context(), domaintest.As(string(p)), p, library.LibraryQuery{}); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestReaders_DoNotRestartAFailedRebuild: a reader that comes before the time at which readers may
// retry does not start another one.
func TestReaders_DoNotRestartAFailedRebuild(t *testing.T) {
	h, store := losingFixture(t)
	h.User("u:acme:ann", principal.Public)
	store.lose("u:acme:ann")
	var begun atomic.Int32
	store.hold = func() error {
		begun.Add(1)
		return domaintest.ErrDown
	}
	for range 3 {
		_, err := h.Listing.Library(t.Context(), domaintest.As("u:acme:ann"), "u:acme:ann", library.LibraryQuery{})
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != fault.Unavailable || e.RetryAfter == 0 {
			t.Errorf("a reader gets %v", err)
		}
	}
	if n := begun.Load(); n != 1 {
		t.Errorf("%d rebuilds were started", n)
	}
}

// TestRepairEntry_DecidesByTheHeader: a reader requests a repair of an entry, which may be correct
// again by the time of the repair: the repair compares the entry with the item's header then.
func TestRepairEntry_DecidesByTheHeader(t *testing.T) {
	h := domaintest.Town(t)
	h.Note("a", principal.Public, "u:acme:ben=VIEWER")
	h.Quiet()
	entries := func() (all []library.Entry) {
		t.Helper()
		for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
			es, err := h.Store.Libraries.PageLibrary(t.Context(), library.Slice{Owner: "u:acme:ben", Bucket: b, Ascending: true, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, es...)
		}
		return all
	}
	right := entries()
	if len(right) != 3 {
		t.Fatalf("the library of ben holds %v", right)
	}
	for _, b := range []library.Bucket{principal.Private, principal.LoggedIn, principal.Public} {
		if err := h.Repair.RepairEntry(t.Context(), "u:acme:ben", library.BucketEntry{Bucket: b, Entry: right[0]}); err != nil {
			t.Fatal(err)
		}
		if got := entries(); !slices.Equal(got, right) {
			t.Errorf("after a repair of a correct entry the bucket %s has %v", b, got)
		}
	}
	h.WantClean()
}
