package resolvers_test

import (
	"context"

	"carrel/core/commit"
	"carrel/core/feed"
	"carrel/paste"
)

// rowRecorder records the calls of a commit.RowStore.
type rowRecorder[ID ~string] struct {
	by   *recorder
	next commit.RowStore[ID]
}

func (s rowRecorder[ID]) ReadRow(ctx context.Context, id ID) (commit.Row[ID], error) {
	s.by.note("ReadRow", id)
	return s.next.ReadRow(ctx, id)
}

func (s rowRecorder[ID]) CommitRow(ctx context.Context, r commit.Row[ID]) (commit.Row[ID], error) {
	s.by.note("CommitRow", r.ID, r.Seq)
	return s.next.CommitRow(ctx, r)
}

func (s rowRecorder[ID]) DropRow(ctx context.Context, id ID, seq int64) error {
	s.by.note("DropRow", id, seq)
	return s.next.DropRow(ctx, id, seq)
}

func (s rowRecorder[ID]) ScanRows(ctx context.Context, after ID, limit int) ([]commit.Row[ID], error) {
	s.by.note("ScanRows", after, limit)
	return s.next.ScanRows(ctx, after, limit)
}

// pasteRecorder records the calls of a paste.Store.
type pasteRecorder struct {
	*recorder
	rowRecorder[paste.ID]
}

func (s *recorder) ReadPastes(ctx context.Context, refs []paste.Ref) ([]paste.Row, error) {
	s.note("ReadPastes", refs)
	return s.next.Pastes.ReadPastes(ctx, refs)
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
