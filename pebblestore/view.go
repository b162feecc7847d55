package pebblestore

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// pooledBytes is the largest buffer that is kept for later readings.
const pooledBytes = 64 << 10

// view is one reading of the database: all rows that it gives are of one state.
type view struct {
	it *pebble.Iterator
	// key and end are scratch for the keys that the caller looks for.
	key, end []byte
	// values are those of several rows, one after the other, and ends where each ends.
	values []byte
	ends   []int
}

// open begins a reading of single rows of whatever table.
func (s *Store) open() (*view, error) {
	v := s.views.Get().(*view)
	// The rows that a page asks for beside a header mostly lie in its block. So
	// the filters of the oldest level, where most rows are, cost more than they
	// save.
	it, err := s.db.NewIter(&pebble.IterOptions{})
	if err != nil {
		s.views.Put(v)
		return nil, err
	}
	v.it = it
	return v, nil
}

// openRange begins a reading of the rows whose keys lie in [v.key, v.end) as
// bounds filled them; it gives no view where there can be none.
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

// done ends the reading. Its error is that of any read before it.
func (s *Store) done(v *view) error {
	err := v.it.Close()
	v.it, v.values, v.ends = nil, v.values[:0], v.ends[:0]
	if cap(v.values) > pooledBytes {
		v.values = nil
	}
	s.views.Put(v)
	return err
}

// get reads the row of v.key. The value is valid until the next read.
func (v *view) get() (value []byte, found bool, err error) {
	if !v.it.SeekPrefixGE(v.key) {
		return nil, false, v.it.Error()
	}
	value, err = v.it.ValueAndErr()
	return value, err == nil, err
}

// collect reads the row of v.key and keeps its value, an empty one if there is none.
func (v *view) collect() (found bool, err error) {
	value, found, err := v.get()
	if err == nil && found && len(value) == 0 {
		err = errRow
	}
	v.values = append(v.values, value...)
	v.ends = append(v.ends, len(v.values))
	return found, err
}

// collected returns the values collected and where each ends: a page of rows is one piece
// of memory.
func (v *view) collected() (values string, ends []int) {
	values = string(v.values)
	return values, v.ends
}
