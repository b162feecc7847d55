package note

import (
	"slices"

	"carrel/library"
)

// Shown returns the text of an item, as Texts does, without reading anything. That is possible if q
// has TitleOnly and asks for the text that visitors see, and if the text that matches q best is in
// the item's own locale, or no text matches. Otherwise ok is false.
func (s *Service) Shown(c *library.Content, q *TextQuery) (r *Revision, ok bool, err error) {
	if !q.TitleOnly || q.Strict || q.Working || q.Branch != nil || q.Number != nil {
		return nil, false, nil
	}
	preferred, err := q.check()
	if err != nil || c.Kind != library.Note {
		return nil, true, err
	}
	head, err := DecodeHead(c.Page)
	if err != nil {
		return nil, true, err
	}
	available := make([]string, len(head.Shown))
	for i, s := range head.Shown {
		available[i] = s.Locale
	}
	locale, found := choose(available, preferred, head.Locale)
	if !found {
		return nil, true, nil
	}
	if locale != head.Locale {
		return nil, false, nil
	}
	number := head.Shown[slices.Index(available, locale)].Number
	return &Revision{RevisionKey: RevisionKey{head.Current, locale, number}, Content: c, Title: head.Title, IsCurrent: true}, true, nil
}
