package library

import (
	"context"

	"carrel/core/fault"
	"carrel/core/urlname"
	"carrel/principal"
)

// Pages is what package note does for items: it knows what their further rows contain.
type Pages interface {
	// Begin plans the first text of a new item.
	Begin(ctx context.Context, t FirstText) (*Edit, error)
	// Kinds returns the kinds of rows that it adds to items.
	Kinds() []RowKind
	// Forget removes what rows of a deleted item refer to, before the rows are removed. It may be
	// called again for the same rows.
	Forget(ctx context.Context, id ContentID, rows []Row) error
}

// FirstText is the text that a note is created with.
type FirstText struct {
	ID                  ContentID
	Title, Body, Locale string
	Author              principal.ID
}

// checkText checks the first text of an item.
func (in *CreateContent) checkText(faults *fault.List) {
	if in.Body != nil {
		if in.Kind == Link {
			*faults = append(*faults, fault.NotApplicablef([]string{"body"}, "a LINK has no text: create a NOTE, or leave the body out"))
		}
		faults.Add(CheckBody(*in.Body), "body")
	}
	if in.Locale == nil {
		return
	}
	if in.Body == nil {
		*faults = append(*faults, fault.NotApplicablef([]string{"locale"},
			"a locale is that of a body: give a body too, or leave the locale out"))
	}
	locale, err := urlname.Locale(*in.Locale)
	if err != nil {
		*faults = append(*faults, fault.Invalidf([]string{"locale"}, "%s", err))
	}
	in.locale = locale
}

// firstText plans the first text of an item; nil if it starts without one.
func (s *Service) firstText(ctx context.Context, id ContentID, in *CreateContent, author principal.ID) (*Edit, error) {
	if in.Body == nil {
		return nil, nil
	}
	return s.pages.Begin(ctx, FirstText{ID: id, Title: in.Title, Body: *in.Body, Locale: in.locale, Author: author})
}

// rowsPage is how many further rows of a deleted item are removed at once.
const rowsPage = 200

// purgePage removes the further rows of a deleted item, and what they refer to.
func (s *Service) purgePage(ctx context.Context, id ContentID) error {
	for _, kind := range s.pages.Kinds() {
		for more := true; more; {
			rows, err := s.contents.PageRows(ctx, RowSlice{Content: id, Kind: kind, Limit: rowsPage})
			if err != nil || len(rows) == 0 {
				if err != nil {
					return err
				}
				break
			}
			if err := s.engine.Retry(ctx, func() error { return s.pages.Forget(ctx, id, rows) }); err != nil {
				return err
			}
			keys := make([]RowKey, len(rows))
			for i, r := range rows {
				keys[i] = r.RowKey
			}
			cleanup := &Cleanup{ID: id, Rows: keys, Purge: true}
			if err := s.engine.Retry(ctx, func() error { return s.contents.CleanUp(ctx, cleanup) }); err != nil {
				return err
			}
			more = len(rows) == rowsPage
		}
	}
	return nil
}
