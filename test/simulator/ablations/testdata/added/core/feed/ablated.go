package feed

import (
	"context"
	"os"
)

// ablated reports whether a rule is off.
func ablated(name string) bool { return os.Getenv("CARREL_ABLATION") == name }

// ablatedRecord returns the bucket of a day. With the ablation "day-after-entry", it neither reads nor records the
// bucket, and returns one with firstShards partitions.
func (t *Timelines) ablatedRecord(ctx context.Context, feed Feed, day Day) (Bucket, error) {
	if ablated("day-after-entry") {
		return Bucket{Day: day, Shards: firstShards}, nil
	}
	return t.buckets.record(ctx, feed, day)
}

// ablatedLook returns the bucket of a day, and whether an entry of it is not to be removed.
func (t *Timelines) ablatedLook(ctx context.Context, feed Feed, day Day) (b Bucket, skip bool, err error) {
	if ablated("removal-unrecorded") {
		b, ok, err := t.buckets.look(ctx, feed, day)
		return b, !ok, err
	}
	b, err = t.buckets.record(ctx, feed, day)
	return b, false, err
}
