package interchange_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/clock"
	"carrel/core/journal"
	"carrel/core/sched"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/interchange"
	"carrel/library"
	"carrel/note"
	"carrel/pebblestore"
	"carrel/principal"
)

// ticking is the real runtime with a clock that advances by a second whenever it is read.
type ticking struct {
	*sched.Real
	mu sync.Mutex
	at time.Time
}

func (r *ticking) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = r.at.Add(time.Second)
	return r.at
}

// servicesAt returns all Services on a store, with a ticking clock that starts at a time.
func servicesAt(t *testing.T, store domain.Store, from time.Time) (*domain.Services, *ticking) {
	t.Helper()
	rt := &ticking{Real: sched.NewReal(), at: from}
	t.Cleanup(rt.Close)
	return domaintest.Open(t, domain.Config{Store: store, Runtime: rt, Names: unnamed{},
		Journal: journal.New(t.Context(), store.Journal, rt, nil)}), rt
}

const pagesWorld = `{"type":"user","id":"u:demo:ann","displayName":"Ann","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00Z"}
{"type":"user","id":"u:demo:ben","displayName":"Ben","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00Z"}
{"type":"content","id":"c:demo:a","kind":"NOTE","title":"A","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
{"type":"content","id":"c:demo:b","kind":"NOTE","title":"B","visibility":"PRIVATE","createdAt":"2024-01-01T00:00:00Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"},{"principalId":"u:demo:ben","role":"EDITOR"}]}
{"type":"content","id":"c:demo:c","kind":"NOTE","title":"C","visibility":"PUBLIC","createdAt":"2024-01-01T00:00:00Z","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}
`

// writing calls the Service of pages to write texts.
type writing struct {
	t     *testing.T
	pages *note.Service
}

func (w writing) done(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w writing) save(in note.SaveRevision) {
	w.t.Helper()
	_, err := w.pages.SaveRevision(w.t.Context(), ann(), in)
	w.done(err)
}

func (w writing) draft(v *principal.Viewer, in note.SaveDraft) {
	w.t.Helper()
	_, err := w.pages.SaveDraft(w.t.Context(), v, in)
	w.done(err)
}

func (w writing) suggest(in note.SuggestRevision, decided note.Decision) {
	w.t.Helper()
	made, err := w.pages.SuggestRevision(w.t.Context(), ben(), in)
	w.done(err)
	if decided != 0 {
		by := ann()
		if decided == note.Withdraw {
			by = ben()
		}
		_, err := w.pages.DecideSuggestion(w.t.Context(), by, note.DecideSuggestion{ID: made.Suggestion.ID, Decision: decided, Force: true})
		w.done(err)
	}
}

func ann() *principal.Viewer { return &principal.Viewer{User: "u:demo:ann"} }
func ben() *principal.Viewer { return &principal.Viewer{User: "u:demo:ben"} }

// fillPages writes texts of all kinds: short and long ones, in three branches and locales,
// published, rolled back and hidden, suggestions in every state, and drafts of two users.
func fillPages(t *testing.T, pages *note.Service) {
	w := writing{t, pages}
	ctx, long := t.Context(), strings.Repeat("Ä long \x00 \u2028 <text>\r\n", 4000)
	a, b, c := "c:demo:a", "c:demo:b", "c:demo:c"
	de, gb := "de", "en-gb"
	w.save(note.SaveRevision{ContentID: a, Locale: &de, Title: "Eins", Body: long, Publish: true})
	w.save(note.SaveRevision{ContentID: a, Locale: &de, Title: "Zwei", Body: "", Publish: true, BaseRevision: domaintest.Ptr(0)})
	w.save(note.SaveRevision{ContentID: a, Locale: &gb, Title: "One", Body: "a\nb", Publish: true})
	w.save(note.SaveRevision{ContentID: a, Title: "Hidden", Body: "c"})
	for n := range 45 {
		w.save(note.SaveRevision{ContentID: a, Locale: &gb, Title: fmt.Sprintf("%d", n), Body: "d", Publish: n%2 == 0})
	}
	_, err := pages.CreateBranch(ctx, ann(), note.CreateBranch{ContentID: a, CopyFrom: domaintest.Ptr(1)})
	w.done(err)
	_, err = pages.CreateBranch(ctx, ann(), note.CreateBranch{ContentID: a})
	w.done(err)
	w.save(note.SaveRevision{ContentID: a, Branch: domaintest.Ptr(2), Locale: &de, Title: "Drei", Body: long, Publish: true})
	_, err = pages.PublishRevision(ctx, ann(), note.PublishRevision{ContentID: a, Branch: 2, Locale: &de, Number: 0})
	w.done(err)
	_, err = pages.SetCurrentBranch(ctx, ann(), note.SetCurrentBranch{ContentID: a, Branch: 2})
	w.done(err)
	_, err = pages.SetCurrentBranch(ctx, ann(), note.SetCurrentBranch{ContentID: a, Branch: 3, Working: true})
	w.done(err)
	why := "why"
	w.suggest(note.SuggestRevision{ContentID: a, Locale: &de, Title: "Offen", Body: long, Note: &why}, 0)
	w.suggest(note.SuggestRevision{ContentID: a, Locale: &gb, Title: "Taken", Body: long}, note.Accept)
	w.suggest(note.SuggestRevision{ContentID: a, Title: "Not", Body: "s"}, note.Reject)
	w.suggest(note.SuggestRevision{ContentID: a, Title: "Back", Body: ""}, note.Withdraw)

	// The first text is in another branch than the current one.
	_, err = pages.CreateBranch(ctx, ann(), note.CreateBranch{ContentID: b})
	w.done(err)
	w.save(note.SaveRevision{ContentID: b, Branch: domaintest.Ptr(2), Locale: &gb, Title: "Other branch", Body: "e"})
	w.save(note.SaveRevision{ContentID: b, Locale: &de, Title: "This branch", Body: "f", Publish: true})
	w.draft(ann(), note.SaveDraft{ContentID: b, Locale: &de, Title: "Draft", Body: long})
	w.draft(ann(), note.SaveDraft{ContentID: a, Title: "", Body: "g"})
	w.draft(ann(), note.SaveDraft{ContentID: b, Locale: &de, Title: "Draft again", Body: long + "!"})
	w.draft(ben(), note.SaveDraft{ContentID: b, Branch: domaintest.Ptr(2), Body: "h", BaseRevision: nil})
	_ = c // has no text
}

