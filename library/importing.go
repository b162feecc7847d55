package library

import (
	"context"
	"slices"
	"strconv"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/principal"
)

// Imports are for the operator's command line: they check no rights, and may set values of the
// past. Everything else is as for mutations: the checks of the input, existence, the protocol.
// Each call is atomic and may be repeated: what is stored already is Unchanged.

// ImportContent is an item with its first members, one of them a manager.
type ImportContent struct {
	ID           string
	Kind         ContentKind
	Title        string
	Description  *string
	Link         *string
	URL          *string // names the item
	Visibility   principal.Visibility
	ExpiresAt    *clock.Instant
	CreatedAt    *clock.Instant        // nil: now
	CreatedBy    *string               // nil: the first manager
	LastModified *clock.Instant        // nil: CreatedAt
	Version      *int                  // nil: 1
	Members      []ContentMemberChange // 1..100
	// Unmanaged: nobody but administrators manages it; Members may be empty then, and CreatedBy
	// is needed.
	Unmanaged bool
}

// ImportMembers sets roles of further principals in one group or on one item.
type ImportMembers struct {
	ID      string
	Group   []principal.GroupMemberChange // of a group, 1..100
	Content []ContentMemberChange         // of an item, 1..100
	// Unmanaged: the group has no manager, and gets none by this.
	Unmanaged bool
}

// ImportContent stores an item that does not exist yet. Its position in libraries is its
// LastModified.
func (u Upkeep) ImportContent(ctx context.Context, in ImportContent) (principal.ImportResult, error) {
	h, members, err := u.s.importedHeader(&in)
	if err != nil {
		return principal.Unchanged, err
	}
	if err := u.s.people.RequireAll(ctx, members.Principals); err != nil {
		return principal.Unchanged, err
	}
	result := principal.Unchanged
	e, ok, err := u.s.decide(ctx, u.s.engine.NewBudget(), h.ID, func(ctx context.Context) (*attempt, error) {
		rows, err := u.s.contents.Read(ctx, h.ID, ContentQuery{})
		if err != nil {
			return nil, err
		}
		old := &rows.Header
		if old.State == commit.Live || old.State == commit.Deleted {
			if old.State == commit.Deleted || !sameItem(&old.Content, &h.Content, &in) {
				return nil, principal.DiffersFrom("a content")
			}
			return nothingToChange, nil
		}
		if err := u.s.takeURL(ctx, h.ID, h.CanonicalURL); err != nil {
			return nil, err
		}
		result = principal.Created
		return u.s.planImport(ctx, old, h, members)
	})
	if err != nil || !ok {
		return principal.Unchanged, err
	}
	u.s.fanOut(ctx, e, "")
	return result, nil
}

// planImport plans the first state of an imported item.
func (s *Service) planImport(ctx context.Context, before *Header, imported Header, members roles) (*attempt, error) {
	after := imported
	after.Seq, after.MTS = before.Seq+1, max(s.engine.MTS(before.MTS), imported.Position)
	rows := changeRows(&after, absentRows(members.Principals), members.Roles)
	if err := s.putReminder(ctx, &after); err != nil {
		return nil, err
	}
	reach := commit.Reach{Scope: commit.ScopeListed, Principals: principalsOf(rows), All: true}
	if len(rows) == 0 {
		reach.Scope = commit.ScopeAll // for the entry in the feed of the tenant
	}
	return s.contentAttempt(inFlight{Entry: commit.Entry{Reach: reach}},
		&ContentCommit{ID: after.ID, Base: before.Seq, Header: after, Members: rows}), nil
}

// sameItem reports whether an imported item is stored already: with the same kind, title,
// description, link and visibility and, if the import has them, the same URL and LastModified.
// Other fields are not compared.
func sameItem(old, imported *Content, in *ImportContent) bool {
	return old.Kind == imported.Kind && old.Title == imported.Title && equalStrings(old.Description, imported.Description) &&
		equalStrings(old.Link, imported.Link) && (in.URL == nil || old.CanonicalURL == imported.CanonicalURL) &&
		old.Visibility == imported.Visibility &&
		(in.LastModified == nil || old.LastModified == imported.LastModified)
}

