package note_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"carrel/core/cursor"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/exchange"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// draft saves a draft of ann.
func (h pagesEnv) draft(id library.ContentID, body string) *note.Draft {
	h.T.Helper()
	d, err := h.pages.SaveDraft(h.T.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), Title: "draft", Body: body})
	if err != nil {
		h.T.Fatal(err)
	}
	return d
}

// bodies returns the bodies of the drafts of ann, which it lists in pages of two.
func (h pagesEnv) bodies() string {
	h.T.Helper()
	var all []string
	args := cursor.PageArgs{First: domaintest.Ptr(2)}
	for range 100 {
		c, err := h.pages.Drafts(h.T.Context(), domaintest.Ann(), "u:acme:ann", args)
		if err != nil {
			h.T.Fatal(err)
		}
		for _, d := range c.Nodes() {
			body, err := h.pages.Body(h.T.Context(), d)
			if err != nil {
				h.T.Fatal(err)
			}
			all = append(all, fmt.Sprintf("%.5s", body))
		}
		if !c.PageInfo.HasNextPage {
			break
		}
		args.After = c.PageInfo.EndCursor()
	}
	return strings.Join(all, " ")
}

// wantStored compares how many texts are stored, before any scrub.
func (h pagesEnv) wantStored(want int) {
	h.T.Helper()
	texts, err := h.Store.Texts.ScanTexts(h.T.Context(), note.TextID{}, 100)
	if err != nil || len(texts) != want {
		h.T.Errorf("%d texts are stored, want %d: %+v, %v", len(texts), want, texts, err)
	}
}

func TestDrafts_AreListedNewestFirst(t *testing.T) {
	h := newPagesEnv(t)
	var ids []library.ContentID
	for n := range 5 {
		ids = append(ids, h.Note(fmt.Sprint("n", n), principal.Public))
		h.draft(ids[n], fmt.Sprint("body", n))
	}
	h.draft(ids[1], "again")
	if got := h.bodies(); got != "again body4 body3 body2 body0" {
		t.Errorf("the drafts are %s", got)
	}
	if _, err := h.After(-time.Hour).Notes.SaveDraft(t.Context(), domaintest.Ann(),
		note.SaveDraft{ContentID: string(ids[1]), Body: "later"}); err != nil { // by a gateway whose clock is behind
		t.Fatal(err)
	}
	h.Delete(ids[3])
	if got := h.bodies(); got != "later body4 body2 body0" {
		t.Errorf("without the draft of a deleted item they are %s", got)
	}
}

// A save removes the text of the version before.
func TestSaveDraft_RemovesTheFormerText(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	long := strings.Repeat("x", 5000)
	h.draft(id, long)
	h.draft(id, long)
	h.wantStored(1)
	h.draft(id, "short")
	h.wantStored(0)
	h.draft(id, long)
	if ok, err := h.pages.DiscardDraft(t.Context(), domaintest.Ann(), note.DiscardDraft{ContentID: string(id)}); err != nil || !ok {
		t.Errorf("discarding: %t, %v", ok, err)
	}
	h.wantStored(0)
}

// A draft is removed before its publication returns.
func TestPublishDraft_RemovesTheDraft(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.draft(id, "body")
	out, err := h.pages.PublishDraft(t.Context(), domaintest.Ann(), note.PublishDraft{ContentID: string(id)})
	if err != nil || out.Revision.Number != 0 || out.Revision.BaseRevision != nil {
		t.Fatalf("published as %+v, %v", out, err)
	}
	if rows, err := h.Store.Texts.ListDrafts(t.Context(), "u:acme:ann"); err != nil || len(rows) != 0 {
		t.Errorf("stored drafts: %+v, %v", rows, err)
	}
}

// dropless is a store that temporarily fails to remove drafts.
type dropless struct {
	note.Store
	broken bool
}

func (d *dropless) DropDraft(ctx context.Context, user principal.ID, name string, token note.TextID) error {
	if d.broken {
		return fault.Unavailablef(nil, "the disk is on fire")
	}
	return d.Store.DropDraft(ctx, user, name, token)
}

