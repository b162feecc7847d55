package note_test

import (
	"fmt"
	"testing"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// TestDeleteUser_RemovesEveryPage: the removal of a user, and of a group, with more memberships,
// members, items and drafts than it reads at once leaves nothing behind.
func TestDeleteUser_RemovesEveryPage(t *testing.T) {
	const many = 230
	h := domaintest.New(t, nil)
	h.User("u:acme:ann", principal.Public)
	h.User("u:acme:ben", principal.Public)
	h.Group("g:acme:all", "u:acme:ann", principal.Public)
	var items []library.ContentID
	for i := range many {
		h.Group(fmt.Sprintf("g:acme:g%03d", i), "u:acme:ben", principal.Public)
		user := fmt.Sprintf("u:acme:u%03d", i)
		h.User(user, principal.Public)
		h.MustSet(domaintest.Ann(), "g:acme:all", user+"=MEMBER")
		id := h.Note(fmt.Sprintf("n%03d", i), principal.Public, "u:acme:ben=EDITOR", "g:acme:all=VIEWER")
		if items = append(items, id); i%2 == 0 {
			_, err := h.Notes.SaveDraft(t.Context(), domaintest.As("u:acme:ben"), note.SaveDraft{ContentID: string(id), Title: "t", Body: "b"})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := h.People.DeleteUser(t.Context(), domaintest.As("u:acme:ben"), principal.DeleteUser{ID: "u:acme:ben"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.People.DeleteGroup(t.Context(), domaintest.Ann(), principal.DeleteGroup{ID: "g:acme:all"}); err != nil {
		t.Fatal(err)
	}
	h.WantClean()
	gone := []principal.ID{"u:acme:ben", "g:acme:all"}
	for _, id := range items {
		rows, err := h.Store.Contents.Read(t.Context(), id, library.ContentQuery{Members: gone})
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range rows.Members {
			if m.Seq != 0 {
				t.Errorf("%s still has a row of %s: %+v", id, gone[i], m)
			}
		}
	}
	for _, p := range gone {
		groups, err := h.Store.Principals.Memberships(t.Context(), p, "", 1000)
		if err != nil || len(groups) != 0 {
			t.Errorf("%s is in %d groups, %v", p, len(groups), err)
		}
		shared, err := h.Store.Libraries.SharedWith(t.Context(), p, "", 1000)
		if err != nil || len(shared) != 0 {
			t.Errorf("%d items are shared with %s, %v", len(shared), p, err)
		}
		es, err := h.Store.Libraries.PageLibrary(t.Context(), library.Slice{Owner: p, Bucket: principal.Private, Limit: 1000})
		if err != nil || len(es) != 0 {
			t.Errorf("the library of %s has %d entries, %v", p, len(es), err)
		}
	}
	drafts, err := h.Store.Texts.ListDrafts(t.Context(), "u:acme:ben")
	if err != nil || len(drafts) != 0 {
		t.Errorf("%d drafts are left, %v", len(drafts), err)
	}
	for i := range many {
		group, user := principal.ID(fmt.Sprintf("g:acme:g%03d", i)), principal.ID(fmt.Sprintf("u:acme:u%03d", i))
		rows, err := h.Store.Principals.ReadPrincipal(t.Context(), group, principal.Query{Members: []principal.ID{"u:acme:ben"}})
		if err != nil || rows.Members[0].Seq != 0 {
			t.Errorf("%s still has a row of ben: %+v, %v", group, rows.Members, err)
		}
		in, err := h.Store.Principals.Memberships(t.Context(), user, "", 10)
		if err != nil || len(in) != 0 {
			t.Errorf("%s is in %v, %v", user, in, err)
		}
	}
	members, err := h.Store.Principals.GroupMembersPage(t.Context(), "g:acme:all", "", 1000, true)
	if err != nil || len(members.Members) != 0 {
		t.Errorf("%d members of the group are left, %v", len(members.Members), err)
	}
}
