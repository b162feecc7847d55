package repair_test

import (
	"context"
	"sync/atomic"
	"testing"

	"carrel/core/commit"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/principal"
	"carrel/storetest"
)

// TestFind_IgnoresWrongRows: rows that no header justifies show no principal, the audit reports
// them, and a rebuild of the directory corrects them.
func TestFind_IgnoresWrongRows(t *testing.T) {
	h := domaintest.New(t, nil)
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	h.UserNamed("u:acme:w", "Bravo", principal.Public)
	h.WantFound(domaintest.As("u:acme:who"), "", "u", "w")
	header := h.Header("u:acme:u")
	base := header.Seq
	header.Seq, header.MTS, header.DisplayName, header.Visibility = base+1, header.MTS+1, "Charlie", principal.Private
	v, err := h.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:u", Base: base, Header: header})
	if err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	h.WantFound(domaintest.As("u:acme:w"), "", "w")
	h.WantFound(domaintest.As("u:acme:w"), "alfa")
	h.WantFound(domaintest.As("u:acme:who"), "u")
	h.WantNothingInFlight()
	report, err := h.Repair.Audit(t.Context())
	// Two rows of the former name, the visibility in the row of the id, and a sum.
	if err != nil || report.Mismatches != 4 || report.Directory != 4 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	if _, err := h.Repair.RebuildDirectory(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.WantFound(domaintest.As("u:acme:u"), "", "w", "u")
	h.WantFound(domaintest.As("u:acme:u"), "char", "u")
	h.WantFound(domaintest.As("u:acme:w"), "", "w")
	h.WantAudited()
}

// TestScrubber_RepairsTheDirectory: missing rows are written and wrong rows removed, once, and not
// while a change is in flight.
func TestScrubber_RepairsTheDirectory(t *testing.T) {
	h := domaintest.New(t, nil)
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	h.UserNamed("u:acme:w", "Bravo", principal.Public)
	h.Group("g:acme:g", "u:acme:u", principal.Public)
	h.WantFound(domaintest.As("u:acme:who"), "", "u", "w", "g:acme:g")
	h.WantNothingInFlight()
	header := h.Header("u:acme:u")
	base := header.Seq
	header.Seq, header.MTS, header.DisplayName = base+1, header.MTS+1, "Charlie"
	v, err := h.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:u", Base: base, Header: header})
	if err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	lost, err := h.Store.Directory.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "bravo", Limit: 1})
	if err == nil {
		err = h.Store.Directory.DropDirectory(t.Context(), lost)
	}
	if err != nil || len(lost) != 1 {
		t.Fatalf("%+v, %v", lost, err)
	}
	inFlightList := commit.InFlightList{ID: "00000000-0000-4000-8000-000000000001", Stamp: 1, Block: storetest.Block(
		commit.Entry{ID: commit.EntryID{1}, Kind: commit.Principal, Key: "u:acme:u", Base: base,
			Reach: commit.Reach{Scope: commit.ScopeListed, Former: "Alfa"}})}
	if err := h.Store.Journal.PutInFlightList(t.Context(), inFlightList); err != nil {
		t.Fatal(err)
	}
	// One row of bravo; those of charlie are not repaired because of the change in flight.
	if n := scrubAll(h); n != 1 {
		t.Errorf("%d repaired during a change in flight", n)
	}
	h.WantFound(domaintest.As("u:acme:who"), "bravo", "w")
	h.WantFound(domaintest.As("u:acme:who"), "charlie")
	if err := h.Store.Journal.DeleteInFlightList(t.Context(), inFlightList.ID, inFlightList.Stamp); err != nil {
		t.Fatal(err)
	}
	// Two rows that were missing, two of names that no principal has any more.
	if n := scrubAll(h); n != 4 {
		t.Errorf("%d repaired", n)
	}
	if n := scrubAll(h); n != 0 {
		t.Errorf("%d repaired again", n)
	}
	h.WantFound(domaintest.As("u:acme:who"), "charlie", "u")
	h.WantAudited()
}

// failingDirectory is a store that can be set to fail writes of the directory.
type failingDirectory struct {
	principal.DirectoryStore
	down atomic.Bool
}

func (f *failingDirectory) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) error {
	if f.down.Load() {
		return domaintest.ErrDown
	}
	return f.DirectoryStore.ApplyDirectory(ctx, e)
}

// TestRename_UnfinishedStaysOnTheList: a change whose rows could not be written is on the list
// until they are.
func TestRename_UnfinishedStaysOnTheList(t *testing.T) {
	store := &failingDirectory{}
	h := domaintest.New(t, func(s *domain.Store) { store.DirectoryStore, s.Directory = s.Directory, store })
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	h.WantFound(domaintest.As("u:acme:who"), "alfa", "u")
	store.down.Store(true)
	name := "Bravo"
	if _, err := h.People.UpdateUser(t.Context(), domaintest.As("u:acme:u"),
		principal.UpdateUser{ID: "u:acme:u", DisplayName: input.Some(&name)}); err != nil {
		t.Fatal(err)
	}
	h.WantFound(domaintest.As("u:acme:who"), "alfa")
	h.WantFound(domaintest.As("u:acme:who"), "bravo")
	inFlightLists, err := commit.OpenLists(t.Context(), h.Store.Journal)
	if err != nil || len(inFlightLists) != 1 || len(inFlightLists[0].Entries) != 1 {
		t.Fatalf("%+v, %v", inFlightLists, err)
	}
	if e := inFlightLists[0].Entries[0]; e.Former != "Alfa" {
		t.Fatalf("%+v, %v", inFlightLists, err)
	}
	store.down.Store(false)
	if _, err := h.Background().Resume(t.Context(), inFlightLists[0].Entries[0]); err != nil {
		t.Fatal(err)
	}
	h.WantFound(domaintest.As("u:acme:who"), "bravo", "u")
	rows, err := h.Store.Directory.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "alfa", Limit: 10})
	if err != nil || len(rows) > 0 {
		t.Errorf("the rows of the former name still exist: %+v, %v", rows, err)
	}
}
