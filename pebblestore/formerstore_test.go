package pebblestore_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/backend/backendtest"
	"carrel/core/input"
	"carrel/paste"
	"carrel/pebblestore"
	"carrel/principal"
)

// former is a fixture whose pastes are stored as formats before 6 did.
type former struct {
	*backendtest.Fixture
	store *pebblestore.Store
	made  []*paste.Created
}

// newFormer creates public pastes "0", "1", ... and stores them in the former format.
func newFormer(t *testing.T, pastes int) *former {
	t.Helper()
	h := &former{Fixture: backendtest.New(t, nil)}
	h.store = h.Store.(*pebblestore.Store)
	for n := range pastes {
		made, err := h.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Title: backendtest.Ptr(fmt.Sprint(n)), Body: "body"})
		if err != nil {
			t.Fatal(err)
		}
		row, err := h.Store.ReadPaste(t.Context(), made.Paste.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.store.StoreFormerPaste(row); err != nil {
			t.Fatal(err)
		}
		h.made = append(h.made, made)
	}
	return h
}

// want checks the newest pastes, that all pastes are found once each, the audit, and how many rows
// are still in the former form.
func (h *former) want(what string, formerRows, pastes int, titles ...string) {
	h.T.Helper()
	var got []string
	var after *string
	for {
		page, err := h.Pastes.Latest(h.T.Context(), backendtest.FirstAfter(2, after))
		if err != nil {
			h.T.Fatalf("%s: %v", what, err)
		}
		for _, p := range page.Nodes() {
			got = append(got, *p.Title)
		}
		if !page.PageInfo.HasNextPage {
			break
		}
		after = page.PageInfo.EndCursor()
	}
	if diff := cmp.Diff(titles, got); diff != "" {
		h.T.Errorf("%s: the newest pastes (-want +got):\n%s", what, diff)
	}
	seen := map[paste.ID]int{}
	err := h.Pastes.Each(h.T.Context(), func(p *paste.Paste) error { seen[p.ID]++; return nil })
	if err != nil || len(seen) != pastes {
		h.T.Errorf("%s: %d pastes, want %d; %v", what, len(seen), pastes, err)
	}
	for id, n := range seen {
		if n != 1 {
			h.T.Errorf("%s: %s was found %d times", what, id, n)
		}
	}
	n, pointers, rows, err := h.store.CountPastes()
	if err != nil || n != formerRows || pointers != rows || n+rows != pastes {
		h.T.Errorf("%s: %d rows by id, %d pointers, %d rows by creation, %v", what, n, pointers, rows, err)
	}
	h.WantAudited()
}

// TestFormerPastes_AreServedAndMovedByChanges lists, changes and deletes pastes of a former format.
func TestFormerPastes_AreServedAndMovedByChanges(t *testing.T) {
	h := newFormer(t, 5)
	h.want("at first", 5, 5, "4", "3", "2", "1", "0")
	change := func(n int, u paste.Update) {
		t.Helper()
		u.ID, u.Secret = string(h.made[n].Paste.ID), h.made[n].Secret
		if _, err := h.Pastes.Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	change(1, paste.Update{Title: input.Some(backendtest.Ptr("one"))})
	h.want("after a change", 4, 5, "4", "3", "2", "one", "0")
	change(3, paste.Update{IsPrivate: input.Some(backendtest.Ptr(true))})
	h.want("after one was hidden", 3, 5, "4", "2", "one", "0")
	if _, err := h.Pastes.Delete(t.Context(), paste.Delete{ID: string(h.made[0].Paste.ID), Secret: h.made[0].Secret}); err != nil {
		t.Fatal(err)
	}
	h.want("after one was deleted", 2, 5, "4", "2", "one")
	change(3, paste.Update{IsPrivate: input.Some(backendtest.Ptr(false))})
	if _, err := h.Pastes.Create(t.Context(), &principal.Viewer{}, paste.Create{Title: backendtest.Ptr("5"), Body: "body"}); err != nil {
		t.Fatal(err)
	}
	h.want("after one more", 2, 6, "5", "4", "3", "2", "one")
}
