package note_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// The texts of the items of TestTexts_WhoSeesWhat, by who may see them. Each text occurs once.
var (
	publishedTexts = []string{"1/0 published", "1/fr published"}
	editorsTexts   = []string{"1/1 unpublished", "1/0 replaced", "1/de unpublished", "2/0 copied", "2/fr copied",
		"2/1 unpublished", "2/it unpublished", "3/es unpublished"}
)

// textItem is an item with texts in every state.
type textItem struct {
	h          *domaintest.Fixture
	id         library.ContentID
	suggestion string // by sue
}

// newTextItem creates an item whose current branch is 1, with a branch 2 that is a copy of it and a
// branch 3 without any published text.
func newTextItem(t *testing.T, h *domaintest.Fixture, name string) textItem {
	t.Helper()
	id := h.Note(name, principal.Public, "u:acme:edith=EDITOR", "u:acme:former=EDITOR", "u:acme:gone=EDITOR",
		"u:acme:vera=VIEWER", "g:acme:team=EDITOR", "u:acme:mara=MANAGER")
	ann := domaintest.Ann()
	save := func(branch int, locale, text string, publish bool) {
		t.Helper()
		in := note.SaveRevision{ContentID: string(id), Branch: &branch, Title: text, Body: "body " + text, Publish: publish}
		if locale != "" {
			in.Locale = &locale
		}
		if _, err := h.Notes.SaveRevision(t.Context(), ann, in); err != nil {
			t.Fatal(err)
		}
	}
	branch := func(copied *int) {
		t.Helper()
		if _, err := h.Notes.CreateBranch(t.Context(), ann, note.CreateBranch{ContentID: string(id), CopyFrom: copied}); err != nil {
			t.Fatal(err)
		}
	}
	save(1, "", "1/0 replaced", true)
	save(1, "", "1/0 published", true)
	save(1, "fr", "1/fr published", true)
	save(1, "", "1/1 unpublished", false)
	save(1, "de", "1/de unpublished", false)
	branch(domaintest.Ptr(1))
	save(2, "", "2/0 copied", true)
	save(2, "fr", "2/fr copied", true)
	save(2, "", "2/1 unpublished", false)
	save(2, "it", "2/it unpublished", false)
	branch(nil)
	save(3, "es", "3/es unpublished", false)
	if _, err := h.Notes.SetCurrentBranch(t.Context(), ann, note.SetCurrentBranch{ContentID: string(id), Branch: 2,
		Working: true}); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"u:acme:edith", "u:acme:former", "u:acme:gone"} {
		in := note.SaveDraft{ContentID: string(id), Branch: domaintest.Ptr(1), Title: "draft by " + user, Body: "body draft by " + user}
		if _, err := h.Notes.SaveDraft(t.Context(), domaintest.As(user), in); err != nil {
			t.Fatal(err)
		}
	}
	it := textItem{h: h, id: id}
	out, err := h.Notes.SuggestRevision(t.Context(), domaintest.As("u:acme:sue"),
		note.SuggestRevision{ContentID: string(id), Title: "suggested", Body: "body suggested"})
	if err != nil {
		t.Fatal(err)
	}
	it.suggestion = out.Suggestion.ID
	_, err = h.Library.SetContentMembers(t.Context(), ann, library.SetContentMembers{Content: string(id),
		Members: domaintest.MemberChanges("u:acme:former=")})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// textReader reads everything that a viewer can read of the text of an item, by every method.
type textReader struct {
	t     *testing.T
	pages *note.Service
	items *domain.Services
	v     func() *principal.Viewer
	seen  map[string][]string // the texts that each field shows
}

// show adds texts to those that a field shows.
func (r *textReader) show(field string, err error, texts ...string) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", field, err)
	}
	for _, text := range texts {
		if !slices.Contains(r.seen[field], text) {
			r.seen[field] = append(r.seen[field], text)
		}
	}
	slices.Sort(r.seen[field])
}

// bodied shows the title of a text, whose body must belong to it.
func (r *textReader) bodied(field, title string, of note.Bodied) {
	r.t.Helper()
	body, err := r.pages.Body(r.t.Context(), of)
	if err == nil && body != "body "+title {
		r.t.Errorf("%s: the text %q has the body %q", field, title, body)
	}
	r.show(field, err, title)
}

func (r *textReader) revision(field string, rev *note.Revision, err error) {
	r.t.Helper()
	if r.show(field, err); rev != nil {
		r.bodied(field, rev.Title, rev)
	}
}

