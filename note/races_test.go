package note_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"carrel/core/cursor"
	"carrel/domain/domaintest"
	"carrel/library"
	"carrel/note"
	"carrel/principal"
)

// Nobody reads what was written after its access was revoked, wherever between two reads the revocation
// and the write come.
func TestReads_ShowNothingThatIsNewerThanAccess(t *testing.T) {
	const id = library.ContentID("c:acme:n")
	one, german, french := 1, "de", "fr"
	var suggestion string
	must := func(h *domaintest.Fixture, err error) {
		h.T.Helper()
		if err != nil {
			h.T.Fatal(err)
		}
	}
	// publish publishes a text of branch 1 with a title in two locales.
	publish := func(h *domaintest.Fixture, title string, second *string) {
		for _, locale := range []*string{nil, &german, second} {
			_, err := h.Notes.SaveRevision(h.T.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id), Branch: &one,
				Locale: locale, Title: title, Body: title, Publish: true})
			must(h, err)
		}
	}
	suggest := func(h *domaintest.Fixture, title string) string {
		o, err := h.Notes.SuggestRevision(h.T.Context(), domaintest.Ann(), note.SuggestRevision{ContentID: string(id), Title: title})
		must(h, err)
		return o.Suggestion.ID
	}
	revocations := map[string]func(h *domaintest.Fixture){
		"the item becomes PRIVATE": func(h *domaintest.Fixture) { h.Update(id, "n", principal.Private) },
		"bob leaves the group":     func(h *domaintest.Fixture) { h.MustSet(domaintest.Ann(), "g:acme:crew", "u:acme:bob=") },
		"the branch is not current any more": func(h *domaintest.Fixture) {
			_, err := h.Notes.SetCurrentBranch(h.T.Context(), domaintest.Ann(), note.SetCurrentBranch{ContentID: string(id), Branch: 2})
			must(h, err)
		},
	}
	reads := textReads(&suggestion)
	for how, revoke := range revocations {
		for name, read := range reads {
			if _, ofItems := itemReads[name]; ofItems && how == "the branch is not current any more" {
				continue // whoever sees the item may see its title
			}
			t.Run(how+"/"+name, func(t *testing.T) {
				var got string
				domaintest.Between{
					Prepare: func(h *domaintest.Fixture) {
						h.Enroll()
						if how == "bob leaves the group" {
							h.Note("n", principal.Private, "g:acme:crew=EDITOR")
						} else {
							h.Note("n", principal.Public)
						}
						publish(h, "old", &german)
						_, err := h.Notes.CreateBranch(h.T.Context(), domaintest.Ann(), note.CreateBranch{ContentID: string(id), CopyFrom: &one})
						must(h, err)
						suggestion = suggest(h, "an old suggestion")
					},
					Act: func(h *domaintest.Fixture) {
						v := domaintest.Bob()
						_, err := h.People.GroupsOf(h.T.Context(), v) // earlier in the request
						must(h, err)
						got = read(h, v)
					},
					Meanwhile: func(h *domaintest.Fixture) {
						revoke(h)
						publish(h, "secret", &french)
						suggest(h, "a secret suggestion")
					},
					Check: func(h *domaintest.Fixture) {
						if strings.Contains(got, "secret") || strings.Contains(got, french) {
							h.T.Errorf("bob has read %q", got)
						}
					},
				}.Everywhere(t)
			})
		}
	}
}

// itemReads are the reads of an item and of libraries, which show its title.
var itemReads = map[string]func(h *domaintest.Fixture, v *principal.Viewer) string{
	"the item": func(h *domaintest.Fixture, v *principal.Viewer) string {
		cs, err := h.Library.Contents(h.T.Context(), v, []library.ContentID{"c:acme:n"})
		if err != nil || cs[0] == nil {
			return fmt.Sprint(err)
		}
		return cs[0].Title
	},
	"a group's library": func(h *domaintest.Fixture, v *principal.Viewer) string {
		return titlesIn(h, v, "g:acme:crew", library.LibraryQuery{})
	},
	"what another user shares": func(h *domaintest.Fixture, v *principal.Viewer) string {
		return titlesIn(h, v, "u:acme:ann", library.LibraryQuery{IncludeShared: true})
	},
}

func titlesIn(h *domaintest.Fixture, v *principal.Viewer, owner principal.ID, q library.LibraryQuery) string {
	c, err := h.Listing.Library(h.T.Context(), v, owner, q)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, n := range c.Nodes() {
		all = append(all, n.Title)
	}
	return strings.Join(all, " ")
}

