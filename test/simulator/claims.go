package simulator

import (
	"cmp"
	"context"
	"slices"

	"carrel/core/claim"
)

// compareClaim orders claims by their keys.
func compareClaim(c claim.Claim, k claim.Key) int {
	return cmp.Or(cmp.Compare(c.Space, k.Space), cmp.Compare(c.Name, k.Name))
}

// claimGroup is the Paxos group of a claim.
func claimGroup(k claim.Key) string { return "claim " + k.Space + " " + k.Name }

// claimAt returns the claim of a key, or the zero claim.
func (st *Store) claimAt(k claim.Key) claim.Claim {
	if i, ok := find(st.claims, k, compareClaim); ok {
		return st.claims[i]
	}
	return claim.Claim{}
}

// claims implements claim.Store.
type claims struct{ *Client }

// ReadClaim reads a claim.
func (c claims) ReadClaim(ctx context.Context, k claim.Key, serial bool) (claim.Claim, error) {
	var current claim.Claim
	err := c.read(ctx, "ReadClaim", func() {
		if serial && c.a != nil {
			c.st.decide(claimGroup(k))
		}
		current = c.st.claimAt(k)
	})
	return current, err
}

// PutClaim stores a claim if there is none, or replaces the one with a token.
func (c claims) PutClaim(ctx context.Context, n claim.Claim, over *claim.Token) (claim.Claim, error) {
	var current claim.Claim
	var token *claim.Token
	if over != nil {
		copied := *over
		token = &copied
	}
	err := c.write(ctx, "PutClaim", claimGroup(n.Key), func() {
		i, found := find(c.st.claims, n.Key, compareClaim)
		switch {
		case !found && token == nil:
			c.st.claims = slices.Insert(c.st.claims, i, n)
			c.st.claimChanged(n.Key)
		case found && token != nil && c.st.claims[i].Token == *token:
			if c.a != nil && c.st.history != nil {
				c.st.checkLapsed(c.st.claims[i], n, c.a.clock())
			}
			c.st.claims[i] = n
			c.st.claimChanged(n.Key)
		}
		current = c.st.claimAt(n.Key)
	}, nil)
	return current, err
}

// DropClaim removes the claim of a key if it is the record's and has the token.
func (c claims) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	var wanted *claim.Token
	if token != nil {
		copied := *token
		wanted = &copied
	}
	return c.write(ctx, "DropClaim", claimGroup(k), func() {
		i, found := find(c.st.claims, k, compareClaim)
		if found && c.st.claims[i].Record == record && (wanted == nil || c.st.claims[i].Token == *wanted) {
			c.st.claims = slices.Delete(c.st.claims, i, i+1)
			c.st.claimChanged(k)
		}
	}, nil)
}

// ScanClaims lists claims in order of their keys.
func (c claims) ScanClaims(ctx context.Context, after claim.Key, limit int) ([]claim.Claim, error) {
	var page []claim.Claim
	err := c.read(ctx, "ScanClaims", func() {
		i, found := find(c.st.claims, after, compareClaim)
		if found {
			i++
		}
		page = slices.Clone(c.st.claims[i:min(len(c.st.claims), i+max(limit, 0))])
	})
	return page, err
}
