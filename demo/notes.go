package demo

import (
	"fmt"
	"time"

	"carrel/core/clock"
	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

// note is a note of tenant demo with its text. Ann manages it, the library team edits it,
// and it is in the largest library.
type note struct {
	name       string
	visibility principal.Visibility
	revisions  []revision
	suggestion *suggestion
	draft      *draft
}

// revision is a version of a text. The title of the first one is that of the note. The last one
// of a locale is current unless it is unpublished.
type revision struct {
	locale, author, title, body string
	unpublished                 bool
}

// suggestion is an open suggestion for a note.
type suggestion struct{ locale, author, title, body, note string }

// draft is the unpublished draft of a note.
type draft struct{ locale, author, title, body string }

// notes writes the notes, each a day after the one before. The last one is four days old,
// so that the packages that were changed since come before it.
func (s *story) notes() {
	all := demoNotes()
	for i := range all {
		s.note(&all[i], s.base.Add(-time.Duration(3+len(all)-i)*24*time.Hour))
	}
}

func (s *story) note(n *note, created time.Time) {
	id := "c:demo:" + n.name
	by, url := n.revisions[0].author, "https://demo.example/notes/"+n.name
	at := func(i int) *clock.Instant {
		instant := clock.Of(created.Add(time.Duration(i) * time.Hour))
		return &instant
	}
	current := map[string]int{} // the index of the current revision of a locale
	shown, version := 0, 0
	for i, r := range n.revisions {
		if !r.unpublished {
			current[r.locale], shown = i, i
			version++
		}
	}
	title := n.revisions[current[n.revisions[0].locale]].title
	s.write(exchange.Line{Type: exchange.TypeContent, Content: &library.ImportContent{
		ID: id, Kind: library.Note, Title: title, URL: &url, Visibility: n.visibility,
		CreatedAt: at(0), CreatedBy: &by, LastModified: at(shown), Version: &version,
		Members: append(append(roles(library.Manages, ann), roles(library.Editing, libraryTeam)...),
			roles(library.Viewing, standardLibrary, everyone)...),
	}})
	numbers, published := map[string]int{}, map[string]int{}
	for i, r := range n.revisions {
		number := numbers[r.locale]
		numbers[r.locale]++
		if current[r.locale] == i {
			published[r.locale] = number
		}
		var base *int
		if number > 0 {
			base = new(int)
			*base = number - 1
		}
		s.write(exchange.Line{Type: exchange.TypeRevision, Revision: &exchange.ImportRevision{
			Content: id, Branch: 1, Locale: &n.revisions[i].locale, Number: number, Title: r.title, Body: r.body,
			Author: r.author, CreatedAt: at(i), BaseRevision: base, Current: current[r.locale] == i,
		}})
	}
	if g := n.suggestion; g != nil {
		made, base := at(len(n.revisions)), published[g.locale]
		s.write(exchange.Line{Type: exchange.TypeSuggestion, Suggestion: &exchange.ImportSuggestion{
			ID: fmt.Sprintf("%012x%020x", int64(*made)/1000, shuffled(n.name)), Content: id, Branch: 1, Locale: &g.locale,
			Title: g.title, Body: g.body, Note: &g.note, Author: g.author, CreatedAt: made, BaseRevision: &base,
		}})
	}
	if d := n.draft; d != nil {
		base := published[d.locale]
		s.write(exchange.Line{Type: exchange.TypeDraft, Draft: &exchange.ImportDraft{
			Content: id, Author: d.author, Branch: 1, Locale: &d.locale, Title: d.title, Body: d.body,
			BaseRevision: &base, UpdatedAt: at(len(n.revisions) + 1),
		}})
	}
}
