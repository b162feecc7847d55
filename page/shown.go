package page

import (
	"slices"

	"carrel/library"
)

// Shown returns what Texts would for an item as it was read, where that can be told without
// a reading: the query asks for what visitors see, and only for what TitleOnly says. ok is
// false where it cannot.
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
	there := make([]string, len(head.Shown))
	for i, s := range head.Shown {
		there[i] = s.Locale
	}
	locale, found := choose(there, preferred, head.Locale)
	if !found {
		return nil, true, nil
	}
	if locale != head.Locale {
		return nil, false, nil
	}
	number := head.Shown[slices.Index(there, locale)].Number
	return &Revision{RevisionKey: RevisionKey{head.Current, locale, number}, Content: c, Title: head.Title, IsCurrent: true}, true, nil
}