// read reads everything of an item.
func (r *textReader) read(it textItem) {
	r.t.Helper()
	ctx, all := r.t.Context(), cursor.PageArgs{First: domaintest.Ptr(100)}
	items, err := r.items.Library.Contents(ctx, r.v(), []library.ContentID{it.id})
	r.show("content.title", err)
	if items[0] != nil {
		r.show("content.title", nil, items[0].Title)
		for _, locale := range []string{"", "fr", "de", "it", "es"} {
			q := note.TextQuery{TitleOnly: true}
			if locale != "" {
				q.Locale = &locale
			}
			if rev, ok, err := r.pages.Shown(items[0], &q); ok && rev != nil {
				r.show("content.revision without a read", err, rev.Title)
			}
		}
	}
	locales := []string{"", "fr", "de", "it", "es"}
	for branch := range 6 {
		for _, working := range []bool{false, true} {
			for _, locale := range locales {
				for number := -1; number < 4; number++ {
					q := note.TextQuery{Strict: true, Working: working}
					if branch > 0 {
						q.Branch = &branch
					}
					if number >= 0 {
						q.Number = &number
					}
					if locale != "" {
						q.Locale = &locale
					}
					for _, strict := range []bool{true, false} {
						q.Strict = strict
						found, err := r.pages.Texts(ctx, r.v(), []library.ContentID{it.id}, q)
						r.revision("content.revision", found[0], err)
					}
				}
			}
			var number *int
			if branch > 0 {
				number = &branch
			}
			b, err := r.pages.Branch(ctx, r.v(), it.id, number, working)
			r.show("content.branch", err)
			if b != nil {
				r.branch("content.branch", b)
			}
		}
		for _, locale := range locales {
			for number := range 4 {
				rev, err := r.pages.Revision(ctx, r.v(), it.id, note.RevisionKey{Branch: branch, Locale: locale, Number: number})
				r.revision("byKey of a revision", rev, err)
			}
			d, err := r.pages.Draft(ctx, r.v(), it.id, branch, locale)
			r.show("byKey of a draft", err)
			if d != nil {
				r.bodied("byKey of a draft", d.Title, d)
			}
		}
	}
	bs, err := r.pages.Branches(ctx, r.v(), it.id, all)
	r.show("content.branches", err)
	for _, b := range bs.Nodes() {
		r.branch("content.branches", b)
	}
	gs, err := r.pages.Suggestions(ctx, r.v(), it.id, nil, all)
	r.show("content.suggestions", err)
	one, err := r.pages.Suggestion(ctx, r.v(), it.suggestion)
	r.show("byKey of a suggestion", err)
	for field, found := range map[string][]*note.Suggestion{"content.suggestions": gs.Nodes(), "byKey of a suggestion": {one}} {
		for _, g := range found {
			if g != nil {
				r.bodied(field, g.Title, g)
			}
		}
	}
	for _, user := range []principal.ID{"u:acme:edith", "u:acme:former", "u:acme:gone"} {
		ds, err := r.pages.Drafts(ctx, r.v(), user, all)
		r.show("user.drafts", err)
		for _, d := range ds.Nodes() {
			if d.Content.ID == it.id {
				r.bodied("user.drafts", d.Title, d)
			}
		}
	}
}

// branch reads the revisions and locales of a branch.
func (r *textReader) branch(field string, b *note.Branch) {
	r.t.Helper()
	ctx := r.t.Context()
	r.show(field, nil, fmt.Sprint("branch ", b.Number))
	locales, err := r.pages.Locales(ctx, b)
	r.show(field+".locales", err)
	for _, l := range locales {
		r.show(field+".locales", nil, fmt.Sprint(b.Number, " ", l))
	}
	for _, locale := range []*string{nil, domaintest.Ptr("fr"), domaintest.Ptr("de"), domaintest.Ptr("it"), domaintest.Ptr("es")} {
		rs, err := r.pages.Revisions(ctx, b, locale, cursor.PageArgs{First: domaintest.Ptr(100)})
		r.show(field+".revisions", err)
		for _, rev := range rs.Nodes() {
			r.revision(field+".revisions", rev, nil)
		}
	}
}

// textViewer is a viewer, and what it may do with the items.
type textViewer struct {
	name     string
	v        *principal.Viewer
	tenant   bool   // sees LOGGEDIN items
	role     bool   // sees PRIVATE items
	edits    bool   // is no visitor
	draft    string // its draft
	suggests bool
}

