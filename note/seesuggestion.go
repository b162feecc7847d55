package note

import (
	"context"

	"carrel/core/clock"
	"carrel/core/urlname"
	"carrel/library"
	"carrel/principal"
)

// Suggestion is a suggestion as a viewer sees it.
type Suggestion struct {
	ID           string
	Content      *library.Content
	Branch       int
	Locale       string // "" is none
	Title        string
	Note         *string
	Author       principal.ID
	BaseRevision *int
	State        State
	CreatedAt    clock.Instant
	DecidedBy    principal.ID // "" while OPEN
	Resulting    *int         // the number of the revision that it became

	text text
}

// LocaleOrNull returns the locale, or nil if there is none.
func (g *Suggestion) LocaleOrNull() *string { return localeOrNil(g.Locale) }

// Size returns the size of the body in bytes.
func (g *Suggestion) Size() int { return g.text.Size }

// Tenant returns the tenant of the item.
func (g *Suggestion) Tenant() string { return g.Content.Tenant() }

// Key returns the key of the suggestion.
func (g *Suggestion) Key() string {
	return urlname.Key{Kind: urlname.Suggestion, Content: keyOf(g.Content), Branch: g.Branch, Locale: g.Locale, Suggestion: g.ID}.String()
}

// Suggestion returns a suggestion, or nil if there is none that the viewer may see. Editors see all
// suggestions of an item, others only their own.
func (s *Service) Suggestion(ctx context.Context, v *principal.Viewer, id string) (*Suggestion, error) {
	parsed, ok := ParseTextID(id)
	if !ok {
		return nil, nil
	}
	item, row, err := s.findSuggestion(ctx, parsed)
	if err != nil {
		return nil, err
	}
	p, err := s.see(ctx, v, item)
	if err != nil || p == nil || row.State == 0 || !p.sees(v, &row) {
		return nil, err
	}
	return p.suggestion(parsed, &row), nil
}

// sees reports whether the viewer may see a suggestion of the item.
func (p *seen) sees(v *principal.Viewer, row *suggestionRow) bool {
	return p.Permissions.CanEdit || v.SignedIn() && !p.deleted && row.Author == v.User
}

func (p *seen) suggestion(id TextID, row *suggestionRow) *Suggestion {
	return &Suggestion{
		ID: id.String(), Content: &p.Header.Content, Branch: row.Branch, Locale: row.Locale, Title: row.Title, Note: row.Note,
		Author: row.Author, BaseRevision: orNil(row.Base), State: row.State, CreatedAt: row.CreatedAt, DecidedBy: row.DecidedBy,
		Resulting: orNil(row.Revision), text: text{ID: id, Size: row.Size},
	}
}
