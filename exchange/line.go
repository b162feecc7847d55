package exchange

import (
	"context"

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

// Line is an object in the form in which it is exported and imported: one line of a file. Only the
// field of its Type is set.
type Line struct {
	Type    Type
	User    *principal.ImportUser
	Group   *principal.ImportGroup
	Content *library.ImportContent
	Members *library.ImportMembers

	Branch     *ImportBranch
	Revision   *ImportRevision
	Suggestion *ImportSuggestion
	Draft      *ImportDraft

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

// Sink receives the lines of an export, one call at a time. Each line follows those of the objects
// that it names, as an import requires.
type Sink func(*Line) error

// Import stores a line. It takes effect completely or not at all, and returns Unchanged if everything
// is already stored. Its errors are those of the Service that the object belongs to.
func (s *Service) Import(ctx context.Context, l *Line) (principal.ImportResult, error) {
	switch l.Type {
	case TypeUser:
		return s.people.Upkeep.ImportUser(ctx, *l.User)
	case TypeGroup:
		return s.people.Upkeep.ImportGroup(ctx, *l.Group)
	case TypeContent:
		return s.library.Upkeep.ImportContent(ctx, *l.Content)
	case TypeBranch:
		return s.pages.ImportBranch(ctx, *l.Branch)
	case TypeRevision:
		return s.pages.ImportRevision(ctx, *l.Revision)
	case TypeSuggestion:
		return s.pages.ImportSuggestion(ctx, *l.Suggestion)
	case TypeDraft:
		return s.pages.ImportDraft(ctx, *l.Draft)
	case TypePaste:
		return s.pastes.Import(ctx, *l.Paste)
	}
	return s.library.Upkeep.ImportMembers(ctx, *l.Members)
}
