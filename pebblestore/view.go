package pebblestore

import (
	"bytes"

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

// open opens a view for reading single rows of any table.
func (s *Store) open() (*view, error) {
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

// openRange opens a view of the rows whose keys are in [v.key, v.end) as set by bounds. It returns
// a nil view if the range is empty because v.key is not before v.end.
func (s *Store) openRange(bounds func(v *view)) (*view, error) {
	v := s.views.Get().(*view)
	bounds(v)
	if bytes.Compare(v.key, v.end) >= 0 {
		s.views.Put(v)
		return nil, nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: v.key, UpperBound: v.end})
	if err != nil {
		s.views.Put(v)
		return nil, err
	}
	v.it = it
	return v, nil
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
