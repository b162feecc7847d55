package listing_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/headercache"
	"carrel/library"
	"carrel/principal"
)

// copyingPrincipals is a gateway that serves owners and creators from copies, and another one,
// whose changes linger.
type copyingPrincipals struct {
	*copying
	writer  *domain.Services
	journal *journal.Journal
}

// newCopyingPrincipals returns gateways on a store in which ben and cleo have created an item each,
// both in the library of ann.
func newCopyingPrincipals(t *testing.T, c headercache.Config) *copyingPrincipals {
	t.Helper()
	h := &copyingPrincipals{copying: newCopying(t, c)}
	for _, creator := range []*principal.Viewer{domaintest.As("u:acme:ben"), domaintest.As("u:acme:cleo")} {
		_, err := h.Library.CreateContent(t.Context(), creator, library.CreateContent{
			Kind: library.Note, Title: "by " + string(creator.User), Visibility: principal.Public,
			Members: domaintest.MemberChanges("u:acme:ann=VIEWER"),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	h.WantNothingInFlight()
	h.journal = journal.New(t.Context(), h.Store.Journal, h.Runtime, nil)
	h.writer = domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.journal, Names: &domaintest.CountingNames{}, Remote: true, Linger: time.Hour,
	})
	return h
}

// rename changes the name of a user through the other gateway.
func (h *copyingPrincipals) rename(user, name string) {
	h.T.Helper()
	_, err := h.writer.People.UpdateUser(h.T.Context(), domaintest.As(user), principal.UpdateUser{ID: user, DisplayName: input.Some(&name)})
	if err != nil {
		h.T.Fatal(err)
	}
}

// show reads a page of ann's library with the names of its creators, as a request does.
func (h *copyingPrincipals) show(v *principal.Viewer) (names []string, err error) {
	h.T.Helper()
	q := library.LibraryQuery{Descending: true, PageArgs: domaintest.First(10)}
	read := h.svc.Listing.Begin(h.T.Context(), v, "u:acme:ann", q)
	owner, err := h.svc.People.Principals(h.T.Context(), v, []principal.ID{"u:acme:ann"})
	if err != nil || owner[0] == nil {
		return nil, err
	}
	conn, err := read(h.T.Context())
	if err != nil {
		return nil, err
	}
	var creators []principal.ID
	for _, e := range conn.Edges {
		creators = append(creators, e.Node.Creator)
	}
	found, err := h.svc.People.Principals(h.T.Context(), v, creators)
	names = []string{owner[0].Head().DisplayName}
	for _, p := range found {
		if p == nil {
			names = append(names, "")
		} else {
			names = append(names, p.Head().DisplayName)
		}
	}
	return names, err
}

// wantShown compares which principals are read for a page and whose names it shows.
func (h *copyingPrincipals) wantShown(what string, read []principal.ID, names ...string) {
	h.T.Helper()
	h.reads.take()
	h.reads.takePeople()
	got, err := h.show(domaintest.Anonymous())
	if err != nil || !slices.Equal(got, names) {
		h.T.Errorf("%s: the page shows %q, %v; want %q", what, got, err, names)
	}
	people := slices.Sorted(slices.Values(h.reads.takePeople()))
	if !slices.Equal(people, read) {
		h.T.Errorf("%s: %q are read, want %q", what, people, read)
	}
}

// everybody is whom a page with its creators shows.
var everybody = []principal.ID{"u:acme:ann", "u:acme:ben", "u:acme:cleo"}

func TestPages_OwnersAndCreatorsAreServedFromCopies(t *testing.T) {
	h := newCopyingPrincipals(t, alwaysOn)
	h.wantShown("the first page", everybody, "ann", "cleo", "ben")
	h.wantShown("the second page", nil, "ann", "cleo", "ben")
	if calls, _ := h.reads.take(); !slices.Equal(calls, []string{"in flight", "slice"}) {
		t.Errorf("a page reads %q", calls)
	}
	if h.counts.people != [3]int{3, 0, 3} {
		t.Errorf("there were %v hits, refused and misses", h.counts.people)
	}
	h.rename("u:acme:cleo", "Cleopatra")
	for range 2 {
		h.wantShown("after a creator was renamed", []principal.ID{"u:acme:cleo"}, "ann", "Cleopatra", "ben")
	}
	h.rename("u:acme:ann", "Anna")
	h.wantShown("after the owner was renamed", []principal.ID{"u:acme:ann", "u:acme:cleo"}, "Anna", "Cleopatra", "ben")
	if _, err := h.writer.People.DeleteUser(t.Context(), domaintest.As("u:acme:ben"), principal.DeleteUser{ID: "u:acme:ben"}); err != nil {
		t.Fatal(err)
	}
	h.wantShown("after a creator was deleted", everybody, "Anna", "Cleopatra", "")
	private := principal.Private
	_, err := h.writer.People.UpdateUser(t.Context(), domaintest.As("u:acme:ann"),
		principal.UpdateUser{ID: "u:acme:ann", Visibility: input.Some(&private)})
	if err != nil {
		t.Fatal(err)
	}
	h.wantShown("after the owner was hidden", []principal.ID{"u:acme:ann"})
}

// The owner is a copy on a page that is read at once, too.
func TestLibrary_OwnerIsServedFromACopy(t *testing.T) {
	h := newCopyingPrincipals(t, alwaysOn)
	for _, want := range [][]principal.ID{{"u:acme:ann"}, nil} {
		h.reads.takePeople()
		h.page(domaintest.Anonymous(), library.LibraryQuery{Descending: true})
		if read := h.reads.takePeople(); !slices.Equal(read, want) {
			t.Errorf("%q are read, want %q", read, want)
		}
	}
	if _, err := h.writer.People.DeleteUser(t.Context(), domaintest.As("u:acme:ann"), principal.DeleteUser{ID: "u:acme:ann"}); err != nil {
		t.Fatal(err)
	}
	_, err := h.svc.Listing.Library(t.Context(), domaintest.Anonymous(), "u:acme:ann", library.LibraryQuery{})
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the library of a deleted user is answered with %v", err)
	}
}

