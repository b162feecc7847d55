package pebblestore

import (
	"bytes"
	"sync"

	"carrel/core/clock"
	"carrel/core/commit"
)

// forgetAtOnce is the number of expired rows that one write deletes. Each write adds one row, so
// deleting two keeps the store from growing and catches up after a pause.
const forgetAtOnce = 2

// expiry remembers up to which time expired rows have been deleted, so that the next scan does not
// pass over their tombstones.
type expiry struct {
	mu sync.Mutex
	at []byte // key of tableExpiry
}

// putRequest adds an answered request and its expiry row to a batch. It does nothing if r is nil.
func putRequest(b *batch, table byte, id string, r *commit.RequestRow) {
	if r == nil {
		return
	}
	key := appendRequestKey(nil, table, id, &r.Key)
	b.set(key, appendRequest(nil, r))
	b.set(appendExpiryKey(nil, r.Until, key), nil)
}

// forgetExpired deletes a few rows that have expired: requests and creations. It runs after a write
// that added one which expires at until, outside that row's lock, and never fails that write: a
// later call deletes what this one could not.
func (s *Store) forgetExpired(until clock.Instant) {
	s.expiry.mu.Lock()
	defer s.expiry.mu.Unlock()
	// If the clock was set back, a row may expire before those already deleted.
	if added := appendInstant(nil, until); bytes.Compare(added, s.expiry.at) < 0 {
		s.expiry.at = added
	}
	keys, err := s.expired(forgetAtOnce)
	for _, key := range keys {
		if err == nil {
			err = s.forget(key)
		}
	}
	if err != nil {
		s.report(s.log.Error, "store: expired requests cannot be forgotten", "cause", err.Error())
	}
}

// expired lists the keys of tableExpiry whose time has come.
func (s *Store) expired(limit int) ([][]byte, error) {
	rows := span{
		from:  append([]byte{tableExpiry}, s.expiry.at...),
		to:    appendInstant([]byte{tableExpiry}, s.now()+1),
		limit: limit,
	}
	return inView(s, nil, func(v *view) ([][]byte, error) {
		return listRows(v, rows, func(key, _ []byte) ([]byte, error) { return bytes.Clone(key), nil })
	})
}

// forget deletes the row that a key of tableExpiry names, unless it was rewritten with a later
// expiry, and the expiry key itself.
func (s *Store) forget(expiryKey []byte) error {
	until, key, err := cutInstant(expiryKey[1:])
	if err != nil {
		return err
	}
	lock, readUntil, err := s.expiryLock(key)
	if err != nil {
		return err
	}
	return s.change(lock, s.commitLater, func(b *batch) error {
		row, found, err := s.get(key)
		if err != nil {
			return err
		}
		if found {
			current, err := readUntil(row)
			if err != nil {
				return err
			}
			if current <= until {
				b.delete(key)
			}
		}
		b.delete(expiryKey)
		s.expiry.at = expiryKey[1:]
		return nil
	})
}

// expiryLock returns the key of the lock for a row, and a function that reads the row's expiry.
func (s *Store) expiryLock(key []byte) (lock []byte, until func(row []byte) (clock.Instant, error), err error) {
	request := func(row []byte) (clock.Instant, error) {
		r, err := decodeRequest(commit.RequestKey{}, row)
		return r.Until, err
	}
	switch {
	case len(key) == 0:
		return nil, nil, errKey
	case key[0] == tableCreation:
		return key, func(row []byte) (clock.Instant, error) {
			c, err := decodeCreation(commit.RequestKey{}, row)
			return c.Until, err
		}, nil
	case key[0] == tableContent, key[0] == tablePrincipal:
		id, _, err := cutString(key[1:])
		return appendHeaderKey(nil, key[0], id), request, err
	}
	return nil, nil, errKey
}
