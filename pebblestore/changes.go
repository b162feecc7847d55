package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// Changes are stored by minute, so that one range deletion removes all that are too old, of all
// owners, and leaves no tombstones in the ranges that readers scan. A reader goes from
// minute to minute, with one seek for each.

// changes remembers up to which minute old changes have been deleted.
type changes struct {
	mu sync.Mutex
	// upTo is the first minute that has not been deleted.
	upTo clock.Instant
	// last is the minute of the last deletion.
	last clock.Instant
}

// forgetChanges deletes the changes that need not be kept any longer. It is called after a write
// that added changes at an instant, and acts at most once a minute. It never fails that write: a
// later call deletes what this one could not.
func (s contents) forgetChanges(added clock.Instant) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	// If the clock was set back, changes are added before those already deleted.
	s.changes.upTo = min(s.changes.upTo, minuteOf(added))
	now := s.now()
	if s.changes.last == minuteOf(now) {
		return
	}
	s.changes.last = minuteOf(now)
	upTo := minuteOf(now.Add(-library.ChangesKept))
	if upTo <= s.changes.upTo {
		return
	}
	from := []byte{tableChange}
	if s.changes.upTo != 0 {
		from = appendMinute(from[:0], s.changes.upTo)
	}
	err := s.change(nil, s.commitLater, func(b *batch) error {
		b.deleteRange(from, appendMinute(nil, upTo))
		return nil
	})
	if err != nil {
		s.log.Error("store: forget changes", "cause", err.Error())
		return
	}
	s.changes.upTo = upTo
}

// Changes implements library.LibraryStore.
func (s libraries) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) ([]library.Change, error) {
	return read(ctx, s.Store, "read changes", func(v *view) ([]library.Change, error) {
		v.it.SetBounds(appendAfter(appendChangeKey(nil, owner, &after)), []byte{tableChange + 1})
		return v.changes(owner, limit)
	})
}

// changes reads the changes of an owner from the lower bound through the minutes that follow.
func (v *view) changes(owner principal.ID, limit int) ([]library.Change, error) {
	var cs []library.Change
	ok := v.it.First()
	for ok && len(cs) < limit {
		minute, rest, err := cutInstant(v.it.Key()[1:])
		if err != nil {
			return nil, err
		}
		v.end = appendString(v.end[:0], string(owner))
		switch at := bytes.Compare(rest[:min(len(rest), len(v.end))], v.end); {
		case at < 0: // this minute, before the owner
			ok = v.it.SeekGE(appendChanges(v.key[:0], owner, minute))
			continue
		case at > 0: // after it
			ok = v.it.SeekGE(appendChanges(v.key[:0], owner, minute.Add(time.Minute)))
			continue
		}
		var c library.Change
		if c.ChangeKey, err = cutChangeKey(rest[len(v.end):]); err != nil {
			return nil, err
		}
		value, err := v.it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		if c.RemovedFrom, c.Holds, c.Cause, err = decodeChange(value); err != nil {
			return nil, fmt.Errorf("change of %q in the library of %q: %w", c.Content, owner, err)
		}
		cs = append(cs, c)
		ok = v.it.Next()
	}
	return cs, v.it.Error()
}
