package simulator

import (
	"bytes"
	"context"
	"slices"

	"carrel/core/clock"
	"carrel/library"
	"carrel/principal"
)

// ApplyIndexBatch returns 1, for the finest interleaving.
func (c contents) ApplyIndexBatch() int { return 1 }

// ApplyIndex writes the derived rows of one principal: its library, atomically, and separately
// the record of what it has a role on.
func (c contents) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	mine := *e
	h := *e.Header
	h.Unsettled, h.UnsettledTitles = slices.Clone(h.Unsettled), slices.Clone(h.UnsettledTitles)
	mine.Header, mine.Rows = &h, slices.Clone(e.Rows)
	var reverse func()
	if e.All {
		reverse = func() { c.st.applyRecord(&mine) }
	}
	return c.spread(ctx, "ApplyIndex", func(st *Store) { st.applyLibrary(&mine) }, reverse)
}

func (st *Store) applyLibrary(e *library.IndexUpdate) {
	var d library.Derived
	h := e.Header
	for _, m := range e.Rows {
		e.Derive(h, m, &d)
		lib := st.library(m.Principal)
		st.tracef("  apply to %s at %d: put %v delete %v, change at %d left %b", m.Principal, h.MTS, d.Put, d.Delete, e.At, d.RemovedFrom)
		for _, k := range d.Delete {
			ts := int64(h.MTS)
			lib.entry(k.Bucket, k.EntryKey).del(ts)
		}
		for _, k := range d.Put {
			cell := lib.entry(k.Bucket, k.EntryKey)
			if cell.put(int64(h.MTS)) {
				cell.entry = *d.Entry(h, m, k)
			}
		}
		if d.WritesChange {
			lib.change(library.Change{ChangeKey: library.ChangeKey{At: e.At, Content: h.ID, MTS: h.MTS}, RemovedFrom: d.RemovedFrom,
				Holds: d.Holds, Cause: d.Cause})
		}
	}
}

func (st *Store) applyRecord(e *library.IndexUpdate) {
	var d library.Derived
	for _, m := range e.Rows {
		e.Derive(e.Header, m, &d)
		cell := st.library(m.Principal).share(e.Header.ID)
		if d.Role == library.NoRole {
			cell.del(int64(e.Header.MTS))
		} else if cell.put(int64(e.Header.MTS)) {
			cell.role = d.Role
		}
	}
}

// libraries implements library.LibraryStore.
type libraries struct{ *Client }

// Changes lists the changes of a library, which the simulated store never deletes.
func (c libraries) Changes(ctx context.Context, owner principal.ID, from library.ChangeKey, limit int) ([]library.Change, error) {
	return look(ctx, c.Client, "Changes", func() []library.Change {
		return after(c.st.library(owner).changes, from, compareChange, limit)
	})
}

// PageLibrary reads a slice of a bucket.
func (c libraries) PageLibrary(ctx context.Context, s library.Slice) ([]library.Entry, error) {
	return look(ctx, c.Client, "PageLibrary", func() (page []library.Entry) {
		for _, cell := range c.entriesOf(s.Owner) {
			key := cell.entry.EntryKey
			if !cell.live || cell.bucket != s.Bucket || key.Order() != s.Order {
				continue
			}
			if s.From != nil && (s.Ascending && !s.From.Less(key) || !s.Ascending && !key.Less(*s.From)) {
				continue
			}
			if s.Bound != nil && s.Bound.Less(key) {
				continue
			}
			page = append(page, cell.entry)
		}
		if !s.Ascending {
			slices.Reverse(page)
		}
		return page[:min(len(page), s.Limit)]
	})
}

// OpenLibrary makes the reads of an opening one after the other, the slice first,
// which is a possible order on a cluster.
func (c libraries) OpenLibrary(ctx context.Context, s library.Slice, newest bool) (*library.Opening, error) {
	o := new(library.Opening)
	var err error
	if o.Entries, err = c.PageLibrary(ctx, s); err != nil {
		return nil, err
	}
	if o.Built, err = c.Built(ctx, s.Owner, s.Order); err != nil || !newest {
		return o, err
	}
	last, err := c.PageLibrary(ctx, library.Slice{Owner: s.Owner, Bucket: s.Bucket, Limit: 1})
	if len(last) == 1 {
		o.Newest = &last[0].EntryKey
	}
	return o, err
}

