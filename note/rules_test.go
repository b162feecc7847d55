package note_test

import (
	"fmt"
	"testing"

	"carrel/core/fault"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// saveUnpublished saves a revision by ann that is not published.
func (h pagesEnv) saveUnpublished(id library.ContentID, branch int, locale *string, title string) *note.Revision {
	h.T.Helper()
	out, err := h.pages.SaveRevision(h.T.Context(), domaintest.Ann(),
		note.SaveRevision{ContentID: string(id), Branch: &branch, Locale: locale, Title: title, Body: title})
	if err != nil {
		h.T.Fatalf("saving %s: %v", title, err)
	}
	return out.Revision
}

// fork creates a branch, with copies of the texts of copyFrom if it is not nil.
func (h pagesEnv) fork(id library.ContentID, copyFrom *int) *note.Branch {
	h.T.Helper()
	out, err := h.pages.CreateBranch(h.T.Context(), domaintest.Ann(), note.CreateBranch{ContentID: string(id), CopyFrom: copyFrom})
	if err != nil {
		h.T.Fatal(err)
	}
	return out.Branch
}

func (h pagesEnv) switchTo(id library.ContentID, branch int, working bool) *note.Branch {
	h.T.Helper()
	out, err := h.pages.SetCurrentBranch(h.T.Context(), domaintest.Ann(), note.SetCurrentBranch{ContentID: string(id),
		Branch: branch, Working: working})
	if err != nil {
		h.T.Fatal(err)
	}
	return out.Branch
}

// Visitors see what is published in the current branch, even if editors work on another one.
func TestSaveRevision_InTheWorkingBranchIsNotShown(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.save(id, "one", "a")
	h.fork(id, domaintest.Ptr(1))
	if b := h.switchTo(id, 2, true); !b.IsWorking || b.IsCurrent {
		t.Errorf("branch 2 is %+v", b)
	}
	before := h.Content(id)
	ann := domaintest.Ann()
	if _, err := h.pages.SaveRevision(t.Context(), ann, note.SaveRevision{ContentID: string(id), Branch: domaintest.Ptr(2),
		Title: "two", Body: "b", Publish: true}); err != nil {
		t.Fatal(err)
	}
	if after := h.Content(id); after.Title != "one" || after.Version != before.Version {
		t.Errorf("a text of the working branch made the item %+v", after)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "one", "a")
	h.save(id, "three", "c")
	if after := h.Content(id); after.Title != "three" || after.Version != before.Version+1 {
		t.Errorf("a text of the current branch made the item %+v", after)
	}
	// Switching back to the current branch works; switching there again changes nothing.
	for range 2 {
		if b := h.switchTo(id, 1, true); !b.IsWorking || !b.IsCurrent {
			t.Errorf("branch 1 is %+v", b)
		}
	}
	h.WantClean()
}

// Only published texts are copied.
func TestCreateBranch_CopiesPublishedTexts(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	de := "de"
	h.save(id, "one", "a")
	h.saveUnpublished(id, 1, &de, "verborgen")
	h.saveUnpublished(id, 1, nil, "hidden")
	h.fork(id, domaintest.Ptr(1))
	h.wantText(domaintest.Ann(), id, note.TextQuery{Branch: domaintest.Ptr(2)}, "one", "a")
	h.wantText(domaintest.Ann(), id, note.TextQuery{Branch: domaintest.Ptr(2), Locale: &de, Strict: true}, "", "")
	if r, err := h.pages.Revision(t.Context(), domaintest.Ann(), id, note.RevisionKey{Branch: 2, Number: 1}); r != nil || err != nil {
		t.Errorf("the copy has a second revision %+v, %v", r, err)
	}
	h.WantClean()
}

// The base of a suggestion is the revision that visitors see, and visitors cannot make suggestions
// for a branch that they do not see.
func TestSuggestRevision_IsBasedOnWhatItsAuthorSees(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.save(id, "one", "a")
	h.saveUnpublished(id, 1, nil, "hidden")
	h.fork(id, domaintest.Ptr(1))
	suggest := func(v *principal.Viewer, branch int) (*note.SuggestionOutcome, error) {
		return h.pages.SuggestRevision(t.Context(), v, note.SuggestRevision{ContentID: string(id), Branch: &branch, Title: "s", Body: "s"})
	}
	made, err := suggest(domaintest.Bob(), 1)
	if err != nil || *made.Suggestion.BaseRevision != 0 {
		t.Fatalf("suggestion %+v, %v, want one on revision 0", made, err)
	}
	if _, err := h.pages.DecideSuggestion(t.Context(), domaintest.Ann(), note.DecideSuggestion{ID: made.Suggestion.ID,
		Decision: note.Accept}); err != nil {
		t.Errorf("accepting a suggestion based on the current revision: %v", err)
	}
	for _, branch := range []int{2, 9} { // a hidden one, and none
		_, err = suggest(domaintest.Bob(), branch)
		domaintest.WantFaults(t, err, "NOT_FOUND branch")
		if want := fmt.Sprintf("there is no branch %d, or you may not see it", branch); err != nil && err.Error() != want {
			t.Errorf("branch %d: got %q, want %q", branch, err, want)
		}
	}
	if _, err := suggest(domaintest.Ann(), 2); err != nil {
		t.Errorf("an editor suggests for another branch: %v", err)
	}
	h.Quiet()
	h.WantClean()
}

// A branch has at most 100 locales. Existing locales may still get new revisions.
func TestSaveRevision_LimitsLocales(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	var locales []string
	for _, language := range []string{"de", "en", "fr", "it"} {
		for _, country := range "ABCDEFGIKLMNPRSTUZ" {
			locales = append(locales, fmt.Sprintf("%s_%cE", language, country), fmt.Sprintf("%s_%cR", language, country),
				fmt.Sprintf("%s_%cG", language, country))
		}
	}
	n := 0
	var last string
	for _, locale := range locales {
		_, err := h.pages.SaveRevision(t.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id), Locale: &locale, Title: "t"})
		if n == note.MaxLocales && fault.ReasonOf(err) == fault.ReasonTooMany {
			if r := h.saveUnpublished(id, 1, &last, "again"); r.Number != 1 {
				t.Errorf("the second revision of %s is %d", last, r.Number)
			}
			return
		}
		if fault.CodeOf(err) == fault.Invalid && err != nil {
			continue // no such country
		}
		if err != nil {
			t.Fatalf("locale %d, %s: %v", n, locale, err)
		}
		n, last = n+1, locale
	}
	t.Errorf("no locale was refused after %d", n)
}

// The base of a draft is the revision that was current when it was begun, also if it is published by force.
func TestPublishDraft_ByForceKeepsItsBase(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	ann := domaintest.Ann()
	h.save(id, "one", "a")
	for _, meanwhile := range []func(){func() { h.saveUnpublished(id, 1, nil, "u") }, func() { h.save(id, "two", "b") }} {
		meanwhile()
		if _, err := h.pages.SaveDraft(t.Context(), ann, note.SaveDraft{ContentID: string(id), Title: "draft", Body: "d"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.pages.PublishDraft(t.Context(), ann, note.PublishDraft{ContentID: string(id)})
	domaintest.WantReason(t, err, fault.Conflict, fault.ReasonRevision)
	out, err := h.pages.PublishDraft(t.Context(), ann, note.PublishDraft{ContentID: string(id), Force: true})
	if err != nil || out.Revision.Number != 3 || *out.Revision.BaseRevision != 0 {
		t.Fatalf("published %+v, %v, want revision 3 made from 0", out, err)
	}
	read, err := h.pages.Revision(t.Context(), ann, id, out.Revision.RevisionKey)
	if err != nil || read == nil || *read.BaseRevision != 0 {
		t.Errorf("stored %+v, %v", read, err)
	}
}
