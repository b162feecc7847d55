package interchange

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"

	"carrel/exchange"
	"carrel/library"
	"carrel/paste"
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
	if progress == nil {
		progress = func(int, int64) {}
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	s := &sink{bytes: counter{to: buffered}, progress: progress}
	s.out = NewWriter(&s.bytes)
	if err := ExportUser(ctx, from, s, user, groups); err != nil {
		return s.lines, err
	}
	if err := buffered.Flush(); err != nil {
		return s.lines, fmt.Errorf("write the lines: %w", err)
	}
	return s.lines, nil
}

// ExportUser passes the data of one user, who is a member of groups, to a sink.
func ExportUser(ctx context.Context, from Source, to exchange.Sink, user principal.ID, groups []principal.ID) error {
	o := &userFilter{to: to, user: user, groups: groups}
	if err := from.Export(ctx, o); err != nil {
		return err
	}
	return o.endItem()
}

// userFilter is a sink that passes on the data of one user.
type userFilter struct {
	to     exchange.Sink
	user   principal.ID
	groups []principal.ID
	// last is the current item, if its own line does not show whether the user may see it.
	last *library.ImportContent
}

// User implements exchange.Sink.
func (o *userFilter) User(u principal.ImportUser) error {
	if u.ID != string(o.user) {
		return nil
	}
	return o.to.User(u)
}

func (o *userFilter) groupMembers(all []principal.GroupMemberChange) []principal.GroupMemberChange {
	return slices.DeleteFunc(slices.Clone(all), func(c principal.GroupMemberChange) bool { return c.Principal != string(o.user) })
}

func (o *userFilter) contentMembers(all []library.ContentMemberChange) []library.ContentMemberChange {
	return slices.DeleteFunc(slices.Clone(all), func(c library.ContentMemberChange) bool { return c.Principal != string(o.user) })
}

// Group implements exchange.Sink.
func (o *userFilter) Group(g principal.ImportGroup) error {
	if !slices.Contains(o.groups, principal.ID(g.ID)) {
		return nil
	}
	g.Members, g.MembersFollow = o.groupMembers(g.Members), false
	return o.to.Group(g)
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

// Content implements exchange.Sink.
func (o *userFilter) Content(c library.ImportContent) error {
	if err := o.endItem(); err != nil {
		return err
	}
	all := c.Members
	c.Members = o.contentMembers(all)
	if len(c.Members) == 0 && !(o.created(&c) && o.sees(&c, all)) {
		o.last = &c
		return nil
	}
	return o.to.Content(c)
}

// endItem ends the current item. If the user has created it, and no line has shown that the user
// may see it, endItem passes it on without its texts and links, which others may have changed
// since.
func (o *userFilter) endItem() error {
	c := o.last
	if o.last = nil; c == nil || !o.created(c) {
		return nil
	}
	return o.to.Content(library.ImportContent{
		ID: c.ID, Kind: c.Kind, Visibility: c.Visibility, CreatedAt: c.CreatedAt, CreatedBy: c.CreatedBy,
	})
}

// Members implements exchange.Sink.
func (o *userFilter) Members(m library.ImportMembers) error {
	all := m.Content
	m.Group, m.Content = o.groupMembers(m.Group), o.contentMembers(all)
	if c := o.last; c != nil && c.ID == m.ID && (len(m.Content) > 0 || o.created(c) && o.sees(c, all)) {
		o.last = nil
		if err := o.to.Content(*c); err != nil {
			return err
		}
	}
	if len(m.Group)+len(m.Content) == 0 {
		return nil
	}
	return o.to.Members(m)
}

// Branch implements exchange.Sink.
func (o *userFilter) Branch(b exchange.ImportBranch) error {
	if b.CreatedBy != string(o.user) {
		return nil
	}
	return o.to.Branch(b)
}

// Revision implements exchange.Sink.
func (o *userFilter) Revision(v exchange.ImportRevision) error {
	if v.Author != string(o.user) {
		return nil
	}
	return o.to.Revision(v)
}

// Suggestion implements exchange.Sink.
func (o *userFilter) Suggestion(g exchange.ImportSuggestion) error {
	if g.Author != string(o.user) {
		return nil
	}
	return o.to.Suggestion(g)
}

// Draft implements exchange.Sink.
func (o *userFilter) Draft(d exchange.ImportDraft) error {
	if d.Author != string(o.user) {
		return nil
	}
	return o.to.Draft(d)
}

// Paste implements exchange.Sink.
func (o *userFilter) Paste(p paste.Import) error {
	if p.Author == nil || *p.Author != string(o.user) {
		return nil
	}
	return o.to.Paste(p)
}
