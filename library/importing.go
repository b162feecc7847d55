package library

import (
	"context"
	"strconv"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
	"carrel/core/id"
	"carrel/core/input"
	"carrel/principal"
)

// Importing is for the operator's command line: nobody is asked for rights,
// and what is known of the past may be told. Everything else holds as for
// mutations: shape, existence, the protocol. Each call is whole or nothing, and
// may be repeated: what stands already as told is Unchanged.

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
	CreatedAt    *clock.Instant        // now when nil
	CreatedBy    *string               // the first manager when nil
	LastModified *clock.Instant        // CreatedAt when nil
	Version      *int                  // 1 when nil
	Members      []ContentMemberChange // 1..100
}

// ImportMembers gives roles in one group or on one item to more principals.
type ImportMembers struct {
	ID      string
	Group   []principal.GroupMemberChange // of a group, 1..100
	Content []ContentMemberChange         // of an item, 1..100
}

// ImportContent stores an item that does not exist yet. Its place in libraries
// is the LastModified told.
func (s *Service) ImportContent(ctx context.Context, in ImportContent) (principal.ImportResult, error) {
	h, members, err := s.importedHeader(&in)
	if err != nil {
		return principal.Unchanged, err
	}
	ps := make([]principal.ID, len(members))
	for i, m := range members {
		ps[i] = m.Principal
	}
	if err := s.RequireAll(ctx, ps); err != nil {
		return principal.Unchanged, err
	}
	result := principal.Unchanged
	e, ok, err := s.decide(ctx, s.NewBudget(), h.ID, func(ctx context.Context) (*attempt, error) {
		rows, err := s.contents.Read(ctx, h.ID, ContentQuery{})
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
		if err := s.takeURL(ctx, h.ID, h.CanonicalURL); err != nil {
			return nil, err
		}
		result = principal.Created
		return s.planImport(ctx, old, h, members)
	})
	if err != nil || !ok {
		return principal.Unchanged, err
	}
	s.fanOut(ctx, e, "")
	return result, nil
}

// planImport is the first state of an item as told.
func (s *Service) planImport(ctx context.Context, before *Header, told Header, members []Member) (*attempt, error) {
	after := told
	after.Seq, after.MTS = before.Seq+1, max(s.MTS(before.MTS), told.Position)
	rows := changeRows(&after, absentRows(members), func(i int) ContentRole { return members[i].Role })
	if err := s.putHint(ctx, &after); err != nil {
		return nil, err
	}
	return s.contentAttempt(
		InFlight{Content: after.ID, Base: before.Seq, Scope: commit.ScopeListed, Principals: principalsOf(rows), Reverse: true},
		&ContentCommit{ID: after.ID, Base: before.Seq, Header: after, Members: rows}), nil
}

// sameItem tells whether an item stands as told. What the line left to chance,
// and what has changed it since by a mutation, does not count.
func sameItem(old, told *Content, in *ImportContent) bool {
	return old.Kind == told.Kind && old.Title == told.Title && equalStrings(old.Description, told.Description) &&
		equalStrings(old.Link, told.Link) && (in.URL == nil || old.CanonicalURL == told.CanonicalURL) && old.Visibility == told.Visibility &&
		(in.LastModified == nil || old.LastModified == told.LastModified)
}

// importedHeader is the shape of the line.
func (s *Service) importedHeader(in *ImportContent) (Header, []Member, error) {
	now := s.Now()
	// ExpiresAt may have passed since the file was written: the journal does
	// with the item what it would have done, and the lines that name it stand.
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
	for _, m := range members {
		if m.Role == Manages {
			h.Creator = m.Principal
			break
		}
	}
	if h.Creator == "" && len(more) == 0 {
		faults = append(faults, fault.Invalidf([]string{"members"}, "a content needs at least one MANAGER"))
	}
	if in.CreatedBy != nil {
		// A group, where the item was imported without an author and groups alone
		// managed it.
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
		faults = append(faults, fault.Invalidf([]string{"lastModified"}, "createdAt and lastModified lie in the past, in this order"))
	}
	if h.Version < 1 {
		faults = append(faults, fault.Invalidf([]string{"version"}, "a version is at least 1"))
	}
	h.Position, h.Widest = h.LastModified, h.Visibility
	return h, members, faults.OrNil()
}

// ImportMembers gives roles to principals that have none or others.
func (s *Service) ImportMembers(ctx context.Context, in ImportMembers) (principal.ImportResult, error) {
	if id.KindOf(in.ID) == id.Content {
		return s.importRoles(ctx, ContentID(in.ID), in.Content)
	}
	return s.ImportGroupMembers(ctx, in.ID, in.Group)
}

func (s *Service) importRoles(ctx context.Context, id ContentID, changes []ContentMemberChange) (principal.ImportResult, error) {
	wanted, faults := rolesGiven(changes, input.MaxList, false)
	for i, m := range wanted {
		if m.Role == NoRole {
			faults = append(faults, fault.Invalidf([]string{"members", strconv.Itoa(i), "role"}, "a role is VIEWER, EDITOR or MANAGER"))
		}
	}
	if err := faults.OrNil(); err != nil {
		return principal.Unchanged, err
	}
	ps := make([]principal.ID, len(wanted))
	for i, m := range wanted {
		ps[i] = m.Principal
	}
	if err := s.RequireAll(ctx, ps); err != nil {
		return principal.Unchanged, err
	}
	e, ok, err := s.decide(ctx, s.NewBudget(), id, func(ctx context.Context) (*attempt, error) {
		rows, err := s.readState(ctx, id, ps, nil)
		if err != nil {
			return nil, err
		}
		if rows.Header.State != commit.Live {
			return nil, fault.NotFoundf([]string{"id"}, "there is no %s; give it a line before this one", id)
		}
		a, _, err := s.planRoles(&target{header: rows.Header, named: rows.Members}, ps, func(i int) ContentRole { return wanted[i].Role }, nil)
		return a, err
	})
	if err != nil || !ok {
		return principal.Unchanged, err
	}
	s.fanOut(ctx, e, "")
	return principal.Changed, nil
}
