package cassandra

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
)

const (
	putCreationIfAbsent = `INSERT INTO request (key, input_hash, id, until) VALUES (?, ?, ?, ?) IF NOT EXISTS USING TTL ?`
	replaceCreation     = `UPDATE request USING TTL ? SET input_hash = ?, id = ?, until = ? WHERE key = ? IF input_hash = ? AND id = ? AND until = ?`
)

// PutCreationIfAbsent implements library.RegisterStore. With replace and no standing
// row nothing is stored, and the Creation returned is zero.
func (s *Store) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	const doing = "fix a creation"
	var (
		applied  bool
		standing map[string]any
		err      error
	)
	if replace == nil {
		applied, standing, err = s.session.DecideOne(ctx, doing, putCreationIfAbsent, c.Key[:], c.InputHash[:], c.ID, int64(c.Until), s.timeToLive(c.Until))
	} else {
		applied, standing, err = s.session.DecideOne(ctx, doing, replaceCreation, s.timeToLive(c.Until), c.InputHash[:], c.ID, int64(c.Until), c.Key[:],
			replace.InputHash[:], replace.ID, int64(replace.Until))
	}
	switch {
	case err != nil:
		return commit.Creation{}, err
	case applied:
		return c, nil
	}
	hash, _ := standing["input_hash"].([]byte)
	id, _ := standing["id"].(string)
	until, _ := standing["until"].(int64)
	if id == "" {
		return commit.Creation{}, nil
	}
	stands := commit.Creation{Key: c.Key, ID: id, Until: clock.Instant(until)}
	if copy(stands.InputHash[:], hash) != len(stands.InputHash) {
		return commit.Creation{}, session.WrapError(doing, session.ErrMalformedCell)
	}
	return stands, nil
}

const (
	selectSetting      = `SELECT value FROM setting WHERE name = ?`
	putSettingIfAbsent = `INSERT INTO setting (name, value) VALUES (?, ?) IF NOT EXISTS`
)

// PutSettingIfAbsent implements library.RegisterStore. A setting never changes, so one
// that can be read is the one that stands; only where there is none yet anything
// is decided. A gateway that starts reads it where nodes too few or too slow for a
// decision would keep it from starting.
func (s *Store) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	const doing = "fix a setting"
	var stands []byte
	found := false
	err := s.session.Read(ctx, session.Query{Operation: doing, Stmt: selectSetting, Args: []any{name}}, func(iter *gocql.Iter) bool {
		if !iter.Scan(&stands) {
			return false
		}
		found = true
		return true
	})
	if err != nil || found {
		return stands, err
	}
	applied, standing, err := s.session.DecideOne(ctx, doing, putSettingIfAbsent, name, notNull(value))
	switch {
	case err != nil:
		return nil, err
	case applied:
		return bytes.Clone(value), nil
	}
	stands, _ = standing["value"].([]byte)
	return bytes.Clone(stands), nil
}

// reserveTries bounds the attempts at one block. Who loses a race is told what
// stands and tries at once with that; every race has a winner.
const reserveTries = 32

const (
	firstBlock = `INSERT INTO id_block (host, next) VALUES (?, ?) IF NOT EXISTS`
	nextBlock  = `UPDATE id_block SET next = ? WHERE host = ? IF next = ?`
)

// ReserveBlock reserves size numbers for the names that host generates and
// gives the first of them; the first block of a host begins at 1. No number is
// given out twice, whatever happens to the process after it: where the outcome
// of a reservation is unknown, the block is given up.
func (s *Store) ReserveBlock(ctx context.Context, host string, size int64) (first int64, err error) {
	const doing = "reserve numbers"
	if size <= 0 {
		return 0, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("reserve numbers: no block has %d", size)}
	}
	applied, standing, err := s.session.DecideOne(ctx, doing, firstBlock, host, 1+size)
	for range reserveTries {
		if err != nil {
			return 0, err
		}
		if applied {
			return max(first, 1), nil
		}
		next, _ := standing["next"].(int64)
		if next < 1 || next > math.MaxInt64-size {
			return 0, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("reserve numbers: no block of %d follows %d", size, next)}
		}
		first = next
		applied, standing, err = s.session.DecideOne(ctx, doing, nextBlock, next+size, host, next)
	}
	return 0, fault.Unavailablef(err, "reserve numbers: too many others do so at the same time")
}