// A draft whose publication was interrupted before the draft was removed is not published or shown
// again.
func TestPublishDraft_InterruptedRemovalDoesNotPublishAgain(t *testing.T) {
	for name, use := range map[string]func(h pagesEnv, id library.ContentID) string{
		"listed": func(h pagesEnv, _ library.ContentID) string { return h.bodies() },
		"read": func(h pagesEnv, id library.ContentID) string {
			d, err := h.pages.Draft(h.T.Context(), domaintest.Ann(), id, 1, "")
			return strings.TrimSuffix(fmt.Sprint(d, err), "<nil> <nil>")
		},
		"discarded": func(h pagesEnv, id library.ContentID) string {
			ok, err := h.pages.DiscardDraft(h.T.Context(), domaintest.Ann(), note.DiscardDraft{ContentID: string(id)})
			return strings.TrimSuffix(fmt.Sprint(ok, err), "false <nil>")
		},
		"exported": func(h pagesEnv, id library.ContentID) (lines string) {
			err := h.pages.Upkeep.ExportDrafts(h.T.Context(), "u:acme:ann", func(l *exchange.Line) error {
				lines += fmt.Sprintf("%+v", l)
				return nil
			})
			if err != nil {
				return err.Error()
			}
			h.bodies() // removes it, as a listing does
			return lines
		},
		"saved": func(h pagesEnv, id library.ContentID) string {
			d := h.draft(id, "next")
			if d.Version != 1 || *d.BaseRevision != 1 || d.IsStale {
				return fmt.Sprintf("the next draft is %+v", d)
			}
			return ""
		},
		"published": func(h pagesEnv, id library.ContentID) string {
			out, err := h.pages.PublishDraft(h.T.Context(), domaintest.Ann(), note.PublishDraft{ContentID: string(id)})
			if err != nil || out.Revision.Number != 1 {
				return fmt.Sprintf("published as %+v, %v", out, err)
			}
			return h.bodies()
		},
	} {
		store := &dropless{}
		fixture := domaintest.Staff(t, func(s *domain.Store) { store.Store, s.Texts = s.Texts, store })
		h := pagesEnv{fixture, openPages(t, fixture)}
		id := h.Note("n", principal.Public)
		h.save(id, "first", "a")
		h.draft(id, strings.Repeat("x", 5000))
		store.broken = true
		out, err := h.pages.PublishDraft(t.Context(), domaintest.Ann(), note.PublishDraft{ContentID: string(id)})
		if err != nil || out.Revision.Number != 1 {
			t.Fatalf("publishing: %+v, %v", out, err)
		}
		store.broken = false
		h.wantStored(2) // of the revision, and of the draft
		h.pages = fixture.After(25 * time.Hour).Notes
		if got := use(h, id); got != "" {
			t.Errorf("%s a day later: %s", name, got)
		}
		h.wantStored(1)
	}
}

// If a user has too many drafts, those of deleted items are removed.
func TestSaveDraft_LimitsDrafts(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	gone := h.Note("gone", principal.Public)
	for n := 2; n <= note.MaxDrafts; n++ {
		if _, err := h.pages.CreateBranch(t.Context(), domaintest.Ann(), note.CreateBranch{ContentID: string(id)}); err != nil {
			t.Fatal(err)
		}
		branch := n
		if _, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), Branch: &branch}); err != nil {
			t.Fatalf("draft %d: %v", n, err)
		}
	}
	h.draft(gone, "x")
	_, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id)})
	domaintest.WantReason(t, err, fault.Exhausted, fault.ReasonTooMany)
	two := 2
	if _, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), Branch: &two}); err != nil {
		t.Errorf("an existing draft: %v", err)
	}
	h.Delete(gone)
	h.draft(id, "y")
}

