package note

import (
	"context"
	"iter"
	"slices"

	"carrel/core/cursor"
	"carrel/core/sched"
	"carrel/library"
	"carrel/principal"
)

// DraftConnection is a page of the drafts of a user, and DraftEdge one of its edges.
type (
	DraftConnection = cursor.Connection[*Draft]
	DraftEdge       = cursor.Edge[*Draft]
)

// Drafts lists the drafts of a user, last saved first. For other viewers the list is empty. Drafts of
// items that the user may not, or no longer, see are omitted.
func (s *Service) Drafts(ctx context.Context, v *principal.Viewer, user principal.ID, args cursor.PageArgs) (*DraftConnection, error) {
	l, err := s.newList(cursor.OfDrafts, 0, string(user), args)
	if err != nil {
		return nil, err
	}
	if !v.SignedIn() || v.User != user {
		return &DraftConnection{}, nil
	}
	all, err := s.store.ListDrafts(ctx, user)
	if err != nil {
		return nil, err
	}
	if l.after != "" {
		all = slices.DeleteFunc(all, func(d DraftRow) bool { return d.Token.String() >= l.after })
	}
	var found []*Draft
	for stored, err := range draftPages(ctx, s.store, user, all, min(l.page.Size+1, MaxDraftRows)) {
		if err != nil {
			return nil, err
		}
		ds, err := s.drafts(ctx, v, stored)
		if err != nil {
			return nil, err
		}
		if found = append(found, ds...); len(found) > l.page.Size {
			break
		}
	}
	more := len(found) > l.page.Size
	found = found[:min(len(found), l.page.Size)]
	return connect(l, found, func(d *Draft) string { return d.token.String() }, more, ""), nil
}

// draftPages reads listed drafts of a user, a page of at most size at a time, in their order. It leaves
// out those that were removed meanwhile. It ends after an error.
func draftPages(ctx context.Context, store Store, user principal.ID, listed []DraftRow, size int) iter.Seq2[[]DraftRow, error] {
	return func(yield func([]DraftRow, error) bool) {
		for some := range slices.Chunk(listed, size) {
			names := make([]string, len(some))
			for i, d := range some {
				names[i] = d.Name
			}
			rows, err := store.ReadDrafts(ctx, user, names, false)
			rows = slices.DeleteFunc(rows, func(d DraftRow) bool { return d.Name == "" })
			if !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// drafts shows some drafts of the viewer, in their order, without those that it may not see.
func (s *Service) drafts(ctx context.Context, v *principal.Viewer, rows []DraftRow) ([]*Draft, error) {
	opened := make([]*storedDraft, len(rows))
	err := sched.ForEach(ctx, s.rt, len(rows), textsAtOnce, func(i int) error {
		var err error
		opened[i], err = s.openDraft(ctx, rows[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	opened = slices.DeleteFunc(opened, func(d *storedDraft) bool { return d == nil })
	ids := make([]library.ContentID, len(opened))
	for i, d := range opened {
		ids[i] = d.Item
	}
	items, err := s.library.Items(ctx, v, ids)
	if err != nil {
		return nil, err
	}
	deleted, err := s.people.IsDeleted(ctx, v)
	if err != nil {
		return nil, err
	}
	var shown []*Draft
	for i, d := range opened {
		if items[i] != nil && !deleted {
			shown = append(shown, d.shown(&items[i].Header.Content))
		}
	}
	return shown, nil
}
