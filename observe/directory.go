package observe

import (
	"context"

	"carrel/principal"
)

func (s *measuredStore) ApplyDirectory(ctx context.Context, e *principal.DirectoryUpdate) error {
	ctx, call := s.applyDirectory.begin(ctx)
	err := s.next.ApplyDirectory(ctx, e)
	call.ended(err)
	return err
}

func (s *measuredStore) PageDirectory(ctx context.Context, p principal.DirectorySlice) ([]principal.DirectoryRow, error) {
	ctx, call := s.pageDirectory.begin(ctx)
	v, err := s.next.PageDirectory(ctx, p)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ReadDirectory(ctx context.Context, p principal.ID, keys []principal.DirectoryKey) ([]principal.DirectoryRow, error) {
	ctx, call := s.readDirectory.begin(ctx)
	v, err := s.next.ReadDirectory(ctx, p, keys)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ScanDirectory(ctx context.Context, after []byte, limit int) ([]principal.DirectoryRow, []byte, error) {
	ctx, call := s.scanDirectory.begin(ctx)
	rows, next, err := s.next.ScanDirectory(ctx, after, limit)
	call.ended(err)
	return rows, next, err
}

func (s *measuredStore) DropDirectory(ctx context.Context, rows []principal.DirectoryRow) error {
	ctx, call := s.dropDirectory.begin(ctx)
	err := s.next.DropDirectory(ctx, rows)
	call.ended(err)
	return err
}

func (s *measuredStore) DirectoryFilled(ctx context.Context) (bool, error) {
	ctx, call := s.directoryFilled.begin(ctx)
	v, err := s.next.DirectoryFilled(ctx)
	call.ended(err)
	return v, err
}

func (s *measuredStore) SetDirectoryFilled(ctx context.Context) error {
	ctx, call := s.setDirectoryFilled.begin(ctx)
	err := s.next.SetDirectoryFilled(ctx)
	call.ended(err)
	return err
}
