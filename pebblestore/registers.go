package pebblestore

import (
	"context"
	"fmt"
	"math"

	"carrel/core/commit"
	"carrel/core/fault"
)

// registers implements commit.RegisterStore.
type registers struct{ *Store }

// PutCreationIfAbsent implements commit.RegisterStore. If replace is set and no row exists, it
// stores nothing and returns a zero Creation.
func (s registers) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (_ commit.Creation, err error) {
	op, err := s.enter(ctx, "record a creation")
	if err != nil {
		return commit.Creation{}, err
	}
	defer op.leave(&err)
	current, stored, err := s.putCreationIfAbsent(&c, replace)
	if err != nil {
		return commit.Creation{}, err
	}
	if stored {
		s.forgetExpired(c.Until)
	}
	return current, nil
}

// putCreationIfAbsent does the compare-and-set under the row's lock.
func (s registers) putCreationIfAbsent(c, replace *commit.Creation) (current commit.Creation, stored bool, err error) {
	key := appendSingle(nil, tableCreation, string(c.Key[:]))
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	value, found, err := s.get(key)
	if err != nil {
		return current, false, err
	}
	if found {
		if current, err = decodeCreation(c.Key, value); err != nil {
			return current, false, err
		}
	}
	wanted := !found && replace == nil || found && replace != nil && current == *replace
	if !wanted {
		return current, false, nil
	}
	if err := s.space.CheckFree(s.now()); err != nil {
		return current, false, err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(key, appendCreation(nil, c), nil); err != nil {
		return current, false, err
	}
	if err := b.Set(appendExpiryKey(nil, c.Until, key), nil, nil); err != nil {
		return current, false, err
	}
	if err := s.commitSynced(b); err != nil {
		return current, false, err
	}
	return *c, true, nil
}

// PutSettingIfAbsent implements commit.RegisterStore.
func (s registers) PutSettingIfAbsent(ctx context.Context, name string, value []byte) (_ []byte, err error) {
	op, err := s.enter(ctx, "record a setting")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	key := appendSingle(nil, tableSetting, name)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	row, found, err := s.get(key)
	if err != nil {
		return nil, err
	}
	if found {
		if len(row) == 0 || row[0] != rowVersion {
			return nil, fmt.Errorf("setting %q: %w", name, errRow)
		}
		return row[1:], nil
	}
	if err := s.space.CheckFree(s.now()); err != nil {
		return nil, err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(key, appendSetting(nil, value), nil); err != nil {
		return nil, err
	}
	if err := s.commitSynced(b); err != nil {
		return nil, err
	}
	return append([]byte(nil), value...), nil
}

// ReserveBlock reserves size numbers for the names that host generates and returns the first of
// them. The first block of a host starts at 1. No number is reserved twice, even if the process
// crashes afterwards.
func (s *Store) ReserveBlock(ctx context.Context, host string, size int64) (first int64, err error) {
	op, err := s.enter(ctx, "reserve numbers")
	if err != nil {
		return 0, err
	}
	defer op.leave(&err)
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
		return 0, err
	}
	if size <= 0 || first > math.MaxInt64-size {
		return 0, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("reserve numbers: no block of %d numbers follows %d", size, first)}
	}
	if err := s.space.CheckFree(s.now()); err != nil {
		return 0, err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.Set(key, appendNext(nil, first+size), nil); err != nil {
		return 0, err
	}
	if err := s.commitSynced(b); err != nil {
		return 0, err
	}
	return first, nil
}
