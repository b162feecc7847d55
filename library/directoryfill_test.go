package library_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"carrel/backend"
	"carrel/core/commit"
	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/core/input"
	"carrel/library/storetest"
	"carrel/principal"
)

// TestFindBesideWrongRows: rows that no header justifies show nobody, the audit
// tells of them, and a rebuild of the directory mends it.
func TestFindBesideWrongRows(t *testing.T) {
	h := newHouse(t, nil)
	h.called("u:acme:u", "Alfa", principal.Public)
	h.called("u:acme:w", "Bravo", principal.Public)
	h.wantFound(as("u:acme:who"), "", "u", "w")
	header := h.header("u:acme:u")
	base := header.Seq
	header.Seq, header.MTS, header.DisplayName, header.Visibility = base+1, header.MTS+1, "Charlie", principal.Private
	v, err := h.store.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:u", Base: base, Header: header})
	if err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	h.wantFound(as("u:acme:w"), "", "w")
	h.wantFound(as("u:acme:w"), "alfa")
	h.wantFound(as("u:acme:who"), "u")
	h.wantSettled()
	report, err := h.svc.Audit(t.Context())
	// Two rows of the former name, the visibility in the row of the id, and a sum.
	if err != nil || report.Mismatches != 4 || report.Directory != 4 {
		t.Errorf("audit: %+v, %v", report, err)
	}
	if _, err := h.svc.RebuildDirectory(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.wantFound(as("u:acme:u"), "", "w", "u")
	h.wantFound(as("u:acme:u"), "char", "u")
	h.wantFound(as("u:acme:w"), "", "w")
	h.wantAudited()
}

// TestTheScrubberMendsTheDirectory: what is missing comes back and what is wrong
// goes, once, and not while a change is in flight.
func TestTheScrubberMendsTheDirectory(t *testing.T) {
	h := newHouse(t, nil)
	h.called("u:acme:u", "Alfa", principal.Public)
	h.called("u:acme:w", "Bravo", principal.Public)
	h.group("g:acme:g", "u:acme:u", principal.Public)
	h.wantFound(as("u:acme:who"), "", "u", "w", "g:acme:g")
	h.wantSettled()
	header := h.header("u:acme:u")
	base := header.Seq
	header.Seq, header.MTS, header.DisplayName = base+1, header.MTS+1, "Charlie"
	v, err := h.store.CommitPrincipal(t.Context(), &principal.Commit{ID: "u:acme:u", Base: base, Header: header})
	if err != nil || !v.Applied {
		t.Fatalf("%+v, %v", v, err)
	}
	lost, err := h.store.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "bravo", Limit: 1})
	if err == nil {
		err = h.store.DropDirectory(t.Context(), lost)
	}
	if err != nil || len(lost) != 1 {
		t.Fatalf("%+v, %v", lost, err)
	}
	lane := commit.Lane{ID: "00000000-0000-4000-8000-000000000001", Stamp: 1, Blocks: storetest.Blocks(
		principal.InFlight{ID: commit.EntryID{1}, Principal: "u:acme:u", Base: base, Former: "Alfa"})}
	if err := h.store.PutLane(t.Context(), lane); err != nil {
		t.Fatal(err)
	}
	// One row of bravo's; those of charlie's are left to the change in flight.
	if n := h.scrubAll(); n != 1 {
		t.Errorf("%d mended beside a change in flight", n)
	}
	h.wantFound(as("u:acme:who"), "bravo", "w")
	h.wantFound(as("u:acme:who"), "charlie")
	if err := h.store.DropLane(t.Context(), lane.ID, lane.Stamp); err != nil {
		t.Fatal(err)
	}
	// Two rows that were missing, two that no name has any more.
	if n := h.scrubAll(); n != 4 {
		t.Errorf("%d mended", n)
	}
	if n := h.scrubAll(); n != 0 {
		t.Errorf("%d mended again", n)
	}
	h.wantFound(as("u:acme:who"), "charlie", "u")
	h.wantAudited()
}

