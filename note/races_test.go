package note_test

import (
	"fmt"
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
	revoke := map[string]func(h *domaintest.Fixture){
		"the item becomes PRIVATE": func(h *domaintest.Fixture) { h.Update(id, "n", principal.Private) },
		"bob leaves the group": func(h *domaintest.Fixture) {
			h.MustSet(domaintest.Ann(), "g:acme:crew", "u:acme:bob=")
		},
	}
	reads := map[string]func(h *domaintest.Fixture, v *principal.Viewer) string{
		"texts": func(h *domaintest.Fixture, v *principal.Viewer) string {
			rs, err := h.Notes.Texts(h.T.Context(), v, []library.ContentID{id}, note.TextQuery{})
			if err != nil || rs[0] == nil {
				return fmt.Sprint(err)
			}
			return rs[0].Title
		},
		"revisions": func(h *domaintest.Fixture, v *principal.Viewer) string {
			b, err := h.Notes.Branch(h.T.Context(), v, id, nil, false)
			if err != nil || b == nil {
				return fmt.Sprint(err)
			}
			c, err := h.Notes.Revisions(h.T.Context(), b, nil, cursor.PageArgs{})
			if err != nil {
				return err.Error()
			}
			var all []string
			for _, r := range c.Nodes() {
				all = append(all, r.Title)
			}
			return strings.Join(all, " ")
		},
		"a group's library": func(h *domaintest.Fixture, v *principal.Viewer) string {
			c, err := h.Listing.Library(h.T.Context(), v, "g:acme:crew", library.LibraryQuery{})
			if err != nil {
				return err.Error()
			}
			var all []string
			for _, n := range c.Nodes() {
				all = append(all, n.Title)
			}
			return strings.Join(all, " ")
		},
	}
	for how, revoked := range revoke {
		visibility, member := principal.Public, "u:acme:ann=MANAGER"
		if how == "bob leaves the group" {
			visibility, member = principal.Private, "g:acme:crew=VIEWER"
		}
		for name, read := range reads {
			t.Run(how+"/"+name, func(t *testing.T) {
				var got string
				publish := func(h *domaintest.Fixture, title string) {
					_, err := h.Notes.SaveRevision(h.T.Context(), domaintest.Ann(), note.SaveRevision{ContentID: string(id),
						Title: title, Body: title, Publish: true})
					if err != nil {
						h.T.Fatal(err)
					}
				}
				domaintest.Between{
					Prepare: func(h *domaintest.Fixture) {
						h.User("u:acme:ann", principal.Public)
						h.User("u:acme:bob", principal.Public)
						h.Group("g:acme:crew", "u:acme:ann", principal.Public)
						h.MustSet(domaintest.Ann(), "g:acme:crew", "u:acme:bob=MEMBER")
						if visibility == principal.Public {
							h.Note("n", visibility)
						} else {
							h.Note("n", visibility, member)
						}
						publish(h, "old")
					},
					Act: func(h *domaintest.Fixture) {
						v := domaintest.Bob()
						if _, err := h.People.GroupsOf(h.T.Context(), v); err != nil { // earlier in the request
							h.T.Fatal(err)
						}
						got = read(h, v)
					},
					Meanwhile: func(h *domaintest.Fixture) {
						revoked(h)
						publish(h, "secret")
					},
					Check: func(h *domaintest.Fixture) {
						if strings.Contains(got, "secret") {
							h.T.Errorf("bob has read %q", got)
						}
					},
				}.Everywhere(t)
			})
		}
	}
}
