package repair_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library/storetest"
	"carrel/principal"
)

// TestFind_IgnoresWrongRows: rows that no header justifies show no principal, the audit reports
// them, and a rebuild of the directory corrects them.
func TestFind_IgnoresWrongRows(t *testing.T) {
	h := backendtest.New(t, nil)
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	h.UserNamed("u:acme:w", "Bravo", principal.Public)
	h.WantFound(backendtest.As("u:acme:who"), "", "u", "w")
	header := h.Header("u:acme:u")
	base := header.Seq
	header.Seq, header.MTS, header.DisplayName, header.Visibility = base+1, header.MTS+1, "Charlie", principal.Private
	v, err := h.Store.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:u", Base: base, Header: header})
	if err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	h.WantFound(backendtest.As("u:acme:w"), "", "w")
	h.WantFound(backendtest.As("u:acme:w"), "alfa")
	h.WantFound(backendtest.As("u:acme:who"), "u")
	h.WantNothingInFlight()
	report, err := h.Service.Audit(t.Context())
	// Two rows of the former name, the visibility in the row of the id, and a sum.
	if err != nil || report.Mismatches != 4 || report.Directory != 4 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	if _, err := h.Service.RebuildDirectory(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.WantFound(backendtest.As("u:acme:u"), "", "w", "u")
	h.WantFound(backendtest.As("u:acme:u"), "char", "u")
	h.WantFound(backendtest.As("u:acme:w"), "", "w")
	h.WantAudited()
}

// TestScrubber_RepairsTheDirectory: missing rows are written and wrong rows removed, once, and not
// while a change is in flight.
func TestScrubber_RepairsTheDirectory(t *testing.T) {
	h := backendtest.New(t, nil)
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	h.UserNamed("u:acme:w", "Bravo", principal.Public)
	h.Group("g:acme:g", "u:acme:u", principal.Public)
	h.WantFound(backendtest.As("u:acme:who"), "", "u", "w", "g:acme:g")
	h.WantNothingInFlight()
	header := h.Header("u:acme:u")
	base := header.Seq
	header.Seq, header.MTS, header.DisplayName = base+1, header.MTS+1, "Charlie"
	v, err := h.Store.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:u", Base: base, Header: header})
	if err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	lost, err := h.Store.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "bravo", Limit: 1})
	if err == nil {
		err = h.Store.DropDirectory(t.Context(), lost)
	}
	if err != nil || len(lost) != 1 {
		t.Fatalf("%+v, %v", lost, err)
	}
	inFlightList := commit.InFlightList{ID: "00000000-0000-4000-8000-000000000001", Stamp: 1, Block: storetest.Block(
		principal.InFlight{ID: commit.EntryID{1}, Principal: "u:acme:u", Base: base, Former: "Alfa"})}
	if err := h.Store.PutInFlightList(t.Context(), inFlightList); err != nil {
		t.Fatal(err)
	}
	// One row of bravo; those of charlie are not repaired because of the change in flight.
	if n := scrubAll(h); n != 1 {
		t.Errorf("%d repaired during a change in flight", n)
	}
	h.WantFound(backendtest.As("u:acme:who"), "bravo", "w")
	h.WantFound(backendtest.As("u:acme:who"), "charlie")
	if err := h.Store.DeleteInFlightList(t.Context(), inFlightList.ID, inFlightList.Stamp); err != nil {
		t.Fatal(err)
	}
	// Two rows that were missing, two of names that no principal has any more.
	if n := scrubAll(h); n != 4 {
		t.Errorf("%d repaired", n)
	}
	if n := scrubAll(h); n != 0 {
		t.Errorf("%d repaired again", n)
	}
	h.WantFound(backendtest.As("u:acme:who"), "charlie", "u")
	h.WantAudited()
}

