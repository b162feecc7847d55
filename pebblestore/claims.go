package pebblestore

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"carrel/core/claim"
	"carrel/core/clock"
)

// claims implements claim.Store.
type claims struct{ *Store }

// ReadClaim implements claim.Store.
func (s claims) ReadClaim(ctx context.Context, k claim.Key, _ bool) (_ claim.Claim, err error) {
	op, err := s.enter(ctx, "read a claim")
	if err != nil {
		return claim.Claim{}, err
	}
	defer op.leave(&err)
	current, err := s.claimAt(k, appendClaimKey(nil, k))
	if err != nil {
		return claim.Claim{}, err
	}
	return current, nil
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
	err := s.changeClaim(ctx, "put a claim", c.Key, func(b *pebble.Batch, key []byte, before claim.Claim) error {
		none := before == claim.Claim{}
		if none != (replace == nil) || replace != nil && *replace != before.Token {
			current = before
			return nil
		}
		if err := s.space.CheckFree(s.now()); err != nil {
			return err
		}
		return b.Set(key, appendClaim(nil, &c), nil)
	})
	if err != nil {
		return claim.Claim{}, err
	}
	return current, nil
}

// DropClaim implements claim.Store.
func (s claims) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	return s.changeClaim(ctx, "drop a claim", k, func(b *pebble.Batch, key []byte, before claim.Claim) error {
		if before == (claim.Claim{}) || before.Record != record || token != nil && *token != before.Token {
			return nil
		}
		return b.Delete(key, nil)
	})
}

// changeClaim changes a claim under the lock of its row. It writes nothing if change leaves the
// batch empty.
func (s claims) changeClaim(ctx context.Context, doing string, k claim.Key, change func(b *pebble.Batch, key []byte,
	before claim.Claim) error) (err error) {
	op, err := s.enter(ctx, doing)
	if err != nil {
		return err
	}
	defer op.leave(&err)
	key := appendClaimKey(nil, k)
	mu := s.locks.of(key)
	mu.Lock()
	defer mu.Unlock()
	before, err := s.claimAt(k, key)
	if err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := change(b, key, before); err != nil || b.Empty() {
		return err
	}
	return s.commitSynced(b)
}

// ScanClaims implements claim.Store, in order of space and name.
func (s claims) ScanClaims(ctx context.Context, after claim.Key, limit int) (_ []claim.Claim, err error) {
	op, err := s.enter(ctx, "list claims")
	if err != nil {
		return nil, err
	}
	defer op.leave(&err)
	v, err := s.openRange(func(v *view) {
		v.key = append(v.key[:0], tableClaim)
		v.end = append(v.end[:0], tableClaim+1)
		if after != (claim.Key{}) {
			v.key = appendAfter(appendClaimKey(v.key[:0], after))
		}
	})
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	var all []claim.Claim
	for ok := v.it.First(); ok && len(all) < limit; ok = v.it.Next() {
		var c claim.Claim
		if c, err = claimOf(v.it.Key(), v.it.Value()); err != nil {
			break
		}
		all = append(all, c)
	}
	if err = errors.Join(err, s.done(v)); err != nil {
		return nil, err
	}
	return all, nil
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
	b = append(appendText(append(b, rowVersion), c.Record), c.Token[:]...)
	return binary.AppendVarint(b, int64(c.Until))
}

// decodeClaim reads the row of a claim.
func decodeClaim(k claim.Key, value []byte) (claim.Claim, error) {
	d := decode(value)
	c := claim.Claim{Key: k, Record: d.text()}
	copy(c.Token[:], d.raw(len(c.Token)))
	c.Until = clock.Instant(d.int())
	return c, d.end()
}