// CountLibrary counts a bucket.
func (c libraries) CountLibrary(ctx context.Context, owner principal.ID, b library.Bucket, limit int) (int, error) {
	return look(ctx, c.Client, "CountLibrary", func() (n int) {
		for _, cell := range c.st.library(owner).entries {
			if cell.live && cell.bucket == b && cell.entry.Title == "" && n < limit {
				n++
			}
		}
		return n
	})
}

// EntriesAt reads entries.
func (c libraries) EntriesAt(ctx context.Context, owner principal.ID, b library.Bucket, keys []library.EntryKey) ([]library.Entry, error) {
	return look(ctx, c.Client, "EntriesAt", func() []library.Entry {
		es := make([]library.Entry, len(keys))
		for _, cell := range c.entriesOf(owner) {
			if i := slices.Index(keys, cell.entry.EntryKey); i >= 0 && cell.live && cell.bucket == b {
				es[i] = cell.entry
			}
		}
		return es
	})
}

// Built reports whether the library is complete. The marks of both orders are written and deleted together.
func (c libraries) Built(ctx context.Context, owner principal.ID, _ library.Order) (bool, error) {
	return look(ctx, c.Client, "Built", func() bool { return c.st.library(owner).built.live })
}

// Recorded reports whether the record of what is shared with owner is complete.
func (c libraries) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	return look(ctx, c.Client, "Recorded", func() bool { return c.st.library(owner).recorded.live })
}

// SetBuilt marks the library and the record of what is shared as complete, as of an instant.
func (c libraries) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	return c.write(ctx, "SetBuilt", "", func() {
		lib := c.st.library(owner)
		lib.built.put(int64(asOf))
		lib.recorded.put(int64(asOf))
	}, nil)
}

// RebuildNote reads the progress of a rebuild.
func (c libraries) RebuildNote(ctx context.Context, owner principal.ID) ([]byte, error) {
	return look(ctx, c.Client, "RebuildNote", func() []byte {
		if cell := &c.st.library(owner).rebuild; cell.live {
			return cell.note
		}
		return nil
	})
}

// PutRebuildNote keeps a note: at equal timestamps the greater value stays.
func (c libraries) PutRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant, note []byte) error {
	return c.write(ctx, "PutRebuildNote", "", func() {
		cell := &c.st.library(owner).rebuild
		if cell.put(int64(asOf)) || cell.live && cell.ts == int64(asOf) && bytes.Compare(note, cell.note) > 0 {
			cell.note = note
		}
	}, nil)
}

// DropRebuildNote deletes the note of a rebuild, and of all before it.
func (c libraries) DropRebuildNote(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	return c.write(ctx, "DropRebuildNote", "", func() { c.st.library(owner).rebuild.del(int64(asOf)) }, nil)
}

// DropLibrary deletes a whole library with its marks, and what is recorded as shared, at a
// timestamp.
func (c libraries) DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	return c.spread(ctx, "DropLibrary", func(st *Store) {
		for _, e := range st.library(owner).entries {
			e.del(int64(asOf))
		}
	}, func() {
		lib := c.st.library(owner)
		lib.built.del(int64(asOf))
		lib.recorded.del(int64(asOf))
		lib.rebuild.del(int64(asOf))
		for _, sh := range lib.shared {
			sh.del(int64(asOf))
		}
	})
}

// DropEntries deletes entries at the timestamps with which they were read, so that later writes
// are kept.
func (c libraries) DropEntries(ctx context.Context, owner principal.ID, es []library.BucketEntry) error {
	mine := slices.Clone(es)
	return c.spread(ctx, "DropEntries", func(st *Store) {
		for _, e := range mine {
			cell := st.library(owner).entry(e.Bucket, e.EntryKey)
			if cell.live && cell.entry.MTS == e.MTS || len(c.st.replicas) > 0 {
				cell.del(int64(e.MTS))
			}
		}
	}, nil)
}

// SharedWith lists what owner has a role on.
func (c libraries) SharedWith(ctx context.Context, owner principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	return look(ctx, c.Client, "SharedWith", func() (rows []library.Shared) {
		for _, cell := range c.st.library(owner).shared {
			if cell.live && cell.content > after && len(rows) < limit {
				rows = append(rows, library.Shared{Content: cell.content, Role: cell.role})
			}
		}
		return rows
	})
}

// Roles returns the roles of owner on items.
func (c libraries) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	return look(ctx, c.Client, "Roles", func() []library.ContentRole {
		roles := make([]library.ContentRole, len(ids))
		for i, id := range ids {
			if cell := c.st.library(owner).share(id); cell.live {
				roles[i] = cell.role
			}
		}
		return roles
	})
}
