package note_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// long is a body that is stored as a text of its own.
var long = strings.Repeat("long ", 2000)

// someID returns the id of a text that is created now.
func someID(n byte) (id note.TextID) {
	var t [8]byte
	binary.BigEndian.PutUint64(t[:], uint64(time.Now().UnixMilli()))
	copy(id[:6], t[2:])
	id[15] = n
	return id
}

// scrubAfter runs the scrubber over everything, with a clock that is ahead by d, and returns how many
// texts remain.
func (h pagesEnv) scrubAfter(d time.Duration) int {
	h.T.Helper()
	if _, _, err := h.After(d).Repair.ScrubAll(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
	texts, err := h.Store.Texts.ScanTexts(h.T.Context(), note.TextID{}, 100)
	if err != nil {
		h.T.Fatal(err)
	}
	return len(texts)
}

// wantTexts scrubs with a clock that is ahead by d, and compares how many texts remain.
func (h pagesEnv) wantTexts(why string, d time.Duration, want int) {
	h.T.Helper()
	if got := h.scrubAfter(d); got != want {
		h.T.Errorf("%s: %d texts remain after %s, want %d", why, got, d, want)
	}
}

func (h pagesEnv) putText(t note.Text) {
	h.T.Helper()
	t.Body = long
	if err := h.Store.Texts.PutText(h.T.Context(), t); err != nil {
		h.T.Fatal(err)
	}
}

func TestScrub_KeepsTextsThatRowsReferTo(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	ctx, ann := t.Context(), domaintest.Ann()
	if _, err := h.pages.SaveRevision(ctx, ann, note.SaveRevision{ContentID: string(id), Title: "unpublished", Body: long}); err != nil {
		t.Fatal(err)
	}
	h.save(id, "second", long)
	if _, err := h.pages.CreateBranch(ctx, ann, note.CreateBranch{ContentID: string(id), CopyFrom: domaintest.Ptr(1)}); err != nil {
		t.Fatal(err)
	}
	for _, accept := range []bool{true, false} {
		made, err := h.pages.SuggestRevision(ctx, domaintest.Bob(), note.SuggestRevision{ContentID: string(id), Title: "s", Body: long})
		if err != nil {
			t.Fatal(err)
		}
		if !accept {
			break
		}
		if _, err := h.pages.DecideSuggestion(ctx, ann, note.DecideSuggestion{ID: made.Suggestion.ID, Decision: note.Accept}); err != nil {
			t.Fatal(err)
		}
	}
	draft := note.DraftRow{User: ann.User, Name: string(id) + "/0000000001/en", Token: someID(1), Value: []byte("draft")}
	if _, err := h.Store.Texts.PutDraft(ctx, draft, nil); err != nil {
		t.Fatal(err)
	}
	h.putText(note.Text{ID: draft.Token, Item: id, Row: note.DraftText(draft.User, draft.Name)})
	h.Quiet()
	h.putText(note.Text{ID: someID(2), Item: id, Row: note.DraftText(draft.User, draft.Name)})
	h.wantTexts("two revisions, two suggestions, a draft and an older version of it", 25*time.Hour, 5)
	if left, err := h.Store.Texts.ReadTexts(ctx, []note.TextID{draft.Token}); err != nil || left[0].Body != long {
		t.Errorf("the text of the draft: %d bytes, %v", len(left[0].Body), err)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "s", long)
	h.wantText(ann, id, note.TextQuery{Branch: domaintest.Ptr(2)}, "second", long)
	if err := h.Store.Texts.DropDraft(ctx, draft.User, draft.Name, draft.Token); err != nil {
		t.Fatal(err)
	}
	h.wantTexts("the draft is gone", 25*time.Hour, 4)
	h.WantClean()
}

func TestScrub_RemovesTextsThatNoRowRefersTo(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.save(id, "first", long)
	h.Quiet()
	for name, x := range map[string]note.Text{
		"a revision that does not exist": {Item: id, Row: library.RowKey{Kind: library.FirstRowKind + 1, Key: "0000000001//0000000001"}},
		"a revision with another text":   {Item: id, Row: library.RowKey{Kind: library.FirstRowKind + 1, Key: "0000000001//0000000000"}},
		"a suggestion that is missing":   {Item: id, Row: library.RowKey{Kind: library.FirstRowKind + 2, Key: someID(7).String()}},
		"an item that does not exist": {Item: "c:acme:none", Row: library.RowKey{Kind: library.FirstRowKind + 1,
			Key: "0000000001//0000000000"}},
		"a draft that does not exist": {Item: id, Row: note.DraftText("u:acme:ann", string(id)+"/0000000001/en")},
		"a draft of an unknown user":  {Item: id, Row: note.DraftText("u:acme:none", "x")},
	} {
		x.ID = someID(7)
		h.putText(x)
		h.wantTexts(name, 59*time.Minute, 2)
		h.wantTexts(name, 61*time.Minute, 1)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "first", long)
	h.WantClean()
}

// The text of a pending change is kept, however old it is.
func TestScrub_KeepsTextsOfPendingChanges(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public) // its libraries are not updated yet
	h.putText(note.Text{ID: someID(7), Item: id, Row: library.RowKey{Kind: library.FirstRowKind + 1, Key: "0000000001//0000000000"}})
	h.wantTexts("a change is in flight", 25*time.Hour, 1)
	h.Quiet()
	h.wantTexts("the change has ended", 25*time.Hour, 0)
}

