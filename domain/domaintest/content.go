package domaintest

import (
	"strings"

	"github.com/google/go-cmp/cmp"

	"carrel/core/cursor"
	"carrel/core/input"
	"carrel/library"
	"carrel/principal"
)

// Note creates a note of ann's with the name and title n.
func (h *Fixture) Note(n string, visibility principal.Visibility, members ...string) library.ContentID {
	h.T.Helper()
	out, err := h.Library.CreateContent(h.T.Context(), As("u:acme:ann"), library.CreateContent{
		Name: &n, Kind: library.Note, Title: n, Visibility: visibility, Members: MemberChanges(members...),
	})
	h.must(err, "creating %s", n)
	return out.ID
}

// MemberChanges parses changes such as "u:acme:ben=EDITOR", and "u:acme:ben=" to remove
// ben.
func MemberChanges(changes ...string) []library.ContentMemberChange {
	var all []library.ContentMemberChange
	for _, c := range changes {
		id, name := c, ""
		if i := strings.LastIndexByte(c, '='); i >= 0 {
			id, name = c[:i], c[i+1:]
		}
		change := library.ContentMemberChange{Principal: id}
		if r, ok := library.ParseContentRole(name); ok {
			change.Role = &r
		}
		all = append(all, change)
	}
	return all
}

// titles returns the titles of a library that v can see, oldest first.
func (h *Fixture) titles(v *principal.Viewer, owner string) []string {
	h.T.Helper()
	conn, err := h.Listing.Library(h.T.Context(), v, principal.ID(owner), library.LibraryQuery{PageArgs: cursor.PageArgs{First: Ptr(100)}})
	h.must(err, "reading the library of %s", owner)
	var all []string
	for _, e := range conn.Edges {
		all = append(all, e.Node.Title)
	}
	return all
}

// WantTitles compares the titles of a library that v can see, oldest first.
func (h *Fixture) WantTitles(v *principal.Viewer, owner string, want ...string) {
	h.T.Helper()
	if diff := cmp.Diff(want, h.titles(v, owner)); diff != "" {
		h.T.Errorf("the library of %s as %s reads it (-want +got):\n%s", owner, v.User, diff)
	}
}

// Content reads the header of an item.
func (h *Fixture) Content(id library.ContentID) library.Header {
	h.T.Helper()
	rows, err := h.Store.Contents.Read(h.T.Context(), id, library.ContentQuery{Serial: true})
	h.must(err, "reading %s", id)
	return rows.Header
}

// Update changes the title of an item as ann, and its visibility unless that is 0.
func (h *Fixture) Update(id library.ContentID, title string, visibility principal.Visibility) {
	h.T.Helper()
	in := library.UpdateContent{ID: string(id), Title: input.Some(&title)}
	if visibility != 0 {
		in.Visibility = input.Some(&visibility)
	}
	_, err := h.Library.UpdateContent(h.T.Context(), As("u:acme:ann"), in)
	h.must(err, "updating %s", id)
}

// TakeOut removes principals from an item as ann, which removes it from their libraries.
func (h *Fixture) TakeOut(id library.ContentID, from ...string) {
	h.T.Helper()
	in := library.SetContentMembers{Content: string(id)}
	for _, p := range from {
		in.Members = append(in.Members, library.ContentMemberChange{Principal: p})
	}
	_, err := h.Library.SetContentMembers(h.T.Context(), As("u:acme:ann"), in)
	h.must(err, "taking %s out", id)
}

// Delete deletes an item as ann.
func (h *Fixture) Delete(id library.ContentID) {
	h.T.Helper()
	_, err := h.Library.DeleteContent(h.T.Context(), As("u:acme:ann"), library.DeleteContent{ID: string(id)})
	h.must(err, "deleting %s", id)
}

// Share shares an item with principals, who become viewers.
func (h *Fixture) Share(user string, id library.ContentID, principals ...string) (*library.ContentOutcome, error) {
	return h.Library.ShareContent(h.T.Context(), As(user), library.ShareContent{Content: string(id), Principals: principals,
		Role: library.Viewing})
}
