package interchange

import (
	"carrel/exchange"
	"carrel/paste"
)

// pasteLine is the shape of a line about a paste, with the fields in the order in which they
// are written.
type pasteLine struct {
	Type       exchange.Type `json:"type"`
	ID         string        `json:"id"`
	Title      *string       `json:"title,omitempty"`
	Body       string        `json:"body"`
	IsPrivate  bool          `json:"isPrivate,omitempty"`
	Author     *string       `json:"author,omitempty"`
	CreatedAt  *string       `json:"createdAt,omitempty"`
	ModifiedAt *string       `json:"modifiedAt,omitempty"`
	ExpiresAt  *string       `json:"expiresAt,omitempty"`
	Version    *int          `json:"version,omitempty"`
}

// writtenPaste is like written, for a line about a paste.
func writtenPaste(l *exchange.Line) any {
	p := l.Paste
	return pasteLine{l.Type, p.ID, p.Title, p.Body, p.IsPrivate, p.Author, text(p.CreatedAt), text(p.ModifiedAt), text(p.ExpiresAt), p.Version}
}

func (r *reader) paste() *paste.Import {
	in := &paste.Import{
		ID:         r.text("id"),
		Title:      r.optionalText("title"),
		Body:       r.text("body"),
		IsPrivate:  r.optionalBool("isPrivate"),
		CreatedAt:  r.instant("createdAt"),
		ModifiedAt: r.instant("modifiedAt"),
		ExpiresAt:  r.instant("expiresAt"),
		Version:    r.optionalCount("version"),
	}
	if r.given("author") {
		author := r.principal("author", "u:")
		in.Author = &author
	}
	return in
}
