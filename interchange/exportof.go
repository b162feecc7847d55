package interchange

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"

	"carrel/library"
	"carrel/library/repair"
	"carrel/paste"
	"carrel/principal"
)

// ExportOf writes the data of one user: its profile, the groups and items that it is a member of
// or has created, its drafts, and the branches, revisions, suggestions and pastes that it has
// written. It is for people to read, and not for Import: lists of members contain only the user, and
// an item that it has created and may not see any more is shown without what others keep in it.
// groups are the groups that the user is a member of. ExportOf reads everything that from exports.
func ExportOf(ctx context.Context, from Source, user principal.ID, groups []principal.ID, w io.Writer, progress func(lines int, bytes int64)) (int, error) {
	if progress == nil {
		progress = func(int, int64) {}
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	s := &sink{bytes: counter{to: buffered}, progress: progress}
	s.out = NewWriter(&s.bytes)
	if err := Only(ctx, from, s, user, groups); err != nil {
		return s.lines, err
	}
	if err := buffered.Flush(); err != nil {
		return s.lines, fmt.Errorf("write the lines: %w", err)
	}
	return s.lines, nil
}

// Only exports the data of one user, who is a member of groups.
func Only(ctx context.Context, from Source, to repair.ExportSink, user principal.ID, groups []principal.ID) error {
	o := &only{to: to, user: user, groups: groups}
	if err := from.Export(ctx, o); err != nil {
		return err
	}
	return o.endItem()
}

// only is a sink that passes on the data of one user.
type only struct {
	to     repair.ExportSink
	user   principal.ID
	groups []principal.ID
	// last is the last exported item, if its own line does not show that the user may see it.
	last *library.ImportContent
}

// User implements library.ExportSink.
func (o *only) User(u principal.ImportUser) error {
	if u.ID != string(o.user) {
		return nil
	}
	return o.to.User(u)
}

func (o *only) groupMembers(all []principal.GroupMemberChange) []principal.GroupMemberChange {
	return slices.DeleteFunc(slices.Clone(all), func(c principal.GroupMemberChange) bool { return c.Principal != string(o.user) })
}

func (o *only) contentMembers(all []library.ContentMemberChange) []library.ContentMemberChange {
	return slices.DeleteFunc(slices.Clone(all), func(c library.ContentMemberChange) bool { return c.Principal != string(o.user) })
}

// Group implements library.ExportSink.
func (o *only) Group(g principal.ImportGroup) error {
	if !slices.Contains(o.groups, principal.ID(g.ID)) {
		return nil
	}
	g.Members, g.MembersFollow = o.groupMembers(g.Members), false
	return o.to.Group(g)
}

// created reports whether the user has created an item.
func (o *only) created(c *library.ImportContent) bool {
	return c.CreatedBy != nil && *c.CreatedBy == string(o.user)
}

// sees reports whether the user may see an item that it has created: by its visibility, or through
// one of members, which may be a group.
func (o *only) sees(c *library.ImportContent, members []library.ContentMemberChange) bool {
	return c.Visibility == principal.Public ||
		c.Visibility == principal.LoggedIn && library.ContentID(c.ID).Tenant() == o.user.Tenant() ||
		slices.ContainsFunc(members, func(m library.ContentMemberChange) bool {
			return m.Principal == string(o.user) || slices.Contains(o.groups, principal.ID(m.Principal))
		})
}

// Content implements library.ExportSink.
func (o *only) Content(c library.ImportContent) error {
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

// endItem passes on the last item if the user has created it and none of its lines has shown that
// the user may see it: only that, and not what others may have made of it since.
func (o *only) endItem() error {
	c := o.last
	if o.last = nil; c == nil || !o.created(c) {
		return nil
	}
	return o.to.Content(library.ImportContent{
		ID: c.ID, Kind: c.Kind, Visibility: c.Visibility, CreatedAt: c.CreatedAt, CreatedBy: c.CreatedBy,
	})
}

// Members implements library.ExportSink.
func (o *only) Members(m library.ImportMembers) error {
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

// Branch implements library.ExportSink.
func (o *only) Branch(b library.ImportBranch) error {
	if b.CreatedBy != string(o.user) {
		return nil
	}
	return o.to.Branch(b)
}

// Revision implements library.ExportSink.
func (o *only) Revision(v library.ImportRevision) error {
	if v.Author != string(o.user) {
		return nil
	}
	return o.to.Revision(v)
}

// Suggestion implements library.ExportSink.
func (o *only) Suggestion(g library.ImportSuggestion) error {
	if g.Author != string(o.user) {
		return nil
	}
	return o.to.Suggestion(g)
}

// Draft implements library.ExportSink.
func (o *only) Draft(d library.ImportDraft) error {
	if d.Author != string(o.user) {
		return nil
	}
	return o.to.Draft(d)
}

// Paste implements repair.ExportSink.
func (o *only) Paste(p paste.Import) error {
	if p.Author == nil || *p.Author != string(o.user) {
		return nil
	}
	return o.to.Paste(p)
}
