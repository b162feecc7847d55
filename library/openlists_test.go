package library_test

import (
	"errors"
	"slices"
	"testing"

	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/storetest"
)

// TestOpenLists_ReportsUnreadableLists: lists that only a later version can read, completely or in
// part, are named, and do not affect the others.
func TestOpenLists_ReportsUnreadableLists(t *testing.T) {
	store := domaintest.New(t, nil).Store
	known := commit.Entry{ID: commit.EntryID{1}, Kind: commit.Content, Key: "c:acme:a", Base: 1, Reach: commit.Reach{Scope: commit.ScopeAll}}
	later, err := commit.Encode([]commit.Entry{known, {ID: commit.EntryID{2}, Kind: 'z', Key: "z:acme:a"}})
	if err != nil {
		t.Fatal(err)
	}
	damaged, err := commit.Encode([]commit.Entry{known})
	if err != nil {
		t.Fatal(err)
	}
	damaged[len(damaged)-1]++ // the number of principals
	for id, block := range map[commit.ListID][]byte{
		"1-good": storetest.Block(known), "2-later": later, "3-damaged": damaged, "4-version": {9}, "5-good": storetest.Block(known),
	} {
		if err := store.Journal.PutInFlightList(t.Context(), commit.InFlightList{ID: id, Stamp: 1, Block: block}); err != nil {
			t.Fatal(err)
		}
	}
	inFlightLists, err := commit.OpenLists(t.Context(), store.Journal)
	var bad *commit.UnreadableLists
	if !errors.As(err, &bad) || !slices.Equal(bad.IDs, []commit.ListID{"2-later", "3-damaged", "4-version"}) {
		t.Errorf("unreadable: %v", err)
	}
	if len(inFlightLists) != 2 || inFlightLists[0].ID != "1-good" || inFlightLists[1].ID != "5-good" || len(inFlightLists[0].Entries) != 1 {
		t.Errorf("lists: %+v", inFlightLists)
	}
}
