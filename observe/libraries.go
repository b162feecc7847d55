package observe

import (
	"context"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

func (s *measuredStore) PageLibrary(ctx context.Context, q library.Slice) ([]library.Entry, error) {
	ctx, call := s.pageLibrary.begin(ctx)
	v, err := s.next.PageLibrary(ctx, q)
	call.ended(err)
	return v, err
}

func (s *measuredStore) OpenLibrary(ctx context.Context, q library.Slice, newest bool) (*library.Opening, error) {
	ctx, call := s.openLibrary.begin(ctx)
	v, err := s.next.OpenLibrary(ctx, q, newest)
	call.ended(err)
	return v, err
}

func (s *measuredStore) CountLibrary(ctx context.Context, owner principal.ID, b library.Bucket, limit int) (int, error) {
	ctx, call := s.countLibrary.begin(ctx)
	v, err := s.next.CountLibrary(ctx, owner, b, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Built(ctx context.Context, owner principal.ID) (bool, error) {
	ctx, call := s.built.begin(ctx)
	v, err := s.next.Built(ctx, owner)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	ctx, call := s.recorded.begin(ctx)
	v, err := s.next.Recorded(ctx, owner)
	call.ended(err)
	return v, err
}

func (s *measuredStore) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	ctx, call := s.setBuilt.begin(ctx)
	err := s.next.SetBuilt(ctx, owner, asOf)
	call.ended(err)
	return err
}

func (s *measuredStore) RebuildNote(ctx context.Context, owner principal.ID) ([]byte, error) {
	ctx, call := s.rebuildNote.begin(ctx)
	v, err := s.next.RebuildNote(ctx, owner)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant, note []byte) error {
	ctx, call := s.putRebuildNote.begin(ctx)
	err := s.next.PutRebuildNote(ctx, owner, asOf, note)
	call.ended(err)
	return err
}

func (s *measuredStore) DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	ctx, call := s.dropRebuildNote.begin(ctx)
	err := s.next.DropRebuildNote(ctx, owner, asOf)
	call.ended(err)
	return err
}

func (s *measuredStore) DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	ctx, call := s.dropLibrary.begin(ctx)
	err := s.next.DropLibrary(ctx, owner, asOf)
	call.ended(err)
	return err
}

func (s *measuredStore) DropEntries(ctx context.Context, owner principal.ID, es []library.BucketEntry) error {
	ctx, call := s.dropEntries.begin(ctx)
	err := s.next.DropEntries(ctx, owner, es)
	call.ended(err)
	return err
}

func (s *measuredStore) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) ([]library.Change, error) {
	ctx, call := s.changes.begin(ctx)
	v, err := s.next.Changes(ctx, owner, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) SharedWith(ctx context.Context, owner principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	ctx, call := s.sharedWith.begin(ctx)
	v, err := s.next.SharedWith(ctx, owner, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	ctx, call := s.roles.begin(ctx)
	v, err := s.next.Roles(ctx, owner, ids)
	call.ended(err)
	return v, err
}
