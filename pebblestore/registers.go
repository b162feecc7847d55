package pebblestore

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	err = s.change(key, s.commitSynced, func(b *batch) error {
		value, found, err := s.get(key)
		if err == nil && found {
			current, err = decodeCreation(c.Key, value)
		}
		if err != nil {
			return err
		}
		stored = !found && replace == nil || found && replace != nil && current == *replace
		if !stored {
			return nil
		}
		current = *c
		putCreation(b, c)
		return s.Room()
	})
	return current, stored, err
}

// putCreation adds a recorded creation and its expiry row to a batch.
func putCreation(b *batch, c *commit.Creation) {
	key := appendSingle(nil, tableCreation, string(c.Key[:]))
	b.set(key, appendCreation(nil, c))
	b.set(appendExpiryKey(nil, c.Until, key), nil)
}

// PutSettingIfAbsent implements commit.RegisterStore.
func (s registers) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	current := slices.Clone(value)
	key := appendSingle(nil, tableSetting, name)
	err := s.write(ctx, "record a setting", key, s.commitSynced, func(b *batch) error {
		row, found, err := s.get(key)
		if err != nil {
			return err
		}
		if found {
			current, err = decodeBytes(row)
			return err
		}
		b.set(key, appendBytes(nil, value))
		return s.Room()
	})
	if err != nil {
		return nil, err
	}
	return current, nil
}

// ReserveBlock reserves size numbers for the names that host generates and returns the first of
// them. The first block of a host starts at 1. No number is reserved twice, even if the process
// crashes afterwards.
func (s *Store) ReserveBlock(ctx context.Context, host string, size int64) (int64, error) {
	first := int64(1)
	key := appendSingle(nil, tableBlock, host)
	err := s.write(ctx, "reserve numbers", key, s.commitSynced, func(b *batch) error {
		row, found, err := s.get(key)
		if err == nil && found {
			first, err = decodeNext(row)
		}
		if err != nil {
			return err
		}
		if size <= 0 || first > math.MaxInt64-size {
			return &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("reserve numbers: no block of %d numbers follows %d", size, first)}
		}
		b.set(key, appendNext(nil, first+size))
		return s.Room()
	})
	if err != nil {
		return 0, err
	}
	return first, nil
}
