package follow_test

import (
	"context"
	"sync/atomic"
	"testing"

	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// wantCaused compares the next event with its cause: "REASON user", or "" for none.
func wantCaused(t *testing.T, f *domaintest.Follower, event, cause string) {
	t.Helper()
	f.Want(event)
	got := f.LastCause.Reason.String()
	if f.LastCause.By != "" {
		got += " " + f.LastCause.By.Name()
	}
	if got != cause {
		t.Errorf("%s was caused by %q, want %q", event, got, cause)
	}
}

// TestCause_IsThatOfTheChange: a live subscription and one that resumes from stored changes report
// the same cause.
func TestCause_IsThatOfTheChange(t *testing.T) {
	h := domaintest.Town(t)
	ben := domaintest.As("u:acme:ben")
	h.Note("first", principal.Private, "u:acme:ben=VIEWER")
	live := h.Follow(ben, "u:acme:ben", "")
	page, err := h.Listing.Library(t.Context(), ben, "u:acme:ben", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	before := *page.PageInfo.EndCursor()
	want := func(event, cause string) {
		t.Helper()
		wantCaused(t, live, event, cause)
		resumed := h.Follow(ben, "u:acme:ben", before)
		wantCaused(t, resumed, "+first", "SHARED ann") // delivered again: it is of the same minute as the cursor
		wantCaused(t, resumed, event, cause)
		resumed.Close()
	}
	set := func(user string, changes ...string) {
		t.Helper()
		_, err := h.Library.SetContentMembers(t.Context(), domaintest.As(user), library.SetContentMembers{Content: "c:acme:a",
			Members: domaintest.MemberChanges(changes...)})
		if err != nil {
			t.Fatal(err)
		}
	}
	id := h.Note("a", principal.Private, "u:acme:ben=VIEWER", "u:acme:cleo=MANAGER")
	want("+a", "SHARED ann")
	set("u:acme:cleo", "u:acme:ben=EDITOR")
	want("+a", "ROLE_CHANGED cleo")
	if _, err := h.Library.UpdateContent(t.Context(), ben,
		library.UpdateContent{ID: string(id), Title: input.Some(domaintest.Ptr("a2"))}); err != nil {
		t.Fatal(err)
	}
	want("+a2", "UPDATED ben")
	set("u:acme:cleo", "u:acme:ben=")
	want("-a", "REMOVED cleo")
	if _, err := h.Share("u:acme:cleo", id, "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	want("+a2", "SHARED cleo")
	h.Delete(id)
	want("-a", "DELETED ann")
}

// TestCause_OfRemovalsDependsOnTheViewer: a subscriber without rights on the item does not learn
// whether the item was deleted or is no longer visible.
func TestCause_OfRemovalsDependsOnTheViewer(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public, "u:acme:ben=VIEWER")
	other := h.Note("b", principal.Public, "u:acme:ben=VIEWER")
	stranger := h.Follow(domaintest.As("u:beta:zed"), "u:acme:ben", "")
	owner := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	admin := h.Follow(domaintest.Admin("u:acme:root"), "u:acme:ben", "")
	h.Update(other, "b2", principal.Private)
	wantCaused(t, stranger, "-b", "")
	wantCaused(t, owner, "+b2", "UPDATED ann")
	wantCaused(t, admin, "+b2", "UPDATED ann")
	h.Delete(id)
	wantCaused(t, stranger, "-a", "")
	wantCaused(t, owner, "-a", "DELETED ann")
	wantCaused(t, admin, "-a", "DELETED ann")
}

// TestCause_OfADeletionIsForMembers: a user whose role had ended before does not learn that the
// item was deleted, even if the item leaves the user's library only with the deletion.
func TestCause_OfADeletionIsForMembers(t *testing.T) {
	var store *stuck
	h := domaintest.New(t, func(s *domain.Store) {
		store = &stuck{ContentStore: s.Contents}
		s.Contents = store
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo"} {
		h.User(id, principal.Public)
	}
	id := h.Note("a", principal.Private, "u:acme:ben=VIEWER", "u:acme:cleo=VIEWER")
	after := map[string]string{}
	for _, user := range []string{"u:acme:ben", "u:acme:cleo"} {
		page, err := h.Listing.Library(t.Context(), domaintest.As(user), principal.ID(user), library.LibraryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		after[user] = *page.PageInfo.EndCursor()
	}
	store.hold("u:acme:ben")
	h.TakeOut(id, "u:acme:ben")
	h.Delete(id)
	store.hold("")
	h.Quiet()
	wantCaused(t, h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", after["u:acme:ben"]), "-a", "")
	wantCaused(t, h.Follow(domaintest.As("u:acme:cleo"), "u:acme:cleo", after["u:acme:cleo"]), "-a", "DELETED ann")
}

// paging is a store whose reads of members wait, if gate is set, until it is closed.
type paging struct {
	library.ContentStore
	gate atomic.Pointer[chan struct{}]
}

func (p *paging) MembersPage(ctx context.Context, id library.ContentID, after principal.ID, limit int,
	serial bool) (*library.ContentRows, error) {
	if gate := p.gate.Load(); gate != nil {
		<-*gate
	}
	return p.ContentStore.MembersPage(ctx, id, after, limit, serial)
}

// during calls do while a walk that begins within it waits to read the members.
func (p *paging) during(do func()) {
	gate := make(chan struct{})
	p.gate.Store(&gate)
	do()
	p.gate.Store(nil)
	close(gate)
}

// TestCause_IsNotOfAnEarlierUpdate: an event that shows an item as a later update has left it is
// not attributed to the author of an earlier one, whose walk has read the later state.
func TestCause_IsNotOfAnEarlierUpdate(t *testing.T) {
	store := &paging{}
	h := domaintest.New(t, func(s *domain.Store) { store.ContentStore, s.Contents = s.Contents, store })
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:dora"} {
		h.User(id, principal.Public)
	}
	id := h.Note("a", principal.Private, "u:acme:ben=VIEWER", "u:acme:cleo=EDITOR")
	ben := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	update := func(user, title string) {
		t.Helper()
		in := library.UpdateContent{ID: string(id), Title: input.Some(&title)}
		if _, err := h.Library.UpdateContent(t.Context(), domaintest.As(user), in); err != nil {
			t.Fatal(err)
		}
	}
	store.during(func() {
		update("u:acme:ann", "a2")
		update("u:acme:cleo", "a3")
	})
	ben.Want("+a3")
	if by := ben.LastCause.By; by != "" && by != "u:acme:cleo" {
		t.Errorf("the last update is attributed to %s", by)
	}
	h.Quiet()
	// A share in between changes nothing that ben sees.
	store.during(func() {
		update("u:acme:ann", "a4")
		if _, err := h.Share("u:acme:ann", id, "u:acme:dora"); err != nil {
			t.Fatal(err)
		}
	})
	wantCaused(t, ben, "+a4", "UPDATED ann")
}