// pagesOf describes all pages of a store. Ids and texts that an import creates anew are
// described by their bodies.
func pagesOf(t *testing.T, store domain.Store, s *domain.Services) []string {
	t.Helper()
	var lines []string
	for _, v := range []*principal.Viewer{ann(), ben()} {
		for _, id := range []library.ContentID{"c:demo:a", "c:demo:b", "c:demo:c"} {
			for branch := 1; branch <= 3; branch++ {
				b, err := s.Notes.Branch(t.Context(), v, id, &branch, false)
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					continue
				}
				lines = append(lines, fmt.Sprintf("%s branch %d %t %t %v %d", id, b.Number, b.IsCurrent, b.IsWorking, deref(b.CopiedFrom), b.CreatedAt))
				for _, locale := range []string{"", "de", "en_GB"} {
					for n := 0; ; n++ {
						r, err := s.Notes.Revision(t.Context(), v, id, note.RevisionKey{Branch: branch, Locale: locale, Number: n})
						if err != nil {
							t.Fatal(err)
						}
						if r == nil {
							break
						}
						bodies, err := s.Notes.Bodies(t.Context(), []*note.Revision{r})
						if err != nil {
							t.Fatal(err)
						}
						lines = append(lines, fmt.Sprintf("%s %+v %q %q %s %d %v %t %t", id, r.RevisionKey, r.Title, bodies[0], r.Author,
							r.CreatedAt, deref(r.BaseRevision), r.IsCurrent, r.IsWorking))
					}
				}
			}
		}
		lines = append(lines, draftsOf(t, store, s, v)...)
	}
	return append(lines, suggestionsOf(t, store, s)...)
}

// draftsOf describes the drafts of a user, newest first.
func draftsOf(t *testing.T, store domain.Store, s *domain.Services, v *principal.Viewer) (lines []string) {
	t.Helper()
	rows, err := store.Texts.ListDrafts(t.Context(), v.User)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		parts := strings.Split(row.Name, "/")
		var branch int
		if _, err := fmt.Sscanf(parts[1], "%d", &branch); err != nil {
			t.Fatal(err)
		}
		d, err := s.Notes.Draft(t.Context(), v, library.ContentID(parts[0]), branch, parts[2])
		if err != nil || d == nil {
			t.Fatal(d, err)
		}
		body, err := s.Notes.Body(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("draft %s %d %q %q %q %v %d %d %t", d.Content.ID, d.Branch, d.Locale, d.Title,
			body, deref(d.BaseRevision), d.Version, d.UpdatedAt, d.IsStale))
	}
	return lines
}

