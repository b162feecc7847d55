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

// ablatedMovedOn takes a record that has moved on for one that does not hold the key.
func (c *Claims) ablatedMovedOn(ctx context.Context, record Record, current Claim) error {
	if commit.Ablated("fence-refused-unread") {
		return nil
	}
	return c.excludedByChange(ctx, record, current)
}

// ablatedWaits reports whether a claim has not lapsed, where that counts.
func (c *Claims) ablatedWaits(current Claim) bool {
	return current.Until > c.now() && commit.Ablated("until-of-the-ended")
}
