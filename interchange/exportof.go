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
// written. It is for people to read, and not for Import: lists of members contain only the user.
// groups are the groups that the user is a member of. ExportOf reads everything that from exports.
func ExportOf(ctx context.Context, from Source, user principal.ID, groups []principal.ID, w io.Writer, progress func(lines int, bytes int64)) (int, error) {
	if progress == nil {
		progress = func(int, int64) {}
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	s := &sink{bytes: counter{to: buffered}, progress: progress}
	s.out = NewWriter(&s.bytes)
	if err := from.Export(ctx, Only(s, user, groups)); err != nil {
		return s.lines, err
	}
	if err := buffered.Flush(); err != nil {
		return s.lines, fmt.Errorf("write the lines: %w", err)
	}
	return s.lines, nil
}

// Only returns a sink that passes on the data of one user, who is a member of groups.
func Only(to repair.ExportSink, user principal.ID, groups []principal.ID) repair.ExportSink {
	return &only{to: to, user: string(user), groups: groups}
}

// only is a sink that passes on the data of one user.
type only struct {
	to     repair.ExportSink
	user   string
	groups []principal.ID
	// last is the last exported item, if its own line does not name the user.
	last *library.ImportContent
}

// User implements library.ExportSink.
func (o *only) User(u principal.ImportUser) error {
	if u.ID != o.user {
		return nil
	}
	return o.to.User(u)
}

func (o *only) groupMembers(all []principal.GroupMemberChange) []principal.GroupMemberChange {
	return slices.DeleteFunc(slices.Clone(all), func(c principal.GroupMemberChange) bool { return c.Principal != o.user })
}

func (o *only) contentMembers(all []library.ContentMemberChange) []library.ContentMemberChange {
	return slices.DeleteFunc(slices.Clone(all), func(c library.ContentMemberChange) bool { return c.Principal != o.user })
}

// Group implements library.ExportSink.
func (o *only) Group(g principal.ImportGroup) error {
	if !slices.Contains(o.groups, principal.ID(g.ID)) {
		return nil
	}
	g.Members, g.MembersFollow = o.groupMembers(g.Members), false
	return o.to.Group(g)
}

// Content implements library.ExportSink.
func (o *only) Content(c library.ImportContent) error {
	c.Members = o.contentMembers(c.Members)
	created := c.CreatedBy != nil && *c.CreatedBy == o.user
	if o.last = nil; !created && len(c.Members) == 0 {
		o.last = &c
		return nil
	}
	return o.to.Content(c)
}

// Members implements library.ExportSink.
func (o *only) Members(m library.ImportMembers) error {
	m.Group, m.Content = o.groupMembers(m.Group), o.contentMembers(m.Content)
	if len(m.Group)+len(m.Content) == 0 {
		return nil
	}
	if o.last != nil && o.last.ID == m.ID {
		if err := o.to.Content(*o.last); err != nil {
			return err
		}
		o.last = nil
	}
	return o.to.Members(m)
}

// Branch implements library.ExportSink.
func (o *only) Branch(b library.ImportBranch) error {
	if b.CreatedBy != o.user {
		return nil
	}
	return o.to.Branch(b)
}

// Revision implements library.ExportSink.
func (o *only) Revision(v library.ImportRevision) error {
	if v.Author != o.user {
		return nil
	}
	return o.to.Revision(v)
}

// Suggestion implements library.ExportSink.
func (o *only) Suggestion(g library.ImportSuggestion) error {
	if g.Author != o.user {
		return nil
	}
	return o.to.Suggestion(g)
}

// Draft implements library.ExportSink.
func (o *only) Draft(d library.ImportDraft) error {
	if d.Author != o.user {
		return nil
	}
	return o.to.Draft(d)
}

// Paste implements repair.ExportSink.
func (o *only) Paste(p paste.Import) error {
	if p.Author == nil || string(*p.Author) != o.user {
		return nil
	}
	return o.to.Paste(p)
}
