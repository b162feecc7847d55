package cassandra

import (
	"context"
	"slices"

	"github.com/gocql/gocql"

	"carrel/cassandra/session"
	"carrel/core/claim"
	"carrel/core/clock"
)

const (
	selectClaim  = `SELECT record, claim_token, until FROM claim WHERE space = ? AND name = ?`
	insertClaim  = `INSERT INTO claim (space, name, record, claim_token, until) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS`
	replaceClaim = `UPDATE claim SET record = ?, claim_token = ?, until = ? WHERE space = ? AND name = ? IF claim_token = ?`
	dropClaim    = `DELETE FROM claim WHERE space = ? AND name = ? IF record = ? AND claim_token = ?`
	dropClaimOf  = `DELETE FROM claim WHERE space = ? AND name = ? IF record = ?`

	scanClaims      = `SELECT space, name, record, claim_token, until FROM claim LIMIT ?`
	scanClaimsAfter = `SELECT space, name, record, claim_token, until FROM claim WHERE token(space, name) >= token(?, ?) LIMIT ?`
)

// claims implements claim.Store.
type claims struct{ *Store }

// ReadClaim implements claim.Store.
func (s claims) ReadClaim(ctx context.Context, k claim.Key, serial bool) (claim.Claim, error) {
	const doing = "read a claim"
	var current claim.Claim
	malformed := false
	q := session.Query{Operation: doing, Stmt: selectClaim, Args: []any{k.Space, k.Name}, Serial: serial}
	err := s.session.Read(ctx, q, func(iter *gocql.Iter) bool {
		var (
			token []byte
			until int64
		)
		if !iter.Scan(&current.Record, &token, &until) {
			return false
		}
		current.Key, current.Until = k, clock.Instant(until)
		malformed = copy(current.Token[:], token) != len(current.Token)
		return true
	})
	if err == nil && malformed {
		err = session.WrapError(doing, session.ErrMalformedCell)
	}
	if err != nil {
		return claim.Claim{}, err
	}
	return current, nil
}

// PutClaim implements claim.Store. A refused insertion returns the existing row. A refused
// replacement returns only the token, so the row is read.
func (s claims) PutClaim(ctx context.Context, c claim.Claim, over *claim.Token) (claim.Claim, error) {
	const doing = "put a claim"
	if over != nil {
		applied, _, err := s.session.DecideOne(ctx, doing, replaceClaim, c.Record, c.Token[:], int64(c.Until), c.Space, c.Name, over[:])
		switch {
		case err != nil:
			return claim.Claim{}, err
		case applied:
			return c, nil
		}
		return s.ReadClaim(ctx, c.Key, true)
	}
	applied, row, err := s.session.DecideOne(ctx, doing, insertClaim, c.Space, c.Name, c.Record, c.Token[:], int64(c.Until))
	switch {
	case err != nil:
		return claim.Claim{}, err
	case applied:
		return c, nil
	}
	return claimRow(doing, c.Key, row)
}

// claimRow returns the claim that a refused statement has returned.
func claimRow(doing string, k claim.Key, row map[string]any) (claim.Claim, error) {
	current := claim.Claim{Key: k}
	token, _ := row["claim_token"].([]byte)
	until, _ := row["until"].(int64)
	current.Record, _ = row["record"].(string)
	current.Until = clock.Instant(until)
	if copy(current.Token[:], token) != len(current.Token) {
		return claim.Claim{}, session.WrapError(doing, session.ErrMalformedCell)
	}
	return current, nil
}

// DropClaim implements claim.Store.
func (s claims) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	const doing = "drop a claim"
	var err error
	if token == nil {
		_, _, err = s.session.DecideOne(ctx, doing, dropClaimOf, k.Space, k.Name, record)
	} else {
		_, _, err = s.session.DecideOne(ctx, doing, dropClaim, k.Space, k.Name, record, token[:])
	}
	return err
}

// ScanClaims implements claim.Store, in order of the keys' tokens.
func (s claims) ScanClaims(ctx context.Context, after claim.Key, limit int) ([]claim.Claim, error) {
	const doing = "list claims"
	if limit <= 0 {
		return nil, nil
	}
	q := session.Query{Operation: doing, Stmt: scanClaims, Args: []any{limit + 1}}
	if after != (claim.Key{}) {
		q.Stmt, q.Args = scanClaimsAfter, []any{after.Space, after.Name, limit + 1}
	}
	var (
		all       []claim.Claim
		malformed bool
	)
	err := s.session.Read(ctx, q, func(iter *gocql.Iter) bool {
		var (
			c     claim.Claim
			token []byte
			until int64
		)
		if !iter.Scan(&c.Space, &c.Name, &c.Record, &token, &until) {
			return false
		}
		malformed = malformed || copy(c.Token[:], token) != len(c.Token)
		c.Until = clock.Instant(until)
		all = append(all, c)
		return true
	})
	if err == nil && malformed {
		err = session.WrapError(doing, session.ErrMalformedCell)
	}
	if err != nil {
		return nil, err
	}
	// The slice starts at the token of the given key, so it returns that key too, and keys with
	// the same token that were returned before it.
	if at := slices.IndexFunc(all, func(c claim.Claim) bool { return c.Key == after }); at >= 0 {
		all = all[at+1:]
	}
	return all[:min(len(all), limit)], nil
}
