package note_test

import (
	"context"
	"errors"
	"testing"

	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/domain"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// failing is a store in which, after a change, the rows of pages are missing or cannot be read.
type failing struct {
	library.ContentStore
	armed, made bool
	err         error
}

func (f *failing) Commit(ctx context.Context, c *library.ContentCommit) (commit.Verdict, error) {
	v, err := f.ContentStore.Commit(ctx, c)
	f.made = f.made || f.armed && v.Applied
	return v, err
}

func (f *failing) Read(ctx context.Context, id library.ContentID, q library.ContentQuery) (*library.ContentRows, error) {
	r, err := f.ContentStore.Read(ctx, id, q)
	if err == nil && f.made && len(q.Rows) > 0 {
		if f.err != nil {
			return nil, f.err
		}
		for i := range r.Rows {
			if r.Rows[i].Kind != library.FirstRowKind {
				r.Rows[i].Value = nil
			}
		}
	}
	return r, err
}

// A change that was made is never reported as not made.
func TestChanges_FailedReadAfterwardsIsNoRefusal(t *testing.T) {
	ann, bob := domaintest.Ann(), domaintest.Bob()
	for name, change := range map[string]func(h pagesEnv, id string, suggestion string) error{
		"saveRevision": func(h pagesEnv, id, _ string) error {
			_, err := h.pages.SaveRevision(t.Context(), ann, note.SaveRevision{ContentID: id, Title: "t", Publish: true})
			return err
		},
		"publishRevision": func(h pagesEnv, id, _ string) error {
			_, err := h.pages.PublishRevision(t.Context(), ann, note.PublishRevision{ContentID: id, Branch: 1, Number: 0})
			return err
		},
		"createBranch": func(h pagesEnv, id, _ string) error {
			_, err := h.pages.CreateBranch(t.Context(), ann, note.CreateBranch{ContentID: id})
			return err
		},
		"suggestRevision": func(h pagesEnv, id, _ string) error {
			_, err := h.pages.SuggestRevision(t.Context(), bob, note.SuggestRevision{ContentID: id, Title: "t"})
			return err
		},
		"decideSuggestion": func(h pagesEnv, _, suggestion string) error {
			_, err := h.pages.DecideSuggestion(t.Context(), ann, note.DecideSuggestion{ID: suggestion, Decision: note.Accept})
			return err
		},
	} {
		for _, broken := range []error{nil, errors.New("the disk is on fire")} {
			var store *failing
			fixture := domaintest.Staff(t, func(s *domain.Store) {
				store = &failing{ContentStore: s.Contents, err: broken}
				s.Contents = store
			})
			h := pagesEnv{fixture, openPages(t, fixture)}
			id := h.Note("n", principal.Public)
			h.save(id, "first", "a")
			h.save(id, "second", "b")
			made, err := h.pages.SuggestRevision(t.Context(), bob, note.SuggestRevision{ContentID: string(id), Title: "s"})
			if err != nil {
				t.Fatal(err)
			}
			store.armed = true
			err = change(h, string(id), made.Suggestion.ID)
			if !store.made {
				t.Fatalf("%s: nothing was made, %v", name, err)
			}
			// saveRevision returns what it has saved without reading it.
			if err == nil && (broken == nil || name == "saveRevision") {
				continue
			}
			if broken == nil || fault.ReasonOf(err) != fault.ReasonOutcomeUnknown || !errors.Is(err, broken) {
				t.Errorf("%s, %v: answered %v", name, broken, err)
			}
		}
	}
}
