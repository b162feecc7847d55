package principal

import (
	"context"

	"carrel/core/claim"
	"carrel/core/sched"
)

// HeaderIsWrong is headerIsWrong for a copy that was served just now.
func (s *Service) HeaderIsWrong(ctx context.Context, id ID, copied *Header) (bool, error) {
	return s.headerIsWrong(ctx, id, copied, sched.Present(s.rt))
}

// EmailRecord returns the claim.Record of the users of s.
func EmailRecord(s *Service) claim.Record { return emailRecord{s} }
