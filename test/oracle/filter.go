package oracle

import (
	"slices"
	"strings"

	"carrel/library"
	"carrel/principal"
)

// wordsOf maps each title and description to its words, in the form in which they are compared.
var wordsOf = map[string][]string{"a": {"a"}, "b": {"b"}, "c": {"c"},
	"a 9": {"a", "9"}, "A 10": {"a", "10"}, "É-b": {"e", "b"}, "D a2": {"d", "a2"}, "e": {"e"}}

// searched maps each search text to its words.
var searched = map[string][]string{"": nil, "?": nil, "A": {"a"}, "é": {"e"}, "b e": {"b", "e"}, "d/A": {"d", "a"},
	"a2": {"a2"}, "2": {"2"}, "aa": {"aa"}, "E\u0301": {"e"}}

const malformedCreator = "u:"

// filter draws conditions.
func (g *game) filter() *library.LibraryFilter {
	f := &library.LibraryFilter{}
	if g.rarely(2) {
		text := one(g, []string{"", "?", "A", "A", "é", "b e", "d/A", "a2", "2", "aa", "E\u0301"})
		f.Text = &text
	}
	if g.rarely(3) {
		f.Kinds = one(g, [][]library.ContentKind{{library.Link}, {library.Note}, {library.Note, library.Link}})
	}
	if g.rarely(3) {
		f.Visibilities = one(g, [][]principal.Visibility{{principal.Public}, {principal.Private, principal.LoggedIn}, {principal.LoggedIn}})
	}
	if g.rarely(3) {
		f.Roles = one(g, [][]library.ContentRole{{library.Manages}, {library.Viewing, library.Editing}})
	}
	if g.rarely(3) {
		creator := string(one(g, slices.Concat(g.users, g.users, g.groups)))
		f.CreatedBy = &creator
	}
	if g.rarely(25) {
		creator := malformedCreator
		f.CreatedBy = &creator
	}
	if g.rarely(25) {
		f.Roles = []library.ContentRole{}
	}
	return f
}

// isBad reports whether a filter is refused.
func isBad(f *library.LibraryFilter) bool {
	return f != nil && (f.CreatedBy != nil && *f.CreatedBy == malformedCreator || f.Roles != nil && len(f.Roles) == 0)
}

// matches reports whether v is shown an item of owner's library with a filter.
func (w *world) matches(v viewer, owner principal.ID, c *item, f *library.LibraryFilter) bool {
	if f.Kinds != nil && !slices.Contains(f.Kinds, c.kind) || f.Visibilities != nil && !slices.Contains(f.Visibilities, c.visibility) {
		return false
	}
	if f.Roles != nil && !slices.Contains(f.Roles, c.members[owner]) {
		return false
	}
	if f.CreatedBy != nil && (*f.CreatedBy != string(c.creator) || !w.sees(v, c.creator)) {
		return false
	}
	if f.Text == nil {
		return true
	}
	in := wordsOf[c.title]
	if c.description != nil {
		in = slices.Concat(in, wordsOf[*c.description])
	}
	for _, word := range searched[*f.Text] {
		if !slices.ContainsFunc(in, func(w string) bool { return strings.HasPrefix(w, word) }) {
			return false
		}
	}
	return true
}
