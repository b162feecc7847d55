package note

import (
	"context"

	"carrel/core/cursor"
	"carrel/library"
	"carrel/principal"
)

// SuggestionConnection is a page of the suggestions of an item, and SuggestionEdge one of its edges.
type (
	SuggestionConnection = cursor.Connection[*Suggestion]
	SuggestionEdge       = cursor.Edge[*Suggestion]
)

const (
	// scanned limits how many suggestions are read for a page. If that is not enough, the page
	// is short.
	scanned = 250
	// scannedAtOnce is how many of them are read at once.
	scannedAtOnce = 125
)

// Suggestions lists the suggestions of an item, newest first: all of them for editors, only their
// own for others. If state is not nil, it lists only suggestions in that state.
func (s *Service) Suggestions(ctx context.Context, v *principal.Viewer, id library.ContentID, state *State,
	args cursor.PageArgs) (*SuggestionConnection, error) {
	p, err := s.see(ctx, v, id)
	if err != nil {
		return nil, err
	}
	var c *SuggestionConnection
	err = s.whole(ctx, p, func(p *seen) (err error) {
		c, err = s.suggestionsOf(ctx, v, id, p, state, args)
		return err
	})
	return c, err
}

// suggestionsOf is Suggestions for one state of the item; nil: the viewer does not see it.
func (s *Service) suggestionsOf(ctx context.Context, v *principal.Viewer, id library.ContentID, p *seen, state *State,
	args cursor.PageArgs) (*SuggestionConnection, error) {
	class, owner := editors, string(id)
	if p == nil || !p.Permissions.CanEdit {
		class = visitors
	}
	if state != nil {
		owner += "#" + state.String()
	}
	l, err := s.newList(cursor.OfSuggestions, class, owner, args)
	if err != nil {
		return nil, err
	}
	if p == nil || class == visitors && !v.SignedIn() {
		return &SuggestionConnection{}, nil
	}
	found, resume, err := s.scanSuggestions(ctx, l, p, func(row *suggestionRow) bool {
		return p.sees(v, row) && (state == nil || row.State == *state)
	})
	if err != nil {
		return nil, err
	}
	read, err := s.contents.Read(ctx, id, library.ContentQuery{})
	if err != nil {
		return nil, err
	}
	if err := p.unchanged(&read.Header); err != nil {
		return nil, err
	}
	more := len(found) > l.page.Size || resume != ""
	found = found[:min(len(found), l.page.Size)]
	return connect(l, found, func(g *Suggestion) string { return g.ID }, more, resume), nil
}

// scanSuggestions finds the suggestions of the page and one more, if there is one. If it stops
// before, resume is the position where it stopped; at the end of the list it is "".
func (s *Service) scanSuggestions(ctx context.Context, l *list, p *seen, shown func(*suggestionRow) bool) (found []*Suggestion,
	resume string, err error) {
	at := l.after
	for read := 0; read < scanned; {
		limit := min(scannedAtOnce, scanned-read)
		rows, err := s.contents.PageRows(ctx, library.RowSlice{Content: p.Header.ID, Kind: suggestionKind, To: at, Backwards: true, Limit: limit})
		if err != nil {
			return nil, "", err
		}
		for _, r := range rows {
			id, ok := ParseTextID(r.Key)
			if !ok {
				return nil, "", errRow
			}
			row, err := decodeSuggestion(r.Value)
			if err != nil {
				return nil, "", err
			}
			at = r.Key
			if shown(&row) {
				found = append(found, p.suggestion(id, &row))
			}
			if len(found) > l.page.Size {
				return found, "", nil
			}
		}
		if len(rows) < limit {
			return found, "", nil
		}
		read += len(rows)
	}
	return found, at, nil
}