// TestFillDirectory_OlderStoreIsFilledOnce: the directory of a store that was created before there
// was one is filled at the first search.
func TestFillDirectory_OlderStoreIsFilledOnce(t *testing.T) {
	older := &olderStore{}
	h := backendtest.New(t, func(s backend.Store) backend.Store { older.Store = s; return older })
	older.without.Store(true)
	for i := range 250 {
		h.UserNamed(fmt.Sprintf("u:acme:n%03d", i), fmt.Sprintf("Name %d", i), principal.Public)
	}
	older.without.Store(false)
	h.WantNothingInFlight()
	report, err := h.Service.Audit(t.Context())
	if err != nil || !report.Clean() || report.Directory != 0 {
		t.Errorf("before: %+v, %v", report, err)
	}
	older.down.Store(true)
	_, err = backendtest.Search(h.Service, "acme", nil)(t.Context(), backendtest.As("u:acme:who"), cursor.PageArgs{})
	var got *fault.Error
	if !errors.As(err, &got) || got.Code != fault.Unavailable || got.RetryAfter <= 0 {
		t.Fatalf("while it cannot be filled: %v", err)
	}
	older.down.Store(false)
	// The attempt that fails ends first, and the callers that wait for it get its error.
	for tries := 0; fault.CodeOf(err) == fault.Unavailable && tries < 10; tries++ {
		_, err = backendtest.Search(h.Service, "acme", nil)(t.Context(), backendtest.As("u:acme:who"), cursor.PageArgs{})
	}
	if got := h.WalkFound(func() *principal.Viewer { return backendtest.As("u:acme:who") }, "name", 100); len(got) != 250 {
		t.Errorf("%d are found", len(got))
	}
	written := older.applied.Load()
	h.WantFound(backendtest.As("u:acme:who"), "name 17", "n017", "n170", "n171", "n172", "n173", "n174", "n175", "n176", "n177", "n178", "n179")
	if err := h.Service.FillDirectory(t.Context()); err != nil || older.applied.Load() != written {
		t.Errorf("it is filled again: %d, %v", older.applied.Load()-written, err)
	}
	h.WantAudited()
}

// olderStore is a store that can be set to ignore writes of the directory, as if an older version
// without a directory used it, or to fail such writes.
type olderStore struct {
	backend.Store
	without, down atomic.Bool
	applied       atomic.Int64
}

func (o *olderStore) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) error {
	switch {
	case o.down.Load():
		return backendtest.ErrDown
	case o.without.Load():
		return nil
	}
	o.applied.Add(1)
	return o.Store.ApplyDirectory(ctx, e)
}

// TestRename_UnfinishedStaysOnTheList: a change whose rows could not be written is on the list
// until they are.
func TestRename_UnfinishedStaysOnTheList(t *testing.T) {
	older := &olderStore{}
	h := backendtest.New(t, func(s backend.Store) backend.Store { older.Store = s; return older })
	h.UserNamed("u:acme:u", "Alfa", principal.Public)
	h.WantFound(backendtest.As("u:acme:who"), "alfa", "u")
	older.down.Store(true)
	name := "Bravo"
	if _, err := h.Service.UpdateUser(t.Context(), backendtest.As("u:acme:u"), principal.UpdateUser{ID: "u:acme:u", DisplayName: input.Some(&name)}); err != nil {
		t.Fatal(err)
	}
	h.WantFound(backendtest.As("u:acme:who"), "alfa")
	h.WantFound(backendtest.As("u:acme:who"), "bravo")
	inFlightLists, err := commit.OpenLists(t.Context(), h.Store)
	if err != nil || len(inFlightLists) != 1 || len(inFlightLists[0].Entries) != 1 {
		t.Fatalf("%+v, %v", inFlightLists, err)
	}
	if e, err := principal.InFlightOf(inFlightLists[0].Entries[0]); err != nil || e.Former != "Alfa" {
		t.Fatalf("%+v, %v", inFlightLists, err)
	}
	older.down.Store(false)
	if _, err := h.Service.Resume(t.Context(), inFlightLists[0].Entries[0]); err != nil {
		t.Fatal(err)
	}
	h.WantFound(backendtest.As("u:acme:who"), "bravo", "u")
	rows, err := h.Store.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "alfa", Limit: 10})
	if err != nil || len(rows) > 0 {
		t.Errorf("the rows of the former name still exist: %+v, %v", rows, err)
	}
}
