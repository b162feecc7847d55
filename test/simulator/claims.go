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
	return at(st.claims, k, compareClaim)
}

// claims implements claim.Store.
type claims struct{ *Client }

// ReadClaim reads a claim.
func (c claims) ReadClaim(ctx context.Context, k claim.Key, serial bool) (claim.Claim, error) {
	return look(ctx, c.Client, "ReadClaim", func() claim.Claim {
		if serial {
			c.decide(claimGroup(k))
		}
		return c.st.claimAt(k)
	})
}

// PutClaim stores a claim if there is none, or replaces the one with a token.
func (c claims) PutClaim(ctx context.Context, n claim.Claim, over *claim.Token) (claim.Claim, error) {
	token := copied(over)
	return change(ctx, c.Client, "PutClaim", claimGroup(n.Key), func() claim.Claim {
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
		return c.st.claimAt(n.Key)
	})
}

// DropClaim removes the claim of a key if it is the record's and has the token.
func (c claims) DropClaim(ctx context.Context, k claim.Key, record string, token *claim.Token) error {
	wanted := copied(token)
	return c.write(ctx, "DropClaim", claimGroup(k), func() {
		i, found := find(c.st.claims, k, compareClaim)
		if found && c.st.claims[i].Record == record && (wanted == nil || c.st.claims[i].Token == *wanted) {
			c.st.claims = slices.Delete(c.st.claims, i, i+1)
			c.st.claimChanged(k)
		}
	}, nil)
}

// ScanClaims lists claims in order of their keys.
func (c claims) ScanClaims(ctx context.Context, from claim.Key, limit int) ([]claim.Claim, error) {
	return look(ctx, c.Client, "ScanClaims", func() []claim.Claim { return after(c.st.claims, from, compareClaim, limit) })
}
