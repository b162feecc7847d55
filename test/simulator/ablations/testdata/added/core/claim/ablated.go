package claim

import (
	"context"

	"carrel/core/commit"
)

// ablatedFence pretends that a record was fenced.
func ablatedFence(ctx context.Context, record Record, id string, base int64) (bool, error) {
	if commit.Ablated("claim-unfenced") {
		return true, nil
	}
	return record.Fence(ctx, id, base)
}

// ablatedMovedOn treats a record that has changed as one that does not hold the key.
func (c *Claims) ablatedMovedOn(ctx context.Context, record Record, current Claim) (int64, error) {
	if commit.Ablated("fence-refused-unread") {
		return 0, nil
	}
	return c.excludedByChange(ctx, record, current)
}

// ablatedToken is the token that a claim must have to be dropped; nil: any.
func (f *Former) ablatedToken() *Token {
	if ablated("former-any-token") {
		return nil
	}
	return f.Token
}

// ablatedWaits reports whether the rule is off and a claim has not lapsed.
func (c *Claims) ablatedWaits(current Claim) bool {
	return current.Until > c.now() && commit.Ablated("until-of-the-ended")
}

// ablated reports whether an ablation is on.
func ablated(name string) bool { return commit.Ablated(name) }
