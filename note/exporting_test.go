package note_test

import (
	"fmt"
	"slices"
	"testing"

	"carrel/domain/domaintest"
	"carrel/exchange"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// exported collects the export of an item.
type exported struct {
	branches    []int
	revisions   []string
	suggestions []exchange.ImportSuggestion
}

func (x *exported) line(l *exchange.Line) error {
	switch l.Type {
	case exchange.TypeBranch:
		x.branches = append(x.branches, l.Branch.Number)
	case exchange.TypeRevision:
		x.revisions = append(x.revisions, revisionName(l.Revision.Branch, l.Revision.Locale, &l.Revision.Number))
	case exchange.TypeSuggestion:
		x.suggestions = append(x.suggestions, *l.Suggestion)
	}
	return nil
}

// revisionName identifies a revision. It is empty if there is none.
func revisionName(branch int, locale *string, number *int) string {
	if number == nil {
		return ""
	}
	name := ""
	if locale != nil {
		name = *locale
	}
	return fmt.Sprintf("%d/%s/%d", branch, name, *number)
}

// Suggestions that are made or accepted during an export refer to exported branches and revisions only.
func TestExport_SuggestionsReferToExportedRevisions(t *testing.T) {
	const id = library.ContentID("c:acme:n")
	var got *exported
	var accepted []note.TextID
	must := func(h *domaintest.Fixture, err error) {
		h.T.Helper()
		if err != nil {
			h.T.Fatal(err)
		}
	}
	suggest := func(h *domaintest.Fixture, title string, branch int, locale *string) note.TextID {
		out, err := h.Notes.SuggestRevision(h.T.Context(), domaintest.Ann(), note.SuggestRevision{ContentID: string(id),
			Branch: &branch, Locale: locale, Title: title})
		must(h, err)
		made, ok := note.ParseTextID(out.Suggestion.ID)
		if !ok {
			h.T.Fatal(out.Suggestion.ID)
		}
		return made
	}
	accept := func(h *domaintest.Fixture, id note.TextID) {
		_, err := h.Notes.DecideSuggestion(h.T.Context(), domaintest.Ann(),
			note.DecideSuggestion{ID: id.String(), Decision: note.Accept, Force: true})
		must(h, err)
	}
	domaintest.Between{
		Prepare: func(h *domaintest.Fixture) {
			h.User("u:acme:ann", principal.Public)
			h.Note("n", principal.Public)
			_, err := h.Notes.SaveRevision(h.T.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id), Title: "first", Publish: true})
			must(h, err)
			accept(h, suggest(h, "accepted before", 1, nil))
			accepted = []note.TextID{suggest(h, "old locale", 1, nil), suggest(h, "new locale", 1, domaintest.Ptr("de"))}
		},
		Act: func(h *domaintest.Fixture) {
			header := h.Content(id)
			got = &exported{branches: []int{1}}
			must(h, h.Notes.Upkeep.ExportPage(h.T.Context(), &header, got.line))
		},
		Meanwhile: func(h *domaintest.Fixture) {
			for _, id := range accepted {
				accept(h, id)
			}
			suggest(h, "for a newer revision", 1, nil)
			_, err := h.Notes.CreateBranch(h.T.Context(), domaintest.Ann(), note.CreateBranch{ContentID: string(id)})
			must(h, err)
			suggest(h, "for a newer branch", 2, nil)
		},
		Check: func(h *domaintest.Fixture) {
			for _, s := range got.suggestions {
				state, decided := *s.State, s.DecidedBy != nil
				if decided != (state == "ACCEPTED") || decided != (s.Revision != nil) || s.Title == "accepted before" && !decided {
					h.T.Errorf("%q is %s, by %v, as %v", s.Title, state, s.DecidedBy, s.Revision)
				}
				if !slices.Contains(got.branches, s.Branch) {
					h.T.Errorf("%q: branch %d is not exported", s.Title, s.Branch)
				}
				for _, number := range []*int{s.Revision, s.BaseRevision} {
					if name := revisionName(s.Branch, s.Locale, number); name != "" && !slices.Contains(got.revisions, name) {
						h.T.Errorf("%q: revision %s is not exported, only %v", s.Title, name, got.revisions)
					}
				}
			}
			if len(got.suggestions) < 3 {
				h.T.Errorf("only %d suggestions are exported", len(got.suggestions))
			}
		},
	}.Everywhere(t)
}
