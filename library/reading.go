package library

import (
	"context"

	"carrel/core/clock"
	"carrel/core/cursor"
	"carrel/principal"
)

// Reading is what all reads of one page have in common: who reads which library. access.go says
// which items it shows.
type Reading struct {
	s     *Service
	v     *principal.Viewer
	Owner principal.ID
	// Bucket is the part of the library that the viewer may read, and Source the part that has the
	// items which a page may show. They differ with includeShared: then entries are read from Bucket
	// and from the PRIVATE buckets of Libraries, those of the viewer and of its groups. They have an
	// entry of each item on which the viewer has a role.
	Bucket, Source Bucket
	Libraries      []principal.ID
	// AsOwner reports that the owner's role on an item is the viewer's too.
	AsOwner bool
	// Members are the principals whose rows are read with each header: the owner, and the viewer
	// if it is signed in, not the owner, and its role matters.
	Members []principal.ID
	Binding []byte // what cursors are bound to (cursor.Binding)
	// ReadAt is when the reading started; it goes into the cursors.
	ReadAt clock.Instant
}

// StartReading determines which part of owner's library the viewer reads, and what is read with
// each item. It reads no entries.
func (s *Service) StartReading(ctx context.Context, v *principal.Viewer, owner principal.ID, q *LibraryQuery) (*Reading, error) {
	bucket, asOwner, err := s.bucketAndWhy(ctx, v, owner)
	if err != nil {
		return nil, err
	}
	r := &Reading{
		s: s, v: v, Owner: owner, Bucket: bucket, Source: bucket, AsOwner: asOwner, ReadAt: s.engine.StoreNow(),
		Binding: cursor.Binding(cursor.OfLibrary, ClassOf(bucket, q.IncludeShared), string(owner)),
	}
	if q.IncludeShared && v.SignedIn() && bucket != principal.Private {
		groups, err := s.people.GroupsOf(ctx, v)
		if err != nil {
			return nil, err
		}
		r.Source = principal.Private
		r.Libraries = append([]principal.ID{v.User}, groups.All()...)
	}
	r.Members = append(make([]principal.ID, 0, 2), owner)
	if v.SignedIn() && v.User != owner && (q.WithPermissions || r.Source == principal.Private && !asOwner) {
		r.Members = append(r.Members, v.User)
	}
	return r, nil
}

// ClassOf returns the class of viewers that share the cursors of a library: the
// bucket that they read, and whether with includeShared.
func ClassOf(b Bucket, includeShared bool) cursor.Class {
	c := cursor.Class(b)
	if includeShared {
		c |= 0x80
	}
	return c
}

// ownRow returns the viewer's own member row, if it was read.
func (r *Reading) ownRow(rows *ContentRows) Member {
	switch {
	case r.v.User == r.Owner:
		return rows.Members[0]
	case len(r.Members) > 1:
		return rows.Members[1]
	}
	return Member{}
}

// Permissions returns what the viewer may do with items that it sees. Each was read with
// r.Members.
func (r *Reading) Permissions(ctx context.Context, rows []*ContentRows) ([]Permissions, error) {
	items := make([]permissionsItem, len(rows))
	for i := range rows {
		items[i] = permissionsItem{&rows[i].Header, r.ownRow(rows[i])}
	}
	return r.s.permissions(ctx, r.v, items)
}

// edgeFor returns the edge of an item in owner's library for the answer of a mutation. Its
// cursor works in both directions of the order of the last change, for viewers that read the bucket. It contains no time of
// reading: a client that followed the library from it would miss changes by others, which the
// mutation does not return.
func (s *Service) edgeFor(owner principal.ID, bucket Bucket, h *Header, role ContentRole) *LibraryEdge {
	return &LibraryEdge{Node: &h.Content, Role: role, Position: h.Position, OrderTitle: h.OrderTitle(), SealedCursor: &cursor.Sealed{
		Sealer: s.Seals, Binding: cursor.Binding(cursor.OfLibrary, ClassOf(bucket, false), string(owner)),
		Position: cursor.Position{Order: cursor.AnyOrder, At: h.Position, ID: string(h.ID)},
	}}
}
