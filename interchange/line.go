package interchange

import (
	"carrel/exchange"
	"carrel/library"
	"carrel/paste"
	"carrel/principal"
)

// Type is the type of a line.
type Type string

// The types of lines.
const (
	TypeUser    Type = "user"
	TypeGroup   Type = "group"
	TypeContent Type = "content"
	TypeMembers Type = "members"

	TypeBranch     Type = "branch"
	TypeRevision   Type = "revision"
	TypeSuggestion Type = "suggestion"
	TypeDraft      Type = "draft"

	TypePaste Type = "paste"
)

// ofPage reports whether lines of the type are about texts of items. Lines of these types do not
// depend on each other if their items differ.
func (t Type) ofPage() bool {
	return t == TypeBranch || t == TypeRevision || t == TypeSuggestion
}

// Line is one line of a file. Only the field of its Type is set.
type Line struct {
	Type    Type
	User    *principal.ImportUser
	Group   *principal.ImportGroup
	Content *library.ImportContent
	Members *library.ImportMembers

	Branch     *exchange.ImportBranch
	Revision   *exchange.ImportRevision
	Suggestion *exchange.ImportSuggestion
	Draft      *exchange.ImportDraft

	Paste *paste.Import
}

// ID returns the id of what the line changes: the item of a text, the author of a draft.
func (l *Line) ID() string {
	switch l.Type {
	case TypeUser:
		return l.User.ID
	case TypeGroup:
		return l.Group.ID
	case TypeContent:
		return l.Content.ID
	case TypeBranch:
		return l.Branch.Content
	case TypeRevision:
		return l.Revision.Content
	case TypeSuggestion:
		return l.Suggestion.Content
	case TypeDraft:
		return l.Draft.Author
	case TypePaste:
		return l.Paste.ID
	}
	return l.Members.ID
}

// names calls visit for what must be stored before the line: the principals that it names, the item
// or group of a line of members, and the item of a draft. It leaves out the author of a paste and
// who decided on a suggestion, because lines of users have ended before lines of those types begin.
func (l *Line) names(visit func(id string)) {
	switch l.Type {
	case TypeGroup:
		for _, m := range l.Group.Members {
			visit(m.Principal)
		}
	case TypeContent:
		if l.Content.CreatedBy != nil {
			visit(*l.Content.CreatedBy)
		}
		for _, m := range l.Content.Members {
			visit(m.Principal)
		}
	case TypeMembers:
		visit(l.Members.ID)
		for _, m := range l.Members.Group {
			visit(m.Principal)
		}
		for _, m := range l.Members.Content {
			visit(m.Principal)
		}
	case TypeBranch:
		visit(l.Branch.CreatedBy)
	case TypeRevision:
		visit(l.Revision.Author)
	case TypeSuggestion:
		visit(l.Suggestion.Author)
	case TypeDraft:
		visit(l.Draft.Content)
	}
}
