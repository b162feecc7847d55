package resolvers_test

import (
	"context"

	"carrel/core/feed"
	"carrel/paste"
)

func (s *recorder) ReadPaste(ctx context.Context, id paste.ID) (paste.Row, error) {
	s.note("ReadPaste", id)
	return s.next.Pastes.ReadPaste(ctx, id)
}

func (s *recorder) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	s.note("ReadPastes", refs)
	return s.next.Pastes.ReadPastes(ctx, refs)
}

func (s *recorder) CommitPaste(ctx context.Context, r paste.Row) (paste.Row, error) {
	s.note("CommitPaste", r)
	return s.next.Pastes.CommitPaste(ctx, r)
}

func (s *recorder) DropPaste(ctx context.Context, id paste.ID, seq int64) error {
	s.note("DropPaste", id, seq)
	return s.next.Pastes.DropPaste(ctx, id, seq)
}

func (s *recorder) ScanPastes(ctx context.Context, after paste.ID, limit int) ([]paste.Row, error) {
	s.note("ScanPastes", after, limit)
	return s.next.Pastes.ScanPastes(ctx, after, limit)
}

func (s *recorder) PutBody(ctx context.Context, ref paste.BodyRef, body string) error {
	s.note("PutBody", ref, len(body))
	return s.next.Pastes.PutBody(ctx, ref, body)
}

func (s *recorder) ReadBodies(ctx context.Context, refs []paste.BodyRef) ([]*string, error) {
	s.note("ReadBodies", refs)
	return s.next.Pastes.ReadBodies(ctx, refs)
}

func (s *recorder) ListBodies(ctx context.Context, id paste.ID) ([]paste.BodyID, error) {
	s.note("ListBodies", id)
	return s.next.Pastes.ListBodies(ctx, id)
}

func (s *recorder) DropBodies(ctx context.Context, refs []paste.BodyRef) error {
	s.note("DropBodies", refs)
	return s.next.Pastes.DropBodies(ctx, refs)
}

func (s *recorder) RecordBucket(ctx context.Context, feed feed.Feed, b feed.Bucket) (feed.Bucket, error) {
	s.note("RecordBucket", feed, b)
	return s.next.Feeds.RecordBucket(ctx, feed, b)
}

func (s *recorder) ListBuckets(ctx context.Context, feed feed.Feed) ([]feed.Bucket, error) {
	s.note("ListBuckets", feed)
	return s.next.Feeds.ListBuckets(ctx, feed)
}

func (s *recorder) PutEntry(ctx context.Context, c feed.Change) error {
	s.note("PutEntry", c)
	return s.next.Feeds.PutEntry(ctx, c)
}

func (s *recorder) DropEntry(ctx context.Context, c feed.Change) error {
	s.note("DropEntry", c)
	return s.next.Feeds.DropEntry(ctx, c)
}

func (s *recorder) ListEntries(ctx context.Context, p feed.Partition, slice feed.Slice) ([]feed.Entry, error) {
	s.note("ListEntries", p, slice)
	return s.next.Feeds.ListEntries(ctx, p, slice)
}
