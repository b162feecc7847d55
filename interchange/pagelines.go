package interchange

import "carrel/exchange"

// The shapes of lines about texts. Their times take the place of those in the values.
type (
	branchLine struct {
		Type exchange.Type `json:"type"`
		*exchange.ImportBranch
		CreatedAt *string `json:"createdAt,omitempty"`
	}
	revisionLine struct {
		Type exchange.Type `json:"type"`
		*exchange.ImportRevision
		CreatedAt *string `json:"createdAt,omitempty"`
	}
	suggestionLine struct {
		Type exchange.Type `json:"type"`
		*exchange.ImportSuggestion
		CreatedAt *string `json:"createdAt,omitempty"`
	}
	draftLine struct {
		Type exchange.Type `json:"type"`
		*exchange.ImportDraft
		UpdatedAt *string `json:"updatedAt,omitempty"`
	}
)

// writtenPage is like written, for lines about texts.
func writtenPage(l *exchange.Line) any {
	switch l.Type {
	case exchange.TypeBranch:
		return branchLine{l.Type, l.Branch, text(l.Branch.CreatedAt)}
	case exchange.TypeRevision:
		return revisionLine{l.Type, l.Revision, text(l.Revision.CreatedAt)}
	case exchange.TypeSuggestion:
		return suggestionLine{l.Type, l.Suggestion, text(l.Suggestion.CreatedAt)}
	}
	return draftLine{l.Type, l.Draft, text(l.Draft.UpdatedAt)}
}

func (r *reader) branch() *exchange.ImportBranch {
	return &exchange.ImportBranch{
		Content:    r.contentID("contentId"),
		Number:     r.number("number", 2),
		CopiedFrom: r.optionalCount("copiedFrom"),
		CreatedAt:  r.instant("createdAt"),
		CreatedBy:  r.principal("createdBy", "u:"),
		Current:    r.optionalBool("current"),
		Working:    r.optionalBool("working"),
	}
}

func (r *reader) revision() *exchange.ImportRevision {
	return &exchange.ImportRevision{
		Content:      r.contentID("contentId"),
		Branch:       r.number("branch", 1),
		Locale:       r.optionalText("locale"),
		Number:       r.number("number", 0),
		Title:        r.text("title"),
		Body:         r.text("body"),
		Author:       r.principal("author", "u:"),
		CreatedAt:    r.instant("createdAt"),
		BaseRevision: r.optionalNumber("baseRevision", 0),
		Suggestion:   r.optionalText("suggestion"),
		Current:      r.optionalBool("current"),
	}
}

func (r *reader) suggestion() *exchange.ImportSuggestion {
	in := &exchange.ImportSuggestion{
		ID:           r.text("id"),
		Content:      r.contentID("contentId"),
		Branch:       r.number("branch", 1),
		Locale:       r.optionalText("locale"),
		Title:        r.text("title"),
		Body:         r.text("body"),
		Note:         r.optionalText("note"),
		Author:       r.principal("author", "u:"),
		CreatedAt:    r.instant("createdAt"),
		BaseRevision: r.optionalNumber("baseRevision", 0),
		State:        r.optionalText("state"),
		Revision:     r.optionalNumber("revision", 0),
	}
	if r.given("decidedBy") {
		by := r.principal("decidedBy", "u:")
		in.DecidedBy = &by
	}
	return in
}

func (r *reader) draft() *exchange.ImportDraft {
	return &exchange.ImportDraft{
		Content:      r.contentID("contentId"),
		Author:       r.principal("author", "u:"),
		Branch:       r.number("branch", 1),
		Locale:       r.optionalText("locale"),
		Title:        r.text("title"),
		Body:         r.text("body"),
		BaseRevision: r.optionalNumber("baseRevision", 0),
		Version:      r.optionalCount("version"),
		UpdatedAt:    r.instant("updatedAt"),
	}
}

// number reads a required number.
func (r *reader) number(field string, minimum int64) int {
	n := r.optionalNumber(field, minimum)
	if n == nil {
		if !r.given(field) {
			r.fault(field, "is missing")
		}
		return 0
	}
	return *n
}