// TestFillDirectory: the directory of a store that was made before there was one
// is filled when it is first missed, once, and the rows of whoever comes
// meanwhile are written by that change.
func TestFillDirectory(t *testing.T) {
	older := &olderStore{}
	h := newHouse(t, func(s backend.Store) backend.Store { older.Store = s; return older })
	older.without.Store(true)
	for i := range 250 {
		h.called(fmt.Sprintf("u:acme:n%03d", i), fmt.Sprintf("Name %d", i), principal.Public)
	}
	older.without.Store(false)
	h.wantSettled()
	report, err := h.svc.Audit(t.Context())
	if err != nil || !report.Clean() || report.Directory != 0 {
		t.Errorf("before: %+v, %v", report, err)
	}
	older.down.Store(true)
	_, err = search(h.svc, "acme", nil)(t.Context(), as("u:acme:who"), cursor.PageArgs{})
	var told *fault.Error
	if !errors.As(err, &told) || told.Code != fault.Unavailable || told.RetryAfter <= 0 {
		t.Fatalf("while it cannot be filled: %v", err)
	}
	older.down.Store(false)
	// The attempt that fails ends first, and who joins it is told so.
	for tries := 0; fault.CodeOf(err) == fault.Unavailable && tries < 10; tries++ {
		_, err = search(h.svc, "acme", nil)(t.Context(), as("u:acme:who"), cursor.PageArgs{})
	}
	if got := h.walkFound(func() *principal.Viewer { return as("u:acme:who") }, "name", 100); len(got) != 250 {
		t.Errorf("%d are found", len(got))
	}
	written := older.enforced.Load()
	h.wantFound(as("u:acme:who"), "name 17", "n017", "n170", "n171", "n172", "n173", "n174", "n175", "n176", "n177", "n178", "n179")
	if err := h.svc.FillDirectory(t.Context()); err != nil || older.enforced.Load() != written {
		t.Errorf("it is filled again: %d, %v", older.enforced.Load()-written, err)
	}
	h.wantAudited()
}

// olderStore forgets what a program without a directory would not have written,
// or fails to write it.
type olderStore struct {
	backend.Store
	without, down atomic.Bool
	enforced      atomic.Int64
}

func (o *olderStore) EnforceDirectory(ctx context.Context, e *principal.DirectoryEnforcement) error {
	switch {
	case o.down.Load():
		return errDown
	case o.without.Load():
		return nil
	}
	o.enforced.Add(1)
	return o.Store.EnforceDirectory(ctx, e)
}

// TestRenameUnfinished: a change whose rows could not be written is on the list
// until they are.
func TestRenameUnfinished(t *testing.T) {
	older := &olderStore{}
	h := newHouse(t, func(s backend.Store) backend.Store { older.Store = s; return older })
	h.called("u:acme:u", "Alfa", principal.Public)
	h.wantFound(as("u:acme:who"), "alfa", "u")
	older.down.Store(true)
	name := "Bravo"
	if _, err := h.svc.UpdateUser(t.Context(), as("u:acme:u"), principal.UpdateUser{ID: "u:acme:u", DisplayName: input.Some(&name)}); err != nil {
		t.Fatal(err)
	}
	h.wantFound(as("u:acme:who"), "alfa")
	h.wantFound(as("u:acme:who"), "bravo")
	lanes, err := commit.OpenLanes(t.Context(), h.store)
	if err != nil || len(lanes) != 1 || len(lanes[0].Entries) != 1 {
		t.Fatalf("%+v, %v", lanes, err)
	}
	if e, err := principal.InFlightOf(lanes[0].Entries[0]); err != nil || e.Former != "Alfa" {
		t.Fatalf("%+v, %v", lanes, err)
	}
	older.down.Store(false)
	if _, err := h.svc.Resume(t.Context(), lanes[0].Entries[0]); err != nil {
		t.Fatal(err)
	}
	h.wantFound(as("u:acme:who"), "bravo", "u")
	rows, err := h.store.PageDirectory(t.Context(), principal.DirectorySlice{Tenant: "acme", Prefix: "alfa", Limit: 10})
	if err != nil || len(rows) > 0 {
		t.Errorf("the rows of the former name stand: %+v, %v", rows, err)
	}
}
