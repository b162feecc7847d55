package pebblestore

import (
	"context"
	"fmt"
	"math"

	"carrel/core/commit"
	"carrel/core/fault"
)

// PutCreationIfAbsent implements library.RegisterStore. With replace and no standing
// row nothing is stored, and the Creation returned is zero.
func (s *Store) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	if err := s.enter(ctx); err != nil {
		return commit.Creation{}, err
	}
	defer s.leave()
	stands, stored, err := s.putCreationIfAbsent(&c, replace)
	if err != nil {
		return commit.Creation{}, wrapError("fix a creation", err)
	}
	if stored {
		s.forgetExpired(c.Until)
	}
	return stands, nil
}

// putCreationIfAbsent compares and sets under the row's lock.
func (s *Store) putCreationIfAbsent(c, replace *commit.Creation) (stands commit.Creation, stored bool, err error) {
	key := appendSingle(nil, tableCreation, string(c.Key[:]))
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	value, found, err := s.get(key)
	if err != nil {
		return stands, false, err
	}
	if found {
		if stands, err = decodeCreation(c.Key, value); err != nil {
			return stands, false, err
		}
	}
	wanted := !found && replace == nil || found && replace != nil && stands == *replace
	if !wanted {
		return stands, false, nil
	}
	if err := s.space.room(s.now()); err != nil {
		return stands, false, err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(key, appendCreation(nil, c), nil); err != nil {
		return stands, false, err
	}
	if err := b.Set(appendExpiryKey(nil, c.Until, key), nil, nil); err != nil {
		return stands, false, err
	}
	if err := s.commitSynced(b); err != nil {
		return stands, false, err
	}
	return *c, true, nil
}

// PutSettingIfAbsent implements library.RegisterStore.
func (s *Store) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	key := appendSingle(nil, tableSetting, name)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	row, found, err := s.get(key)
	if err != nil {
		return nil, wrapError("fix a setting", err)
	}
	if found {
		if len(row) == 0 || row[0] != rowVersion {
			return nil, wrapError("fix a setting", fmt.Errorf("setting %q: %w", name, errRow))
		}
		return row[1:], nil
	}
	if err := s.space.room(s.now()); err != nil {
		return nil, err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(key, appendSetting(nil, value), nil); err != nil {
		return nil, wrapError("fix a setting", err)
	}
	if err := s.commitSynced(b); err != nil {
		return nil, err
	}
	return append([]byte(nil), value...), nil
}

// ReserveBlock reserves size numbers for the names that host generates and
// gives the first of them; the first block of a host begins at 1. No number is
// given out twice, whatever happens to the process after it.
func (s *Store) ReserveBlock(ctx context.Context, host string, size int64) (first int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	key := appendSingle(nil, tableBlock, host)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	first = 1
	row, found, err := s.get(key)
	if err == nil && found {
		first, err = decodeNext(row)
	}
	if err != nil {
		return 0, wrapError("reserve numbers", err)
	}
	if size <= 0 || first > math.MaxInt64-size {
		return 0, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("reserve numbers: no block of %d numbers follows %d", size, first)}
	}
	if err := s.space.room(s.now()); err != nil {
		return 0, err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(key, appendNext(nil, first+size), nil); err != nil {
		return 0, wrapError("reserve numbers", err)
	}
	if err := s.commitSynced(b); err != nil {
		return 0, err
	}
	return first, nil
}
