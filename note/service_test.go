package note_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// pagesEnv is a Fixture of Staff with the Service of pages.
type pagesEnv struct {
	*domaintest.Fixture
	pages *note.Service
}

func newPagesEnv(t *testing.T) pagesEnv { return newPagesEnvOn(t, nil) }

// newPagesEnvOn is newPagesEnv on the store that wrap returns for the real one.
func newPagesEnvOn(t *testing.T, wrap func(*domain.Store)) pagesEnv {
	h := domaintest.Staff(t, wrap)
	return pagesEnv{h, openPages(t, h)}
}

// openPages opens the Services of another process on the store of a fixture.
func openPages(t *testing.T, h *domaintest.Fixture) *note.Service {
	t.Helper()
	rt := sched.NewReal() // with locks of its own
	t.Cleanup(rt.Close)
	services, err := domain.Open(t.Context(), domain.Config{Store: h.Store, Runtime: rt, Journal: h.Journal,
		Names: &domaintest.CountingNames{}})
	if err != nil {
		t.Fatal(err)
	}
	return services.Notes
}

// save saves and publishes a revision by ann.
func (h pagesEnv) save(id library.ContentID, title, body string) *note.Revision {
	h.T.Helper()
	out, err := h.pages.SaveRevision(h.T.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id), Title: title,
		Body: body, Publish: true})
	if err != nil {
		h.T.Fatalf("saving %s: %v", title, err)
	}
	return out.Revision
}

// wantText compares the title and the body that a viewer sees; "" means no text.
func (h pagesEnv) wantText(v *principal.Viewer, id library.ContentID, q note.TextQuery, title, body string) {
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
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "first", long)
	shown := h.Content(id)
	if shown.Title != "first" || shown.Version != before.Version+1 || shown.Position <= before.Position {
		t.Errorf("visitors see the text, and the item went from %+v to %+v", before, shown)
	}
	out, err := h.pages.SaveRevision(t.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id), Title: "second", Body: "b"})
	if err != nil || out.Revision.Number != 1 || out.Revision.IsCurrent || !out.Revision.IsWorking {
		t.Fatalf("second revision %+v, %v", out, err)
	}
	if hidden := h.Content(id); hidden.Version != shown.Version || hidden.Position != shown.Position ||
		hidden.LastModified != shown.LastModified {
		t.Errorf("visitors do not see the text, and the item went from %+v to %+v", shown, hidden)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "first", long)
	h.wantText(domaintest.Ann(), id, note.TextQuery{Working: true}, "second", "b")
	h.wantText(domaintest.Bob(), id, note.TextQuery{Working: true}, "", "")
	h.wantText(domaintest.Bob(), id, note.TextQuery{Number: domaintest.Ptr(1)}, "", "")
	_, err = h.pages.SaveRevision(t.Context(), domaintest.Bob(), note.SaveRevision{ContentID: string(id), Title: "t"})
	domaintest.WantFaults(t, err, "FORBIDDEN contentId")
	base := 1
	_, err = h.pages.SaveRevision(t.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id), Title: "t", BaseRevision: &base})
	domaintest.WantReason(t, err, fault.Conflict, fault.ReasonRevision)
	h.Quiet()
	h.WantClean()
}