// suggestionsOf describes all suggestions.
func suggestionsOf(t *testing.T, store domain.Store, s *domain.Services) (lines []string) {
	t.Helper()
	rows, err := store.Contents.PageRows(t.Context(), library.RowSlice{Content: "c:demo:a", Kind: library.FirstRowKind + 2, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		g, err := s.Notes.Suggestion(t.Context(), ann(), row.Key)
		if err != nil || g == nil {
			t.Fatal(g, err)
		}
		body, err := s.Notes.Body(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("suggestion %s %d %q %q %q %v %s %v %s %d %s %v", g.ID, g.Branch, g.Locale, g.Title,
			body, deref(g.Note), g.Author,
			deref(g.BaseRevision), g.State, g.CreatedAt, g.DecidedBy, deref(g.Resulting)))
	}
	return lines
}

func deref[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func TestRoundTrip_PagesStayTheSame(t *testing.T) {
	from := openedStore(t)
	services, rt := servicesAt(t, from.Store, time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	if _, faults, err := load(t, services, pagesWorld, interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	fillPages(t, services.Notes)
	at := clock.Of(rt.Now().Add(time.Hour))
	file := wantRoundTrip(t, from.Store, at)
	for kind, want := range map[string]int{"branch": 3, "revision": 2 + 46 + 1 + 3 + 1 + 2, "suggestion": 4, "draft": 3} {
		if got := strings.Count(file, `{"type":"`+kind+`"`); got != want {
			t.Errorf("%d lines of %s, want %d", got, kind, want)
		}
	}
	to := openedStore(t)
	imported, _ := servicesAt(t, to.Store, at.Time())
	for _, unchanged := range []bool{false, true} {
		sum, faults, err := load(t, imported, file, interchange.Options{})
		if err != nil || unchanged && sum.Unchanged != sum.Lines || !unchanged && sum.Created != sum.Lines {
			t.Fatalf("imported, repeatedly %t: %v, %v: %q", unchanged, sum, err, faults)
		}
	}
	if diff := cmp.Diff(pagesOf(t, from.Store, services), pagesOf(t, to.Store, imported)); diff != "" {
		t.Errorf("the pages differ:\n%.4000s", diff)
	}
	// Numbers continue, and editors find the existing texts.
	writing{t, imported.Notes}.save(note.SaveRevision{ContentID: "c:demo:a", Branch: domaintest.Ptr(1),
		Locale: domaintest.Ptr("de"), Title: "Next"})
	r, err := imported.Notes.Revision(t.Context(), ann(), "c:demo:a", note.RevisionKey{Branch: 1, Locale: "de", Number: 2})
	if err != nil || r == nil || r.Title != "Next" {
		t.Errorf("the next revision is %+v, %v", r, err)
	}
}

// An import that ended between the row of a suggestion and its text is repeated.
func TestImport_RepetitionStoresMissingTexts(t *testing.T) {
	store := openedStore(t)
	services, rt := servicesAt(t, store.Store, time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	if _, faults, err := load(t, services, pagesWorld, interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	fillPages(t, services.Notes)
	before := exported(t, services)
	rows, err := store.Contents.PageRows(t.Context(), library.RowSlice{Content: "c:demo:a", Kind: library.FirstRowKind + 2, Limit: 1})
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	id, _ := note.ParseTextID(rows[0].Key)
	if err := store.Texts.DropTexts(t.Context(), []note.TextID{id}); err != nil {
		t.Fatal(err)
	}
	s := serviceAt(t, store.Store, clock.Of(rt.Now().Add(time.Hour)))
	sum, faults, err := load(t, s, before, interchange.Options{})
	if err != nil || sum.Created != 1 || sum.Unchanged != sum.Lines-1 {
		t.Errorf("imported again: %v, %v: %q", sum, err, faults)
	}
	if diff := cmp.Diff(before, exported(t, s)); diff != "" {
		t.Errorf("the export differs:\n%.2000s", diff)
	}
}

// The longest text fits in a line, whatever its characters.
func TestRoundTrip_LongestTextFitsInALine(t *testing.T) {
	from := openedStore(t)
	services, rt := servicesAt(t, from.Store, time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	if _, faults, err := load(t, services, pagesWorld, interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	w := writing{t, services.Notes}
	w.save(note.SaveRevision{ContentID: "c:demo:a", Title: "Controls", Body: strings.Repeat("\x01", library.MaxBody), Publish: true})
	w.save(note.SaveRevision{ContentID: "c:demo:a", Title: "Letters", Body: strings.Repeat("<", library.MaxBody)})
	wantRoundTrip(t, from.Store, clock.Of(rt.Now().Add(time.Hour)))
}

func openedStore(t *testing.T) *pebblestore.Store {
	t.Helper()
	store := emptyStore(t)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A line is refused if its values differ from the stored ones, or if it comes too early.
func TestImport_RefusesInvalidPages(t *testing.T) {
	store := openedStore(t)
	services, rt := servicesAt(t, store.Store, time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC))
	if _, faults, err := load(t, services, pagesWorld, interchange.Options{}); err != nil {
		t.Fatalf("%v: %q", err, faults)
	}
	fillPages(t, services.Notes)
	before := exported(t, services)
	s := serviceAt(t, store.Store, clock.Of(rt.Now().Add(time.Hour)))
	first := func(kind string) string {
		lines := strings.Split(before, "\n")
		return lines[slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"type":"`+kind+`"`) })]
	}
	link := `{"type":"content","id":"c:demo:l","kind":"LINK","title":"L","link":"https://example.com/","visibility":"PUBLIC","members":[{"principalId":"u:demo:ann","role":"MANAGER"}]}`
	if _, faults, err := load(t, s, link+"\n", interchange.Options{}); err != nil {
		t.Fatal(err, faults)
	}
	for _, c := range []struct{ kind, old, new, want string }{
		{"branch", `"createdBy":"u:demo:ann"`, `"createdBy":"u:demo:ben"`, "a branch of this id exists already and differs"},
		{"branch", `"number":2`, `"number":9`, "branch 9 must come after branch 8"},
		{"branch", `"number":2`, `"number":1`, "must be a whole number from 2"},
		{"branch", `"contentId":"c:demo:a"`, `"contentId":"c:demo:none"`, "there is no c:demo:none; give it a line before this one"},
		{"branch", `"contentId":"c:demo:a"`, `"contentId":"c:demo:l"`, "a LINK has no text"},
		{"branch", `"createdAt":"2024`, `"createdAt":"2034`, "it must be in the past"},
		{"revision", `"title":"Eins"`, `"title":"Zwei"`, "a revision of this id exists already and differs"},
		{"revision", `"body":"Ä`, `"body":"A`, "a revision of this id exists already and differs"},
		{"revision", `"author":"u:demo:ann"`, `"author":"u:demo:ben"`, "a revision of this id exists already and differs"},
		{"revision", `"author":"u:demo:ann"`, `"author":"g:demo:ann"`, "must begin with u:"},
		{"revision", `"number":0`, `"number":77`, "revision 77 must come after revision 76"},
		{"revision", `"number":0`, `"number":-1`, "must be a whole number from 0"},
		{"revision", `"number":0,`, ``, "number: is missing"},
		{"revision", `"branch":1`, `"branch":4`, "there is no branch 4"},
		{"revision", `"locale":"de"`, `"locale":"deutsch"`, "locale"},
		{"revision", `"author"`, `"suggestion":"x","author"`, "not the id of a suggestion"},
		{"suggestion", `"title":"Offen"`, `"title":"Zu"`, "a suggestion of this id exists already and differs"},
		{"suggestion", `"note":"why"`, `"note":"how"`, "a suggestion of this id exists already and differs"},
		{"suggestion", `"contentId":"c:demo:a"`, `"contentId":"c:demo:b"`, "a suggestion of this id exists already and differs"},
		{"suggestion", `"state":"OPEN"`, `"state":"REJECTED"`, "decidedBy"},
		{"suggestion", `"state":"OPEN"`, `"state":"MAYBE"`, "a suggestion is OPEN, ACCEPTED, REJECTED or WITHDRAWN"},
		{"suggestion", `"state":"OPEN"`, `"state":"OPEN","revision":3`, "revision"},
		{"suggestion", `"id":"0`, `"id":"x`, "not the id of a suggestion"},
		{"draft", `"version":1`, `"version":2`, "a draft of this id exists already and differs"},
		{"draft", `"body":"g"`, `"body":"G"`, "a draft of this id exists already and differs"},
		{"draft", `"author":"u:demo:ann"`, `"author":"u:demo:none"`, "u:demo:none"},
		{"draft", `"branch":2`, `"branch":7`, "there is no branch 7"},
		{"draft", `"contentId":"c:demo:a"`, `"contentId":"c:demo:none"`, "there is no c:demo:none"},
	} {
		line := strings.Replace(first(c.kind), c.old, c.new, 1)
		if line == first(c.kind) {
			t.Fatalf("%s has no %s:\n%.400s", c.kind, c.old, line)
		}
		_, faults, err := load(t, s, line+"\n", interchange.Options{})
		if err == nil || len(faults) != 1 || !strings.Contains(faults[0], c.want) {
			t.Errorf("%s with %s: %.300q, %v, want %s", c.kind, c.new, faults, err, c.want)
		}
	}
	if diff := cmp.Diff(before, strings.Replace(exported(t, s), linkLine(exported(t, s)), "", 1)); diff != "" {
		t.Errorf("refused lines have changed:\n%.2000s", diff)
	}
}

// linkLine returns the line of the item that the test has added.
func linkLine(file string) string {
	for _, l := range strings.SplitAfter(file, "\n") {
		if strings.Contains(l, `"c:demo:l"`) {
			return l
		}
	}
	return ""
}
