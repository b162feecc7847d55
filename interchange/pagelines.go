package interchange

import "carrel/exchange"

// The shapes of lines about texts, with the fields in the order in which they are written.
type (
	branchLine struct {
		Type       exchange.Type `json:"type"`
		Content    string        `json:"contentId"`
		Number     int           `json:"number"`
		CopiedFrom *int          `json:"copiedFrom,omitempty"`
		CreatedAt  *string       `json:"createdAt,omitempty"`
		CreatedBy  string        `json:"createdBy"`
		Current    bool          `json:"current,omitempty"`
		Working    bool          `json:"working,omitempty"`
	}
	revisionLine struct {
		Type         exchange.Type `json:"type"`
		Content      string        `json:"contentId"`
		Branch       int           `json:"branch"`
		Locale       *string       `json:"locale,omitempty"`
		Number       int           `json:"number"`
		Title        string        `json:"title"`
		Body         string        `json:"body"`
		Author       string        `json:"author"`
		CreatedAt    *string       `json:"createdAt,omitempty"`
		BaseRevision *int          `json:"baseRevision,omitempty"`
		Suggestion   *string       `json:"suggestion,omitempty"`
		Current      bool          `json:"current,omitempty"`
	}
	suggestionLine struct {
		Type         exchange.Type `json:"type"`
		ID           string        `json:"id"`
		Content      string        `json:"contentId"`
		Branch       int           `json:"branch"`
		Locale       *string       `json:"locale,omitempty"`
		Title        string        `json:"title"`
		Body         string        `json:"body"`
		Note         *string       `json:"note,omitempty"`
		Author       string        `json:"author"`
		CreatedAt    *string       `json:"createdAt,omitempty"`
		BaseRevision *int          `json:"baseRevision,omitempty"`
		State        *string       `json:"state,omitempty"`
		DecidedBy    *string       `json:"decidedBy,omitempty"`
		Revision     *int          `json:"revision,omitempty"`
	}
	draftLine struct {
		Type         exchange.Type `json:"type"`
		Content      string        `json:"contentId"`
		Author       string        `json:"author"`
		Branch       int           `json:"branch"`
		Locale       *string       `json:"locale,omitempty"`
		Title        string        `json:"title"`
		Body         string        `json:"body"`
		BaseRevision *int          `json:"baseRevision,omitempty"`
		Version      *int          `json:"version,omitempty"`
		UpdatedAt    *string       `json:"updatedAt,omitempty"`
	}
)

// writtenPage is like written, for lines about texts.
func writtenPage(l *exchange.Line) any {
	switch l.Type {
	case exchange.TypeBranch:
		b := l.Branch
		return branchLine{l.Type, b.Content, b.Number, b.CopiedFrom, text(b.CreatedAt), b.CreatedBy, b.Current, b.Working}
	case exchange.TypeRevision:
		v := l.Revision
		return revisionLine{
			Type: l.Type, Content: v.Content, Branch: v.Branch, Locale: v.Locale, Number: v.Number, Title: v.Title, Body: v.Body,
			Author: v.Author, CreatedAt: text(v.CreatedAt), BaseRevision: v.BaseRevision, Suggestion: v.Suggestion, Current: v.Current,
		}
	case exchange.TypeSuggestion:
		g := l.Suggestion
		return suggestionLine{
			Type: l.Type, ID: g.ID, Content: g.Content, Branch: g.Branch, Locale: g.Locale, Title: g.Title, Body: g.Body, Note: g.Note,
			Author: g.Author, CreatedAt: text(g.CreatedAt), BaseRevision: g.BaseRevision, State: g.State, DecidedBy: g.DecidedBy,
			Revision: g.Revision,
		}
	}
	d := l.Draft
	return draftLine{
		Type: l.Type, Content: d.Content, Author: d.Author, Branch: d.Branch, Locale: d.Locale, Title: d.Title, Body: d.Body,
		BaseRevision: d.BaseRevision, Version: d.Version, UpdatedAt: text(d.UpdatedAt),
	}
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
