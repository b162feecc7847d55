package feed_test

import (
	"testing"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// wantCaused compares the next event with its cause: "REASON user", or "" for none.
func wantCaused(t *testing.T, f *backendtest.Follower, event, cause string) {
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
	h := backendtest.Town(t)
	ben := backendtest.As("u:acme:ben")
	h.Note("first", principal.Private, "u:acme:ben=VIEWER")
	live := h.Follow(ben, "u:acme:ben", "")
	page, err := h.Service.Library(t.Context(), ben, "u:acme:ben", library.LibraryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	before := *page.PageInfo.EndCursor()
	want := func(event, cause string) {
		t.Helper()
		wantCaused(t, live, event, cause)
		resumed := h.Follow(ben, "u:acme:ben", before)
		wantCaused(t, resumed, "+first", "SHARED ann") // delivered again: it is as young as the cursor
		wantCaused(t, resumed, event, cause)
		resumed.Close()
	}
	set := func(user string, changes ...string) {
		t.Helper()
		_, err := h.Service.SetContentMembers(t.Context(), backendtest.As(user), library.SetContentMembers{Content: "c:acme:a", Members: backendtest.MemberChanges(changes...)})
		if err != nil {
			t.Fatal(err)
		}
	}
	id := h.Note("a", principal.Private, "u:acme:ben=VIEWER", "u:acme:cleo=MANAGER")
	want("+a", "SHARED ann")
	set("u:acme:cleo", "u:acme:ben=EDITOR")
	want("+a", "ROLE_CHANGED cleo")
	if _, err := h.Service.UpdateContent(t.Context(), ben, library.UpdateContent{ID: string(id), Title: input.Some(backendtest.Ptr("a2"))}); err != nil {
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

// TestCause_OfRemovalsIsForWhoMayKnow: a subscriber without rights on the item does not learn
// whether it was withdrawn or deleted.
func TestCause_OfRemovalsIsForWhoMayKnow(t *testing.T) {
	h := backendtest.Town(t)
	id := h.Note("a", principal.Public, "u:acme:ben=VIEWER")
	other := h.Note("b", principal.Public, "u:acme:ben=VIEWER")
	stranger := h.Follow(backendtest.As("u:beta:zed"), "u:acme:ben", "")
	owner := h.Follow(backendtest.As("u:acme:ben"), "u:acme:ben", "")
	admin := h.Follow(backendtest.Admin("u:acme:root"), "u:acme:ben", "")
	h.Update(other, "b2", principal.Private)
	wantCaused(t, stranger, "-b", "")
	wantCaused(t, owner, "+b2", "UPDATED ann")
	wantCaused(t, admin, "+b2", "UPDATED ann")
	h.Delete(id)
	wantCaused(t, stranger, "-a", "")
	wantCaused(t, owner, "-a", "DELETED ann")
	wantCaused(t, admin, "-a", "DELETED ann")
}

// TestCause_OfADeletionIsForMembers: whose role had ended before does not learn that the item was
// deleted, even if its library loses the item only with the deletion.
func TestCause_OfADeletionIsForMembers(t *testing.T) {
	var store *stuck
	h := backendtest.New(t, func(s backend.Store) backend.Store { store = &stuck{Store: s}; return store })
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo"} {
		h.User(id, principal.Public)
	}
	id := h.Note("a", principal.Private, "u:acme:ben=VIEWER", "u:acme:cleo=VIEWER")
	after := map[string]string{}
	for _, user := range []string{"u:acme:ben", "u:acme:cleo"} {
		page, err := h.Service.Library(t.Context(), backendtest.As(user), principal.ID(user), library.LibraryQuery{})
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
	wantCaused(t, h.Follow(backendtest.As("u:acme:ben"), "u:acme:ben", after["u:acme:ben"]), "-a", "")
	wantCaused(t, h.Follow(backendtest.As("u:acme:cleo"), "u:acme:cleo", after["u:acme:cleo"]), "-a", "DELETED ann")
}