// textReads returns every read of a text, and itemReads. Each returns all that it has read, in one line.
func textReads(suggestion *string) map[string]func(h *domaintest.Fixture, v *principal.Viewer) string {
	const id = library.ContentID("c:acme:n")
	one, german := 1, "de"
	reads := map[string]func(h *domaintest.Fixture, v *principal.Viewer) string{
		"the published text": func(h *domaintest.Fixture, v *principal.Viewer) string {
			rs, err := h.Notes.Texts(h.T.Context(), v, []library.ContentID{id}, note.TextQuery{})
			if err != nil || rs[0] == nil {
				return fmt.Sprint(err)
			}
			return rs[0].Title
		},
		"the text of a branch, and its body": func(h *domaintest.Fixture, v *principal.Viewer) string {
			rs, err := h.Notes.Texts(h.T.Context(), v, []library.ContentID{id}, note.TextQuery{Branch: &one})
			if err != nil || rs[0] == nil {
				return fmt.Sprint(err)
			}
			bodies, err := h.Notes.Bodies(h.T.Context(), rs)
			return fmt.Sprint(rs[0].Title, bodies, err)
		},
		"a revision by its number": func(h *domaintest.Fixture, v *principal.Viewer) (got string) {
			for n := range 3 {
				if r, err := h.Notes.Revision(h.T.Context(), v, id, note.RevisionKey{Branch: 1, Number: n}); err == nil && r != nil {
					got += r.Title
				}
			}
			return got
		},
		"revisions and locales": func(h *domaintest.Fixture, v *principal.Viewer) (got string) {
			b, err := h.Notes.Branch(h.T.Context(), v, id, &one, false)
			if err != nil || b == nil {
				return fmt.Sprint(err)
			}
			for _, locale := range []*string{nil, &german} {
				c, err := h.Notes.Revisions(h.T.Context(), b, locale, cursor.PageArgs{})
				if err != nil {
					return err.Error()
				}
				for _, r := range c.Nodes() {
					got += r.Title
				}
			}
			locales, err := h.Notes.Locales(h.T.Context(), b)
			return got + fmt.Sprint(locales, err)
		},
		"branches and their locales": func(h *domaintest.Fixture, v *principal.Viewer) (got string) {
			bs, err := h.Notes.Branches(h.T.Context(), v, id, cursor.PageArgs{})
			if err != nil {
				return err.Error()
			}
			for _, b := range bs.Nodes() {
				if b.Number == one {
					locales, err := h.Notes.Locales(h.T.Context(), b)
					got += fmt.Sprint(locales, err)
				}
			}
			return got
		},
		"suggestions": func(h *domaintest.Fixture, v *principal.Viewer) (got string) {
			if c, err := h.Notes.Suggestions(h.T.Context(), v, id, nil, cursor.PageArgs{}); err == nil {
				for _, s := range c.Nodes() {
					got += s.Title
				}
			}
			if s, err := h.Notes.Suggestion(h.T.Context(), v, *suggestion); err == nil && s != nil {
				got += s.Title
			}
			return got
		},
	}
	maps.Copy(reads, itemReads)
	return reads
}

// A mutation of a text by an actor whose rights were revoked changes nothing that was decided after the
// revocation, wherever between two of its reads and writes the revocation and that change come.
func TestTextMutations_OfRevokedActorsChangeNothingLater(t *testing.T) {
	const id = library.ContentID("c:acme:n")
	var suggestion string
	mutations := map[string]func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error{
		"saveRevision": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.Notes.SaveRevision(ctx, v, note.SaveRevision{ContentID: string(id), Title: "by bob", Publish: true})
			return err
		},
		"createBranch": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.Notes.CreateBranch(ctx, v, note.CreateBranch{ContentID: string(id)})
			return err
		},
		"setCurrentBranch": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.Notes.SetCurrentBranch(ctx, v, note.SetCurrentBranch{ContentID: string(id), Branch: 2, Working: true})
			return err
		},
		"suggestRevision": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.Notes.SuggestRevision(ctx, v, note.SuggestRevision{ContentID: string(id), Title: "by bob"})
			return err
		},
		"decideSuggestion": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.Notes.DecideSuggestion(ctx, v, note.DecideSuggestion{ID: suggestion, Decision: note.Accept, Force: true})
			return err
		},
		"publishDraft": func(ctx context.Context, h *domaintest.Fixture, v *principal.Viewer) error {
			_, err := h.Notes.PublishDraft(ctx, v, note.PublishDraft{ContentID: string(id), Force: true})
			return err
		},
	}
	must := func(h *domaintest.Fixture, err error) {
		h.T.Helper()
		if err != nil {
			h.T.Fatal(err)
		}
	}
	for kind, mutate := range mutations {
		for _, r := range domaintest.Revocations() {
			t.Run(kind+"/"+r.Name, func(t *testing.T) {
				var after int64
				var denied error
				domaintest.Between{
					Prepare: func(h *domaintest.Fixture) {
						h.Enroll()
						h.Note("n", principal.Private, r.Member+"=EDITOR")
						_, err := h.Notes.CreateBranch(h.T.Context(), domaintest.Ann(), note.CreateBranch{ContentID: string(id)})
						must(h, err)
						o, err := h.Notes.SuggestRevision(h.T.Context(), domaintest.Ann(), note.SuggestRevision{ContentID: string(id), Title: "a suggestion"})
						must(h, err)
						suggestion = o.Suggestion.ID
						_, err = h.Notes.SaveDraft(h.T.Context(), domaintest.Bob(), note.SaveDraft{ContentID: string(id), Title: "by bob"})
						must(h, err)
					},
					Act: func(h *domaintest.Fixture) { denied = mutate(h.T.Context(), h, domaintest.Bob()) },
					Meanwhile: func(h *domaintest.Fixture) {
						r.Revoke(h)
						_, err := h.Notes.SaveRevision(h.T.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id),
							Title: "by ann", Publish: true})
						must(h, err)
						after = h.Content(id).Seq
					},
					Check: func(h *domaintest.Fixture) {
						if seq := h.Content(id).Seq; seq != after {
							h.T.Errorf("the text was changed after the revocation: seq %d, then %d; bob's answer is %v", after, seq, denied)
						}
					},
				}.Everywhere(t)
			})
		}
	}
}
