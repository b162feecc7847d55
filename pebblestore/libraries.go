package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/clock"
	"carrel/core/collation"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// libraries implements library.LibraryStore.
type libraries struct{ *Store }

// PageLibrary implements library.LibraryStore.
func (s libraries) PageLibrary(ctx context.Context, p library.Slice) (_ []library.Entry, err error) {
	op, err := s.enter(ctx, "page a library")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	if p.Limit <= 0 {
		return nil, nil
	}
	v, err := s.openRange(func(v *view) { v.sliceBounds(&p) })
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	entries, err := v.entries(&p)
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return entries, nil
}

// OpenLibrary implements library.LibraryStore. All rows come from one snapshot.
func (s libraries) OpenLibrary(ctx context.Context, p library.Slice, newest bool) (_ *library.Opening, err error) {
	op, err := s.enter(ctx, "page a library")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	o := new(library.Opening)
	if newest {
		o.Newest, err = v.newest(&p)
	}
	if err == nil && p.Limit > 0 {
		if v.sliceBounds(&p); bytes.Compare(v.key, v.end) < 0 {
			v.it.SetBounds(v.key, v.end)
			o.Entries, err = v.entries(&p)
		}
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
func (s libraries) EntriesAt(ctx context.Context, owner principal.ID, b library.Bucket,
	keys []library.EntryKey) (_ []library.Entry, err error) {
	op, err := s.enter(ctx, "read entries")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	es := make([]library.Entry, len(keys))
	for i, k := range keys {
		v.key = appendEntryKey(v.key[:0], owner, b, k)
		value, found, bad := v.get()
		if bad == nil && found {
			es[i].EntryKey = k
			bad = decodeEntry(value, k.Order(), &es[i])
		}
		if bad != nil {
			err = fmt.Errorf("entry of %q in the library of %q: %w", k.Content, owner, bad)
			break
		}
	}
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return es, nil
}

// CountLibrary implements library.LibraryStore. It reads only keys.
func (s libraries) CountLibrary(ctx context.Context, owner principal.ID, bucket library.Bucket, limit int) (_ int, err error) {
	op, err := s.enter(ctx, "count a library")
	if err != nil {
		return 0, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) { v.sliceBounds(&library.Slice{Owner: owner, Bucket: bucket}) })
	if err != nil {
		return 0, err
	}
	n := 0
	for ok := v.it.First(); ok && n < limit; ok = v.it.Next() {
		n++
	}
	if err := errors.Join(v.it.Error(), s.done(v)); err != nil {
		return 0, err
	}
	return n, nil
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
func (s libraries) Built(ctx context.Context, owner principal.ID, o library.Order) (_ bool, err error) {
	op, err := s.enter(ctx, "read a library")
	if err != nil {
		return false, err
	}
	defer op.leave(&err)
	row, _, err := s.get(appendSingle(nil, tableBuilt, string(owner)))
	if err != nil {
		return false, err
	}
	return isBuilt(row, o), nil
}

// Recorded implements library.LibraryStore. In this store a record is never deleted without its
// library, so one mark serves both.
func (s libraries) Recorded(ctx context.Context, owner principal.ID) (bool, error) {
	return s.Built(ctx, owner, library.ByChange)
}

// SetBuilt implements library.LibraryStore. No other process changes the store while it is open, so
// nothing but a deletion of the owner can remove the mark.
func (s libraries) SetBuilt(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	mu := s.locks.of(appendHeaderKey(nil, tablePrincipal, string(owner)))
	mu.Lock()
	defer mu.Unlock()
	return s.writeLater(ctx, "mark a library as built", func(b *pebble.Batch) error {
		if gone, err := s.isDeleted(owner); err != nil || gone {
			return err
		}
		return b.Set(appendSingle(nil, tableBuilt, string(owner)), builtRow(), nil)
	})
}

// isDeleted reports whether a user or a group is deleted. If so, nothing may be written to its
// library. The caller holds the lock of the principal.
func (s libraries) isDeleted(p principal.ID) (bool, error) {
	h, err := s.principal(p)
	return err == nil && h.State == commit.Deleted, err
}

// DropLibrary implements library.LibraryStore. It ignores asOf and removes everything, because the
// owner is deleted for good and the rows of the record carry no time.
func (s libraries) DropLibrary(ctx context.Context, owner principal.ID, asOf clock.Instant) error {
	mu := s.locks.of(appendHeaderKey(nil, tablePrincipal, string(owner)))
	mu.Lock()
	defer mu.Unlock()
	return s.writeLater(ctx, "drop a library", func(b *pebble.Batch) error {
		for _, table := range []byte{tableBuilt, tableRebuild} {
			if err := b.Delete(appendSingle(nil, table, string(owner)), nil); err != nil {
				return err
			}
		}
		for _, table := range []byte{tableLibrary, tableShared} {
			from := appendPartition(nil, table, string(owner))
			if err := b.DeleteRange(from, prefixEnd(slices.Clone(from)), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeLater makes an unconditional write that the next synced one makes durable.
func (s *Store) writeLater(ctx context.Context, doing string, fill func(b *pebble.Batch) error) (err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return err
	}
	defer op.leave(&err)
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := fill(b); err != nil {
		return err
	}
	return s.commitLater(b)
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
	mu := s.locks.of(appendHeaderKey(nil, tableContent, string(e.Content)))
	mu.Lock()
	defer mu.Unlock()
	key := appendEntryKey(nil, owner, e.Bucket, e.EntryKey)
	value, found, err := s.get(key)
	if err != nil || !found {
		return err
	}
	stored := library.Entry{EntryKey: e.EntryKey}
	if err := decodeEntry(value, e.Order(), &stored); err != nil {
		return err
	}
	if stored.MTS != e.MTS {
		return nil
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Delete(key, nil); err != nil {
		return err
	}
	s.dead.mu.Lock()
	s.dead.add(string(owner), 1)
	s.dead.mu.Unlock()
	return s.commitLater(b)
}

// SharedWith implements library.LibraryStore.
func (s libraries) SharedWith(ctx context.Context, owner principal.ID, after library.ContentID, limit int) ([]library.Shared, error) {
	var shared []library.Shared
	err := s.pairs(ctx, "list what is shared", tableShared, string(owner), string(after), limit, func(second string, value []byte) error {
		role, err := decodeRole(value)
		shared = append(shared, library.Shared{Content: library.ContentID(second), Role: library.ContentRole(role)})
		return err
	})
	if err != nil {
		return nil, err
	}
	return shared, nil
}

// pairs calls row for the rows of a table of pairs whose first part is first, in order of the
// second part, beginning behind a given one.
func (s *Store) pairs(ctx context.Context, doing string, table byte, first, after string, limit int,
	row func(second string, value []byte) error) (err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return err
	}
	defer op.leave(&err)
	prefix := 0
	v, err := s.openRange(func(v *view) {
		v.key = appendPartition(v.key[:0], table, first)
		prefix = len(v.key)
		v.end = prefixEnd(append(v.end[:0], v.key...))
		if after != "" {
			v.key = appendAfter(append(v.key, after...))
		}
	})
	if err != nil || v == nil {
		return err
	}
	n := 0
	for ok := v.it.First(); ok && n < limit; ok = v.it.Next() {
		value, bad := v.it.ValueAndErr()
		if bad != nil {
			err = bad
			break
		}
		if bad := row(string(v.it.Key()[prefix:]), value); bad != nil {
			err = fmt.Errorf("row of %q: %w", first, bad)
			break
		}
		n++
	}
	return errors.Join(err, v.it.Error(), s.done(v))
}

// Roles implements library.LibraryStore.
func (s libraries) Roles(ctx context.Context, owner principal.ID, ids []library.ContentID) (_ []library.ContentRole, err error) {
	op, err := s.enter(ctx, "read roles")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.open()
	if err != nil {
		return nil, err
	}
	roles := make([]library.ContentRole, len(ids))
	for i, id := range ids {
		v.key = appendPair(v.key[:0], tableShared, string(owner), string(id))
		value, found, bad := v.get()
		if bad == nil && found {
			var role byte
			role, bad = decodeRole(value)
			roles[i] = library.ContentRole(role)
		}
		if bad != nil {
			err = bad
			break
		}
	}
	if err := errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return roles, nil
}
