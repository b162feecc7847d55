package library_test

import (
	"testing"

	"carrel/core/clock"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestOracle_FormerFailuresDoNotComeBack repeats the cases in which test/oracle once found a wrong
// answer.
func TestOracle_FormerFailuresDoNotComeBack(t *testing.T) {
	h := domaintest.Staff(t, nil)
	note := library.CreateContent{Name: domaintest.Ptr("note"), Kind: library.Note, Title: "x", Visibility: principal.LoggedIn}
	if _, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), note); err != nil {
		t.Fatal(err)
	}
	t.Run("an administrator who does not exist gets no role", func(t *testing.T) {
		_, err := h.Library.ShareContent(t.Context(), domaintest.Admin("u:acme:root"),
			library.ShareContent{Content: "c:acme:note", Principals: []string{"u:acme:root"}, Role: library.Viewing})
		domaintest.WantFaults(t, err, "NOT_FOUND principalIds.0")
		_, err = h.Library.SetContentMembers(t.Context(), domaintest.Admin("u:acme:root"),
			library.SetContentMembers{Content: "c:acme:note",
				Members: []library.ContentMemberChange{{Principal: "u:acme:root", Role: domaintest.Ptr(library.Viewing)}}})
		domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
		_, err = h.Set(domaintest.Admin("u:acme:root"), "g:acme:staff", "u:acme:root=MEMBER")
		domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
	})
	t.Run("members are checked before the name", func(t *testing.T) {
		in := note
		in.Members = []library.ContentMemberChange{{Principal: "u:acme:nobody", Role: domaintest.Ptr(library.Viewing)}}
		_, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), in)
		domaintest.WantFaults(t, err, "NOT_FOUND members.0.principalId")
	})
	t.Run("a time in the past is refused before existence and rights are checked", func(t *testing.T) {
		for _, id := range []string{"c:acme:none", "c:acme:note"} {
			_, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:bob"),
				library.UpdateContent{ID: id, ExpiresAt: input.Some(domaintest.Ptr(clock.Instant(1)))})
			domaintest.WantFaults(t, err, "INVALID expiresAt")
		}
	})
	t.Run("a user who sees the item through a group can be given a role", func(t *testing.T) {
		h.MustSet(domaintest.As("u:acme:cat"), "g:acme:crew", "u:other:pub=MEMBER")
		share := func(to string) error {
			_, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:bob"),
				library.ShareContent{Content: "c:acme:note", Principals: []string{to}, Role: library.Viewing})
			return err
		}
		domaintest.WantFaults(t, share("u:other:pub"), "FORBIDDEN principalIds.0")
		if _, err := h.Library.ShareContent(t.Context(), domaintest.As("u:acme:ann"),
			library.ShareContent{Content: "c:acme:note", Principals: []string{"g:acme:crew"}, Role: library.Viewing}); err != nil {
			t.Fatal(err)
		}
		domaintest.WantFaults(t, share("u:other:pub"))
	})
}
