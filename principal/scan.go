package principal

import (
	"context"
	"slices"

	"carrel/core/commit"
	"carrel/core/sched"
)

// scanAtOnce is how many principals a scan reads at once.
const scanAtOnce = 100

// EachHeader calls see with the headers of the live principals that wanted accepts.
func (u Upkeep) EachHeader(ctx context.Context, wanted func(ID) bool, see func(*Header) error) error {
	return u.eachIn(ctx, commit.Live, wanted, see)
}

// EachDeleted calls see with the headers of the deleted principals.
func (u Upkeep) EachDeleted(ctx context.Context, see func(*Header) error) error {
	return u.eachIn(ctx, commit.Deleted, Any, see)
}

// eachIn calls see with the headers of the principals in a state that wanted accepts.
func (u Upkeep) eachIn(ctx context.Context, state commit.State, wanted func(ID) bool, see func(*Header) error) error {
	return sched.Pages(ctx, scanAtOnce, u.s.store.ScanPrincipals, func(id ID) ID { return id }, func(page []ID) error {
		ids := slices.DeleteFunc(slices.Clone(page), func(id ID) bool { return !wanted(id) })
		headers, err := u.s.store.ReadPrincipals(ctx, ids)
		if err != nil {
			return err
		}
		for i := range headers {
			if headers[i].State != state {
				continue
			}
			if err := see(&headers[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Any accepts users and groups alike.
func Any(ID) bool { return true }
