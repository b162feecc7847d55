package interchange

import (
	"context"
	"io"
	"slices"

	"carrel/exchange"
	"carrel/library"
	"carrel/principal"
)

// ExportOf writes the data of one user: its profile, the groups that it is a member of, the items
// that it is a member of or has created, its drafts, and the branches, revisions, suggestions and
// pastes that it has written.
// The output is for people, and not for Import: lists of members contain only the user, and an item
// that the user has created and may not see any more has no title, description, link and URL.
// groups are the groups that the user is a member of. ExportOf reads everything that the source
// exports.
func ExportOf(ctx context.Context, from Source, user principal.ID, groups []principal.ID, w io.Writer,
	progress func(lines int, bytes int64)) (int, error) {
	return write(w, progress, func(to exchange.Sink) error { return ExportUser(ctx, from, to, user, groups) })
}

// ExportUser passes the data of one user, who is a member of groups, to a sink.
func ExportUser(ctx context.Context, from Source, to exchange.Sink, user principal.ID, groups []principal.ID) error {
	o := &userFilter{to: to, user: user, groups: groups}
	if err := from.Export(ctx, o.line); err != nil {
		return err
	}
	return o.endItem()
}

// userFilter passes on the data of one user to a sink.
type userFilter struct {
	to     exchange.Sink
	user   principal.ID
	groups []principal.ID
	// last is the current item, if its own line does not show whether the user may see it.
	last *library.ImportContent
}

// line passes on a line if the user is its author, or is among those that it names.
func (o *userFilter) line(l *exchange.Line) error {
	switch l.Type {
	case exchange.TypeGroup:
		return o.group(*l.Group)
	case exchange.TypeContent:
		return o.content(*l.Content)
	case exchange.TypeMembers:
		return o.members(*l.Members)
	}
	if author(l) != string(o.user) {
		return nil
	}
	return o.to(l)
}

// author returns the author of a line that has no members, or the user whom a line is about. It is
// empty if there is none.
func author(l *exchange.Line) string {
	switch l.Type {
	case exchange.TypeBranch:
		return l.Branch.CreatedBy
	case exchange.TypeRevision:
		return l.Revision.Author
	case exchange.TypeSuggestion:
		return l.Suggestion.Author
	case exchange.TypePaste:
		if l.Paste.Author == nil {
			return ""
		}
		return *l.Paste.Author
	}
	return l.ID() // of a user or of a draft
}

// ofUser returns those of changes that give a user a role.
func ofUser[R any](user principal.ID, changes []principal.RoleChange[R]) []principal.RoleChange[R] {
	return slices.DeleteFunc(slices.Clone(changes), func(c principal.RoleChange[R]) bool { return c.Principal != string(user) })
}

func (o *userFilter) group(g principal.ImportGroup) error {
	if !slices.Contains(o.groups, principal.ID(g.ID)) {
		return nil
	}
	g.Members, g.MembersFollow = ofUser(o.user, g.Members), false
	return o.to(&exchange.Line{Type: exchange.TypeGroup, Group: &g})
}

func (o *userFilter) toContent(c *library.ImportContent) error {
	return o.to(&exchange.Line{Type: exchange.TypeContent, Content: c})
}

// created reports whether the user has created an item.
func (o *userFilter) created(c *library.ImportContent) bool {
	return c.CreatedBy != nil && *c.CreatedBy == string(o.user)
}

// sees reports whether the user may see an item that it has created, because of its visibility, or
// because the user or one of its groups is among members.
func (o *userFilter) sees(c *library.ImportContent, members []library.ContentMemberChange) bool {
	return library.VisibilityShows(c.Visibility, library.ContentID(c.ID), o.user) ||
		slices.ContainsFunc(members, func(m library.ContentMemberChange) bool {
			return m.Principal == string(o.user) || slices.Contains(o.groups, principal.ID(m.Principal))
		})
}

func (o *userFilter) content(c library.ImportContent) error {
	if err := o.endItem(); err != nil {
		return err
	}
	all := c.Members
	c.Members = ofUser(o.user, all)
	if len(c.Members) == 0 && !(o.created(&c) && o.sees(&c, all)) {
		o.last = &c
		return nil
	}
	return o.toContent(&c)
}

// endItem ends the current item. If the user has created it, and no line has shown that the user
// may see it, endItem passes it on without its texts and links, which others may have changed
// since.
func (o *userFilter) endItem() error {
	c := o.last
	if o.last = nil; c == nil || !o.created(c) {
		return nil
	}
	return o.toContent(&library.ImportContent{
		ID: c.ID, Kind: c.Kind, Visibility: c.Visibility, CreatedAt: c.CreatedAt, CreatedBy: c.CreatedBy,
	})
}

func (o *userFilter) members(m library.ImportMembers) error {
	all := m.Content
	m.Group, m.Content = ofUser(o.user, m.Group), ofUser(o.user, all)
	if c := o.last; c != nil && c.ID == m.ID && (len(m.Content) > 0 || o.created(c) && o.sees(c, all)) {
		o.last = nil
		if err := o.toContent(c); err != nil {
			return err
		}
	}
	if len(m.Group)+len(m.Content) == 0 {
		return nil
	}
	return o.to(&exchange.Line{Type: exchange.TypeMembers, Members: &m})
}
