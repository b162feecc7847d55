package commit

import (
	"context"
	"errors"
	"slices"
)

// OpenList is an in-flight list with its entries decoded.
type OpenList struct {
	ID      ListID
	Stamp   int64
	Entries []Entry
}

// OpenLists reads the entries of all lists. If some cannot be read, it returns the others
// together with an *UnreadableLists that names the unreadable ones.
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
		entries, err := knownEntries(l.Block)
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

// knownEntries decodes the entries of a list. An entry of a kind that only a later version
// knows is an error: the whole list is then finished by a gateway of that version. A process
// that finished a part of it would repeat that part forever.
func knownEntries(block []byte) ([]Entry, error) {
	entries, err := Decode(block)
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
