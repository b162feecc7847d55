package follow_test

import (
	"testing"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/principal"
)

// TestFollow_LaterMemberGetsNoRemoval: while an item is being made PRIVATE, a library to which it
// is added gets deletions of entries in wider buckets, although it never had such entries. Readers
// of that library get no event: it would reveal who has a role on items that they may not see.
func TestFollow_LaterMemberGetsNoRemoval(t *testing.T) {
	var store *stuck
	h := domaintest.New(t, func(s *domain.Store) {
		store = &stuck{ContentStore: s.Contents}
		s.Contents = store
	})
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:down"} {
		h.User(id, principal.Public)
	}
	a := h.Note("a", principal.Public, "u:acme:down=VIEWER", "u:acme:cleo=VIEWER")
	store.hold("u:acme:down")
	ben, cleo := h.Follow(&principal.Viewer{}, "u:acme:ben", ""), h.Follow(&principal.Viewer{}, "u:acme:cleo", "")
	own := h.Follow(domaintest.As("u:acme:ben"), "u:acme:ben", "")
	h.Update(a, "a2", principal.Private)
	if len(h.Content(a).Unsettled) == 0 {
		t.Fatal("the update has been cleaned up")
	}
	if _, err := h.Share("u:acme:ann", a, "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	own.Want("+a2")
	h.TakeOut(a, "u:acme:ben")
	own.Want("-a")
	store.hold("")
	h.Quiet()
	cleo.Want("-a")
	ben.WantNothing(h, "u:acme:ben")
	cleo.WantNothing(h, "u:acme:cleo")
}
