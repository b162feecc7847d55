package cassandra

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"carrel/cassandra/session"
	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/core/fault"
)

const (
	putCreationIfAbsent = `INSERT INTO request (key, input_hash, id, until) VALUES (?, ?, ?, ?) IF NOT EXISTS USING TTL ?`
	replaceCreation     = `UPDATE request USING TTL ? SET input_hash = ?, id = ?, until = ? WHERE key = ? IF input_hash = ? AND id = ? AND until = ?`
)

// registers implements commit.RegisterStore.
type registers struct{ *Store }

// PutCreationIfAbsent implements commit.RegisterStore. If replace is set and no row exists, it
// stores nothing and returns a zero Creation.
func (s registers) PutCreationIfAbsent(ctx context.Context, c commit.Creation, replace *commit.Creation) (commit.Creation, error) {
	const doing = "record a creation"
	var (
		applied bool
		current map[string]any
		err     error
	)
	if replace == nil {
		applied, current, err = s.session.DecideOne(ctx, doing, putCreationIfAbsent, c.Key[:], c.InputHash[:], c.ID,
			int64(c.Until), s.timeToLive(c.Until))
	} else {
		applied, current, err = s.session.DecideOne(ctx, doing, replaceCreation, s.timeToLive(c.Until), c.InputHash[:], c.ID,
			int64(c.Until), c.Key[:],
			replace.InputHash[:], replace.ID, int64(replace.Until))
	}
	switch {
	case err != nil:
		return commit.Creation{}, err
	case applied:
		return c, nil
	}
	hash, _ := current["input_hash"].([]byte)
	id, _ := current["id"].(string)
	until, _ := current["until"].(int64)
	if id == "" {
		return commit.Creation{}, nil
	}
	stored := commit.Creation{Key: c.Key, ID: id, Until: clock.Instant(until)}
	if err := fill(stored.InputHash[:], hash); err != nil {
		return commit.Creation{}, session.WrapError(doing, err)
	}
	return stored, nil
}

const (
	selectSetting      = `SELECT value FROM setting WHERE name = ?`
	putSettingIfAbsent = `INSERT INTO setting (name, value) VALUES (?, ?) IF NOT EXISTS`
)

// PutSettingIfAbsent implements commit.RegisterStore. A setting never changes, so it is read
// first, and a conditional write is made only if there is none. So a gateway that has started
// before can start again while too few nodes are up for a conditional write.
func (s registers) PutSettingIfAbsent(ctx context.Context, name string, value []byte) ([]byte, error) {
	const doing = "record a setting"
	var stored []byte
	found, err := s.session.ReadRow(ctx, session.Query{Operation: doing, Stmt: selectSetting, Args: []any{name}}, &stored)
	if err != nil || found {
		return stored, err
	}
	applied, current, err := s.session.DecideOne(ctx, doing, putSettingIfAbsent, name, notNull(value))
	switch {
	case err != nil:
		return nil, err
	case applied:
		return bytes.Clone(value), nil
	}
	stored, _ = current["value"].([]byte)
	return bytes.Clone(stored), nil
}

// reserveTries limits the attempts at one block. An attempt that loses a race gets the current
// value and retries with it at once; every race has a winner.
const reserveTries = 32

const (
	firstBlock = `INSERT INTO id_block (host, next) VALUES (?, ?) IF NOT EXISTS`
	nextBlock  = `UPDATE id_block SET next = ? WHERE host = ? IF next = ?`
)

// ReserveBlock reserves size numbers for the names that host generates and returns the first of
// them. The first block of a host starts at 1. No number is reserved twice: if the outcome of a
// reservation is unknown, the block is skipped.
func (s *Store) ReserveBlock(ctx context.Context, host string, size int64) (first int64, err error) {
	const doing = "reserve numbers"
	if size <= 0 {
		return 0, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("reserve numbers: invalid block size %d", size)}
	}
	applied, current, err := s.session.DecideOne(ctx, doing, firstBlock, host, 1+size)
	for range reserveTries {
		if err != nil {
			return 0, err
		}
		if applied {
			return max(first, 1), nil
		}
		next, _ := current["next"].(int64)
		if next < 1 || next > math.MaxInt64-size {
			return 0, &fault.Error{Code: fault.Internal, Msg: fmt.Sprintf("reserve numbers: no block of %d follows %d", size, next)}
		}
		first = next
		applied, current, err = s.session.DecideOne(ctx, doing, nextBlock, next+size, host, next)
	}
	return 0, fault.Unavailablef(err, "reserve numbers: too many concurrent reservations")
}
