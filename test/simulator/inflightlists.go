package simulator

import (
	"cmp"
	"context"
	"slices"

	"carrel/core/clock"
	"carrel/core/commit"
)

func (st *Store) inFlightList(id commit.ListID) *listCell {
	return made(&st.inFlightLists, id, func(l *listCell, id commit.ListID) int { return cmp.Compare(l.id, id) },
		func() *listCell { return &listCell{id: id} })
}

// journalStore implements commit.JournalStore.
type journalStore struct{ *Client }

// PutInFlightList replaces a list; an empty one is deleted.
func (c journalStore) PutInFlightList(ctx context.Context, l commit.InFlightList) error {
	block, pending := slices.Clone(l.Block), hasPending(l.Block)
	keepsEmpty := len(c.st.replicas) > 0
	return c.spread(ctx, "PutInFlightList", func(st *Store) {
		cell := st.inFlightList(l.ID)
		if len(block) == 0 && !keepsEmpty {
			cell.del(l.Stamp)
		} else if cell.put(l.Stamp) {
			cell.block, cell.pending = block, pending
		}
		if st.Trace != nil {
			st.tracef("  list %.6x stamp %d: %s", l.ID, l.Stamp, entryList(block))
		}
	}, nil)
}

// InFlightLists reads all lists.
func (c journalStore) InFlightLists(ctx context.Context) ([]commit.InFlightList, error) {
	return look(ctx, c.Client, "InFlightLists", func() []commit.InFlightList { return c.listsSeen("InFlightLists") })
}

// InFlight reads all lists.
func (c journalStore) InFlight(ctx context.Context) ([]commit.InFlightList, error) {
	return look(ctx, c.Client, "InFlight", func() []commit.InFlightList { return c.listsSeen("InFlight") })
}

// isPending reports whether the list has changes that have not ended: an empty one, or one of
// changes that linger, may be kept until its process ends.
func (l *listCell) isPending() bool { return l.live && l.pending }

// hasPending reports whether a list has changes that have not ended.
func hasPending(block []byte) bool {
	entries, _ := commit.Decode(block) // the product wrote them
	return slices.ContainsFunc(entries, func(e commit.Entry) bool { return !e.Ended })
}

func (st *Store) currentLists() []commit.InFlightList {
	var inFlightLists []commit.InFlightList
	for _, l := range st.inFlightLists {
		if l.live {
			inFlightLists = append(inFlightLists, commit.InFlightList{ID: l.id, Stamp: l.ts, Block: slices.Clone(l.block)})
		}
	}
	return inFlightLists
}

// DeleteInFlightList deletes a list at the timestamp with which it was read, so that a later
// write is kept.
func (c journalStore) DeleteInFlightList(ctx context.Context, id commit.ListID, stamp int64) error {
	return c.spread(ctx, "DeleteInFlightList", func(st *Store) {
		st.inFlightList(id).del(stamp)
		st.tracef("  list %.6x dropped at %d", id, stamp)
	}, nil)
}

// due returns the cell of a reminder.
func (st *Store) due(d commit.Reminder) *dueCell {
	compare := func(c *dueCell, d commit.Reminder) int {
		return cmp.Or(cmp.Compare(c.at, d.At), cmp.Compare(c.row, d.Row()))
	}
	return made(&st.dues, d, compare, func() *dueCell { return &dueCell{at: d.At, row: d.Row()} })
}

// currentDues returns the reminders that were not removed, earliest first.
func (st *Store) currentDues() []commit.Reminder {
	var dues []commit.Reminder
	for _, c := range st.dues {
		if c.live {
			dues = append(dues, commit.ReminderOf(c.at, c.row, clock.Instant(c.ts)))
		}
	}
	return dues
}

// PutReminder writes a reminder.
func (c journalStore) PutReminder(ctx context.Context, d commit.Reminder) error {
	return c.write(ctx, "PutReminder", "", func() { c.st.due(d).put(int64(d.MTS)) }, nil)
}

// DueReminders lists the reminders that are due.
func (c journalStore) DueReminders(ctx context.Context, until clock.Instant, limit int) ([]commit.Reminder, error) {
	return look(ctx, c.Client, "DueReminders", func() []commit.Reminder {
		dues := slices.DeleteFunc(c.st.currentDues(), func(d commit.Reminder) bool { return d.At > until })
		return dues[:min(len(dues), limit)]
	})
}

// DropReminder removes a reminder.
func (c journalStore) DropReminder(ctx context.Context, d commit.Reminder) error {
	return c.write(ctx, "DropReminder", "", func() { c.st.due(d).del(int64(d.MTS)) }, nil)
}

// registers implements commit.RegisterStore.
type registers struct{ *Client }

// PutCreationIfAbsent stores a creation under its key if there is none, or replaces the one given.
func (c registers) PutCreationIfAbsent(ctx context.Context, cr commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	old := copied(replace)
	return change(ctx, c.Client, "PutCreationIfAbsent", "request "+string(cr.Key[:]), func() commit.Creation {
		i := slices.IndexFunc(c.st.creations, func(x commit.Creation) bool { return x.Key == cr.Key })
		switch {
		case i < 0 && old == nil:
			c.st.creations = append(c.st.creations, cr)
			return cr
		case i >= 0 && old != nil && c.st.creations[i] == *old:
			c.st.creations[i] = cr
			return cr
		case i >= 0:
			return c.st.creations[i]
		}
		return commit.Creation{}
	})
}

// PutSettingIfAbsent stores a value under a name unless one is stored.
func (c registers) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	mine := slices.Clone(value)
	return change(ctx, c.Client, "PutSettingIfAbsent", "setting "+name, func() []byte {
		for _, s := range c.st.settings {
			if s.name == name {
				return slices.Clone(s.value)
			}
		}
		c.st.settings = append(c.st.settings, setting{name, mine})
		return slices.Clone(mine)
	})
}
