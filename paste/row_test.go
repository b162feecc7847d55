package paste_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain/domaintest"
	"carrel/paste"
)

func TestCreatedAt_IsReadFromTheRow(t *testing.T) {
	for _, p := range []paste.Paste{
		{State: commit.Live, CreatedAt: 1767225600123456, Author: "u:acme:ann", MTS: clock.Max, Title: domaintest.Ptr("title")},
		{State: commit.Deleted, CreatedAt: 1, MTS: -7},
		{State: commit.Void, CreatedAt: -1},
		{State: commit.Live},
	} {
		p.ID, p.Seq = "p:a", 1
		row := p.Row()
		if got := paste.CreatedAt(row); got != p.CreatedAt {
			t.Errorf("%+v was created at %d", p, got)
		}
		for n := range row.Data {
			cut := paste.Row{ID: p.ID, Seq: 1, Data: row.Data[:n]}
			if got := paste.CreatedAt(cut); got != 0 && got != p.CreatedAt {
				t.Errorf("the first %d bytes of %+v: created at %d", n, p, got)
			}
		}
		later := paste.Row{ID: p.ID, Seq: 1, Data: slices.Clone(row.Data)}
		later.Data[0]++
		if got := paste.CreatedAt(later); got != 0 {
			t.Errorf("%+v of a later version: created at %d", p, got)
		}
	}
	if got := paste.CreatedAt(paste.Row{}); got != 0 {
		t.Errorf("no row: created at %d", got)
	}
}

// A list passes the times of creation to the store, which then reads neighbouring rows.
func TestLatest_ReadsPastesByTheirCreation(t *testing.T) {
	h := newPastes(t)
	var want []paste.Ref
	for _, title := range []string{"a", "b", "c"} {
		p := h.create(titled(title)).Paste
		want = append(want, paste.Ref{ID: p.ID, CreatedAt: p.CreatedAt})
	}
	slices.Reverse(want)
	h.wantLatest(h.Pastes, "c", "b", "a")
	if diff := cmp.Diff(want, h.faults.refs); diff != "" {
		t.Errorf("what was read (-want +got):\n%s", diff)
	}
}
