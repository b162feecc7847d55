package nemesis

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"carrel/core/naming"
	"carrel/library"
	"carrel/principal"
)

// generated is an item that is created without a name. Its id is not known in advance, so
// each one has a creator that owns nothing else, and the tests find it in that library.
var generated = subject{table: "content", prefix: "u:acme:", prepare: prepareCreator, look: (*fixture).lookAtOnly,
	before: seen{Version: 1, Title: "before", Visibility: principal.Public, Members: []string{string(first)}}}

// namedOperations are creations whose name is generated, from a block of numbers that the
// process has yet to reserve. Their id is in the register of creations before they are
// decided, which is the only way for a repetition to find them.
var namedOperations = []operation{
	{name: "create without a name", of: &generated, steps: []step{stepFirstBlock, stepNextBlock, stepReserve, stepList, stepDecide},
		do: createUnnamed, creates: true},
}

// prepareCreator creates the creator. The fixture's name source has already handed out
// numbers, so a process that needs some requests the first block, and then the next one.
func prepareCreator(ctx context.Context, r *fixture, id string) error {
	if err := makeUser(ctx, r.healthy.service, id, nil); err != nil {
		return err
	}
	_, err := r.healthy.store.ReserveBlock(ctx, nameSource, naming.DefaultBlockSize)
	return err
}

func createUnnamed(ctx context.Context, s *services, id string, key *string) error {
	viewing := library.Viewing
	_, err := s.Library.CreateContent(ctx, &principal.Viewer{User: principal.ID(id)},
		library.CreateContent{Kind: library.Note, Title: "before",
			Visibility: principal.Public, Members: []library.ContentMemberChange{{Principal: string(first), Role: &viewing}}, IdempotencyKey: key})
	return err
}

// lookAtOnly reads the only item of a creator, and the other members of the item.
func (r *fixture) lookAtOnly(t *testing.T, id string) seen {
	t.Helper()
	creator := principal.ID(id)
	page, err := r.healthy.service.Listing.Library(t.Context(), &principal.Viewer{User: creator}, creator,
		library.LibraryQuery{Descending: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Edges) == 0 {
		return seen{}
	}
	s := r.look(t, string(page.Edges[0].Node.ID))
	if n := len(page.Edges); n > 1 {
		s.Title = fmt.Sprintf("one of %d items", n)
	}
	s.Members = slices.DeleteFunc(s.Members, func(p string) bool { return p == id })
	return s
}
