package library_test

import (
	"fmt"
	"sync"
	"testing"

	"carrel/core/fault"
	"carrel/core/input"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/principal"
)

func TestIdempotencyKey_RepetitionHasTheFirstOutcome(t *testing.T) {
	h := domaintest.Town(t)
	create := func(v *principal.Viewer, title string) (*library.ContentOutcome, error) {
		return h.Library.CreateContent(t.Context(), v, library.CreateContent{Kind: library.Note, Title: title,
			Visibility: principal.Public, IdempotencyKey: domaintest.Ptr("k")})
	}
	first, err := create(domaintest.As("u:acme:ann"), "t")
	if err != nil {
		t.Fatal(err)
	}
	again, err := create(domaintest.As("u:acme:ann"), "t")
	if err != nil || again.ID != first.ID || again.FanOut.Libraries != 1 {
		t.Errorf("the repetition: %+v, %v", again, err)
	}
	if _, err := create(domaintest.As("u:acme:ann"), "other"); fault.ReasonOf(err) != fault.ReasonIdempotencyMismatch {
		t.Errorf("another input: %v", err)
	}
	if theirs, err := create(domaintest.As("u:acme:ben"), "other"); err != nil || theirs.ID == first.ID {
		t.Errorf("another viewer: %+v, %v", theirs, err)
	}
	update := func(title string) error {
		_, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(first.ID), Title: input.Some(&title), IdempotencyKey: domaintest.Ptr("u")})
		return err
	}
	for range 2 {
		domaintest.WantFaults(t, update("new"))
	}
	domaintest.WantFaults(t, update("newer"), "IDEMPOTENCY_MISMATCH")
	if got := h.Content(first.ID); got.Version != 2 {
		t.Errorf("repeated twice, changed to version %d", got.Version)
	}
	del := library.DeleteContent{ID: string(first.ID), IdempotencyKey: domaintest.Ptr("d")}
	for range 2 {
		if _, err := h.Library.DeleteContent(t.Context(), domaintest.As("u:acme:ann"), del); err != nil {
			t.Errorf("deleting: %v", err)
		}
	}
	h.WantClean()
}

func TestIdempotencyKey_RefusedCreationIsNotKept(t *testing.T) {
	h := domaintest.Town(t)
	create := func(members ...string) error {
		_, err := h.Library.CreateContent(t.Context(), domaintest.As("u:acme:ann"), library.CreateContent{
			Name: domaintest.Ptr("n"), Kind: library.Note, Title: "t", Visibility: principal.Public,
			Members: domaintest.MemberChanges(members...), IdempotencyKey: domaintest.Ptr("k"),
		})
		return err
	}
	domaintest.WantFaults(t, create("u:acme:nobody=VIEWER"), "NOT_FOUND members.0.principalId")
	domaintest.WantFaults(t, create("u:acme:ben=VIEWER"))
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben", "t")
}

func TestUpdateContent_HotItemDefersItsMove(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("hot", principal.Public, "u:acme:ben=VIEWER")
	for n := range 40 {
		title := fmt.Sprintf("hot %d", n)
		out, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
			library.UpdateContent{ID: string(id), Title: input.Some(&title)})
		if err != nil || !out.FanOut.Complete {
			t.Fatalf("update %d: %+v, %v", n, out, err)
		}
		// An item that has moved 30 times within the hour is hot.
		if deferred := n >= 30; deferred != (out.FanOut.Libraries == 0) {
			t.Errorf("update %d concerned %d libraries", n, out.FanOut.Libraries)
		}
	}
	got := h.Content(id)
	if got.Version != 41 || got.Position >= got.LastModified || got.Moves != 30 {
		t.Errorf("before the move: version %d, position %d, lastModified %d, moves %d", got.Version, got.Position, got.LastModified, got.Moves)
	}
	if st := h.Journal.Stats(); st.Deferred != 1 {
		t.Errorf("%d deferred moves, want one for all updates", st.Deferred)
	}
	h.WantTitles(domaintest.As("u:acme:ben"), "u:acme:ben", "hot 39")
	private := principal.Private
	if out, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
		library.UpdateContent{ID: string(id), Visibility: input.Some(&private)}); err != nil || out.FanOut.Libraries != 2 {
		t.Errorf("a change of visibility at the unmoved position: %+v, %v", out, err)
	}
	h.WantTitles(&principal.Viewer{}, "u:acme:ben")
	h.WantClean()
	if got := h.Content(id); got.Position != got.LastModified {
		t.Errorf("after the move: position %d, lastModified %d", got.Position, got.LastModified)
	}
}

func TestUpdateContent_ConcurrentChangesOfOneItemAreAllMade(t *testing.T) {
	h := domaintest.Town(t)
	id := h.Note("a", principal.Public)
	for n := range 30 {
		h.User(fmt.Sprintf("u:acme:p%d", n), principal.Public)
	}
	var wg sync.WaitGroup
	for n := range 30 {
		wg.Go(func() {
			p := fmt.Sprintf("u:acme:p%d", n)
			if _, err := h.Library.ShareContent(t.Context(), domaintest.As(p), library.ShareContent{Content: string(id),
				Principals: []string{p}, Role: library.Viewing}); err != nil {
				t.Errorf("sharing with %s: %v", p, err)
			}
		})
		wg.Go(func() {
			title := fmt.Sprintf("a%d", n)
			if _, err := h.Library.UpdateContent(t.Context(), domaintest.As("u:acme:ann"),
				library.UpdateContent{ID: string(id), Title: input.Some(&title)}); err != nil {
				t.Errorf("update %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	if got := h.Content(id); got.Version != 31 || got.Members != 31 {
		t.Errorf("version %d with %d members, want 31 with 31", got.Version, got.Members)
	}
	h.WantClean()
}
