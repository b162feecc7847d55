package follow

import (
	"context"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
)

// ablatedBegin reads what was missed before it joins the feed. done is false where the rule
// is on.
func (f *Follower) ablatedBegin(ctx context.Context, since clock.Instant) (done bool, err error) {
	if since == 0 || !commit.Ablated("missed-before-feed") {
		return false, nil
	}
	missed, err := f.missed(ctx, since.Add(-library.ChangesOverlap))
	if err == nil {
		err = f.join(ctx)
	}
	if err == nil {
		f.catchUp(missed)
	}
	return true, err
}
