package page_test

import (
	"strings"
	"sync"
	"testing"

	"carrel/backend"
	"carrel/backend/backendtest"
	"carrel/core/fault"
	"carrel/library"
	"carrel/page"
	"carrel/principal"
)

// pagesEnv is a Fixture of Staff with the Service of pages.
type pagesEnv struct {
	*backendtest.Fixture
	pages *page.Service
}

func newPagesEnv(t *testing.T) pagesEnv { return newPagesEnvOn(t, nil) }

// newPagesEnvOn is newPagesEnv on the store that wrap returns for the real one.
func newPagesEnvOn(t *testing.T, wrap func(*backend.Store)) pagesEnv {
	h := backendtest.Staff(t, wrap)
	return pagesEnv{h, openPages(t, h)}
}

// openPages opens the Services of another process on the store of a fixture.
func openPages(t *testing.T, h *backendtest.Fixture) *page.Service {
	t.Helper()
	services, err := backend.Open(t.Context(), backend.Config{Store: h.Store, Runtime: h.Runtime, Journal: h.Journal, Names: &backendtest.CountingNames{}})
	if err != nil {
		t.Fatal(err)
	}
	return services.Pages
}

// save saves and publishes a revision by ann.
func (h pagesEnv) save(id library.ContentID, title, body string) *page.Revision {
	h.T.Helper()
	out, err := h.pages.SaveRevision(h.T.Context(), backendtest.Ann(), page.SaveRevision{ContentID: string(id), Title: title, Body: body, Publish: true})
	if err != nil {
		h.T.Fatalf("saving %s: %v", title, err)
	}
	return out.Revision
}

// wantText compares the title and the body that a viewer sees; "" means no text.
func (h pagesEnv) wantText(v *principal.Viewer, id library.ContentID, q page.TextQuery, title, body string) {
	h.T.Helper()
	rs, err := h.pages.Texts(h.T.Context(), v, []library.ContentID{id}, q)
	if err != nil {
		h.T.Fatal(err)
	}
	if rs[0] == nil {
		if title != "" {
			h.T.Errorf("no text, want %q", title)
		}
		return
	}
	bodies, err := h.pages.Bodies(h.T.Context(), rs)
	if err != nil {
		h.T.Fatal(err)
	}
	if rs[0].Title != title || bodies[0] != body {
		h.T.Errorf("%q with %d bytes, want %q with %d", rs[0].Title, len(bodies[0]), title, len(body))
	}
}

func TestSaveRevision_VisitorsSeeWhatIsPublished(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	before := h.Content(id)
	long := strings.Repeat("x", 5000)
	if r := h.save(id, "first", long); r.Number != 0 || !r.IsCurrent || !r.IsWorking {
		t.Errorf("first revision %+v", r)
	}
	h.wantText(backendtest.Anonymous(), id, page.TextQuery{}, "first", long)
	shown := h.Content(id)
	if shown.Title != "first" || shown.Version != before.Version+1 || shown.Position <= before.Position {
		t.Errorf("visitors see the text, and the item went from %+v to %+v", before, shown)
	}
	out, err := h.pages.SaveRevision(t.Context(), backendtest.Ann(), page.SaveRevision{ContentID: string(id), Title: "second", Body: "b"})
	if err != nil || out.Revision.Number != 1 || out.Revision.IsCurrent || !out.Revision.IsWorking {
		t.Fatalf("second revision %+v, %v", out, err)
	}
	if hidden := h.Content(id); hidden.Version != shown.Version || hidden.Position != shown.Position || hidden.LastModified != shown.LastModified {
		t.Errorf("visitors do not see the text, and the item went from %+v to %+v", shown, hidden)
	}
	h.wantText(backendtest.Anonymous(), id, page.TextQuery{}, "first", long)
	h.wantText(backendtest.Ann(), id, page.TextQuery{Working: true}, "second", "b")
	h.wantText(backendtest.Bob(), id, page.TextQuery{Working: true}, "", "")
	h.wantText(backendtest.Bob(), id, page.TextQuery{Number: backendtest.Ptr(1)}, "", "")
	_, err = h.pages.SaveRevision(t.Context(), backendtest.Bob(), page.SaveRevision{ContentID: string(id), Title: "t"})
	backendtest.WantFaults(t, err, "FORBIDDEN contentId")
	base := 1
	_, err = h.pages.SaveRevision(t.Context(), backendtest.Ann(), page.SaveRevision{ContentID: string(id), Title: "t", BaseRevision: &base})
	backendtest.WantReason(t, err, fault.Conflict, fault.ReasonRevision)
	h.Quiet()
	h.WantClean()
}

