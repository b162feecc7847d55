package note

import (
	"context"
	"encoding/json"
	"slices"

	"carrel/core/fault"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// TextQuery describes which text of an item a reader wants.
type TextQuery struct {
	// Locale is preferred to those of Accept. With Strict it is required, and nil requires text
	// that is not translatable.
	Locale *string
	Strict bool
	// Accept are the locales that the request's Accept-Language names.
	Accept []string
	// Branch is the current one when nil, and with Working the working one.
	Branch *int
	// Number is the number of the revision. nil means the current one, or with Working the
	// working one.
	Number  *int
	Working bool
	// TitleOnly reports that only key, branch, number, locale, title and isCurrent of the
	// revisions are needed.
	TitleOnly bool
}

// Key returns a text that is the same for equal queries, and different for others.
func (q *TextQuery) Key() string {
	b, err := json.Marshal(q)
	if err != nil {
		panic(err) // a struct of numbers, flags and strings
	}
	return string(b)
}

// check returns the preferred locales of the reader, best first.
func (q *TextQuery) check() ([]string, error) {
	var faults fault.List
	locale := checkLocale(&faults, q.Locale)
	if faults != nil {
		return nil, fault.BadInputf("%s", faults[0].Msg)
	}
	if q.Strict {
		return []string{locale}, nil
	}
	if q.Locale == nil {
		return q.Accept, nil
	}
	return slices.Concat([]string{locale}, q.Accept), nil
}

// Texts returns for each item, in the order of ids, the revision that matches the query best, or nil
// if there is none that the viewer may see.
func (s *Service) Texts(ctx context.Context, v *principal.Viewer, ids []library.ContentID, q TextQuery) ([]*Revision, error) {
	preferred, err := q.check()
	if err != nil {
		return nil, err
	}
	pages, err := s.seeAll(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	found := make([]*Revision, len(ids))
	err = sched.ForEach(ctx, s.rt, len(ids), textsAtOnce, func(i int) error {
		if pages[i] == nil {
			return nil
		}
		err := s.whole(ctx, pages[i], func(p *seen) (err error) {
			found[i] = nil
			if p == nil || !p.head.Begun {
				return nil
			}
			found[i], err = s.text(ctx, p, &q, preferred)
			return err
		})
		if err == error(errGone) {
			return nil // the item was deleted; the others have their texts
		}
		return err
	})
	return found, err
}

// textsAtOnce is how many items Texts reads concurrently.
const textsAtOnce = 20

func (s *Service) text(ctx context.Context, p *seen, q *TextQuery, preferred []string) (*Revision, error) {
	branch, ok := p.branchFor(q.Branch, q.Working)
	if !ok {
		return nil, nil
	}
	localeRows, err := s.localeRows(ctx, p.Header.ID, branch)
	if err != nil {
		return nil, err
	}
	localeRows = slices.DeleteFunc(localeRows, func(l storedLocale) bool { return q.numberIn(l.LocaleRow, p.Permissions.CanEdit) == None })
	available := make([]string, len(localeRows))
	for i, l := range localeRows {
		available[i] = l.locale
	}
	var locale string
	if q.Strict {
		locale, ok = preferred[0], slices.Contains(available, preferred[0])
	} else {
		locale, ok = choose(available, preferred, p.head.Locale)
	}
	if !ok {
		return nil, nil
	}
	l := localeRows[slices.Index(available, locale)]
	return s.revision(ctx, p, RevisionKey{branch, locale, q.numberIn(l.LocaleRow, p.Permissions.CanEdit)}, l.LocaleRow)
}

// numberIn returns the number of the requested revision in a locale, or None if there is none that
// the viewer may see.
func (q *TextQuery) numberIn(l LocaleRow, editor bool) int {
	switch {
	case q.Number == nil && q.Working:
		return l.Working // only for editors: others see no working branch
	case q.Number == nil:
		return l.Current
	case *q.Number < 0 || *q.Number > l.Last || !editor && *q.Number != l.Current:
		return None
	}
	return *q.Number
}
