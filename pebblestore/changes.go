package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// Changes stand by minutes first, so that those which are too old go by one
// deletion of a range, whosever they are, and leave no dead rows in the ranges
// that are read. A reader passes from minute to minute: a look-up each.

// changes remembers up to where changes have been taken away.
type changes struct {
	mu sync.Mutex
	// upTo is the first minute that has not been taken away.
	upTo clock.Instant
	// last is the minute in which it was last looked for more.
	last clock.Instant
}

// forgetChanges takes away what was kept for long enough, once a minute, behind
// a write that has added changes of an instant. It never fails that write: what
// stays is taken by a later one.
func (s *Store) forgetChanges(added clock.Instant) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	// A clock that was set back makes changes that stand before those taken away.
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
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	from := []byte{tableChange}
	if s.changes.upTo != 0 {
		from = appendMinute(nil, s.changes.upTo)
	}
	err := b.DeleteRange(from, appendMinute(nil, upTo), nil)
	if err == nil {
		err = s.commitLater(b)
	}
	if err != nil {
		s.log.Error("store: forget changes", "cause", err.Error())
		return
	}
	s.changes.upTo = upTo
}

// Changes implements library.LibraryStore.
func (s *Store) Changes(ctx context.Context, owner principal.ID, after library.ChangeKey, limit int) ([]library.Change, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	v, err := s.openRange(func(v *view) {
		v.key = appendAfter(appendChangeKey(v.key[:0], owner, &after))
		v.end = append(v.end[:0], tableChange+1)
	})
	if err != nil {
		return nil, wrapError("read changes", err)
	}
	cs, err := v.changes(owner, limit)
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, wrapError("read changes", err)
	}
	return cs, nil
}

// changes walks from v.key over the minutes that follow.
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
		case at > 0: // behind it
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
		if c.Left, err = decodeChange(value); err != nil {
			return nil, fmt.Errorf("change of %q in the library of %q: %w", c.Content, owner, err)
		}
		cs = append(cs, c)
		ok = v.it.Next()
	}
	return cs, v.it.Error()
}