// The text of a draft is that of its last version.
func TestScrub_KeepsTheTextsOfDrafts(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.Quiet()
	for _, title := range []string{"one", "two"} {
		if _, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), Title: title,
			Body: long}); err != nil {
			t.Fatal(err)
		}
	}
	h.wantTexts("a draft", 25*time.Hour, 1)
	d, err := h.pages.Draft(t.Context(), domaintest.Ann(), id, 1, "")
	if err != nil || d == nil || d.Title != "two" {
		t.Fatalf("draft %+v, %v", d, err)
	}
	if body, err := h.pages.Body(t.Context(), d); err != nil || body != long {
		t.Errorf("a body of %d bytes, %v", len(body), err)
	}
	draft := note.Text{ID: someID(9), Item: id, Row: note.DraftText("u:acme:ann", string(id)+"/0000000001/")}
	h.putText(draft)
	h.wantTexts("a version that was never stored", 25*time.Hour, 1)
}

// pendingDraft is a store in which a write of a draft was accepted by one replica only: a serial read
// completes it, and no other read shows it.
type pendingDraft struct {
	note.Store
	draft note.DraftRow
}

func (p *pendingDraft) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]note.DraftRow, error) {
	if serial && p.draft.Name != "" {
		if _, err := p.PutDraft(ctx, p.draft, nil); err != nil {
			return nil, err
		}
	}
	return p.Store.ReadDrafts(ctx, user, names, serial)
}

// A draft whose write is completed after the scrubber has looked for it keeps its text.
func TestScrub_KeepsTheTextOfADraftInProgress(t *testing.T) {
	p := &pendingDraft{}
	h := newPagesEnvOn(t, func(s *domain.Store) { p.Store, s.Texts = s.Texts, p })
	id := h.Note("n", principal.Public)
	d := h.draft(id, long)
	rows, err := h.Store.Texts.ListDrafts(t.Context(), "u:acme:ann")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := h.Store.Texts.ReadDrafts(t.Context(), "u:acme:ann", []string{rows[0].Name}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Store.Texts.DropDraft(t.Context(), "u:acme:ann", stored[0].Name, stored[0].Token); err != nil {
		t.Fatal(err)
	}
	h.Quiet()
	p.draft = stored[0]
	h.wantTexts("the write is completed by the scrubber's own read", 2*time.Hour, 1)
	if got := h.bodies(); got != "long " {
		t.Errorf("draft %+v has the body %q", d, got)
	}
}
