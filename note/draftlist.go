package note

import (
	"context"
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
	for some := range slices.Chunk(all, min(l.page.Size+1, MaxDraftRows)) {
		ds, err := s.drafts(ctx, v, some)
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

// drafts reads some drafts of the viewer, in their order, without those that it may not see.
func (s *Service) drafts(ctx context.Context, v *principal.Viewer, some []DraftRow) ([]*Draft, error) {
	names := make([]string, len(some))
	for i, d := range some {
		names[i] = d.Name
	}
	rows, err := s.store.ReadDrafts(ctx, v.User, names, false)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(d DraftRow) bool { return d.Name == "" })
	opened := make([]*storedDraft, len(rows))
	err = sched.ForEach(ctx, s.rt, len(rows), textsAtOnce, func(i int) error {
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
