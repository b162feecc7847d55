package cassandra

import (
	"context"

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
	current := claim.Claim{Key: k}
	var token []byte
	q := session.Query{Operation: doing, Stmt: selectClaim, Args: []any{k.Space, k.Name}, Serial: serial}
	found, err := s.session.ReadRow(ctx, q, &current.Record, &token, (*int64)(&current.Until))
	if err == nil && found {
		err = session.WrapError(doing, fill(current.Token[:], token))
	}
	if err != nil || !found {
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
	return current, session.WrapError(doing, fill(current.Token[:], token))
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
	q := session.Query{Operation: "list claims", Stmt: scanClaims}
	if after != (claim.Key{}) {
		q.Stmt, q.Args = scanClaimsAfter, []any{after.Space, after.Name}
	}
	var (
		space, name, record string
		token               []byte
		until               int64
	)
	return scan(ctx, s.Store, q, limit, []any{&space, &name, &record, &token, &until}, func() (claim.Claim, error) {
		c := claim.Claim{Key: claim.Key{Space: space, Name: name}, Record: record, Until: clock.Instant(until)}
		err := fill(c.Token[:], token)
		return c, err
	}, func(c claim.Claim) bool { return c.Key == after })
}
