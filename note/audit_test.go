package note_test

import (
	"strings"
	"testing"

	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// audited returns an item with two branches, three revisions and two suggestions, whose texts are
// all stored separately.
func audited(t *testing.T) (pagesEnv, library.ContentID) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	h.save(id, "first", long)
	h.save(id, "second", long)
	if _, err := h.pages.CreateBranch(t.Context(), domaintest.Ann(), note.CreateBranch{ContentID: string(id),
		CopyFrom: domaintest.Ptr(1)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.pages.SuggestRevision(t.Context(), domaintest.Bob(), note.SuggestRevision{ContentID: string(id),
			Title: "s", Body: long}); err != nil {
			t.Fatal(err)
		}
	}
	h.WantClean()
	return h, id
}

// damage writes rows, and the head of the header after change.
func (h pagesEnv) damage(id library.ContentID, change func(*note.Head), rows ...library.Row) {
	h.T.Helper()
	read, err := h.Store.Contents.Read(h.T.Context(), id, library.ContentQuery{})
	if err != nil {
		h.T.Fatal(err)
	}
	after := read.Header
	head, err := note.DecodeHead(after.Page)
	if err != nil {
		h.T.Fatal(err)
	}
	change(&head)
	after.Seq, after.Page = after.Seq+1, head.Encode()
	v, err := h.Store.Contents.Commit(h.T.Context(), &library.ContentCommit{ID: id, Base: after.Seq - 1, Header: after, Rows: rows})
	if err != nil || !v.Applied {
		h.T.Fatal(v, err)
	}
}

func TestAudit_ReportsDamagedPages(t *testing.T) {
	same := func(*note.Head) {}
	no := func(k library.RowKey) library.Row { return library.Row{RowKey: k} }
	for _, c := range []struct {
		name   string
		change func(*note.Head)
		rows   []library.Row
		want   string
	}{
		{"a count of suggestions", func(h *note.Head) { h.Open++ }, nil, "counts 3 open suggestions and has 2"},
		{"a branch without a row", same, []library.Row{no(note.BranchKey(2))}, "branch 2 has no row"},
		{"a branch that was lost", func(h *note.Head) { h.Last = 1 }, nil, "branch 2 has rows, but its page has 1 branches"},
		{"a branch too many", func(h *note.Head) { h.Last, h.Current = 3, 3 }, nil, "branch 3 has no row"},
		{"no current revision", same, []library.Row{no(note.RevisionKeyOf(1, "", 1))}, `branch 1, locale "", counts 2 revisions and has 1`},
		{"a gap in the revisions", same, []library.Row{no(note.RevisionKeyOf(1, "", 0))}, `revision 0 of branch 1, locale "", has no row`},
		{"no row of a locale", same, []library.Row{no(note.LocaleKey(2, ""))}, `branch 2, locale "", counts 0 revisions and has 1`},
		{"an older row of a locale", same, []library.Row{{RowKey: note.LocaleKey(1, ""), Value: note.LocaleRow{}.Encode()}},
			`branch 1, locale "", counts 1 revisions and has 2`},
		{"a row of a locale that cannot be decoded", same, []library.Row{{RowKey: note.LocaleKey(1, ""), Value: []byte{1}}}, "cannot be read"},
		{"a page that has not begun", func(h *note.Head) { h.Begun = false }, nil, "its header says that there is no text"},
		{"another text that is shown", func(h *note.Head) { h.Shown[0].Number++ }, nil, "visitors see"},
		{"another title that is shown", func(h *note.Head) { h.Title = "x" }, nil, "the title in its header differs"},
		{"another own locale", func(h *note.Head) { h.Locale = "fr" }, nil, `there is no revision in the item's own locale "fr"`},
	} {
		h, id := audited(t)
		h.damage(id, c.change, c.rows...)
		h.wantReported(c.name, string(id)+": ", c.want)
	}
}

// An audit reads many rows in several steps.
func TestAudit_ReportsDamageAmongManyRevisions(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	ann := domaintest.Ann()
	for range 205 {
		if _, err := h.pages.SaveRevision(t.Context(), ann, note.SaveRevision{ContentID: string(id), Title: "t", Body: "b"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := h.pages.CreateBranch(t.Context(), ann, note.CreateBranch{ContentID: string(id)}); err != nil {
			t.Fatal(err)
		}
	}
	h.WantClean()
	h.damage(id, func(*note.Head) {}, library.Row{RowKey: note.BranchKey(2)})
	h.wantReported("a branch between others", "branch 2 has no row")
	h.damage(id, func(*note.Head) {}, library.Row{RowKey: note.RevisionKeyOf(1, "", 203)})
	h.wantReported("a revision of the second step", "revision 203 of branch 1")
}

func TestAudit_ReportsMissingTexts(t *testing.T) {
	h, id := audited(t)
	texts, err := h.Store.Texts.ScanTexts(t.Context(), note.TextID{}, 100)
	if err != nil || len(texts) != 4 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	for _, x := range texts {
		if err := h.Store.Texts.DropTexts(t.Context(), []note.TextID{x.ID}); err != nil {
			t.Fatal(err)
		}
		h.wantReported("without a text", string(id)+": the row ", x.Row.Key, "refers to a text that is not stored")
	}
	// The copied branch refers to the text of the second revision.
	if r, err := h.Repair.Audit(t.Context()); err != nil || r.Mismatches != 5 || r.Revisions != 3 {
		t.Errorf("the audit found %+v, %v, want 5 of 3 revisions and 2 suggestions", r, err)
	}
}

func TestAudit_ReportsDraftsWithoutTexts(t *testing.T) {
	h := newPagesEnv(t)
	id := h.Note("n", principal.Public)
	for _, locale := range []string{"de", "en"} {
		if _, err := h.pages.SaveDraft(t.Context(), domaintest.Ann(), note.SaveDraft{ContentID: string(id), Locale: &locale,
			Body: long}); err != nil {
			t.Fatal(err)
		}
	}
	h.WantClean()
	texts, err := h.Store.Texts.ScanTexts(t.Context(), note.TextID{}, 10)
	if err != nil || len(texts) != 2 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	if err := h.Store.Texts.DropTexts(t.Context(), []note.TextID{texts[1].ID}); err != nil {
		t.Fatal(err)
	}
	h.wantReported("without a text", "u:acme:ann: the row ", string(id)+"/0000000001/en", "refers to a text that is not stored")
	if r, err := h.Repair.Audit(t.Context()); err != nil || r.Mismatches != 1 || r.Drafts != 2 {
		t.Errorf("the audit found %+v, %v, want 1 of 2 drafts", r, err)
	}
	damaged := note.DraftRow{User: "u:acme:bob", Name: "x", Token: someID(1), Value: []byte("x")}
	if _, err := h.Store.Texts.PutDraft(t.Context(), damaged, nil); err != nil {
		t.Fatal(err)
	}
	h.wantReported("a draft that cannot be decoded", `u:acme:bob: the draft "x" cannot be read`)
}

// wantReported checks that one of the audit's details contains all words.
func (h pagesEnv) wantReported(name string, words ...string) {
	h.T.Helper()
	r, err := h.Repair.Audit(h.T.Context())
	if err != nil {
		h.T.Fatal(err)
	}
	for _, d := range r.Details {
		all := r.Mismatches > 0
		for _, w := range words {
			all = all && strings.Contains(d, w)
		}
		if all {
			return
		}
	}
	h.T.Errorf("%s: the audit found %+v, want %q", name, r, words)
}
