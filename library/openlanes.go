package library

import (
	"context"
	"errors"
	"slices"

	"carrel/core/commit"
)

// OpenLane is a lane with its entries.
type OpenLane struct {
	ID      LaneID
	Stamp   int64
	Entries []commit.Entry
}

// OpenLanes reads the entries of all lanes. All lanes that can be read come beside an
// *UnreadableLanes, which names the others.
func OpenLanes(ctx context.Context, store JournalStore) ([]OpenLane, error) {
	lanes, err := store.Lanes(ctx)
	var bad UnreadableLanes
	if unread := (*UnreadableLanes)(nil); errors.As(err, &unread) {
		bad = *unread
	} else if err != nil {
		return nil, err
	}
	open := make([]OpenLane, 0, len(lanes))
	for _, l := range lanes {
		entries, err := commit.Decode(l.Blocks)
		if err != nil {
			bad.IDs, bad.Err = append(bad.IDs, l.ID), errors.Join(bad.Err, err)
			continue
		}
		open = append(open, OpenLane{ID: l.ID, Stamp: l.Stamp, Entries: entries})
	}
	if bad.Err != nil {
		slices.Sort(bad.IDs)
		return open, &bad
	}
	return open, nil
}
