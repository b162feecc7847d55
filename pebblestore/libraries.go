package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// libraries implements library.LibraryStore.
type libraries struct{ *Store }

// PageLibrary implements library.LibraryStore.
func (s libraries) PageLibrary(ctx context.Context, p library.Slice) ([]library.Entry, error) {
	return read(ctx, s.Store, "page a library", func(v *view) ([]library.Entry, error) { return v.slice(&p) })
}

// OpenLibrary implements library.LibraryStore. All rows come from one snapshot.
func (s libraries) OpenLibrary(ctx context.Context, p library.Slice, newest bool) (_ *library.Opening, err error) {
	op, err := s.enter(ctx, "page a library")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open(nil)
	if err != nil {
		return nil, err
	}
	o := new(library.Opening)
	if newest {
		o.Newest, err = v.newest(&p)
	}
	if err == nil {
		o.Entries, err = v.slice(&p)
	}
	if err == nil {
		v.it.SetBounds(nil, nil)
		v.key = appendSingle(v.key[:0], tableBuilt, string(p.Owner))
		var row []byte
		if row, _, err = v.get(); err == nil {
			o.Built = isBuilt(row, p.Order)
		}
	}
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return o, nil
}

// newest finds the newest entry of a bucket. It returns nil if there is none.
func (v *view) newest(p *library.Slice) (*library.EntryKey, error) {
	v.sliceBounds(&library.Slice{Owner: p.Owner, Bucket: p.Bucket})
	v.it.SetBounds(v.key, v.end)
	if !v.it.Last() {
		return nil, v.it.Error()
	}
	position, _, content, err := cutEntryKey(v.it.Key()[len(v.key):], library.ByChange)
	return &library.EntryKey{Position: position, Content: library.ContentID(content)}, err
}

// sliceBounds sets v.key and v.end to the bounds of the slice.
func (v *view) sliceBounds(p *library.Slice) {
	v.key = appendBucket(v.key[:0], p.Owner, p.Bucket, p.Order)
	v.end = prefixEnd(append(v.end[:0], v.key...))
	switch {
	case p.Ascending && p.From != nil:
		v.key = appendAfter(appendEntryKey(v.key[:0], p.Owner, p.Bucket, *p.From))
	case p.From != nil:
		v.end = appendEntryKey(v.end[:0], p.Owner, p.Bucket, *p.From)
	}
	if p.Ascending && p.Bound != nil {
		v.end = appendAfter(appendEntryKey(v.end[:0], p.Owner, p.Bucket, *p.Bound))
	}
}

// slice reads a slice, which may be empty.
func (v *view) slice(p *library.Slice) ([]library.Entry, error) {
	if v.sliceBounds(p); p.Limit <= 0 || bytes.Compare(v.key, v.end) >= 0 {
		return nil, nil
	}
	v.it.SetBounds(v.key, v.end)
	return v.entries(p)
}

// entries reads the slice. The titles and ids of a page share one allocation.
func (v *view) entries(p *library.Slice) ([]library.Entry, error) {
	v.end = appendBucket(v.end[:0], p.Owner, p.Bucket, p.Order)
	prefix := len(v.end)
	es := make([]library.Entry, 0, min(p.Limit, 128))
	texts, ends := v.key[:0], make([]int, 0, 2*cap(es))
	step, ok := v.it.Next, false
	if p.Ascending {
		ok = v.it.First()
	} else {
		step, ok = v.it.Prev, v.it.Last()
	}
	for ; ok; ok = step() {
		position, title, content, err := cutEntryKey(v.it.Key()[prefix:], p.Order)
		if err != nil {
			return nil, err
		}
		value, err := v.it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		e := library.Entry{EntryKey: library.EntryKey{Position: position}}
		if err := decodeEntry(value, p.Order, &e); err != nil {
			return nil, fmt.Errorf("entry of %q in the library of %q: %w", content, p.Owner, err)
		}
		texts = append(texts, title...)
		ends = append(ends, len(texts))
		texts = append(texts, content...)
		ends = append(ends, len(texts))
		es = append(es, e)
		if len(es) == p.Limit {
			break
		}
	}
	all, begin := string(texts), 0
	for i := range es {
		title, end := ends[2*i], ends[2*i+1]
		es[i].Title, es[i].Content = collation.Key(all[begin:title]), library.ContentID(all[title:end])
		begin = end
	}
	v.key = texts
	return es, v.it.Error()
}

// EntriesAt implements library.LibraryStore.
func (s libraries) EntriesAt(ctx context.Context, owner principal.ID, b library.Bucket, keys []library.EntryKey) ([]library.Entry, error) {
	return read(ctx, s.Store, "read entries", func(v *view) ([]library.Entry, error) {
		es := make([]library.Entry, len(keys))
		for i, k := range keys {
			v.key = appendEntryKey(v.key[:0], owner, b, k)
			value, found, err := v.get()
			if err == nil && found {
				es[i].EntryKey = k
				err = decodeEntry(value, k.Order(), &es[i])
			}
			if err != nil {
				return nil, fmt.Errorf("entry of %q in the library of %q: %w", k.Content, owner, err)
			}
		}
		return es, nil
	})
}

