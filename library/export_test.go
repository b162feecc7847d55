package library

import (
	"context"

	"carrel/principal"
)

// SharesWaiting is the number of shares of an item that wait to be carried.
func (s *Service) SharesWaiting(id ContentID) int {
	s.shares.mu.Lock()
	defer s.shares.mu.Unlock()
	return len(s.shares.waiting[id])
}

// CopyIsWrong is what the sampler asks of a copy that was served.
func (s *Service) CopyIsWrong(ctx context.Context, owner principal.ID, source Bucket, e Entry, copied *ContentRows) (bool, error) {
	return s.copyIsWrong(ctx, owner, source, e, copied)
}