// Concurrent saves by two processes get numbers without gaps.
func TestSaveRevision_ConcurrentSavesHaveNoGaps(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	services := []*note.Service{h.pages, openPages(t, h.Fixture)}
	numbers := make(chan int, 20)
	var wg sync.WaitGroup
	for i := range cap(numbers) {
		wg.Go(func() {
			for {
				out, err := services[i%2].SaveRevision(t.Context(), domaintest.Ann(),
					note.SaveRevision{ContentID: string(id), Title: "t", Body: strings.Repeat("x", 5000), Publish: true})
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
	h.Quiet()
	h.wantTexts("whatever races a save has lost", 25*time.Hour, cap(numbers))
}

func TestDeleteContent_RemovesThePage(t *testing.T) {
	h := newPagesEnv(t)
	body, locale := strings.Repeat("x", 5000), "en-gb"
	out, err := h.Library.CreateContent(t.Context(), domaintest.Ann(), library.CreateContent{
		Kind: library.Note, Title: "n", Visibility: principal.Public, Body: &body, Locale: &locale})
	if err != nil {
		t.Fatal(err)
	}
	h.wantText(domaintest.Anonymous(), out.ID, note.TextQuery{Locale: &locale}, "n", body)
	if _, err := h.pages.SuggestRevision(t.Context(), domaintest.Bob(), note.SuggestRevision{ContentID: string(out.ID),
		Title: "s", Body: "s"}); err != nil {
		t.Fatal(err)
	}
	h.Delete(out.ID)
	h.Quiet()
	texts, err := h.Store.Texts.ScanTexts(t.Context(), note.TextID{}, 10)
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
	made, err := h.pages.SuggestRevision(t.Context(), domaintest.Bob(), note.SuggestRevision{ContentID: string(id),
		Title: "better", Body: "b"})
	if err != nil || made.Suggestion.State != note.Open || *made.Suggestion.BaseRevision != 0 {
		t.Fatalf("suggestion %+v, %v", made, err)
	}
	decide := func(v *principal.Viewer, d note.Decision) error {
		_, err := h.pages.DecideSuggestion(t.Context(), v, note.DecideSuggestion{ID: made.Suggestion.ID, Decision: d})
		return err
	}
	domaintest.WantFaults(t, decide(domaintest.Bob(), note.Accept), "FORBIDDEN id")
	domaintest.WantFaults(t, decide(domaintest.Ann(), note.Withdraw), "FORBIDDEN id")
	domaintest.WantFaults(t, decide(domaintest.As("u:acme:dan"), note.Reject), "NOT_FOUND id")
	_, err = h.pages.DecideSuggestion(t.Context(), domaintest.Ann(), note.DecideSuggestion{ID: strings.Repeat("0", 32), Decision: note.Reject})
	domaintest.WantFaults(t, err, "NOT_FOUND id")
	if err := decide(domaintest.Ann(), note.Accept); err != nil {
		t.Fatal(err)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "better", "b")
	for _, d := range []note.Decision{note.Accept, note.Reject} {
		domaintest.WantReason(t, decide(domaintest.Ann(), d), fault.Conflict, fault.ReasonVersion)
	}
	domaintest.WantReason(t, decide(domaintest.Bob(), note.Withdraw), fault.Conflict, fault.ReasonVersion)
}

func TestSetCurrentBranch_ChangesWhatVisitorsSee(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.save(id, "one", "a")
	ann := domaintest.Ann()
	made, err := h.pages.CreateBranch(t.Context(), ann, note.CreateBranch{ContentID: string(id), CopyFrom: domaintest.Ptr(1)})
	if err != nil || made.Branch.Number != 2 || made.Branch.IsCurrent || *made.Branch.CopiedFrom != 1 {
		t.Fatalf("branch %+v, %v", made.Branch, err)
	}
	if _, err := h.pages.CreateBranch(t.Context(), ann, note.CreateBranch{ContentID: string(id)}); err != nil {
		t.Fatal(err)
	}
	_, err = h.pages.SetCurrentBranch(t.Context(), ann, note.SetCurrentBranch{ContentID: string(id), Branch: 3})
	domaintest.WantFaults(t, err, "INVALID branch")
	_, err = h.pages.SetCurrentBranch(t.Context(), ann, note.SetCurrentBranch{ContentID: string(id), Branch: 4})
	domaintest.WantFaults(t, err, "NOT_FOUND branch")
	if _, err := h.pages.SaveRevision(t.Context(), ann, note.SaveRevision{ContentID: string(id), Branch: domaintest.Ptr(2),
		Title: "two", Body: "b", Publish: true}); err != nil {
		t.Fatal(err)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "one", "a")
	h.wantText(domaintest.Bob(), id, note.TextQuery{Branch: domaintest.Ptr(2)}, "", "")
	if _, err := h.pages.SetCurrentBranch(t.Context(), ann, note.SetCurrentBranch{ContentID: string(id), Branch: 2}); err != nil {
		t.Fatal(err)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "two", "b")
	if got := h.Content(id).Title; got != "two" {
		t.Errorf("the title of the item is %q", got)
	}
	rolled, err := h.pages.PublishRevision(t.Context(), ann, note.PublishRevision{ContentID: string(id), Branch: 2, Number: 0})
	if err != nil || !rolled.Revision.IsCurrent || rolled.Revision.IsWorking {
		t.Fatalf("rolled back %+v, %v", rolled, err)
	}
	h.wantText(domaintest.Anonymous(), id, note.TextQuery{}, "one", "a")
	if r := h.save(id, "three", "c"); r.Branch != 2 || r.Number != 2 {
		t.Errorf("the save after a rollback is %+v", r.RevisionKey)
	}
}
