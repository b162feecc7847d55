package follow_test

import (
	"testing"
	"time"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

// TestUpdateInPlace_ReachesEveryMemberOfManyPages: an item that has fewer members than
// there are followed libraries is looked up by its members, a page at a time.
func TestUpdateInPlace_ReachesEveryMemberOfManyPages(t *testing.T) {
	h := domaintest.Town(t)
	h.Services = domaintest.Open(t, domain.Config{
		Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &domaintest.CountingNames{},
		Tuning: library.Tuning{SnapshotPage: 1, HotMoves: 1, HotPause: time.Hour},
	})
	id := h.Note("hot", principal.Private, "u:acme:ben=VIEWER", "u:acme:cleo=VIEWER")
	h.Update(id, "moved", 0)
	at := h.Content(id).Position
	follow := func(user string) *domaintest.Follower { return h.Follow(domaintest.As(user), user, "") }
	members := []*domaintest.Follower{follow("u:acme:ann"), follow("u:acme:ben"), follow("u:acme:cleo")}
	other := follow("u:acme:dora")
	h.Update(id, "in place", 0)
	if h.Content(id).Position != at {
		t.Fatal("the update was not deferred")
	}
	for _, f := range members {
		f.Want("+in place")
	}
	other.WantNothing(h, "u:acme:dora")
}
