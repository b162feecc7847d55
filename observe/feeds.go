package observe

import (
	"context"

	"carrel/core/timeline"
)

func (s *measuredStore) feedCalls() []namedCall {
	return []namedCall{
		{&s.recordBucket, "RecordBucket"},
		{&s.listBuckets, "ListBuckets"},
		{&s.putEntry, "PutEntry"},
		{&s.dropEntry, "DropEntry"},
		{&s.listEntries, "ListEntries"},
	}
}

func (s *measuredStore) RecordBucket(ctx context.Context, feed timeline.Feed, b timeline.Bucket) (timeline.Bucket, error) {
	ctx, call := s.recordBucket.begin(ctx)
	v, err := s.next.RecordBucket(ctx, feed, b)
	call.ended(err)
	return v, err
}

func (s *measuredStore) ListBuckets(ctx context.Context, feed timeline.Feed, before timeline.Day, limit int) ([]timeline.Bucket, error) {
	ctx, call := s.listBuckets.begin(ctx)
	v, err := s.next.ListBuckets(ctx, feed, before, limit)
	call.ended(err)
	return v, err
}

func (s *measuredStore) PutEntry(ctx context.Context, c timeline.Change) error {
	ctx, call := s.putEntry.begin(ctx)
	err := s.next.PutEntry(ctx, c)
	call.ended(err)
	return err
}

func (s *measuredStore) DropEntry(ctx context.Context, c timeline.Change) error {
	ctx, call := s.dropEntry.begin(ctx)
	err := s.next.DropEntry(ctx, c)
	call.ended(err)
	return err
}

func (s *measuredStore) ListEntries(ctx context.Context, p timeline.Partition, slice timeline.Slice) (timeline.Listed, error) {
	ctx, call := s.listEntries.begin(ctx)
	v, err := s.next.ListEntries(ctx, p, slice)
	call.ended(err)
	return v, err
}