func allTextViewers() []textViewer {
	return []textViewer{
		{name: "anonymous", v: domaintest.Anonymous()},
		{name: "a colleague", v: domaintest.Bob(), tenant: true},
		{name: "another tenant", v: domaintest.Eve()},
		{name: "a viewer", v: domaintest.As("u:acme:vera"), tenant: true, role: true},
		{name: "an editor with a draft", v: domaintest.As("u:acme:edith"), tenant: true, role: true, edits: true, draft: "draft by u:acme:edith"},
		{name: "an editor through a group", v: domaintest.As("u:acme:tom"), tenant: true, role: true, edits: true},
		{name: "a manager", v: domaintest.As("u:acme:mara"), tenant: true, role: true, edits: true},
		{name: "the creator", v: domaintest.Ann(), tenant: true, role: true, edits: true},
		{name: "an administrator", v: domaintest.Root(), tenant: true, role: true, edits: true},
		{name: "a global administrator", v: domaintest.Globe(), role: true, edits: true, tenant: true},
		{name: "an administrator of another tenant", v: domaintest.OtherRoot()},
		{name: "the author of a suggestion", v: domaintest.As("u:acme:sue"), tenant: true, suggests: true},
		{name: "a former editor with a draft", v: domaintest.As("u:acme:former"), tenant: true, draft: "draft by u:acme:former"},
		{name: "a deleted editor with a draft", v: domaintest.As("u:acme:gone"), tenant: true},
		{name: "a token without a user", v: domaintest.As("u:acme:nobody"), tenant: true},
	}
}

// want returns what a viewer sees of an item in a state, by field: the rules of docs/pages.md.
func (w textViewer) want(state string) map[string][]string {
	want := map[string][]string{}
	add := func(field string, texts ...string) {
		want[field] = append(want[field], texts...)
		slices.Sort(want[field])
	}
	sees := map[string]bool{"PUBLIC": true, "LOGGEDIN": w.tenant, "PRIVATE": w.role}[state]
	if !sees {
		return want
	}
	add("content.title", "1/0 published")
	add("content.revision without a read", "1/0 published")
	texts, branches, locales := publishedTexts, []string{"branch 1"}, []string{"1 fr"}
	if w.edits {
		texts = slices.Concat(publishedTexts, editorsTexts)
		branches = append(branches, "branch 2", "branch 3")
		locales = append(locales, "1 de", "2 fr", "2 it", "3 es")
	}
	add("content.revision", texts...)
	add("byKey of a revision", texts...)
	for _, field := range []string{"content.branch", "content.branches"} {
		add(field, branches...)
		add(field+".locales", locales...)
		add(field+".revisions", texts...)
	}
	if w.edits || w.suggests {
		add("content.suggestions", "suggested")
		add("byKey of a suggestion", "suggested")
	}
	if w.draft != "" {
		add("byKey of a draft", w.draft)
		add("user.drafts", w.draft)
	}
	return want
}

// TestTexts_WhoSeesWhat is the table of viewers, states and fields: every field by which a text can
// be read shows each viewer what it may see of an item, and nothing else.
func TestTexts_WhoSeesWhat(t *testing.T) {
	h := domaintest.New(t, nil)
	for _, name := range []string{"ann", "bob", "vera", "edith", "tom", "mara", "sue", "former", "gone"} {
		h.User("u:acme:"+name, principal.Public)
	}
	h.User("u:other:eve", principal.Public)
	h.Group("g:acme:team", "u:acme:ann", principal.Public)
	h.MustSet(domaintest.Ann(), "g:acme:team", "u:acme:tom=MEMBER")
	states := []string{"PUBLIC", "LOGGEDIN", "PRIVATE", "expired", "deleted"}
	items := map[string]textItem{}
	for _, state := range states {
		it := newTextItem(t, h, state)
		items[state] = it
		change := library.UpdateContent{ID: string(it.id)}
		switch state {
		case "LOGGEDIN":
			change.Visibility = input.Some(domaintest.Ptr(principal.LoggedIn))
		case "PRIVATE":
			change.Visibility = input.Some(domaintest.Ptr(principal.Private))
		case "expired":
			change.ExpiresAt = input.Some(domaintest.Ptr(h.Engine.Now().Add(time.Hour)))
		case "deleted":
			h.Delete(it.id)
			continue
		default:
			continue
		}
		if _, err := h.Library.UpdateContent(t.Context(), domaintest.Ann(), change); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.People.DeleteUser(t.Context(), domaintest.As("u:acme:gone"), principal.DeleteUser{ID: "u:acme:gone"}); err != nil {
		t.Fatal(err)
	}
	h.Quiet()
	later := h.After(2 * time.Hour)
	for _, w := range allTextViewers() {
		for _, state := range states {
			t.Run(w.name+", "+state, func(t *testing.T) {
				r := &textReader{t: t, pages: h.Notes, items: h.Services, seen: map[string][]string{}}
				if state == "expired" {
					r.pages, r.items = later.Notes, later
				}
				r.v = func() *principal.Viewer {
					return &principal.Viewer{User: w.v.User, Admin: w.v.Admin, GlobalAdmin: w.v.GlobalAdmin}
				}
				r.read(items[state])
				if diff := cmp.Diff(w.want(state), r.seen); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}