// The cursor of a page continues where the scan stopped, even if it found nothing.
func TestSuggestions_ScanIsBounded(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	first, err := h.pages.SuggestRevision(t.Context(), domaintest.Bob(), note.SuggestRevision{ContentID: string(id), Title: "bob's"})
	if err != nil {
		t.Fatal(err)
	}
	for range 250 {
		out, err := h.pages.SuggestRevision(t.Context(), domaintest.Ann(), note.SuggestRevision{ContentID: string(id), Title: "ann's"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.pages.DecideSuggestion(t.Context(), domaintest.Ann(), note.DecideSuggestion{ID: out.Suggestion.ID,
			Decision: note.Withdraw}); err != nil {
			t.Fatal(err)
		}
	}
	empty, err := h.pages.Suggestions(t.Context(), domaintest.Bob(), id, nil, cursor.PageArgs{})
	if err != nil || len(empty.Edges) != 0 || !empty.PageInfo.HasNextPage {
		t.Fatalf("the first page: %+v, %v", empty, err)
	}
	rest, err := h.pages.Suggestions(t.Context(), domaintest.Bob(), id, nil, cursor.PageArgs{After: empty.PageInfo.EndCursor()})
	if err != nil || len(rest.Edges) != 1 || rest.Edges[0].Node.ID != first.Suggestion.ID || rest.PageInfo.HasNextPage {
		t.Fatalf("the rest: %+v, %v", rest, err)
	}
}

// A page that has space for all suggestions reports that there are no more.
func TestSuggestions_LastPageHasNoNextPage(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	for _, title := range []string{"a", "b", "c"} {
		if _, err := h.pages.SuggestRevision(t.Context(), domaintest.Bob(), note.SuggestRevision{ContentID: string(id),
			Title: title}); err != nil {
			t.Fatal(err)
		}
	}
	for size, more := range map[int]bool{1: true, 2: true, 3: false, 4: false} {
		c, err := h.pages.Suggestions(t.Context(), domaintest.Ann(), id, nil, cursor.PageArgs{First: &size})
		if err != nil || len(c.Edges) != min(size, 3) || c.PageInfo.HasNextPage != more || c.Edges[0].Node.Title != "c" {
			t.Errorf("a page of %d: %+v, %v", size, c, err)
		}
	}
}

// A repeated save returns the current state of the revision.
func TestSaveRevision_RepetitionReturnsTheCurrentState(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	in := note.SaveRevision{ContentID: string(id), Title: "keyed", Publish: true, IdempotencyKey: domaintest.Ptr("k")}
	made, err := h.pages.SaveRevision(t.Context(), domaintest.Ann(), in)
	if err != nil || !made.Revision.IsCurrent || !made.Revision.IsWorking {
		t.Fatalf("%+v, %v", made, err)
	}
	h.save(id, "next", "")
	again, err := h.pages.SaveRevision(t.Context(), domaintest.Ann(), in)
	if err != nil || again.Revision.Number != 0 || again.Revision.Title != "keyed" || again.Revision.IsCurrent || again.Revision.IsWorking {
		t.Errorf("the repetition: %+v, %v", again.Revision, err)
	}
}

func TestBranches_PagesListEachBranchOnce(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	for range 4 {
		if _, err := h.pages.CreateBranch(t.Context(), domaintest.Ann(), note.CreateBranch{ContentID: string(id)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	args := cursor.PageArgs{First: domaintest.Ptr(2)}
	for range 3 {
		c, err := h.pages.Branches(t.Context(), domaintest.Ann(), id, args)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range c.Nodes() {
			got = append(got, b.Number)
		}
		if c.PageInfo.HasPreviousPage != (args.After != nil) || c.PageInfo.HasNextPage != (len(got) < 5) {
			t.Errorf("after %v: %+v", got, c.PageInfo)
		}
		args.After = c.PageInfo.EndCursor()
	}
	if fmt.Sprint(got) != "[1 2 3 4 5]" {
		t.Errorf("branches %v", got)
	}
}

// If the text was made from another version, the error has the current version, 0 if there is no
// draft.
func TestSaveDraft_ReportsTheCurrentVersion(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	for version := range 3 {
		_, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), ExpectedVersion: domaintest.Ptr(7)})
		domaintest.WantFaults(t, err, "CONFLICT expectedVersion")
		if f := fault.ListOf(err)[0]; f.Version == nil || *f.Version != version {
			t.Errorf("version %v is reported, want %d", f.Version, version)
		}
		if _, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(),
			note.SaveDraft{ContentID: string(id), ExpectedVersion: &version}); err != nil {
			t.Fatal(err)
		}
	}
}

// lostAnswers is a store that writes drafts but does not confirm it while it is broken.
type lostAnswers struct {
	note.Store
	broken  bool
	readErr error // of the serial reads of drafts while it is broken
}

func (l *lostAnswers) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	current, err := l.Store.PutDraft(ctx, d, over)
	if err == nil && l.broken {
		err = fault.Uncertain(errors.New("the answer was lost"))
	}
	return current, err
}

func (l *lostAnswers) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]note.DraftRow, error) {
	if serial && l.broken && l.readErr != nil {
		return nil, l.readErr
	}
	return l.Store.ReadDrafts(ctx, user, names, serial)
}