// Reads of principals do not wait for the in-flight lists of a page that cannot be opened.
func TestLibrary_OfABadCursorIsRefused(t *testing.T) {
	h := newCopyingPrincipals(t, alwaysOn)
	none := "no cursor"
	_, err := h.svc.Listing.Library(t.Context(), domaintest.Anonymous(), "u:acme:ann",
		library.LibraryQuery{PageArgs: domaintest.FirstAfter(1, &none)})
	if fault.ReasonOf(err) != fault.ReasonBadCursor {
		t.Errorf("it is answered with %v", err)
	}
}

// Principals are read while it is not known which of them have changed.
func TestPages_ReadPrincipalsIfUnknownWhatHasChanged(t *testing.T) {
	h := newCopyingPrincipals(t, alwaysOn)
	h.wantShown("the first page", everybody, "ann", "cleo", "ben")
	h.reads.fails = true
	h.wantShown("while the lists cannot be read", everybody, "ann", "cleo", "ben")
	h.reads.fails = false
	h.wantShown("when they can be read again", nil, "ann", "cleo", "ben")
	block, err := commit.Encode([]commit.Entry{{Kind: commit.Principal, Decided: true, Ended: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Store.Journal.PutInFlightList(t.Context(), commit.InFlightList{ID: "of another process", Stamp: 1, Block: block}); err != nil {
		t.Fatal(err)
	}
	h.wantShown("after too many changes", everybody, "ann", "cleo", "ben")
}

// A copy that is too old is not served.
func TestPages_ReadPrincipalsWhoseCopiesAreTooOld(t *testing.T) {
	h := newCopyingPrincipals(t, headercache.Config{Bytes: 100 << 10, AlwaysOn: true, MaxAge: time.Nanosecond})
	for range 2 {
		h.wantShown("a page", everybody, "ann", "cleo", "ben")
	}
}

// While copies are not in use, principals are read and kept.
func TestPages_ReadPrincipalsWhileCopiesAreNotInUse(t *testing.T) {
	h := newCopyingPrincipals(t, headercache.Config{Bytes: 100 << 10})
	for range 2 {
		h.wantShown("a page", everybody, "ann", "cleo", "ben")
	}
	if st := h.svc.Headers.Stats(); st.Headers != 5 || st.InUse {
		t.Errorf("the statistics are %+v", st)
	}
}

// After a request has changed a principal, it does not use the in-flight lists that it read before:
// they may not name that change.
func TestForget_DropsWhatWasInFlight(t *testing.T) {
	h := newCopyingPrincipals(t, alwaysOn)
	h.wantShown("the first page", everybody, "ann", "cleo", "ben")
	v := domaintest.As("u:acme:cleo")
	if _, err := h.show(v); err != nil {
		t.Fatal(err)
	}
	name := "Cleopatra"
	_, err := h.svc.People.UpdateUser(t.Context(), v, principal.UpdateUser{ID: "u:acme:cleo", DisplayName: input.Some(&name)})
	if err != nil {
		t.Fatal(err)
	}
	found, err := h.svc.People.Principals(t.Context(), v, []principal.ID{"u:acme:cleo"})
	if err != nil || found[0].Head().DisplayName != name {
		t.Errorf("after its change the request shows %+v, %v", found[0], err)
	}
}

// A sample finds a copy that was served too long, because a change of its principal did not linger.
func TestSamples_FindPrincipalsThatWereWrong(t *testing.T) {
	h := newCopyingPrincipals(t, headercache.Config{Bytes: 100 << 10, AlwaysOn: true, SampleEvery: 1})
	ctx, name := t.Context(), "Benjamin"
	h.wantShown("the first page", everybody, "ann", "cleo", "ben")
	_, err := h.People.UpdateUser(ctx, domaintest.As("u:acme:ben"), principal.UpdateUser{ID: "u:acme:ben", DisplayName: input.Some(&name)})
	if err = errors.Join(err, h.Journal.Beat(ctx)); err != nil {
		t.Fatal(err)
	}
	h.reads.takePeople()
	if names, err := h.show(domaintest.Anonymous()); err != nil || !slices.Equal(names, []string{"ann", "cleo", "ben"}) {
		t.Fatalf("the page shows %q, %v; want the former name, because the change did not linger", names, err)
	}
	sampled, until := 0, time.Now().Add(20*time.Second)
	for (h.svc.Headers.Stats().InUse || sampled < len(everybody)) && time.Now().Before(until) {
		_ = h.Runtime.After(ctx, time.Millisecond)
		sampled += len(h.reads.takePeople())
	}
	h.wantShown("when a sample has found it", everybody, "ann", "cleo", "Benjamin")
	h.counts.mu.Lock()
	defer h.counts.mu.Unlock()
	if h.counts.wrong != 1 {
		t.Errorf("it is reported %d times, want once", h.counts.wrong)
	}
}

// on returns s with the changes.
func (p *pageReads) on(s domain.Store) domain.Store {
	p.JournalStore, p.Store, p.ContentStore, p.LibraryStore, s.Journal, s.Principals, s.Contents, s.Libraries = s.Journal,
		s.Principals, s.Contents, s.Libraries, p, p, p, p
	return s
}

// slowSamples holds reads of one principal, which samples make, until goOn is closed.
type slowSamples struct {
	principal.Store
	goOn chan struct{}
}

func (s *slowSamples) ReadPrincipals(ctx context.Context, ids []principal.ID) ([]principal.Header, error) {
	if len(ids) == 1 && ids[0] == "u:acme:ben" {
		<-s.goOn
	}
	return s.Store.ReadPrincipals(ctx, ids)
}

// advancingClock is a Runtime whose monotonic clock the test advances.
type advancingClock struct {
	*sched.Real
	by atomic.Int64
}

func (c *advancingClock) Elapsed() time.Duration {
	return c.Real.Elapsed() + time.Duration(c.by.Load())
}

// A change that is made after a copy was served leaves the lists at last. A sample that takes longer
// does not know that the copy was right, so it does not report it.
func TestSamples_ReportNothingIfTheyTakeTooLong(t *testing.T) {
	for _, took := range []time.Duration{headercache.MaxAge - time.Minute, headercache.MaxAge} {
		h := newCopyingPrincipals(t, alwaysOn)
		rt := &advancingClock{Real: sched.NewReal()}
		slow, store := &slowSamples{h.Store.Principals, make(chan struct{})}, h.Store
		store.Principals = slow
		h.svc = domaintest.Open(t, domain.Config{
			Store: store, Runtime: rt, Journal: h.Journal, Names: &domaintest.CountingNames{}, Remote: true,
			HeaderCache: headercache.Config{Bytes: 100 << 10, AlwaysOn: true, SampleEvery: 1}, Watch: h.counts,
		})
		for range 2 {
			if _, err := h.show(domaintest.Anonymous()); err != nil {
				t.Fatal(err)
			}
		}
		name := "Benjamin"
		_, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:ben"),
			principal.UpdateUser{ID: "u:acme:ben", DisplayName: input.Some(&name)})
		if err = errors.Join(err, h.Journal.Beat(t.Context())); err != nil {
			t.Fatal(err)
		}
		rt.by.Add(int64(took))
		close(slow.goOn)
		rt.Close() // waits for the samples
		if st := h.svc.Headers.Stats(); st.InUse != (took == headercache.MaxAge) {
			t.Errorf("a sample that took %s: copies are in use: %v", took, st.InUse)
		}
	}
}