// CountLibrary implements library.LibraryStore. It reads only keys.
func (s libraries) CountLibrary(ctx context.Context, owner principal.ID, bucket library.Bucket, limit int) (int, error) {
	return read(ctx, s.Store, "count a library", func(v *view) (int, error) {
		v.sliceBounds(&library.Slice{Owner: owner, Bucket: bucket})
		v.it.SetBounds(v.key, v.end)
		n := 0
		for ok := v.it.First(); ok && n < limit; ok = v.it.Next() {
			n++
		}
		return n, v.it.Error()
	})
}

// builtRow is the mark of a library that is complete in both orders. A mark without the version is that of a library
// from before there was an order of titles.
func builtRow() []byte { return []byte{rowVersion, collation.Version} }

// isBuilt reports what a mark says about an order.
func isBuilt(row []byte, o library.Order) bool {
	if o == library.ByTitle {
		return bytes.Equal(row, builtRow())
	}
	return len(row) > 0
}

// Built implements library.LibraryStore.
func (s libraries) Built(ctx context.Context, owner principal.ID, o library.Order) (bool, error) {
	return call(ctx, s.Store, "read a library", func() (bool, error) {
		row, _, err := s.get(appendSingle(nil, tableBuilt, string(owner)))
		return isBuilt(row, o), err
	})
}

// Recorded implements library.LibraryStore. In this store a record is never deleted without its
// library, so one mark serves both.
func (s libraries) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	return s.Built(ctx, owner, library.ByChange)
}

// SetBuilt implements library.LibraryStore. No other process changes the store while it is open, so
// nothing but a deletion of the owner can remove the mark.
func (s libraries) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	return s.write(ctx, "mark a library as built", ownerLock(owner), s.commitLater, func(b *batch) error {
		if gone, err := s.isDeleted(owner); err != nil || gone {
			return err
		}
		b.set(appendSingle(nil, tableBuilt, string(owner)), builtRow())
		return nil
	})
}

// ownerLock returns the key of the lock for what is recorded about the library of a user or a group.
func ownerLock(owner principal.ID) []byte { return appendHeaderKey(nil, tablePrincipal, string(owner)) }

// isDeleted reports whether a user or a group is deleted. If so, nothing may be written to its
// library. The caller holds the lock of the principal.
func (s libraries) isDeleted(p principal.ID) (bool, error) {
	h, err := s.principal(p)
	return err == nil && h.State == commit.Deleted, err
}

// DropLibrary implements library.LibraryStore. It ignores asOf and removes everything, because the
// owner is deleted for good and the rows of the record carry no time.
func (s libraries) DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	return s.write(ctx, "drop a library", ownerLock(owner), s.commitLater, func(b *batch) error {
		for _, table := range []byte{tableBuilt, tableRebuild} {
			b.delete(appendSingle(nil, table, string(owner)))
		}
		for _, table := range []byte{tableLibrary, tableShared} {
			from := appendPartition(nil, table, string(owner))
			b.deleteRange(from, prefixEnd(slices.Clone(from)))
		}
		return nil
	})
}

// DropEntries implements library.LibraryStore. It compares each entry under the lock of its
// content, which ApplyIndex holds when it writes entries.
func (s libraries) DropEntries(ctx context.Context, owner principal.ID, es []library.BucketEntry) (err error) {
	op, err := s.enter(ctx, "drop an entry")
	if err != nil {
		return err
	}
	defer op.leave(&err)
	for i := range es {
		if err := s.dropEntry(owner, &es[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s libraries) dropEntry(owner principal.ID, e *library.BucketEntry) error {
	return s.change(appendHeaderKey(nil, tableContent, string(e.Content)), s.commitLater, func(b *batch) error {
		key := appendEntryKey(nil, owner, e.Bucket, e.EntryKey)
		value, found, err := s.get(key)
		if err != nil || !found {
			return err
		}
		var stored library.Entry
		if err := decodeEntry(value, e.Order(), &stored); err != nil || stored.MTS != e.MTS {
			return err
		}
		b.delete(key)
		s.dead.mu.Lock()
		defer s.dead.mu.Unlock()
		s.dead.add(string(owner), 1)
		return nil
	})
}

// SharedWith implements library.LibraryStore.
func (s libraries) SharedWith(ctx context.Context, owner principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	rows := pairs(tableShared, string(owner), string(after), limit)
	prefix := len(appendPair(nil, tableShared, string(owner), ""))
	return list(ctx, s.Store, "list what is shared", rows, func(key, value []byte) (library.Shared, error) {
		role, err := decodeRole(value)
		return library.Shared{Content: library.ContentID(key[prefix:]), Role: library.ContentRole(role)}, err
	})
}

// pairs returns the span of the rows of a table of pairs whose first part is first, behind a given
// second part.
func pairs(table byte, first, after string, limit int) span {
	rows := under(appendPartition(nil, table, first), limit)
	if after != "" {
		rows.from = appendAfter(appendPair(nil, table, first, after))
	}
	return rows
}

// Roles implements library.LibraryStore.
func (s libraries) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) ([]library.ContentRole, error) {
	return read(ctx, s.Store, "read roles", func(v *view) ([]library.ContentRole, error) {
		roles := make([]library.ContentRole, len(ids))
		for i, id := range ids {
			v.key = appendPair(v.key[:0], tableShared, string(owner), string(id))
			value, found, err := v.get()
			if err == nil && found {
				var role byte
				role, err = decodeRole(value)
				roles[i] = library.ContentRole(role)
			}
			if err != nil {
				return nil, err
			}
		}
		return roles, nil
	})
}