// A save whose answer was lost succeeds when it is repeated, for a new draft and for a stored one.
func TestSaveDraft_RepetitionAfterALostAnswer(t *testing.T) {
	for _, body := range []string{"short", long} {
		for _, version := range []int{0, 1} {
			l := &lostAnswers{}
			h := newPagesEnvOn(t, func(s *domain.Store) { l.Store, s.Texts = s.Texts, l })
			id := h.Note("n", principal.Public)
			h.save(id, "first", "")
			h.save(id, "second", "")
			if version == 1 {
				h.draft(id, "before")
			}
			in := note.SaveDraft{ContentID: string(id), Title: "mine", Body: body, ExpectedVersion: &version, BaseRevision: domaintest.Ptr(0)}
			save := func(change func(in *note.SaveDraft)) (*note.Draft, error) {
				in := in
				if change != nil {
					change(&in)
				}
				return h.pages.SaveDraft(t.Context(), domaintest.Ann(), in)
			}
			l.broken, l.readErr = true, errors.New("the store is down")
			if _, err := save(nil); !fault.MayHaveCommitted(err) {
				t.Fatalf("the lost answer: %v", err)
			}
			l.broken = false
			for what, change := range map[string]func(in *note.SaveDraft){
				"title":           func(in *note.SaveDraft) { in.Title = "other" },
				"body":            func(in *note.SaveDraft) { in.Body = "x" + in.Body[1:] },
				"longer body":     func(in *note.SaveDraft) { in.Body += "x" },
				"base":            func(in *note.SaveDraft) { in.BaseRevision = domaintest.Ptr(1) },
				"newer version":   func(in *note.SaveDraft) { in.ExpectedVersion = domaintest.Ptr(version + 2) },
				"earlier version": func(in *note.SaveDraft) { in.ExpectedVersion = domaintest.Ptr(version - 1) },
			} {
				_, err := save(change)
				if got := fmt.Sprint(domaintest.Faults(err)); got != "[CONFLICT expectedVersion]" {
					t.Errorf("a save with another %s: %s", what, got)
				}
			}
			for _, change := range []func(in *note.SaveDraft){nil, func(in *note.SaveDraft) { in.BaseRevision = nil }} {
				d, err := save(change)
				if err != nil || d.Version != version+1 || d.Title != "mine" || *d.BaseRevision != 0 || !d.IsStale {
					t.Fatalf("version %d, repeated: %+v, %v", version, d, err)
				}
				if got, err := h.pages.Body(t.Context(), d); err != nil || got != body {
					t.Errorf("version %d, repeated: a body of %d bytes, %v", version, len(got), err)
				}
			}
		}
	}
}

// A save whose answer the store has lost succeeds if the draft is stored.
func TestSaveDraft_FindsItsOwnDraftAfterALostAnswer(t *testing.T) {
	l := &lostAnswers{broken: true}
	h := newPagesEnvOn(t, func(s *domain.Store) { l.Store, s.Texts = s.Texts, l })
	id := h.Note("n", principal.Public)
	for version := range 3 {
		d, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(),
			note.SaveDraft{ContentID: string(id), Body: fmt.Sprint(version, long), ExpectedVersion: &version})
		if err != nil || d.Version != version+1 {
			t.Fatalf("version %d: %+v, %v", version, d, err)
		}
	}
	h.wantStored(1)
}

// overtaken is a store in which another version of a draft is stored while the answer to the first write
// of one is lost. That write arrives never.
type overtaken struct {
	note.Store
	other func()
}

func (o *overtaken) PutDraft(ctx context.Context, d note.DraftRow, over *note.TextID) (note.DraftRow, error) {
	if other := o.other; other != nil {
		o.other = nil
		other()
		return note.DraftRow{}, fault.Uncertain(errors.New("the answer was lost"))
	}
	return o.Store.PutDraft(ctx, d, over)
}

// A save whose answer was lost does not take another version for its own, and replaces none: it may have
// been made before.
func TestSaveDraft_LostAnswerIsNotThatOfAnotherSave(t *testing.T) {
	o := &overtaken{}
	h := newPagesEnvOn(t, func(s *domain.Store) { o.Store, s.Texts = s.Texts, o })
	id := h.Note("n", principal.Public)
	h.draft(id, "first")
	o.other = func() { h.draft(id, "other"+long) }
	_, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), Body: "mine" + long})
	if !fault.MayHaveCommitted(err) {
		t.Errorf("the lost answer: %v", err)
	}
	if got := h.bodies(); got != "other" {
		t.Errorf("the draft is %q", got)
	}
	h.wantStored(2) // the text of the save is kept, because it may still be stored
}
