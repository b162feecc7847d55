package observe

import (
	"context"

	"carrel/paste"
)

func (s *measuredStore) pasteCalls() []namedCall {
	return []namedCall{
		{&s.readPaste, "ReadPaste"},
		{&s.readPastes, "ReadPastes"},
		{&s.commitPaste, "CommitPaste"},
		{&s.dropPaste, "DropPaste"},
		{&s.scanPastes, "ScanPastes"},
		{&s.putBody, "PutBody"},
		{&s.readBodies, "ReadBodies"},
		{&s.listBodies, "ListBodies"},
		{&s.dropBodies, "DropBodies"},
	}
}

func (s *measuredStore) ReadPaste(ctx context.Context, id paste.ID) (paste.Row, error) {
	ctx, call := s.readPaste.begin(ctx)
	v, err := s.next.ReadPaste(ctx, id)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	ctx, call := s.readPastes.begin(ctx)
	v, err := s.next.ReadPastes(ctx, refs)
	call.ended(err)
	return v, err
}

func (s *measuredStore) CommitPaste(ctx context.Context, r paste.Row) (paste.Row, error) {
	ctx, call := s.commitPaste.begin(ctx)
	v, err := s.next.CommitPaste(ctx, r)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropPaste(ctx context.Context, id paste.ID, seq int64) error {
	ctx, call := s.dropPaste.begin(ctx)
	err := s.next.DropPaste(ctx, id, seq)
	call.ended(err)
	return err
}

func (s *measuredStore) ScanPastes(ctx context.Context, after paste.ID, limit int) ([]paste.Row, error) {
	ctx, call := s.scanPastes.begin(ctx)
	v, err := s.next.ScanPastes(ctx, after, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	ctx, call := s.putBody.begin(ctx)
	err := s.next.PutBody(ctx, ref, body)
	call.ended(err)
	return err
}

func (s *measuredStore) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	ctx, call := s.readBodies.begin(ctx)
	v, err := s.next.ReadBodies(ctx, refs)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ListBodies(ctx context.Context, id paste.ID) ([]paste.BodyID, error) {
	ctx, call := s.listBodies.begin(ctx)
	v, err := s.next.ListBodies(ctx, id)
	call.ended(err)
	return v, err
}

func (s *measuredStore) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
	ctx, call := s.dropBodies.begin(ctx)
	err := s.next.DropBodies(ctx, refs)
	call.ended(err)
	return err
}
