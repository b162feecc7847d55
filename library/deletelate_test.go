package library_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/exchange"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// lateDraft is a store that calls a function of a test before a draft is stored.
type lateDraft struct {
	note.Store
	do func()
}

func (l *lateDraft) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	if do := l.do; do != nil {
		l.do = nil
		do()
	}
	return l.Store.PutDraft(ctx, d, over)
}

// TestSaveDraft_UserDeletedMeanwhileGetsNoDraft: the draft that was stored after the removal of its
// user is removed too.
func TestSaveDraft_UserDeletedMeanwhileGetsNoDraft(t *testing.T) {
	l := &lateDraft{}
	h := domaintest.Staff(t, func(s *domain.Store) { l.Store, s.Texts = s.Texts, l })
	h.Note("n", principal.Public, "u:acme:bob=EDITOR")
	l.do = func() {
		if !remove(t, h, domaintest.Root(), "u:acme:bob").Complete {
			t.Error("the user was not removed before the draft was stored")
		}
	}
	_, err := h.Notes.SaveDraft(t.Context(), domaintest.Bob(), note.SaveDraft{ContentID: "c:acme:n", Body: "late"})
	domaintest.WantFaults(t, err, "FORBIDDEN")
	if drafts, err := h.Store.Texts.ListDrafts(t.Context(), "u:acme:bob"); err != nil || len(drafts) != 0 {
		t.Errorf("drafts that are left: %v, %v", drafts, err)
	}
	h.WantAudited()
}

// unrecorded is a store whose records of what is shared were lost.
type unrecorded struct{ library.LibraryStore }

func (unrecorded) Recorded(context.Context, principal.ID) (bool, error) { return false, nil }

func (unrecorded) SharedWith(context.Context, principal.ID, library.ContentID, int) ([]library.Shared, error) {
	return nil, nil
}

// TestDeleteUser_WithoutARecordIsRemovedFromAllItems: if the record of what was shared with the
// user was lost, the removal reads all items.
func TestDeleteUser_WithoutARecordIsRemovedFromAllItems(t *testing.T) {
	u := &unrecorded{}
	h := domaintest.Staff(t, func(s *domain.Store) { u.LibraryStore, s.Libraries = s.Libraries, u })
	h.Note("n", principal.Public, "u:acme:bob=EDITOR")
	remove(t, h, domaintest.Root(), "u:acme:bob")
	h.Quiet()
	if head := h.Content("c:acme:n"); head.Members != 1 {
		t.Errorf("the item has %d members", head.Members)
	}
	h.Store.Libraries = u.LibraryStore
}

// TestExport_OmitsAUserWhoseRemovalRuns: the export does not name the user, neither as a user nor
// as a member.
func TestExport_OmitsAUserWhoseRemovalRuns(t *testing.T) {
	h, s := stuckTown(t)
	s.down.Store(true)
	remove(t, h, domaintest.Root(), "u:acme:bob")
	err := h.Exchange.Export(t.Context(), func(l *exchange.Line) error {
		if line, err := json.Marshal(l); err != nil || bytes.Contains(line, []byte("u:acme:bob")) {
			t.Errorf("the export names the user: %s, %v", line, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.down.Store(false)
	h.Quiet()
}

// TestDeleteUser_RenamedBeforeLeavesNoRowOfTheFormerName: this includes a change of the name that
// was not finished before the deletion.
func TestDeleteUser_RenamedBeforeLeavesNoRowOfTheFormerName(t *testing.T) {
	h := domaintest.Staff(t, nil)
	head := h.Header("u:acme:bob")
	e := commit.Entry{Kind: commit.Principal, Key: "u:acme:bob", Base: head.Seq,
		Reach: commit.Reach{Scope: commit.ScopeListed, Former: head.DisplayName}}
	base := head.Seq
	head.Seq, head.MTS, head.DisplayName = base+1, head.MTS+clock.Instant(1), "Robert"
	if v, err := h.Store.Principals.CommitPrincipal(t.Context(), &principal.Commit{ID: head.ID, Base: base, Header: head}); err != nil ||
		!v.Applied {
		t.Fatal(v, err)
	}
	remove(t, h, domaintest.Root(), "u:acme:bob")
	h.Quiet()
	if _, err := h.Background().Resume(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	h.WantAudited()
}
