package library_test

import (
	"testing"

	"carrel/backend"
	"carrel/principal"
)

// TestWhoCameLateNeverHadIt: while the change that withdrew an item is not
// done everywhere, entries that may stand are deleted in every library that the
// item comes to. Those who read such a library do not hear of it: it tells who
// has a role on what they may not see.
func TestWhoCameLateNeverHadIt(t *testing.T) {
	var store *stuck
	h := newHouse(t, func(s backend.Store) backend.Store { store = &stuck{Store: s}; return store })
	for _, id := range []string{"u:acme:ann", "u:acme:ben", "u:acme:cleo", "u:acme:down"} {
		h.user(id, principal.Public)
	}
	a := h.note("a", principal.Public, "u:acme:down=VIEWER", "u:acme:cleo=VIEWER")
	store.hold("u:acme:down")
	ben, cleo := h.follows(&principal.Viewer{}, "u:acme:ben", ""), h.follows(&principal.Viewer{}, "u:acme:cleo", "")
	own := h.follows(as("u:acme:ben"), "u:acme:ben", "")
	h.update(a, "a2", principal.Private)
	if len(h.content(a).Unsettled) == 0 {
		t.Fatal("the update is settled")
	}
	if _, err := h.share("u:acme:ann", a, "u:acme:ben"); err != nil {
		t.Fatal(err)
	}
	own.wants("+a2")
	h.take(a, "u:acme:ben")
	own.wants("-a")
	store.hold("")
	h.quiet()
	cleo.wants("-a")
	ben.wantsNothing(h, "u:acme:ben")
	cleo.wantsNothing(h, "u:acme:cleo")
}
