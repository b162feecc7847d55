package pebblestore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/interchange/archive"
	"carrel/paste"
)

// pasted returns a state of a paste that was created at an instant.
func pasted(id string, created clock.Instant, seq int64) paste.Row {
	p := paste.Paste{ID: paste.ID("p:" + id), Seq: seq, State: commit.Live, CreatedAt: created, Version: int(seq)}
	return p.Row()
}

// wantStored compares the numbers of pointers and of rows.
func wantStored(t *testing.T, s *Store, what string, want int) {
	t.Helper()
	if pointers, rows := countRows(t, s, tablePaste), countRows(t, s, tablePasteRow); pointers != want || rows != want {
		t.Errorf("%s: %d pointers and %d rows, want %d of each", what, pointers, rows, want)
	}
}

// mustCommitPaste commits a state of a paste.
func mustCommitPaste(t *testing.T, s *Store, r paste.Row) {
	t.Helper()
	got, err := s.Pastes.CommitRow(t.Context(), r)
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Fatalf("committing %s: %v\n%s", r.ID, err, diff)
	}
}

// wantPastes reads pastes by their ids, by their creation and by a scan.
func wantPastes(t *testing.T, s *Store, want ...paste.Row) {
	t.Helper()
	var byID, byCreation []paste.Ref
	for _, r := range want {
		byID = append(byID, paste.Ref{ID: r.ID})
		byCreation = append(byCreation, paste.Ref{ID: r.ID, CreatedAt: paste.CreatedAt(r)})
	}
	for _, refs := range [][]paste.Ref{byID, byCreation} {
		got, err := s.Pastes.ReadPastes(t.Context(), refs)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("by %v: %v (-want +got):\n%s", refs, err, diff)
		}
	}
	for _, limit := range []int{1, 2, 100} {
		var scanned, archived []paste.Row
		for after := paste.ID(""); ; after = scanned[len(scanned)-1].ID {
			page, err := s.Pastes.ScanRows(t.Context(), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if scanned = append(scanned, page...); len(page) < limit || len(scanned) > len(want) {
				break
			}
		}
		for after := []byte(nil); ; {
			page, next, err := s.ReadRows(t.Context(), archive.ChapterPastes, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				archived = append(archived, *r.Paste)
			}
			if after = next; next == nil || len(archived) > len(want) {
				break
			}
		}
		for what, got := range map[string][]paste.Row{"scanned": scanned, "archived": archived} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s by %d (-want +got):\n%s", what, limit, diff)
			}
		}
	}
}

// TestPastes_AreReadChangedAndDropped: the order of the ids is not that of the creations.
func TestPastes_AreReadChangedAndDropped(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	var rows []paste.Row
	for n := range 6 {
		r := pasted(fmt.Sprint(n), clock.Instant(3-n), 1) // the fourth has 0: its creation is not known
		rows = append(rows, r)
		mustCommitPaste(t, s, r)
	}
	wantPastes(t, s, rows...)
	for _, n := range []int{2, 3, 5} {
		rows[n] = pasted(fmt.Sprint(n), paste.CreatedAt(rows[n]), 2)
		mustCommitPaste(t, s, rows[n])
	}
	wantStored(t, s, "after three were changed", 6)
	wantPastes(t, s, rows...)
	for _, n := range []int{4, 2, 1} {
		for range 2 {
			if err := s.Pastes.DropRow(t.Context(), rows[n].ID, rows[n].Seq); err != nil {
				t.Fatal(err)
			}
		}
		rows = slices.Delete(rows, n, n+1)
		wantPastes(t, s, rows...)
	}
	for n := range rows {
		if err := s.PutRows(t.Context(), []archive.Row{{Paste: &rows[n]}}); err != nil {
			t.Fatal(err)
		}
	}
	wantStored(t, s, "after three were dropped and the others put again", 3)
	wantPastes(t, s, rows...)
}

// TestReadPastes_KnownCreationNeedsNoPointer removes a pointer, which no product code does.
func TestReadPastes_KnownCreationNeedsNoPointer(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	r := pasted("a", 7, 1)
	mustCommitPaste(t, s, r)
	if err := s.db.Delete(appendPasteKey(nil, r.ID), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	got, err := s.Pastes.ReadPastes(t.Context(), []paste.Ref{{ID: r.ID, CreatedAt: 7}, {ID: r.ID}})
	if diff := cmp.Diff([]paste.Row{r, {}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestPastes_PointerWithoutRowIsAnError damages a store: a lost row is reported, and not taken for
// a paste that never existed.
func TestPastes_PointerWithoutRowIsAnError(t *testing.T) {
	s := openStore(t, "", Options{FS: vfs.NewMem()})
	r := pasted("a", 7, 1)
	mustCommitPaste(t, s, r)
	if err := s.db.Delete(appendPasteRowKey(nil, r.ID, 7), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	_, byID := s.Pastes.ReadRow(t.Context(), r.ID)
	_, byCreation := s.Pastes.ReadPastes(t.Context(), []paste.Ref{{ID: r.ID, CreatedAt: 7}})
	_, scanned := s.Pastes.ScanRows(t.Context(), "", 10)
	_, committed := s.Pastes.CommitRow(t.Context(), r)
	for what, err := range map[string]error{
		"read by its id": byID, "read by its creation": byCreation, "scanned": scanned, "committed": committed,
		"dropped": s.Pastes.DropRow(t.Context(), r.ID, 1), "put": s.PutRows(t.Context(), []archive.Row{{Paste: &r}}),
	} {
		if err == nil || fault.CodeOf(err) != fault.Internal || fault.MayHaveCommitted(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
