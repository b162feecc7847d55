package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/clock"
	"carrel/core/commit"
)

// listStamps remembers the newest stamp that this process has written for each in-flight list: its
// own, and those of the processes that it has taken over.
type listStamps struct {
	mu   sync.Mutex
	last map[commit.ListID]int64
}

// journalStore implements commit.JournalStore.
type journalStore struct{ *Store }

// PutInFlightList implements commit.JournalStore. A delayed write with an older stamp than the
// stored one changes nothing.
func (s journalStore) PutInFlightList(ctx context.Context, l commit.InFlightList) (err error) {
	op, err := s.enter(ctx, "write the in-flight list")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	s.inFlightLists.mu.Lock()
	defer s.inFlightLists.mu.Unlock()
	key := appendSingle(nil, tableInFlight, string(l.ID))
	last, err := s.listStamp(l.ID, key)
	if err != nil {
		return err
	}
	if l.Stamp < last {
		return nil
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if len(l.Block) == 0 {
		err = b.Delete(key, nil)
	} else {
		err = b.Set(key, appendInFlightList(nil, &l), nil)
	}
	if err != nil {
		return err
	}
	if err := s.commitLater(b); err != nil {
		return err
	}
	s.inFlightLists.last[l.ID] = l.Stamp
	return nil
}

// listStamp returns the stamp of the list's last write. The caller holds inFlightLists.mu.
func (s journalStore) listStamp(id commit.ListID, key []byte) (int64, error) {
	if last, ok := s.inFlightLists.last[id]; ok {
		return last, nil
	}
	value, found, err := s.get(key)
	if err != nil || !found {
		return 0, err
	}
	l, err := decodeInFlightList(id, value)
	if err != nil {
		return 0, err
	}
	s.inFlightLists.last[id] = l.Stamp
	return l.Stamp, nil
}

// InFlightLists implements commit.JournalStore.
func (s journalStore) InFlightLists(ctx context.Context) (_ []commit.InFlightList, err error) {
	op, err := s.enter(ctx, "read in-flight lists")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = append(v.key[:0], tableInFlight)
		v.end = append(v.end[:0], tableInFlight+1)
	})
	if err != nil {
		return nil, err
	}
	var (
		inFlightLists []commit.InFlightList
		unreadable    commit.UnreadableLists
	)
	for ok := v.it.First(); ok; {
		id := commit.ListID(v.it.Key()[1:])
		value, failed := v.it.ValueAndErr()
		if failed != nil {
			err = failed
			break
		}
		if l, bad := decodeInFlightList(id, value); bad != nil {
			unreadable.IDs, unreadable.Err = append(unreadable.IDs, id), errors.Join(unreadable.Err, bad)
		} else {
			inFlightLists = append(inFlightLists, l)
		}
		// A seek skips the many older versions of this row at once.
		v.key = appendAfter(appendSingle(v.key[:0], tableInFlight, string(id)))
		ok = v.it.SeekGE(v.key)
	}
	if err := errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	if unreadable.Err != nil {
		unreadable.Err = wrapError("read in-flight lists", unreadable.Err)
		return inFlightLists, &unreadable
	}
	return inFlightLists, nil
}

// InFlight implements commit.JournalStore. Only one process uses the store.
func (s journalStore) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	return s.InFlightLists(ctx)
}

// DeleteInFlightList implements commit.JournalStore.
func (s journalStore) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) (err error) {
	op, err := s.enter(ctx, "drop an in-flight list")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	s.inFlightLists.mu.Lock()
	defer s.inFlightLists.mu.Unlock()
	key := appendSingle(nil, tableInFlight, string(id))
	last, err := s.listStamp(id, key)
	if err != nil {
		return err
	}
	if last > stamp {
		return nil
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Delete(key, nil); err != nil {
		return err
	}
	return s.commitLater(b)
}

// PutReminder implements commit.JournalStore.
func (s journalStore) PutReminder(ctx context.Context, d commit.Reminder) error {
	return s.writeDue(ctx, "write a reminder", d, func(b *pebble.Batch, key []byte) error {
		return b.Set(key, appendDue(nil, d.MTS), nil)
	})
}

// DropReminder implements commit.JournalStore.
func (s journalStore) DropReminder(ctx context.Context, d commit.Reminder) error {
	return s.writeDue(ctx, "drop a reminder", d, func(b *pebble.Batch, key []byte) error { return b.Delete(key, nil) })
}

// writeDue writes a reminder unless a newer one than d is stored.
func (s journalStore) writeDue(ctx context.Context, doing string, d commit.Reminder, fill func(b *pebble.Batch, key []byte) error) error {
	key := appendDueKey(nil, d)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	return s.writeLater(ctx, doing, func(b *pebble.Batch) error {
		value, found, err := s.get(key)
		if err != nil {
			return err
		}
		if found {
			mts, err := decodeDue(value)
			if err != nil || mts > d.MTS {
				return err
			}
		}
		return fill(b, key)
	})
}

// DueReminders implements commit.JournalStore.
func (s journalStore) DueReminders(ctx context.Context, until clock.Instant, limit int) (_ []commit.Reminder, err error) {
	op, err := s.enter(ctx, "read reminders")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = append(v.key[:0], tableDue)
		// until+1 is the first instant out of range. It cannot overflow, because an instant is
		// never the largest int64.
		v.end = appendInstant(append(v.end[:0], tableDue), until+1)
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	var dues []commit.Reminder
	var unreadable error // about the first reminder that cannot be read
	for ok := v.it.First(); ok && len(dues) < limit; ok = v.it.Next() {
		value, failed := v.it.ValueAndErr()
		if failed != nil {
			err = failed
			break
		}
		d, bad := decodeDueRow(v.it.Key(), value)
		if bad != nil {
			unreadable = cmp.Or(unreadable, bad)
			continue
		}
		dues = append(dues, d)
	}
	if err := errors.Join(err, v.it.Error(), s.done(v)); err != nil {
		return nil, err
	}
	if unreadable != nil {
		return dues, unreadable
	}
	return dues, nil
}
