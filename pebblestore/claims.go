package pebblestore

import (
	"context"
	"encoding/binary"

	"carrel/core/claim"
	"carrel/core/clock"
	"carrel/core/commit"
)

// claims implements claim.Store.
type claims struct{ *Store }

// ReadClaim implements claim.Store.
func (s claims) ReadClaim(ctx context.Context, k claim.Key, _ bool) (claim.Claim, error) {
	return call(ctx, s.Store, "read a claim", func() (claim.Claim, error) { return s.claimAt(k, appendClaimKey(nil, k)) })
}

// claimAt reads the claim at a key. It returns a zero Claim if there is none.
func (s claims) claimAt(k claim.Key, key []byte) (claim.Claim, error) {
	value, found, err := s.get(key)
	if err != nil || !found {
		return claim.Claim{}, err
	}
	return decodeClaim(k, value)
}

// PutClaim implements claim.Store.
func (s claims) PutClaim(ctx context.Context, c claim.Claim, replace *claim.Token) (claim.Claim, error) {
	current := c
	key := appendClaimKey(nil, c.Key)
	err := s.write(ctx, "put a claim", key, s.commitSynced, func(b *batch) error {
		before, err := s.claimAt(c.Key, key)
		if err != nil {
			return err
		}
		none := before == claim.Claim{}
		if none != (replace == nil) || replace != nil && *replace != before.Token {
			current = before
			return nil
		}
		b.set(key, appendClaim(nil, &c))
		return s.Room()
	})
	if err != nil {
		return claim.Claim{}, err
	}
	return current, nil
}

// DropClaim implements claim.Store.
func (s claims) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	key := appendClaimKey(nil, k)
	return s.write(ctx, "drop a claim", key, s.commitSynced, func(b *batch) error {
		before, err := s.claimAt(k, key)
		if before != (claim.Claim{}) && before.Record == record && (token == nil || *token == before.Token) {
			b.delete(key)
		}
		return err
	})
}

// ScanClaims implements claim.Store, in order of space and name.
func (s claims) ScanClaims(ctx context.Context, after claim.Key, limit int) ([]claim.Claim, error) {
	rows := under([]byte{tableClaim}, limit)
	if after != (claim.Key{}) {
		rows.from = appendAfter(appendClaimKey(nil, after))
	}
	return list(ctx, s.Store, "list claims", rows, claimOf)
}

// claimOf reads the row of a claim.
func claimOf(key, value []byte) (claim.Claim, error) {
	space, name, err := cutString(key[1:])
	if err != nil {
		return claim.Claim{}, err
	}
	return decodeClaim(claim.Key{Space: space, Name: string(name)}, value)
}

// appendClaimKey appends the key of a claim.
func appendClaimKey(b []byte, k claim.Key) []byte {
	return append(appendPartition(b, tableClaim, k.Space), k.Name...)
}

// appendClaim appends the row of a claim, without its key.
func appendClaim(b []byte, c *claim.Claim) []byte {
	b = append(commit.AppendText(append(b, rowVersion), c.Record), c.Token[:]...)
	return binary.AppendVarint(b, int64(c.Until))
}

// decodeClaim reads the row of a claim.
func decodeClaim(k claim.Key, value []byte) (claim.Claim, error) {
	d := decode(value)
	c := claim.Claim{Key: k, Record: d.Text()}
	copy(c.Token[:], d.Raw(len(c.Token)))
	c.Until = clock.Instant(d.Int())
	return c, d.end()
}