// Concurrent saves by two processes get numbers without gaps.
func TestSaveRevision_ConcurrentSavesHaveNoGaps(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	services := []*page.Service{h.pages, openPages(t, h.Fixture)}
	numbers := make(chan int, 20)
	var wg sync.WaitGroup
	for i := range cap(numbers) {
		wg.Go(func() {
			for {
				out, err := services[i%2].SaveRevision(t.Context(), backendtest.Ann(),
					page.SaveRevision{ContentID: string(id), Title: "t", Body: strings.Repeat("x", 5000), Publish: true})
				if fault.ReasonOf(err) == fault.ReasonContention {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				numbers <- out.Revision.Number
				return
			}
		})
	}
	wg.Wait()
	close(numbers)
	got := map[int]bool{}
	for n := range numbers {
		got[n] = true
	}
	for n := range cap(numbers) {
		if !got[n] {
			t.Errorf("no revision has number %d: %v", n, got)
		}
	}
}

func TestDeleteContent_RemovesThePage(t *testing.T) {
	h := newPagesEnv(t)
	body, locale := strings.Repeat("x", 5000), "en-gb"
	out, err := h.Library.CreateContent(t.Context(), backendtest.Ann(), library.CreateContent{
		Kind: library.Note, Title: "n", Visibility: principal.Public, Body: &body, Locale: &locale})
	if err != nil {
		t.Fatal(err)
	}
	h.wantText(backendtest.Anonymous(), out.ID, page.TextQuery{Locale: &locale}, "n", body)
	if _, err := h.pages.SuggestRevision(t.Context(), backendtest.Bob(), page.SuggestRevision{ContentID: string(out.ID), Title: "s", Body: "s"}); err != nil {
		t.Fatal(err)
	}
	h.Delete(out.ID)
	h.Quiet()
	texts, err := h.Store.Texts.ScanTexts(t.Context(), page.TextID{}, 10)
	if err != nil || len(texts) != 0 {
		t.Errorf("remaining texts: %+v, %v", texts, err)
	}
	for kind := library.FirstRowKind; kind < library.FirstRowKind+3; kind++ {
		rows, err := h.Store.Contents.PageRows(t.Context(), library.RowSlice{Content: out.ID, Kind: kind, Limit: 10})
		if err != nil || len(rows) != 0 {
			t.Errorf("remaining rows of kind %d: %+v, %v", kind, rows, err)
		}
	}
}

func TestSuggestions_AreDecidedOnce(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.save(id, "first", "a")
	made, err := h.pages.SuggestRevision(t.Context(), backendtest.Bob(), page.SuggestRevision{ContentID: string(id), Title: "better", Body: "b"})
	if err != nil || made.Suggestion.State != page.Open || *made.Suggestion.BaseRevision != 0 {
		t.Fatalf("suggestion %+v, %v", made, err)
	}
	decide := func(v *principal.Viewer, d page.Decision) error {
		_, err := h.pages.DecideSuggestion(t.Context(), v, page.DecideSuggestion{ID: made.Suggestion.ID, Decision: d})
		return err
	}
	backendtest.WantFaults(t, decide(backendtest.Bob(), page.Accept), "FORBIDDEN id")
	backendtest.WantFaults(t, decide(backendtest.Ann(), page.Withdraw), "FORBIDDEN id")
	backendtest.WantFaults(t, decide(backendtest.As("u:acme:dan"), page.Reject), "NOT_FOUND id")
	_, err = h.pages.DecideSuggestion(t.Context(), backendtest.Ann(), page.DecideSuggestion{ID: strings.Repeat("0", 32), Decision: page.Reject})
	backendtest.WantFaults(t, err, "NOT_FOUND id")
	if err := decide(backendtest.Ann(), page.Accept); err != nil {
		t.Fatal(err)
	}
	h.wantText(backendtest.Anonymous(), id, page.TextQuery{}, "better", "b")
	for _, d := range []page.Decision{page.Accept, page.Reject} {
		backendtest.WantReason(t, decide(backendtest.Ann(), d), fault.Conflict, fault.ReasonVersion)
	}
	backendtest.WantReason(t, decide(backendtest.Bob(), page.Withdraw), fault.Conflict, fault.ReasonVersion)
}

func TestSetCurrentBranch_ChangesWhatVisitorsSee(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.save(id, "one", "a")
	ann := backendtest.Ann()
	made, err := h.pages.CreateBranch(t.Context(), ann, page.CreateBranch{ContentID: string(id), CopyFrom: backendtest.Ptr(1)})
	if err != nil || made.Branch.Number != 2 || made.Branch.IsCurrent || *made.Branch.CopiedFrom != 1 {
		t.Fatalf("branch %+v, %v", made.Branch, err)
	}
	if _, err := h.pages.CreateBranch(t.Context(), ann, page.CreateBranch{ContentID: string(id)}); err != nil {
		t.Fatal(err)
	}
	_, err = h.pages.SetCurrentBranch(t.Context(), ann, page.SetCurrentBranch{ContentID: string(id), Branch: 3})
	backendtest.WantFaults(t, err, "INVALID branch")
	_, err = h.pages.SetCurrentBranch(t.Context(), ann, page.SetCurrentBranch{ContentID: string(id), Branch: 4})
	backendtest.WantFaults(t, err, "NOT_FOUND branch")
	if _, err := h.pages.SaveRevision(t.Context(), ann, page.SaveRevision{ContentID: string(id), Branch: backendtest.Ptr(2), Title: "two", Body: "b", Publish: true}); err != nil {
		t.Fatal(err)
	}
	h.wantText(backendtest.Anonymous(), id, page.TextQuery{}, "one", "a")
	h.wantText(backendtest.Bob(), id, page.TextQuery{Branch: backendtest.Ptr(2)}, "", "")
	if _, err := h.pages.SetCurrentBranch(t.Context(), ann, page.SetCurrentBranch{ContentID: string(id), Branch: 2}); err != nil {
		t.Fatal(err)
	}
	h.wantText(backendtest.Anonymous(), id, page.TextQuery{}, "two", "b")
	if got := h.Content(id).Title; got != "two" {
		t.Errorf("the title of the item is %q", got)
	}
	rolled, err := h.pages.PublishRevision(t.Context(), ann, page.PublishRevision{ContentID: string(id), Branch: 2, Number: 0})
	if err != nil || !rolled.Revision.IsCurrent || rolled.Revision.IsWorking {
		t.Fatalf("rolled back %+v, %v", rolled, err)
	}
	h.wantText(backendtest.Anonymous(), id, page.TextQuery{}, "one", "a")
	if r := h.save(id, "three", "c"); r.Branch != 2 || r.Number != 2 {
		t.Errorf("the save after a rollback is %+v", r.RevisionKey)
	}
}
