package observe

import (
	"context"

	"carrel/page"
	"carrel/principal"
)

func (s *measuredStore) draftCalls() []namedCall {
	return []namedCall{
		{&s.listDrafts, "ListDrafts"},
		{&s.readDrafts, "ReadDrafts"},
		{&s.putDraft, "PutDraft"},
		{&s.dropDraft, "DropDraft"},
	}
}

func (s *measuredStore) ListDrafts(ctx context.Context, user principal.ID) ([]page.DraftRow, error) {
	ctx, call := s.listDrafts.begin(ctx)
	v, err := s.next.ListDrafts(ctx, user)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ReadDrafts(ctx context.Context, user principal.ID, names []string, serial bool) ([]page.DraftRow, error) {
	ctx, call := s.readDrafts.begin(ctx)
	v, err := s.next.ReadDrafts(ctx, user, names, serial)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutDraft(ctx context.Context, d page.DraftRow, over *page.TextID) (page.DraftRow, error) {
	ctx, call := s.putDraft.begin(ctx)
	v, err := s.next.PutDraft(ctx, d, over)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropDraft(ctx context.Context, user principal.ID, name string, token page.TextID) error {
	ctx, call := s.dropDraft.begin(ctx)
	err := s.next.DropDraft(ctx, user, name, token)
	call.ended(err)
	return err
}
