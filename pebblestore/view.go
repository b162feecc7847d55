package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// pooledBytes is the largest buffer that is kept for reuse.
const pooledBytes = 64 << 10

// view is a snapshot of the database: all rows read from it are of one state.
type view struct {
	it *pebble.Iterator
	// key and end are scratch space for the keys to look up.
	key, end []byte
	// values holds the values of several rows, one after the other. ends holds the end of each.
	values []byte
	ends   []int
}

// open opens a view, whose iterator has no bounds. A lock that is not nil is the key of one that is
// held meanwhile: open then waits for a conditional write in progress, so that the view shows only
// what is decided.
func (s *Store) open(lock []byte) (*view, error) {
	if lock != nil {
		mu := s.locks.of(lock)
		mu.Lock()
		defer mu.Unlock()
	}
	v := s.views.Get().(*view)
	// UseL6Filters stays off: the rows that a page reads with a header are mostly in the same block,
	// so the filters of the oldest level, where most rows are, cost more than they save.
	it, err := s.db.NewIter(&pebble.IterOptions{})
	if err != nil {
		s.views.Put(v)
		return nil, err
	}
	v.it = it
	return v, nil
}

// inView calls read with a view, which it opens as open does. The result is zero if that fails.
func inView[T any](s *Store, lock []byte, read func(v *view) (T, error)) (result T, err error) {
	v, err := s.open(lock)
	if err != nil {
		return result, err
	}
	got, err := read(v)
	if err := errors.Join(err, s.done(v)); err != nil {
		return result, err
	}
	return got, nil
}

// read reads rows from one snapshot, as a call of the store.
func read[T any](ctx context.Context, s *Store, doing string, from func(v *view) (T, error)) (T, error) {
	return call(ctx, s, doing, func() (T, error) { return inView(s, nil, from) })
}

// readDecided is read for a partition, of which header is the key of the header. If the read is serial, it
// waits for a conditional write in progress.
func readDecided[T any](ctx context.Context, s *Store, doing string, serial bool, header []byte, from func(v *view) (T, error)) (T, error) {
	if !serial {
		header = nil
	}
	return call(ctx, s, doing, func() (T, error) { return inView(s, header, from) })
}

// done closes the view. It returns the error of any read before it.
func (s *Store) done(v *view) error {
	err := v.it.Close()
	v.it, v.values, v.ends = nil, v.values[:0], v.ends[:0]
	if cap(v.values) > pooledBytes {
		v.values = nil
	}
	s.views.Put(v)
	return err
}

// get reads the row at v.key. The value is valid until the next read.
func (v *view) get() (value []byte, found bool, err error) {
	if !v.it.SeekPrefixGE(v.key) {
		return nil, false, v.it.Error()
	}
	value, err = v.it.ValueAndErr()
	return value, err == nil, err
}

// valueAt reads the row at a key. The value is valid until the next read.
func (v *view) valueAt(key []byte) (value []byte, found bool, err error) {
	v.key = append(v.key[:0], key...)
	return v.get()
}

// collect reads the row at v.key and keeps its value, or an empty one if there is none.
func (v *view) collect() (found bool, err error) {
	value, found, err := v.get()
	if err == nil && found && len(value) == 0 {
		err = errRow
	}
	v.values = append(v.values, value...)
	v.ends = append(v.ends, len(v.values))
	return found, err
}

// collected returns the collected values and the end of each, so that a page of rows takes one
// allocation.
func (v *view) collected() (values string, ends []int) {
	values = string(v.values)
	return values, v.ends
}

// span is the rows to list: at most limit rows with keys from from up to, but not including, to. They
// are listed in the order of their keys, or the last one first if backwards.
type span struct {
	from, to  []byte
	limit     int
	backwards bool
}

// unlimited is the limit of a span of which all rows are listed.
const unlimited = math.MaxInt

// under returns the span of the keys that begin with prefix, which prefixEnd must accept.
func under(prefix []byte, limit int) span {
	return span{from: prefix, to: prefixEnd(slices.Clone(prefix)), limit: limit}
}

// list lists the rows of a span as a call of the store. decode must not keep what it is given.
func list[T any](ctx context.Context, s *Store, doing string, rows span, decode func(key, value []byte) (T, error)) ([]T, error) {
	return read(ctx, s, doing, func(v *view) ([]T, error) { return listRows(v, rows, decode) })
}

// listRows is list within a view. It sets the bounds of the iterator.
func listRows[T any](v *view, rows span, decode func(key, value []byte) (T, error)) ([]T, error) {
	if bytes.Compare(rows.from, rows.to) >= 0 {
		return nil, nil
	}
	v.it.SetBounds(rows.from, rows.to)
	first, next := v.it.First, v.it.Next
	if rows.backwards {
		first, next = v.it.Last, v.it.Prev
	}
	var all []T
	for ok := first(); ok && len(all) < rows.limit; ok = next() {
		value, err := v.it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		row, err := decode(v.it.Key(), value)
		if err != nil {
			return nil, fmt.Errorf("row %q: %w", v.it.Key(), err)
		}
		all = append(all, row)
	}
	return all, v.it.Error()
}
