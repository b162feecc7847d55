package observe

import (
	"context"
	"time"

	"carrel/library"
)

func (s *measuredStore) EnforceDirectory(ctx context.Context, e *library.DirectoryEnforcement) error {
	began := time.Now()
	err := s.next.EnforceDirectory(ctx, e)
	s.enforceDirectory.ended(began, err)
	return err
}

func (s *measuredStore) PageDirectory(ctx context.Context, p library.DirectorySlice) ([]library.DirectoryRow, error) {
	began := time.Now()
	v, err := s.next.PageDirectory(ctx, p)
	s.pageDirectory.ended(began, err)
	return v, err
}

func (s *measuredStore) ReadDirectory(ctx context.Context, p library.PrincipalID, keys []library.DirectoryKey) ([]library.DirectoryRow, error) {
	began := time.Now()
	v, err := s.next.ReadDirectory(ctx, p, keys)
	s.readDirectory.ended(began, err)
	return v, err
}

func (s *measuredStore) ScanDirectory(ctx context.Context, after []byte, limit int) ([]library.DirectoryRow, []byte, error) {
	began := time.Now()
	rows, next, err := s.next.ScanDirectory(ctx, after, limit)
	s.scanDirectory.ended(began, err)
	return rows, next, err
}

func (s *measuredStore) DropDirectory(ctx context.Context, rows []library.DirectoryRow) error {
	began := time.Now()
	err := s.next.DropDirectory(ctx, rows)
	s.dropDirectory.ended(began, err)
	return err
}

func (s *measuredStore) DirectoryFilled(ctx context.Context) (bool, error) {
	began := time.Now()
	v, err := s.next.DirectoryFilled(ctx)
	s.directoryFilled.ended(began, err)
	return v, err
}

func (s *measuredStore) SetDirectoryFilled(ctx context.Context) error {
	began := time.Now()
	err := s.next.SetDirectoryFilled(ctx)
	s.setDirectoryFilled.ended(began, err)
	return err
}
