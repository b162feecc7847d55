package commit

import (
	"context"
	"errors"
	"slices"
)

// OpenList is a lane with its entries.
type OpenList struct {
	ID      ListID
	Stamp   int64
	Entries []Entry
}

// OpenLists reads the entries of all lanes. All lanes that can be read come beside an
// *UnreadableLists, which names the others.
func OpenLists(ctx context.Context, store JournalStore) ([]OpenList, error) {
	inFlightLists, err := store.InFlightLists(ctx)
	var bad UnreadableLists
	if unread := (*UnreadableLists)(nil); errors.As(err, &unread) {
		bad = *unread
	} else if err != nil {
		return nil, err
	}
	open := make([]OpenList, 0, len(inFlightLists))
	for _, l := range inFlightLists {
		entries, err := knownEntries(l.Blocks)
		if err != nil {
			bad.IDs, bad.Err = append(bad.IDs, l.ID), errors.Join(bad.Err, err)
			continue
		}
		open = append(open, OpenList{ID: l.ID, Stamp: l.Stamp, Entries: entries})
	}
	if bad.Err != nil {
		slices.Sort(bad.IDs)
		return open, &bad
	}
	return open, nil
}

// knownEntries decodes the entries of a lane. An entry of a kind that only a later
// version knows is an error: the lane is left to a gateway of that version as a
// whole, because who finishes a part of it would do so again and again.
func knownEntries(blocks [][]byte) ([]Entry, error) {
	entries, err := Decode(blocks)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if err := entries[i].Check(); err != nil {
			return nil, err
		}
	}
	return entries, nil
}
