package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"sync"

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
func (s journalStore) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	key := appendSingle(nil, tableInFlight, string(l.ID))
	s.inFlightLists.mu.Lock()
	defer s.inFlightLists.mu.Unlock()
	written := false
	err := s.write(ctx, "write the in-flight list", nil, s.commitLater, func(b *batch) error {
		last, err := s.listStamp(l.ID, key)
		if err != nil || l.Stamp < last {
			return err
		}
		written = true
		if len(l.Block) == 0 {
			b.delete(key)
		} else {
			b.set(key, appendInFlightList(nil, &l))
		}
		return nil
	})
	if err == nil && written {
		s.inFlightLists.last[l.ID] = l.Stamp
	}
	return err
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
	var unreadable commit.UnreadableLists
	lists, err := inView(s.Store, nil, func(v *view) (lists []commit.InFlightList, err error) {
		v.it.SetBounds([]byte{tableInFlight}, []byte{tableInFlight + 1})
		for ok := v.it.First(); ok; {
			id := commit.ListID(v.it.Key()[1:])
			value, err := v.it.ValueAndErr()
			if err != nil {
				return nil, err
			}
			if l, bad := decodeInFlightList(id, value); bad != nil {
				unreadable.IDs, unreadable.Err = append(unreadable.IDs, id), errors.Join(unreadable.Err, bad)
			} else {
				lists = append(lists, l)
			}
			// A seek skips the many older versions of this row at once.
			v.key = appendAfter(appendSingle(v.key[:0], tableInFlight, string(id)))
			ok = v.it.SeekGE(v.key)
		}
		return lists, v.it.Error()
	})
	if err == nil && unreadable.Err != nil {
		unreadable.Err = wrapError("read in-flight lists", unreadable.Err)
		err = &unreadable
	}
	return lists, err
}

// InFlight implements commit.JournalStore. Only one process uses the store.
func (s journalStore) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	return s.InFlightLists(ctx)
}

// DeleteInFlightList implements commit.JournalStore.
func (s journalStore) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	key := appendSingle(nil, tableInFlight, string(id))
	s.inFlightLists.mu.Lock()
	defer s.inFlightLists.mu.Unlock()
	return s.write(ctx, "drop an in-flight list", nil, s.commitLater, func(b *batch) error {
		last, err := s.listStamp(id, key)
		if last <= stamp {
			b.delete(key)
		}
		return err
	})
}

// PutReminder implements commit.JournalStore.
func (s journalStore) PutReminder(ctx context.Context, d commit.Reminder) error {
	return s.writeDue(ctx, "write a reminder", d, func(b *batch, key []byte) { b.set(key, appendDue(nil, d.MTS)) })
}

// DropReminder implements commit.JournalStore.
func (s journalStore) DropReminder(ctx context.Context, d commit.Reminder) error {
	return s.writeDue(ctx, "drop a reminder", d, (*batch).delete)
}

// writeDue writes a reminder unless a newer one than d is stored.
func (s journalStore) writeDue(ctx context.Context, doing string, d commit.Reminder, fill func(b *batch, key []byte)) error {
	key := appendDueKey(nil, d)
	return s.write(ctx, doing, key, s.commitLater, func(b *batch) error {
		value, found, err := s.get(key)
		if err == nil && found {
			mts, bad := decodeDue(value)
			if bad != nil || mts > d.MTS {
				return bad
			}
		}
		fill(b, key)
		return err
	})
}

// DueReminders implements commit.JournalStore.
func (s journalStore) DueReminders(ctx context.Context, until clock.Instant, limit int) (_ []commit.Reminder, err error) {
	op, err := s.enter(ctx, "read reminders")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	var unreadable error // about the first reminder that cannot be read
	dues, err := inView(s.Store, nil, func(v *view) (dues []commit.Reminder, err error) {
		// until+1 is the first instant out of range. It cannot overflow, because an instant is
		// never the largest int64.
		v.it.SetBounds([]byte{tableDue}, appendInstant([]byte{tableDue}, until+1))
		for ok := v.it.First(); ok && len(dues) < limit; ok = v.it.Next() {
			value, err := v.it.ValueAndErr()
			if err != nil {
				return nil, err
			}
			if d, bad := decodeDueRow(v.it.Key(), value); bad != nil {
				unreadable = cmp.Or(unreadable, bad)
			} else {
				dues = append(dues, d)
			}
		}
		return dues, v.it.Error()
	})
	return dues, cmp.Or(err, unreadable)
}
