package pebblestore

import (
	"bytes"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

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
func putRequest(b *pebble.Batch, table byte, id string, r *commit.RequestRow) error {
	if r == nil {
		return nil
	}
	key := appendRequestKey(nil, table, id, &r.Key)
	if err := b.Set(key, appendRequest(nil, r), nil); err != nil {
		return err
	}
	return b.Set(appendExpiryKey(nil, r.Until, key), nil, nil)
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
	v, err := s.openRange(func(v *view) {
		v.key = append(append(v.key[:0], tableExpiry), s.expiry.at...)
		v.end = appendInstant(append(v.end[:0], tableExpiry), s.now()+1)
	})
	if err != nil || v == nil {
		return nil, err
	}
	var keys [][]byte
	for ok := v.it.First(); ok && len(keys) < limit; ok = v.it.Next() {
		keys = append(keys, append([]byte(nil), v.it.Key()...))
	}
	return keys, errors.Join(v.it.Error(), s.done(v))
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
	mu := s.locks.of(lock)
	mu.Lock()
	defer mu.Unlock()
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
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
			if err := b.Delete(key, nil); err != nil {
				return err
			}
		}
	}
	if err := b.Delete(expiryKey, nil); err != nil {
		return err
	}
	s.expiry.at = expiryKey[1:]
	return s.commitLater(b)
}

// expiryLock returns the key of the lock for a row, and a function that reads the row's expiry.
func (s *Store) expiryLock(key []byte) (lock []byte, until func(row []byte) (clock.Instant, error), err error) {
	request := func(row []byte) (clock.Instant, error) {
		r, err := decodeRequest(commit.RequestKey{}, row)
		if err != nil {
			return 0, err
		}
		return r.Until, nil
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