// importedHeader checks an imported item, and returns the header and the members that it describes.
func (s *Service) importedHeader(in *ImportContent) (Header, roles, error) {
	now := s.engine.Now()
	// ExpiresAt may have passed since the file was written. The journal then expires the item
	// as it would have done, and the lines that name it remain valid.
	shape := CreateContent{Kind: in.Kind, Title: in.Title, Description: in.Description, Link: in.Link,
		URL: in.URL, Visibility: in.Visibility, Members: in.Members}
	var faults fault.List
	id, err := ParseContentID(in.ID)
	faults.Add(err, "id")
	members, more := shape.check(now, input.MaxList)
	faults = append(faults, more...)
	h := Header{State: commit.Live, Content: Content{
		ID: id, Kind: in.Kind, Title: in.Title, Description: in.Description, Link: in.Link,
		CanonicalURL: shape.url, Visibility: in.Visibility, ExpiresAt: in.ExpiresAt, CreatedAt: now, Version: 1,
	}}
	if i := slices.Index(members.Roles, Manages); i >= 0 {
		h.Creator = members.Principals[i]
	}
	switch {
	case len(more) > 0:
	case in.Unmanaged && h.Creator != "":
		faults = append(faults, fault.NotApplicablef([]string{"unmanaged"}, "the content has a MANAGER"))
	case in.Unmanaged && in.CreatedBy == nil:
		faults = append(faults, fault.Emptyf([]string{"createdBy"}, "a content that nobody manages needs createdBy"))
	case h.Creator == "" && !in.Unmanaged:
		faults = append(faults, fault.Emptyf([]string{"members"}, "a content needs at least one MANAGER"))
	}
	if in.CreatedBy != nil {
		// A group is a valid creator: the item may have been imported without an author and
		// managed by groups only.
		h.Creator, err = principal.ParseID(*in.CreatedBy)
		faults.Add(err, "createdBy")
	}
	if in.CreatedAt != nil {
		h.CreatedAt = *in.CreatedAt
	}
	h.LastModified = h.CreatedAt
	if in.LastModified != nil {
		h.LastModified = *in.LastModified
	}
	if in.Version != nil {
		h.Version = *in.Version
	}
	if h.CreatedAt > now || h.LastModified > now || h.LastModified < h.CreatedAt {
		faults = append(faults, fault.OutOfRangef([]string{"lastModified"}, "createdAt and lastModified must be in the past, in this order"))
	}
	if h.Version < 1 {
		faults = append(faults, fault.OutOfRangef([]string{"version"}, "a version is at least 1"))
	}
	h.Position, h.Widest = h.LastModified, h.Visibility
	return h, members, faults.OrNil()
}

// ImportMembers sets the roles of principals that have none or another one.
func (u Upkeep) ImportMembers(ctx context.Context, in ImportMembers) (principal.ImportResult, error) {
	if id.KindOf(in.ID) == id.Content {
		return u.s.importRoles(ctx, ContentID(in.ID), in.Content)
	}
	return u.s.people.Upkeep.ImportGroupMembers(ctx, in.ID, in.Group, in.Unmanaged)
}

func (s *Service) importRoles(ctx context.Context, id ContentID, changes []ContentMemberChange) (principal.ImportResult, error) {
	var faults fault.List
	wanted := parseRoles(changes, input.MaxList, false, &faults)
	for i, role := range wanted.Roles {
		if role == NoRole {
			faults.Add(fault.Invalidf(nil, "a role is VIEWER, EDITOR or MANAGER"), "members", strconv.Itoa(i), "role")
		}
	}
	if err := faults.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	if err := s.people.RequireAll(ctx, wanted.Principals); err != nil {
		return principal.Unchanged, err
	}
	e, ok, err := s.decide(ctx, s.engine.NewBudget(), id, func(ctx context.Context) (*attempt, error) {
		rows, err := s.readState(ctx, id, wanted.Principals, nil)
		if err != nil {
			return nil, err
		}
		if rows.Header.State != commit.Live {
			return nil, fault.NotFoundf([]string{"id"}, "there is no %s; give it a line before this one", id)
		}
		a, _, err := s.planRoles(&target{header: rows.Header, named: rows.Members}, wanted, nil)
		return a, err
	})
	if err != nil || !ok {
		return principal.Unchanged, err
	}
	s.fanOut(ctx, e, "")
	return principal.Changed, nil
}

// ImportEdit decides an import of data that another package keeps in an item. plan gets the
// rows of the keys, and returns nil if the item contains the imported data already.
func (u Upkeep) ImportEdit(ctx context.Context, id ContentID, keys []RowKey,
	plan func(ctx context.Context, t *ItemReading) (*Edit, error)) (principal.ImportResult, error) {
	_, ok, err := u.s.decide(ctx, u.s.engine.NewBudget(), id, func(ctx context.Context) (*attempt, error) {
		read, err := u.s.contents.Read(ctx, id, ContentQuery{Rows: keys})
		if err != nil {
			return nil, err
		}
		if read.Header.State != commit.Live {
			return nil, fault.NotFoundf([]string{"contentId"}, "there is no %s; give it a line before this one", id)
		}
		edit, err := plan(ctx, &ItemReading{Header: &read.Header, Rows: read.Rows})
		if err != nil || edit == nil {
			return nothingToChange, err
		}
		a, _ := u.s.planEdit(&read.Header, edit, nil, 0)
		return a, nil
	})
	if err != nil || !ok {
		return principal.Unchanged, err
	}
	return principal.Created, nil
}
